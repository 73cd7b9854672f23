// Ratings are joined with the answers and judgments of a store.
//
// What people can rate is what a study's rubrics and its study.Rating say.

package agree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// axis is what answers are rated on.
type axis struct {
	judge.Axis
	Score  string // name of the score that judges give; "": only people rate it
	Rubric string // "": it is of none
	// Derived is how it follows from others; nil: it does not.
	Derived *study.Derived
}

// Raw is a judge's score on the axis' own scale.
func (a axis) Raw(x float64) float64 { return a.Low + x*(a.High-a.Low) }

// Unit is a rating as a score of 0..1.
func (a axis) Unit(raw float64) float64 { return (raw - a.Low) / (a.High - a.Low) }

// Grades is how many the scale has; 0: any number.
func (a axis) Grades() int {
	if !a.Whole {
		return 0
	}
	return int(a.High-a.Low) + 1
}

// protocol is a study with its axes.
type protocol struct {
	study.Study
	Axes []axis
}

// protocols are the studies of a store that people can rate answers of.
func protocols(man results.Manifest) ([]protocol, error) {
	var out []protocol
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		st, err := experiment.NewStudy(name, nil, study.Choice{})
		if errors.Is(err, experiment.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := protocol{Study: st}
		for _, r := range st.Rubrics {
			if r.Number == nil {
				continue
			}
			i := slices.IndexFunc(st.Scores.Names, func(n score.Name) bool { return n.Rubric == r.Name })
			if i < 0 {
				continue
			}
			p.Axes = append(p.Axes, axis{judge.Axis{Name: r.Name, Low: r.Number.Low, High: r.Number.High, Whole: r.Number.Whole, Field: fieldOf(st.Rating, r.Name)}, st.Scores.Names[i].Name, r.Name, nil})
		}
		for i := range st.Rating.Derived {
			x := &st.Rating.Derived[i]
			p.Axes = append(p.Axes, axis{x.Axis, x.Name, "", x})
		}
		if len(p.Axes) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// fieldOf is an axis' name in the files of a published reader study; "": it has none.
func fieldOf(r study.Rating, axis string) string {
	for field, of := range r.Fields {
		if of == axis {
			return field
		}
	}
	return ""
}

// readable are the axes that a file of ratings may have.
func readable(all []protocol) []judge.Axis {
	var out []judge.Axis
	for _, p := range all {
		for _, a := range p.Axes {
			if a.Rubric != "" {
				out = append(out, a.Axis)
			}
		}
		for _, a := range peoples(p) {
			out = append(out, a.Axis)
		}
	}
	return out
}

// ratedUnit is a rated answer.
type ratedUnit struct {
	Name    string      // hex digits
	Key     results.Key // zero: the store lacks it
	Item    string
	Cluster string // set.Cluster of the item
	Stratum string // model and condition
	Part    string
}

// set is what is known of one study's rated answers.
type set struct {
	protocol
	Seed     uint64
	Units    []ratedUnit
	Raters   []string
	Axes     []axis                               // that somebody rated
	Human    map[string]stats.Ratings             // by axis; a row for each rater
	Judges   map[string][]string                  // by axis
	Judged   map[string]map[string][]stats.Rating // by axis and judge, on the axis' scale
	Again    map[string]map[string][]repeat       // by axis and rater
	Verdicts map[string]map[string]tallies        // by judge and rubric, of all answers
	Answers  []answer                             // all of the study, for what was drawn
	Unknown  []string                             // ratings of no answer of the store
	Twice    []string                             // texts that a rater rated more than once

	released bool
	clusters map[string]string // by item (score.Clusters)
}

// repeat is an answer that a rater rated twice.
type repeat struct {
	First, Second float64
	Cluster       string
}

// Cluster is what an item is drawn together with in intervals and tests: the images that it
// shares, or itself.
func (d *set) Cluster(item string) string {
	if c := d.clusters[item]; c != "" {
		return "images " + c
	}
	return "item " + item
}

// answer is an answer with what judges gave it, as scores of 0..1.
type answer struct {
	Key   results.Key
	Item  results.Item
	Asked bool                          // judges are asked about it
	Judge map[string]map[string]float64 // by axis and judge
}

// read reads a study's answers with what judges gave them.
func read(ctx context.Context, st *store.Store, man results.Manifest, p protocol) (*set, error) {
	d := &set{protocol: p, Seed: man.Seed, released: man.Released(), Human: map[string]stats.Ratings{}, Judges: map[string][]string{}, Judged: map[string]map[string][]stats.Rating{},
		Again: map[string]map[string][]repeat{}, Verdicts: map[string]map[string]tallies{}}
	var err error
	if d.clusters, err = score.Clusters(ctx, st, p.Name); err != nil {
		return nil, err
	}
	asked := man.Rubrics[p.Name]
	for _, a := range p.Axes {
		if a.Rubric != "" {
			d.Judges[a.Name] = asked[a.Rubric]
		} else {
			d.Judges[a.Name] = slices.DeleteFunc(slices.Clone(asked[a.Derived.From[0]]), func(j string) bool {
				return slices.ContainsFunc(a.Derived.From, func(from string) bool { return !slices.Contains(asked[from], j) })
			})
		}
	}
	return d, d.walk(ctx, st, man, asked)
}

// gather joins ratings with a study.
func gather(ctx context.Context, st *store.Store, man results.Manifest, p protocol, given []judge.Rating) (*set, error) {
	d, err := read(ctx, st, man, p)
	if err != nil {
		return nil, err
	}
	find, err := d.finder(ctx, st, man)
	if err != nil {
		return nil, err
	}
	mine := append(slices.Clone(p.Axes), peoples(p)...)
	type rated struct {
		judge.Rating
		unit string
	}
	var rows []rated
	seen := map[string]bool{}
	for _, r := range given {
		if !slices.ContainsFunc(mine, func(a axis) bool { return a.Name == r.Axis }) {
			continue // of another study
		}
		u, known := find(r)
		if !known {
			d.Unknown = append(d.Unknown, fmt.Sprintf("%s:%d", r.File, r.Line))
		}
		if where := fmt.Sprintf("%s:%d", r.File, r.Line); r.Of > 1 && !slices.Contains(d.Twice, where) {
			d.Twice = append(d.Twice, where)
		}
		if !seen[u.Name] {
			seen[u.Name] = true
			d.Units = append(d.Units, u)
		}
		if !slices.Contains(d.Raters, r.Rater) {
			d.Raters = append(d.Raters, r.Rater)
		}
		rows = append(rows, rated{r, u.Name})
	}
	slices.Sort(d.Raters)
	slices.SortFunc(d.Units, func(a, b ratedUnit) int {
		return cmp.Or(strings.Compare(a.Item, b.Item), strings.Compare(a.Stratum, b.Stratum), strings.Compare(a.Name, b.Name))
	})
	at := map[string]int{}
	for i, u := range d.Units {
		at[u.Name] = i
	}
	for _, a := range mine {
		m := make(stats.Ratings, len(d.Raters))
		for i := range m {
			m[i] = make([]stats.Rating, len(d.Units))
		}
		d.Human[a.Name] = m
		d.Again[a.Name] = map[string][]repeat{}
	}
	repeats := []rated{}
	type place struct {
		axis, rater, unit string
	}
	first := map[place]rated{}
	for _, r := range rows {
		where := place{r.Axis, r.Rater, r.unit}
		if r.Repeat > 0 {
			repeats = append(repeats, r)
			continue
		}
		if before, twice := first[where]; twice {
			return nil, &RefusedError{Why: fmt.Sprintf("%s:%d: %s rated the same answer on %s before, at %s:%d: leave one of them out, or give the later one a repeat", r.File, r.Line, r.Rater, r.Axis, before.File, before.Line)}
		}
		first[where] = r
		if r.Score != nil {
			d.Human[r.Axis][slices.Index(d.Raters, r.Rater)][at[r.unit]] = stats.Rating{Value: *r.Score, Given: true}
		}
	}
	for _, r := range repeats {
		if before := first[place{r.Axis, r.Rater, r.unit}]; before.Score != nil && r.Score != nil {
			d.Again[r.Axis][r.Rater] = append(d.Again[r.Axis][r.Rater], repeat{*before.Score, *r.Score, d.Units[at[r.unit]].Cluster})
		}
	}
	d.derive()
	for _, a := range mine {
		if slices.ContainsFunc(d.Human[a.Name], func(row []stats.Rating) bool {
			return slices.ContainsFunc(row, func(r stats.Rating) bool { return r.Given })
		}) {
			d.Axes = append(d.Axes, a)
		}
	}
	d.judgeUnits()
	return d, nil
}

// peoples are the axes that people alone rate.
func peoples(p protocol) []axis {
	var out []axis
	for _, a := range p.Rating.People {
		a.Field = fieldOf(p.Rating, a.Name)
		out = append(out, axis{Axis: a})
	}
	return out
}

// derive computes each rater's grades on the axes that follow from others.
func (d *set) derive() {
	for _, a := range d.protocol.Axes {
		if a.Derived == nil {
			continue
		}
		grades, of := make([]float64, len(a.Derived.From)), a.Derived.Of
		if d.released && a.Derived.Released != nil {
			of = a.Derived.Released
		}
		for r := range d.Raters {
			for i := range d.Units {
				known := true
				for k, from := range a.Derived.From {
					x := d.Human[from][r][i]
					grades[k], known = x.Value, known && x.Given
				}
				if known {
					d.Human[a.Name][r][i] = stats.Rating{Value: of(grades), Given: true}
				}
			}
		}
	}
}

// judgeUnits puts what judges gave beside what people did.
func (d *set) judgeUnits() {
	byKey := map[results.Key]answer{}
	for _, a := range d.Answers {
		byKey[a.Key] = a
	}
	for _, a := range d.Axes {
		d.Judged[a.Name] = map[string][]stats.Rating{}
		for _, j := range d.Judges[a.Name] {
			row := make([]stats.Rating, len(d.Units))
			for i, u := range d.Units {
				if x, ok := byKey[u.Key].Judge[a.Name][j]; ok {
					row[i] = stats.Rating{Value: a.Raw(x), Given: true}
				}
			}
			d.Judged[a.Name][j] = row
		}
	}
}

// walk reads what judges gave every answer, and what became of their judgments.
func (d *set) walk(ctx context.Context, st *store.Store, man results.Manifest, asked map[string][]string) error {
	layout := d.Scores.Layout(asked)
	type column struct {
		axis  axis
		judge string
		place int
	}
	var scores, verdicts []column
	for _, a := range d.protocol.Axes {
		for _, j := range d.Judges[a.Name] {
			scores = append(scores, column{a, j, layout.Place(a.Score, j)})
			if a.Rubric != "" {
				verdicts = append(verdicts, column{a, j, layout.Place(score.VerdictName(a.Rubric), j)})
				if d.Verdicts[j] == nil {
					d.Verdicts[j] = map[string]tallies{}
				}
				d.Verdicts[j][a.Name] = tallies{}
			}
		}
	}
	var others []int // verdicts under rubrics that are no axes
	for rubric, judges := range asked {
		for _, j := range judges {
			if !slices.ContainsFunc(verdicts, func(c column) bool { return c.axis.Rubric == rubric }) {
				others = append(others, layout.Place(score.VerdictName(rubric), j))
			}
		}
	}
	items := map[string]results.Item{}
	for it, err := range st.Items(ctx, d.Name) {
		if err != nil {
			return err
		}
		it.Facts = nil
		items[it.ID] = it
	}
	sham := map[string]bool{}
	for name, described := range man.Conditions[d.Name] {
		var c perturb.Condition
		sham[name] = json.Unmarshal(described, &c) == nil && c.Kind == perturb.KindSham
	}
	return score.Walk(ctx, st, d.Scores, asked, func(group []score.Scored) error {
		for _, s := range group {
			if s.Row.Failed {
				continue
			}
			a := answer{Key: s.Row.Key, Item: items[s.Row.Key.Item], Judge: map[string]map[string]float64{}}
			for _, c := range scores {
				v, ok := s.Number(c.place)
				if !ok {
					continue
				}
				if a.Judge[c.axis.Name] == nil {
					a.Judge[c.axis.Name] = map[string]float64{}
				}
				a.Judge[c.axis.Name][c.judge] = v
				if c.axis.Name == d.Rating.Alarm.Axis && sham[s.Row.Key.Condition] {
					t := d.Verdicts[c.judge][c.axis.Name].Of(d.Cluster(a.Key.Item))
					t.Shams++
					if c.axis.Raw(v) >= d.Rating.Alarm.From {
						t.Alarms++
					}
				}
			}
			for _, c := range verdicts {
				if status, ok := s.Text(c.place); ok {
					a.Asked = true
					d.Verdicts[c.judge][c.axis.Name].Of(d.Cluster(a.Key.Item)).Add(results.Status(status))
				}
			}
			for _, place := range others {
				if _, ok := s.Text(place); ok {
					a.Asked = true
				}
			}
			d.Answers = append(d.Answers, a)
		}
		return nil
	})
}

// finder finds the answer that a rating is of, by the name under which it was drawn,
// by what judges are shown of it, or by its text; false: the store has none.
func (d *set) finder(ctx context.Context, st *store.Store, man results.Manifest) (func(judge.Rating) (ratedUnit, bool), error) {
	type named struct {
		digits string
		key    results.Key
	}
	byDigits := map[string][]named{}
	add := func(digits string, k results.Key) {
		short := digits[:judge.CaseDigits]
		byDigits[short] = append(byDigits[short], named{digits, k})
	}
	if man.People != nil {
		for _, draw := range man.People.Draws {
			if draw.Study != d.Name {
				continue
			}
			for _, c := range draw.Cases {
				add(c.Case, c.Key)
			}
		}
	}
	for j, err := range st.Judgments(ctx, d.Name) {
		if err != nil {
			return nil, err
		}
		// The first answer stands for all that read the same.
		add(strings.TrimPrefix(string(j.Case), "sha256:"), j.Key)
	}
	byText := map[results.Digest]results.Key{}
	for a, err := range st.Outputs(ctx, d.Name) {
		if err != nil {
			return nil, err
		}
		for _, text := range []string{a.Output.Answer, a.Output.Reasoning + " " + a.Output.Answer, "<think>" + a.Output.Reasoning + "</think>" + a.Output.Answer} {
			if _, taken := byText[judge.TextOf(text)]; !taken {
				byText[judge.TextOf(text)] = a.Key
			}
		}
	}
	return func(r judge.Rating) (ratedUnit, bool) {
		key, ok := results.Key{}, false
		if r.Case != "" {
			for _, n := range byDigits[r.Case[:judge.CaseDigits]] {
				if strings.HasPrefix(n.digits, r.Case) {
					key, ok = n.key, true
					break
				}
			}
		} else {
			key, ok = byText[r.Text]
		}
		if !ok {
			name := r.Case
			if name == "" {
				name = r.Text.Short()
			}
			unknown := "unknown " + name[:judge.CaseDigits]
			return ratedUnit{Name: name[:judge.CaseDigits], Item: unknown, Cluster: unknown, Stratum: stratumOf(r.Model, r.Condition)}, false
		}
		return ratedUnit{Name: nameOf(key), Key: key, Item: key.Item, Cluster: d.Cluster(key.Item), Stratum: stratumOf(key.Model, key.Condition)}, true
	}, nil
}

func stratumOf(model, condition string) string { return model + "\n" + condition }

// nameOf names an answer of a store.
func nameOf(k results.Key) string { return results.DigestOf([]byte(k.Name())).Short() }

// RefusedError says why something is not done that was asked for.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

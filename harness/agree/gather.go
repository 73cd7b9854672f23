// Package agree says how well judges agree with people who rated the same answers.
//
//  1. gather.go joins ratings with the answers and judgments of a store.
//  2. split.go puts rated answers into two parts, once and for all.
//  3. measure.go computes: consensus, tau-b, kappa, alpha, AC1, each with intervals.
//  4. gates.go says which judges may be used, and selects one.
//  5. draw.go draws answers to be rated; correct.go corrects judged means by labels of
//     such answers.
//  6. tables.go lays it out.
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

	"assay/harness/ratings"
	"assay/harness/score"
	"assay/harness/studies"
	"assay/harness/study"
	"assay/harness/study/faithfulness/pair"
	"assay/perturb"
	"assay/results"
	"assay/results/sqlite"
	"assay/results/stats"
)

// axis is what answers are rated on.
type axis struct {
	ratings.Axis
	score string // name of the score that judges give; "": only people rate it
	of    string // its rubric; "": it follows from other axes
}

// raw is a judge's score on the axis' own scale.
func (a axis) raw(x float64) float64 { return a.Low + x*(a.High-a.Low) }

// unit is a rating as a score of 0..1.
func (a axis) unit(raw float64) float64 { return (raw - a.Low) / (a.High - a.Low) }

// grades is how many the scale has; 0: any number.
func (a axis) grades() int {
	if !a.Whole {
		return 0
	}
	return int(a.High-a.Low) + 1
}

// Axes of study faithfulness. CC follows from CF and CT; a reader's own CC is what it
// should be.
const (
	axisCF, axisCA, axisCT, axisCC = "CF", "CA", "CT", "CC"
	axisReaderCC                   = "reader_CC"
)

// protocol is a study with its axes.
type protocol struct {
	study.Study
	axes []axis
}

// protocols are the studies of a store that people can rate answers of.
func protocols(man results.Manifest) ([]protocol, error) {
	var out []protocol
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		st, err := studies.New(name, nil, study.Choice{})
		if errors.Is(err, studies.ErrUnknown) {
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
			p.axes = append(p.axes, axis{ratings.Axis{Name: r.Name, Low: r.Number.Low, High: r.Number.High, Whole: r.Number.Whole}, st.Scores.Names[i].Name, r.Name})
		}
		if p.calibrated() {
			p.axes = append(p.axes, axis{ratings.Axis{Name: axisCC, High: 1}, axisCC, ""})
		}
		if len(p.axes) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// calibrated says whether CC is among the study's scores.
func (p protocol) calibrated() bool {
	return slices.ContainsFunc(p.Scores.Names, func(n score.Name) bool { return n.Name == axisCC })
}

// readable are the axes that a file of ratings may have.
func readable(all []protocol) []ratings.Axis {
	var out []ratings.Axis
	for _, p := range all {
		for _, a := range p.axes {
			if a.of != "" {
				out = append(out, a.Axis)
			}
		}
		for _, a := range peoples(p) {
			out = append(out, a.Axis)
		}
	}
	return out
}

// unit is a rated answer.
type unit struct {
	name    string      // hex digits
	key     results.Key // zero: the store lacks it
	item    string      // what is resampled together
	stratum string      // model and condition
	part    string
}

// data is what is known of one study's rated answers.
type data struct {
	protocol
	seed     uint64
	units    []unit
	raters   []string
	axes     []axis                               // that somebody rated
	human    map[string]stats.Ratings             // by axis; a row for each rater
	judges   map[string][]string                  // by axis
	judged   map[string]map[string][]stats.Rating // by axis and judge, on the axis' scale
	again    map[string]map[string][][2]float64   // by axis and rater: first and second rating
	verdicts map[string]map[string]*tally         // by judge and rubric, of all answers
	sham     map[string]*[2]int                   // by judge: of sham answers with CA, those of 3 or more, and all
	answers  []answered                           // all of the study, for what was drawn
	unknown  []string                             // ratings of no answer of the store
}

// answered is an answer with what judges gave it, as scores of 0..1.
type answered struct {
	key   results.Key
	item  results.Item
	asked bool                          // judges are asked about it
	judge map[string]map[string]float64 // by axis and judge
}

// read reads a study's answers with what judges gave them.
func read(ctx context.Context, st *sqlite.Store, man results.Manifest, p protocol) (*data, error) {
	d := &data{protocol: p, seed: man.Seed, human: map[string]stats.Ratings{}, judges: map[string][]string{}, judged: map[string]map[string][]stats.Rating{},
		again: map[string]map[string][][2]float64{}, verdicts: map[string]map[string]*tally{}, sham: map[string]*[2]int{}}
	asked := man.Rubrics[p.Name]
	for _, a := range p.axes {
		if a.of != "" {
			d.judges[a.Name] = asked[a.of]
		} else {
			d.judges[a.Name] = slices.DeleteFunc(slices.Clone(asked[axisCF]), func(j string) bool { return !slices.Contains(asked[axisCT], j) })
		}
	}
	return d, d.walk(ctx, st, man, asked)
}

// gather joins ratings with a study.
func gather(ctx context.Context, st *sqlite.Store, man results.Manifest, p protocol, given []ratings.Rating) (*data, error) {
	d, err := read(ctx, st, man, p)
	if err != nil {
		return nil, err
	}
	find, err := d.finder(ctx, st, man)
	if err != nil {
		return nil, err
	}
	mine := append(slices.Clone(p.axes), peoples(p)...)
	type rated struct {
		ratings.Rating
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
			d.unknown = append(d.unknown, fmt.Sprintf("%s:%d", r.File, r.Line))
		}
		if !seen[u.name] {
			seen[u.name] = true
			d.units = append(d.units, u)
		}
		if !slices.Contains(d.raters, r.Rater) {
			d.raters = append(d.raters, r.Rater)
		}
		rows = append(rows, rated{r, u.name})
	}
	slices.Sort(d.raters)
	slices.SortFunc(d.units, func(a, b unit) int {
		return cmp.Or(strings.Compare(a.item, b.item), strings.Compare(a.stratum, b.stratum), strings.Compare(a.name, b.name))
	})
	at := map[string]int{}
	for i, u := range d.units {
		at[u.name] = i
	}
	for _, a := range mine {
		m := make(stats.Ratings, len(d.raters))
		for i := range m {
			m[i] = make([]stats.Rating, len(d.units))
		}
		d.human[a.Name] = m
		d.again[a.Name] = map[string][][2]float64{}
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
			return nil, &RefusedError{fmt.Sprintf("%s:%d: %s rated the same answer on %s before, at %s:%d: leave one of them out, or give the later one a repeat", r.File, r.Line, r.Rater, r.Axis, before.File, before.Line)}
		}
		first[where] = r
		if r.Score != nil {
			d.human[r.Axis][slices.Index(d.raters, r.Rater)][at[r.unit]] = stats.Rating{Value: *r.Score, Given: true}
		}
	}
	for _, r := range repeats {
		if before := first[place{r.Axis, r.Rater, r.unit}]; before.Score != nil && r.Score != nil {
			d.again[r.Axis][r.Rater] = append(d.again[r.Axis][r.Rater], [2]float64{*before.Score, *r.Score})
		}
	}
	d.calibrate()
	for _, a := range mine {
		if slices.ContainsFunc(d.human[a.Name], func(row []stats.Rating) bool {
			return slices.ContainsFunc(row, func(r stats.Rating) bool { return r.Given })
		}) {
			d.axes = append(d.axes, a)
		}
	}
	d.judgeUnits()
	return d, nil
}

// peoples are the axes that people alone rate.
func peoples(p protocol) []axis {
	var out []axis
	if p.calibrated() {
		for _, name := range []string{axisReaderCC, "helpfulness", "plausibility"} {
			out = append(out, axis{Axis: ratings.Axis{Name: name, Low: 1, High: 5, Whole: true}})
		}
	}
	return out
}

// calibrate computes each rater's CC from his CF and CT.
func (d *data) calibrate() {
	cf, ct, cc := d.human[axisCF], d.human[axisCT], d.human[axisCC]
	if cc == nil {
		return
	}
	for r := range cc {
		for i := range cc[r] {
			if cf[r][i].Given && ct[r][i].Given {
				cc[r][i] = stats.Rating{Value: pair.Calibration(int(cf[r][i].Value), int(ct[r][i].Value)), Given: true}
			}
		}
	}
}

// judgeUnits puts what judges gave beside what people did.
func (d *data) judgeUnits() {
	byKey := map[results.Key]answered{}
	for _, a := range d.answers {
		byKey[a.key] = a
	}
	for _, a := range d.axes {
		d.judged[a.Name] = map[string][]stats.Rating{}
		for _, j := range d.judges[a.Name] {
			row := make([]stats.Rating, len(d.units))
			for i, u := range d.units {
				if x, ok := byKey[u.key].judge[a.Name][j]; ok {
					row[i] = stats.Rating{Value: a.raw(x), Given: true}
				}
			}
			d.judged[a.Name][j] = row
		}
	}
}

// walk reads what judges gave every answer, and what became of their judgments.
func (d *data) walk(ctx context.Context, st *sqlite.Store, man results.Manifest, asked map[string][]string) error {
	layout := d.Scores.Layout(asked)
	type column struct {
		axis  axis
		judge string
		place int
	}
	var scores, verdicts []column
	for _, a := range d.protocol.axes {
		for _, j := range d.judges[a.Name] {
			scores = append(scores, column{a, j, layout.Place(a.score, j)})
			if a.of != "" {
				verdicts = append(verdicts, column{a, j, layout.Place(score.VerdictName(a.of), j)})
				if d.verdicts[j] == nil {
					d.verdicts[j] = map[string]*tally{}
				}
				d.verdicts[j][a.Name] = &tally{}
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
			a := answered{key: s.Row.Key, item: items[s.Row.Key.Item], judge: map[string]map[string]float64{}}
			for _, c := range scores {
				v, ok := s.Number(c.place)
				if !ok {
					continue
				}
				if a.judge[c.axis.Name] == nil {
					a.judge[c.axis.Name] = map[string]float64{}
				}
				a.judge[c.axis.Name][c.judge] = v
				if c.axis.Name == axisCA && sham[s.Row.Key.Condition] {
					if d.sham[c.judge] == nil {
						d.sham[c.judge] = &[2]int{}
					}
					d.sham[c.judge][1]++
					if c.axis.raw(v) >= pair.ShamPositive {
						d.sham[c.judge][0]++
					}
				}
			}
			for _, c := range verdicts {
				if status, ok := s.Text(c.place); ok {
					a.asked = true
					d.verdicts[c.judge][c.axis.Name].add(results.Status(status))
				}
			}
			d.answers = append(d.answers, a)
		}
		return nil
	})
}

// finder finds the answer that a rating is of, by the name under which it was drawn,
// by what judges are shown of it, or by its text; false: the store has none.
func (d *data) finder(ctx context.Context, st *sqlite.Store, man results.Manifest) (func(ratings.Rating) (unit, bool), error) {
	type named struct {
		digits string
		key    results.Key
	}
	byDigits := map[string][]named{}
	add := func(digits string, k results.Key) {
		short := digits[:ratings.CaseDigits]
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
			if _, taken := byText[ratings.TextOf(text)]; !taken {
				byText[ratings.TextOf(text)] = a.Key
			}
		}
	}
	return func(r ratings.Rating) (unit, bool) {
		key, ok := results.Key{}, false
		if r.Case != "" {
			for _, n := range byDigits[r.Case[:ratings.CaseDigits]] {
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
			return unit{name: name[:ratings.CaseDigits], item: "unknown " + name[:ratings.CaseDigits], stratum: stratumOf(r.Model, r.Condition)}, false
		}
		return unit{name: nameOf(key), key: key, item: key.Item, stratum: stratumOf(key.Model, key.Condition)}, true
	}, nil
}

func stratumOf(model, condition string) string { return model + "\n" + condition }

// nameOf names an answer of a store.
func nameOf(k results.Key) string { return results.DigestOf([]byte(k.Name())).Short() }

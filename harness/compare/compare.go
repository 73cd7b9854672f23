// Package compare puts runs beside each other: what the same items scored in both.
//
//  1. A Run has the sample scores of a store by trial. Read collects them. (Scores of a
//     store that is read while nobody may write to it are made on the way.)
//  2. Of says first what makes two runs hard to compare: other data is refused, other
//     prompts, settings, machines are said.
//  3. Trials of the same study, model, item, arm, condition are pairs. A row is a score
//     in a cell: the mean difference over items, its interval over clusters of items, whether
//     it is beyond noise when all rows are considered (Holm), and the items that changed.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
)

// Comparison is two runs beside each other: B less A.
type Comparison struct {
	A         string   `json:"a"`
	B         string   `json:"b"`
	Synthetic []string `json:"synthetic,omitempty"`
	Notes     []string `json:"notes"` // what differs between the runs, besides what they found
	Pairs     int      `json:"pairs"` // of trials
	OnlyA     int      `json:"only_a"`
	OnlyB     int      `json:"only_b"`
	Rows      []Row    `json:"rows"`
	// Changed is how many rows are beyond noise; by chance alone there is one in at
	// most 5 % of comparisons.
	Changed int `json:"changed"`
	Within  int `json:"-"` // rows that OnlyChanged left out
	// Renamed is a model of A and the one of B that it is compared with; empty: models of
	// the same name are.
	Renamed [2]string `json:"-"`
}

// Row is a score of the trials of a cell.
type Row struct {
	Study     string           `json:"study"`
	Model     string           `json:"model"`
	Arm       string           `json:"arm"`
	Condition string           `json:"condition"`
	Score     string           `json:"score"`
	Judge     string           `json:"judge,omitempty"`
	Unit      string           `json:"unit"`
	Better    score.Better     `json:"better"`
	A         float64          `json:"a"` // mean over the items of pairs
	B         float64          `json:"b"`
	Items     int              `json:"items"`
	Up        int              `json:"items_up"` // items whose score rose, and fell
	Down      int              `json:"items_down"`
	Diff      results.Estimate `json:"difference"` // mean of the items' differences, 95 %
	// P is of no difference: sign flips of clusters of items (stats.SignFlips).
	P       *float64    `json:"p"`
	Holm    *float64    `json:"p_holm"` // over all rows
	Changed bool        `json:"changed"`
	Worse   bool        `json:"worse"` // changed, in the score's bad direction
	Moved   []movedItem `json:"items_that_changed,omitempty"`
}

// movedItem is an item whose score changed, and from what to what.
type movedItem struct {
	Item  string  `json:"item"`
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	First int     `json:"-"` // of its repeats that have the score in both
}

// Choice narrows what is compared.
type Choice struct {
	Scores []string // names; empty: all that are better one way
	Times  bool     // times and energies although the machines differ
	Moved  int      // at most so many items of a row that changed; 0: all, under 0: none
	// Tell, where it is not nil, is told how many models are compared, of how many.
	Tell func(done, of int)
}

// differentData is that no difference between two runs could be told from one of their
// data.
type differentData struct{ Data, A, B string }

func (e *differentData) Error() string {
	return fmt.Sprintf("data set %s is %.12s in one run and %.12s in the other: their items are not the same questions", e.Data, e.A, e.B)
}

// LeftOut is the note on times of other machines that were not asked for (Choice.Times).
const LeftOut = "times and energies are left out for that"

// Runs compares two runs. Where each has one model, these are compared whatever they are
// called.
func Runs(ctx context.Context, a, b *Run, want Choice) (*Comparison, error) {
	out := &Comparison{A: a.Path, B: b.Path, Notes: []string{}, Rows: []Row{}}
	for _, d := range a.Manifest.Datasets {
		for _, e := range b.Manifest.Datasets {
			if d.Name == e.Name && d.Digest != e.Digest {
				return nil, &differentData{d.Name, string(d.Digest), string(e.Digest)}
			}
		}
	}
	for _, study := range slices.Sorted(maps.Keys(a.Studies)) { // under another name, too
		d, known := dataOf(a, study)
		if e, also := dataOf(b, study); known && also && d.Digest != e.Digest {
			return nil, &differentData{d.Name + " of study " + study, string(d.Digest), string(e.Digest)}
		}
	}
	for _, why := range append(slices.Clone(a.Manifest.Synthetic), b.Manifest.Synthetic...) {
		if !slices.Contains(out.Synthetic, why) {
			out.Synthetic = append(out.Synthetic, why)
		}
	}
	if out.Renamed = one(a, b); out.Renamed != [2]string{} {
		out.Notes = append(out.Notes, fmt.Sprintf("model %s is compared with model %s", out.Renamed[0], out.Renamed[1]))
	}
	slower := differences(a, b, out)
	if slower && !want.Times {
		out.Notes = append(out.Notes, LeftOut)
	}
	type part struct{ study, model string }
	var parts []part
	for _, study := range slices.Sorted(maps.Keys(a.Studies)) {
		out.OnlyA += a.Studies[study].N
		for _, m := range a.Studies[study].models() {
			parts = append(parts, part{study, m})
		}
	}
	for _, t := range b.Studies {
		out.OnlyB += t.N
	}
	for n, p := range parts {
		if want.Tell != nil {
			want.Tell(n, len(parts))
		}
		x, y := a.Studies[p.study], b.Studies[p.study]
		cells, pairs := paired(x, y, p.model, out.other(p.model))
		out.Pairs, out.OnlyA, out.OnlyB = out.Pairs+pairs, out.OnlyA-pairs, out.OnlyB-pairs
		scores := compared(x.Columns, y.Columns, want, slower)
		for _, c := range cells {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			for _, row := range rowsOf(x, y, c, scores, want.Moved) {
				row.Study, row.Model = p.study, p.model
				out.Rows = append(out.Rows, row)
			}
		}
	}
	if out.Pairs == 0 {
		return nil, fmt.Errorf("%s and %s have no trial in common: they have different studies, models or items", a.Path, b.Path)
	}
	out.decide()
	return out, nil
}

// dataOf is the data set of a study of a run; false: not known.
func dataOf(r *Run, study string) (results.DatasetInfo, bool) {
	name := r.Manifest.Study(study).Dataset
	i := slices.IndexFunc(r.Manifest.Datasets, func(d results.DatasetInfo) bool { return d.Name == name })
	if _, has := r.Studies[study]; !has || i < 0 {
		return results.DatasetInfo{}, false
	}
	return r.Manifest.Datasets[i], true
}

// other is what B calls a model of A.
func (c *Comparison) other(model string) string {
	if c.Renamed[0] == model && model != "" {
		return c.Renamed[1]
	}
	return model
}

// Items are all items of which a row's score changed, those first that changed most, and
// what B calls the model.
func Items(a, b *Run, r Row) (moved []movedItem, other string) {
	x, y := a.Studies[r.Study], b.Studies[r.Study]
	other = (&Comparison{Renamed: one(a, b)}).other(r.Model)
	cells, _ := paired(x, y, r.Model, other)
	scores := compared(x.Columns, y.Columns, Choice{Scores: []string{r.Score}, Times: true}, false)
	at := slices.IndexFunc(scores, func(s column) bool { return s.Judge == r.Judge })
	for _, c := range cells {
		if c.arm == r.Arm && c.condition == r.Condition && at >= 0 {
			_, _, moved = rowOf(x, y, c.items, scores[at])
		}
	}
	return moved, other
}

// column is a score that both runs have, by its place in each.
type column struct {
	score.Column
	a, b int
	rest bool // what is compared is 1 less the score
}

// An answer that could be read is compared beside accuracy, and as it: higher is better. It is the
// rest of the score noAnswer.
const (
	noAnswer = "no_answer"
	read     = "read"
)

// compared are the scores of a study that are compared.
func compared(x, y []score.Column, want Choice, slower bool) (out []column) {
	for i, col := range x {
		j := slices.IndexFunc(y, func(o score.Column) bool { return o.Name.Name == col.Name.Name && o.Judge == col.Judge })
		timed := col.Name.Unit == "s" || col.Name.Unit == "J"
		told := col
		rest := col.Name.Name == noAnswer && !slices.Contains(want.Scores, noAnswer)
		if rest {
			told.Name.Name, told.Name.Better = read, score.Higher
		}
		wanted := slices.Contains(want.Scores, told.Name.Name) || len(want.Scores) == 0 && told.Name.Better != score.None
		// Of one judge, what all judges give together is what it gives.
		alone := col.Judge != "" && len(judgesOf(x, col.Name.Name)) == 1 && len(judgesOf(y, col.Name.Name)) == 1 &&
			slices.ContainsFunc(x, func(o score.Column) bool { return o.Name.Name == col.Name.Name && o.Judge == "" })
		if !alone && j >= 0 && wanted && (!timed || !slower || want.Times) {
			out = append(out, column{told, i, j, rest})
		}
	}
	return out
}

// judgesOf are those that give a score.
func judgesOf(all []score.Column, name string) (judges []string) {
	for _, c := range all {
		if c.Name.Name == name && c.Judge != "" {
			judges = append(judges, c.Judge)
		}
	}
	return judges
}

// one names the models of two runs of one model each that have different names.
func one(a, b *Run) [2]string {
	models := func(r *Run) []string {
		seen := map[string]bool{}
		for _, t := range r.Studies {
			for _, m := range t.models() {
				seen[m] = true
			}
		}
		return slices.Sorted(maps.Keys(seen))
	}
	x, y := models(a), models(b)
	if len(x) == 1 && len(y) == 1 && x[0] != y[0] {
		return [2]string{x[0], y[0]}
	}
	return [2]string{}
}

const (
	noise      = 0.05
	replicates = 2000
)

// rowsOf are the scores of a cell; one that no pair of trials has is left out.
func rowsOf(x, y Table, c cell, scores []column, most int) []Row {
	var rows []Row
	for _, s := range scores {
		row, p, moved := rowOf(x, y, c.items, s)
		if row.Items == 0 {
			continue
		}
		row.Arm, row.Condition, row.Score, row.Judge, row.Unit, row.Better = c.arm, c.condition, s.Name.Name, s.Judge, s.Name.Unit, s.Name.Better
		d := p.Difference(s.Name.Unit == "1" && p.Shares(), stats.Bootstrap95(1, replicates))
		row.Diff = results.Estimate{N: d.N, Clusters: d.Clusters, Value: d.Value, Low: d.Low, High: d.High, Why: string(d.Why)}
		// Correction only makes p larger: what is within noise before, is so after.
		if row.P = d.P; *row.P < noise && most >= 0 {
			if row.Moved = moved; most > 0 {
				row.Moved = slices.Clone(moved[:min(most, len(moved))])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// rowOf is a score of x and y: its means, the items' own, and the items that changed.
func rowOf(x, y Table, items []item, s column) (r Row, paired stats.Paired, moved []movedItem) {
	var ids []string
	for _, it := range items {
		var v, w float64
		n, first := 0, 0
		for _, p := range it.pairs {
			a, known := x.Trials.Number(p[0], s.a)
			b, also := y.Trials.Number(p[1], s.b)
			if !known || !also {
				continue
			}
			if s.rest {
				a, b = 1-a, 1-b
			}
			if n == 0 {
				first = x.Trials.Key(p[0]).Repeat
			}
			v, w, n = v+a, w+b, n+1
		}
		if n == 0 {
			continue
		}
		v, w = v/float64(n), w/float64(n)
		r.A, r.B = r.A+v, r.B+w
		paired.A, paired.B, ids = append(paired.A, v), append(paired.B, w), append(ids, it.id)
		if v < w {
			r.Up++
		} else if v > w {
			r.Down++
		}
		if v != w {
			moved = append(moved, movedItem{it.id, v, w, first})
		}
	}
	paired.Cluster = stats.ClustersOf(len(ids), func(i int) string { return x.Clusters[ids[i]] })
	if r.Items = len(ids); r.Items > 0 {
		r.A, r.B = r.A/float64(r.Items), r.B/float64(r.Items)
	}
	slices.SortStableFunc(moved, func(x, y movedItem) int { return cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A)) })
	return r, paired, moved
}

// decide corrects p over all rows and says which are beyond noise.
func (c *Comparison) decide() {
	ps := make([]*float64, len(c.Rows))
	for i := range c.Rows {
		ps[i] = c.Rows[i].P
	}
	for i, p := range stats.Holm(ps) {
		r := &c.Rows[i]
		r.Holm = p
		r.Changed = p != nil && *p < noise
		r.Worse = r.Changed && (r.Better == score.Higher && r.B < r.A || r.Better == score.Lower && r.B > r.A)
		if !r.Changed {
			r.Moved = nil
			continue
		}
		c.Changed++
	}
}

// OnlyChanged leaves out the rows that are within noise.
func (c *Comparison) OnlyChanged() {
	c.Within = len(c.Rows)
	c.Rows = slices.DeleteFunc(c.Rows, func(r Row) bool { return !r.Changed })
	c.Within -= len(c.Rows)
}

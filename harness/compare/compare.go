// Package compare puts runs beside each other: what the same items scored in both.
//
//  1. Read collects the sample scores of a store by trial. (Scores of a store that is
//     read while nobody may write to it are made on the way.)
//  2. Of says first what makes two runs hard to compare: other data is refused, other
//     prompts, settings, machines are said.
//  3. Trials of the same study, model, item, arm, condition are pairs. A row is a score
//     in a cell: the mean difference over items, its interval, whether it is beyond
//     noise when all rows are considered (Holm), and the items that changed.
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
	"assay/results/sqlite"
	"assay/results/stats"
)

// Run is a store's manifest and what its trials scored.
type Run struct {
	Path     string
	Manifest results.Manifest
	GPUs     []string // names of the devices that were watched, sorted
	Flight   map[string]bool
	Caches   map[string][]string // states by study, sorted

	scores map[string][]score.Column // by study
	trials map[results.Key][]float64 // NaN: no number; in the order of the study's scores
}

// Read collects a store.
func Read(ctx context.Context, st *sqlite.Store, path string, asked []score.Asked) (*Run, error) {
	r := &Run{Path: path, Flight: map[string]bool{}, Caches: map[string][]string{}, scores: map[string][]score.Column{}, trials: map[results.Key][]float64{}}
	var ok bool
	var err error
	if r.Manifest, ok, err = st.Manifest(ctx); err != nil || !ok {
		if err == nil {
			err = fmt.Errorf("%s: no run was begun in it", path)
		}
		return nil, err
	}
	sessions, err := st.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		for _, d := range s.Devices {
			if d.Kind == "gpu" && !slices.Contains(r.GPUs, d.Name) {
				r.GPUs = append(r.GPUs, d.Name)
			}
		}
	}
	slices.Sort(r.GPUs)
	for _, a := range asked {
		study := a.Rules.Study
		columns := a.Rules.Layout(a.Judges).Columns()
		r.scores[study] = columns
		states := map[string]bool{}
		err := score.Walk(ctx, st, a.Rules, a.Judges, func(trials []score.Scored) error {
			for _, t := range trials {
				values := make([]float64, len(columns))
				for i := range values {
					v, ok := t.Number(i)
					if !ok {
						v = math.NaN()
					}
					values[i] = v
				}
				r.trials[t.Row.Key] = values
				if t.Row.CacheState != "" {
					states[string(t.Row.CacheState)] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.Caches[study] = slices.Sorted(maps.Keys(states))
	}
	return r, nil
}

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
	Diff      results.Estimate `json:"difference"` // mean of the items' differences, 95 %
	// P is of no difference: exact McNemar where items went up or down by the same
	// amount, exact over signs up to 12 items that changed, else a paired t test. nil:
	// nothing changed.
	P       *float64 `json:"p"`
	Holm    *float64 `json:"p_holm"` // over all rows
	Changed bool     `json:"changed"`
	Worse   bool     `json:"worse"` // changed, in the score's bad direction
	Moved   []Moved  `json:"items_that_changed,omitempty"`
}

// Moved is an item whose score changed, and from what to what.
type Moved struct {
	Item string  `json:"item"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

// Choice narrows what is compared.
type Choice struct {
	Scores []string // names; empty: all that are better one way
	Times  bool     // times and energies although the machines differ
	Moved  int      // at most so many items of a row that changed
}

// DifferentData is that no difference between two runs could be told from one of their
// data.
type DifferentData struct{ Data, A, B string }

func (e *DifferentData) Error() string {
	return fmt.Sprintf("data set %s is %.12s in one run and %.12s in the other: their items are not the same questions", e.Data, e.A, e.B)
}

type cell struct{ study, model, arm, condition string }

// Of compares two runs. Where each has one model, these are compared whatever they are
// called.
func Of(a, b *Run, want Choice) (*Comparison, error) {
	out := &Comparison{A: a.Path, B: b.Path, Notes: []string{}, Rows: []Row{}}
	for _, d := range a.Manifest.Datasets {
		for _, e := range b.Manifest.Datasets {
			if d.Name == e.Name && d.Digest != e.Digest {
				return nil, &DifferentData{d.Name, string(d.Digest), string(e.Digest)}
			}
		}
	}
	for _, why := range append(slices.Clone(a.Manifest.Synthetic), b.Manifest.Synthetic...) {
		if !slices.Contains(out.Synthetic, why) {
			out.Synthetic = append(out.Synthetic, why)
		}
	}
	rename := one(a, b)
	if rename != [2]string{} {
		out.Notes = append(out.Notes, fmt.Sprintf("model %s is compared with model %s", rename[0], rename[1]))
	}
	slower := differences(a, b, out)
	pairs := map[cell]map[string][][2]results.Key{} // by item
	for k := range a.trials {
		other := k
		if k.Model == rename[0] && rename[0] != "" {
			other.Model = rename[1]
		}
		if _, ok := b.trials[other]; !ok {
			out.OnlyA++
			continue
		}
		out.Pairs++
		c := cell{k.Study, k.Model, k.Arm, k.Condition}
		if pairs[c] == nil {
			pairs[c] = map[string][][2]results.Key{}
		}
		pairs[c][k.Item] = append(pairs[c][k.Item], [2]results.Key{k, other})
	}
	out.OnlyB = len(b.trials) - out.Pairs
	if out.Pairs == 0 {
		return nil, fmt.Errorf("%s and %s have no trial in common: they have different studies, models or items", a.Path, b.Path)
	}
	for _, c := range slices.SortedFunc(maps.Keys(pairs), func(x, y cell) int {
		return cmp.Or(cmp.Compare(x.study, y.study), cmp.Compare(x.model, y.model), cmp.Compare(x.arm, y.arm), cmp.Compare(x.condition, y.condition))
	}) {
		items := slices.Sorted(maps.Keys(pairs[c]))
		for _, it := range items {
			slices.SortFunc(pairs[c][it], func(x, y [2]results.Key) int { return x[0].Compare(y[0]) }) // sums in one order
		}
		for i, col := range a.scores[c.study] {
			j := slices.IndexFunc(b.scores[c.study], func(o score.Column) bool { return o.Name.Name == col.Name.Name && o.Judge == col.Judge })
			timed := col.Name.Unit == "s" || col.Name.Unit == "J"
			wanted := slices.Contains(want.Scores, col.Name.Name) || len(want.Scores) == 0 && col.Name.Better != score.None
			// Of one judge, what all judges give together is what it gives.
			alone := col.Judge != "" && len(judgesOf(a.scores[c.study], col.Name.Name)) == 1 && len(judgesOf(b.scores[c.study], col.Name.Name)) == 1 &&
				slices.ContainsFunc(a.scores[c.study], func(o score.Column) bool { return o.Name.Name == col.Name.Name && o.Judge == "" })
			if alone || j < 0 || !wanted || timed && slower && !want.Times {
				continue
			}
			if row, ok := rowOf(a, b, items, pairs[c], i, j); ok {
				row.Study, row.Model, row.Arm, row.Condition = c.study, c.model, c.arm, c.condition
				row.Score, row.Judge, row.Unit, row.Better = col.Name.Name, col.Judge, col.Name.Unit, col.Name.Better
				out.Rows = append(out.Rows, row)
			}
		}
	}
	out.decide(want.Moved)
	return out, nil
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
		for k := range r.trials {
			seen[k.Model] = true
		}
		return slices.Sorted(maps.Keys(seen))
	}
	x, y := models(a), models(b)
	if len(x) == 1 && len(y) == 1 && x[0] != y[0] {
		return [2]string{x[0], y[0]}
	}
	return [2]string{}
}

// rowOf is the score at place i of a and j of b; false: no pair of trials has it.
func rowOf(a, b *Run, items []string, pairs map[string][][2]results.Key, i, j int) (Row, bool) {
	var r Row
	var diffs []float64
	for _, it := range items {
		var x, y float64
		n := 0
		for _, k := range pairs[it] {
			v, w := a.trials[k[0]][i], b.trials[k[1]][j]
			if math.IsNaN(v) || math.IsNaN(w) {
				continue
			}
			x, y, n = x+v, y+w, n+1
		}
		if n == 0 {
			continue
		}
		x, y = x/float64(n), y/float64(n)
		r.A, r.B = r.A+x, r.B+y
		diffs = append(diffs, y-x)
		if x != y {
			r.Moved = append(r.Moved, Moved{it, x, y})
		}
	}
	if r.Items = len(diffs); r.Items == 0 {
		return r, false
	}
	r.A, r.B = r.A/float64(r.Items), r.B/float64(r.Items)
	est := stats.Bootstrap{Seed: 1, B: 2000, Alpha: 0.05}.Mean(diffs)
	r.Diff = results.Estimate{N: r.Items, Value: est.Value, Low: est.Low, High: est.High}
	r.P = pValue(diffs)
	return r, true
}

// decide corrects p over all rows and says which are beyond noise.
func (c *Comparison) decide(most int) {
	ps := make([]*float64, len(c.Rows))
	for i := range c.Rows {
		ps[i] = c.Rows[i].P
	}
	for i, p := range stats.Holm(ps) {
		r := &c.Rows[i]
		r.Holm = p
		r.Changed = p != nil && *p < 0.05
		r.Worse = r.Changed && (r.Better == score.Higher && r.B < r.A || r.Better == score.Lower && r.B > r.A)
		if !r.Changed {
			r.Moved = nil
			continue
		}
		c.Changed++
		slices.SortStableFunc(r.Moved, func(x, y Moved) int { return cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A)) })
		if most > 0 && len(r.Moved) > most {
			r.Moved = r.Moved[:most]
		}
	}
}

// exactSigns is how many items that changed have all their signs tried.
const exactSigns = 12

// pValue is two-sided, of differences that are as likely up as down; nil: none differs.
func pValue(d []float64) *float64 {
	var moved []float64
	up, down, equal := 0, 0, true
	for _, v := range d {
		if v == 0 {
			continue
		}
		moved = append(moved, v)
		if v > 0 {
			up++
		} else {
			down++
		}
		equal = equal && math.Abs(math.Abs(v)-math.Abs(moved[0])) < 1e-12
	}
	var p float64
	switch {
	case len(moved) == 0:
		return nil
	case equal:
		p = stats.McNemar(up, down)
	case len(moved) <= exactSigns:
		p = signs(moved)
	default:
		t := stats.TOST(d, 0, 0) // both one-sided tests, of the same bound
		if t.PLow == nil {
			return nil
		}
		p = min(1, 2*min(*t.PLow, *t.PHigh))
	}
	return &p
}

// signs is the share of all choices of signs whose sum is as far from 0.
func signs(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	const slack = 1e-9 // sums in another order
	far := math.Abs(sum) * (1 - slack)
	n := 0
	for bits := range 1 << len(v) {
		s := 0.0
		for i, x := range v {
			if bits>>i&1 == 1 {
				x = -x
			}
			s += x
		}
		if math.Abs(s) >= far {
			n++
		}
	}
	return float64(n) / float64(int(1)<<len(v))
}

// OnlyChanged leaves out the rows that are within noise.
func (c *Comparison) OnlyChanged() {
	c.Within = len(c.Rows)
	c.Rows = slices.DeleteFunc(c.Rows, func(r Row) bool { return !r.Changed })
	c.Within -= len(c.Rows)
}

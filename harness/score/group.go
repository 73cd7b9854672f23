package score

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"assay/results"
	"assay/results/stats"
)

// Group is the trials that a metric is computed over: cells of one model, by every
// judge or one, of all items or of those of a stratum.
type Group struct {
	*Model
	Cells []*Cell

	judge   int
	kind    int // of Design.Strata
	stratum int
	absent  string // why there are no cells
}

const everyone, everything = -1, -1

// In is the group's cells that have the given keys.
func (g Group) In(k Keys) Group {
	out := g.Only(func(c Keys) bool { return c.has(k) })
	if len(out.Cells) == 0 && len(g.Cells) > 0 {
		for i, name := range g.run.Design.Cells {
			if k[i] != "" {
				out.absent = fmt.Sprintf("%s %s was not run", name, k[i])
			}
		}
	}
	return out
}

// Only is the group's cells that are kept.
func (g Group) Only(keep func(Keys) bool) Group {
	g.Cells = slices.DeleteFunc(slices.Clone(g.Cells), func(c *Cell) bool { return !keep(c.Keys) })
	return g
}

// Each is every cell of the group by itself.
func (g Group) Each() []Group {
	var out []Group
	for _, c := range g.Cells {
		one := g
		one.Cells = []*Cell{c}
		out = append(out, one)
	}
	return out
}

// Distinct is the values of a key (a place in Design.Cells) in the order of cells.
func (g Group) Distinct(key int) []string {
	var out []string
	for _, c := range g.Cells {
		if !slices.Contains(out, c.Keys[key]) {
			out = append(out, c.Keys[key])
		}
	}
	return out
}

// Judge is the group by one judge of a leaf's score.
func (g Group) Judge(j int) Group {
	g.judge = j
	return g
}

// Strata is the names of a kind of strata (a place in Design.Strata), and, of each
// item of the sample, which it is in; -1: in none.
func (g Group) Strata(kind int) (names []string, of []int32) {
	return g.run.strata[kind], g.strata[kind]
}

// Stratum is the group's items in one.
func (g Group) Stratum(kind, i int) Group {
	g.kind, g.stratum = kind, i
	return g
}

// leaf is the declaration of a leaf, and what the group's cells added up of it.
func (g Group) leaf(name string) (*leaf, []*tally) {
	l, ok := g.run.named[name]
	if !ok {
		panic(fmt.Sprintf("score: internal error: study %s has no leaf %s", g.run.Design.Rules.Study, name))
	}
	var out []*tally
	for _, c := range g.Cells {
		if y := c.leaves[l]; y != nil {
			out = append(out, y)
		}
	}
	return &g.run.leaves[l], out
}

// Count is the trials of a leaf.
func (g Group) Count(name string) Count {
	x, tallies := g.leaf(name)
	var n Count
	own := 0
	for _, y := range tallies {
		if g.kind != everything {
			n.Plus(y.strata[g.kind][g.stratum])
		} else {
			n.Plus(y.n)
		}
		switch {
		case g.judge == everyone:
		case x.Labels:
			own += len(y.labels[g.judge])
		default:
			own += int(g.Sample.Sum(y.by[g.judge].Den))
		}
	}
	if g.judge != everyone {
		n = Count{N: own, Undefined: n.Undefined, Invalid: n.N + n.Invalid - own}
	}
	return n
}

// Total is the sum of a leaf over the group, by all judges.
func (g Group) Total(name string) (sum float64) {
	for _, cells := range g.Fractions(name) {
		for _, f := range cells {
			sum += g.Sample.Sum(f.Num)
		}
	}
	return sum
}

// why says why no trial of a leaf has a known score.
func (g Group) why(x *leaf, n Count) string {
	switch {
	case g.absent != "":
		return g.absent
	case g.judge != everyone:
		return noVerdict
	case x.Undefined != "" && n.Undefined > 0 && n.Invalid == 0:
		return x.Undefined
	case x.Invalid != "" && n.Invalid > 0:
		return x.Invalid
	}
	return x.Why
}

const noVerdict = "no usable verdict"

// byJudge is the columns of a leaf: by judge, of each cell.
type byJudge [][]Fraction

// few judges fit on the stack of what is called once for each draw.
const few = 8

// add appends the sums of each judge over all cells to two lists.
func (b byJudge) add(sums, hits, known []float64) (_, _ []float64) {
	for _, cells := range b {
		var num, den float64
		for _, f := range cells {
			num += sums[f.Num]
			den += sums[f.Den]
		}
		hits, known = append(hits, num), append(known, den)
	}
	return hits, known
}

// Now is a value over all items, once the group's estimates are there (After).
func (g Group) Now(v GroupValue) (float64, bool) { return v.Of(g.Sample.totals) }

// Fractions are the columns of a leaf.
func (g Group) Fractions(name string) byJudge {
	x, tallies := g.leaf(name)
	out := make(byJudge, len(x.by))
	for _, y := range tallies {
		for j, f := range y.by {
			out[j] = append(out[j], f)
		}
	}
	if g.judge != everyone {
		return out[g.judge : g.judge+1]
	}
	return out
}

// Labels are the texts of a leaf, by judge; they are not to be changed.
func (g Group) Labels(name string) [][]Label {
	x, tallies := g.leaf(name)
	if len(tallies) == 1 {
		return tallies[0].labels
	}
	out := make([][]Label, len(x.by))
	for _, y := range tallies {
		for j, list := range y.labels {
			out[j] = append(out[j], list...)
		}
	}
	return out
}

// Kept are the numbers of a leaf that keeps them.
func (g Group) Kept(name string) []Observation {
	_, tallies := g.leaf(name)
	var out []Observation
	for _, y := range tallies {
		out = append(out, y.kept...)
	}
	return out
}

// Row is a row of a table: a group, the texts before its metrics, and what the
// columns of this row are of.
type Row struct {
	Group
	Text []string // after the model
	Own  Kind     // nil: columns say it
	Data any      // what the columns of a study's own share
}

// Kind is a way to compute a metric: Sum or Direct.
type Kind interface {
	// Of is the metric over a row's group, with what it needs added to the model's
	// sample, whose Run fills it.
	Of(r Row) *results.Estimate
}

// GroupValue is a number that follows from sums of columns.
type GroupValue struct {
	Of    func(sums []float64) (float64, bool)
	Share share      // nil: it is no mean of scores in 0 to 1
	Ends  ends       // nil: its interval is that of replicates
	Uses  []Fraction // columns that Of looks at
	Count Count
	Why   string // said where Count.N is 0
	Else  string // said where it is not; "": a divisor is 0
}

// share is a mean of scores in 0 to 1, and what each cluster moves it by; false: there is none.
type share func(c clusters) (stats.Share, bool)

// times are the ends of a share's interval, in a scale.
func (f share) times(scale float64) ends {
	return func(c clusters) (low, high float64, why stats.Undefined) {
		s, ok := f(c)
		if !ok || s.Low == nil {
			return 0, 0, cmp.Or(s.Why, stats.NoCases)
		}
		return scale * *s.Low, scale * *s.High, ""
	}
}

// less are the ends of the difference of two shares of the same clusters, in a scale.
func (f share) less(g share, scale float64) ends {
	return func(c clusters) (low, high float64, why stats.Undefined) {
		a, ok := f(c)
		b, okB := g(c)
		if !ok || !okB {
			return 0, 0, stats.NoCases
		}
		if low, high, ok = a.Less(b, true); !ok {
			return 0, 0, cmp.Or(a.Why, b.Why)
		}
		return scale * low, scale * high, ""
	}
}

// columns are those that a value looks at, without those that are there twice.
func (v GroupValue) columns() []int {
	var out []int
	for _, f := range v.Uses {
		out = append(out, f.Num, f.Den)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Sum is a kind that follows from sums: it can be compared, averaged over cells and
// taken by stratum.
type Sum func(g Group) GroupValue

// Of is the metric over a row's group.
func (f Sum) Of(r Row) *results.Estimate {
	v := f(r.Group)
	e := &results.Estimate{}
	if r.kind == everything {
		e = r.Sample.Sums(v.Of)
		r.Sample.Rests(e, nil, v.columns()...)
		if v.Ends != nil {
			r.Sample.by(e, v.Ends, nil)
		}
	} else {
		r.Model.within = append(r.Model.within, stratified{r.kind, r.stratum, v, e})
	}
	e.Why = v.Else
	return v.Count.Of(e, v.Why)
}

// Direct is any other kind.
type Direct func(r Row) *results.Estimate

// Of is the metric over a row's group.
func (f Direct) Of(r Row) *results.Estimate { return f(r) }

// Once is what a name stands for among a model's numbers, made when it is first asked
// for and kept as long as the run.
func (m *Model) Once(name string, of func() any) any {
	if _, ok := m.made[name]; !ok {
		m.made[name] = of()
	}
	return m.made[name]
}

// memo is what a name stands for among a group's numbers, made once, however many columns
// show it.
func (g Group) memo(name string, of func() any) any {
	key := fmt.Sprint(name, " ", g.judge, g.kind, g.stratum)
	for _, c := range g.Cells {
		key += fmt.Sprintf(" %q", c.Keys)
	}
	return g.Once(key, of)
}

// eachDraw is a number of the group that follows from sums, computed once for each draw,
// however many metrics look at it.
func (g Group) eachDraw(name string, of func(sums []float64) (float64, bool)) func([]float64) (float64, bool) {
	return g.memo(name, func() any {
		s, at, v, ok := g.Sample, 0, 0., false
		return func(sums []float64) (float64, bool) {
			if at != s.draw {
				v, ok = of(sums)
				at = s.draw
			}
			return v, ok
		}
	}).(func([]float64) (float64, bool))
}

// All is all cells of a model, in order.
func (m *Model) All() Group {
	return Group{Model: m, Cells: m.cells, judge: everyone, kind: everything}
}

// Judges are those asked under a rubric.
func (m *Model) Judges(rubric string) []string { return m.run.Judges[rubric] }

// After calls f when the estimates of the group's model are filled.
func (g Group) After(f func()) { g.Model.after = append(g.Model.after, f) }

// Repeats are the numbers of the repeats that have an answer, in order.
func (g Group) Repeats() []int { return slices.Sorted(maps.Keys(g.repeats)) }

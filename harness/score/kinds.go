package score

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/results"
	"assay/results/stats"
)

// Mean is the mean of a leaf, or the ratio of its sums; of several judges the mean
// of each one's own, those without a known score left out (metrics.md section 1).
func Mean(leaf string) Sum { return scaled(leaf, 1) }

// Percent is 100 times that, of a leaf whose scores are in 0 to 1, or whose sums are of
// parts of a whole: its interval is that of a share.
func Percent(leaf string) Sum {
	return func(g Group) GroupValue {
		v := scaled(leaf, 100)(g)
		by := g.Fractions(leaf)
		v.Share = func(c clusters) (stats.Share, bool) { return by.share(c) }
		v.Ends = v.Share.times(100)
		return v
	}
}

// Gain is 100 times the mean of a leaf of differences of two scores in 0 to 1. Where the leaf
// has With, its interval is that of a difference of two shares of the same clusters.
func Gain(leaf string) Sum {
	return func(g Group) GroupValue {
		v := scaled(leaf, 100)(g)
		x, tallies := g.leaf(leaf)
		if x.With == "" {
			return v
		}
		var this, other []Fraction
		for _, y := range tallies {
			this = append(this, Fraction{y.with, y.by[0].Den})
			other = append(other, Fraction{y.without, y.by[0].Den})
		}
		share := func(of []Fraction) share {
			return func(c clusters) (stats.Share, bool) { return byJudge{of}.share(c) }
		}
		less := share(this).less(share(other), 100)
		v.Ends = func(c clusters) (low, high float64, why stats.Undefined) {
			if low, high, why = less(c); why == "" && stats.Same(low, high) {
				why = stats.Constant // both are one half, and no cluster differs: nothing says how far they may be apart
			}
			return low, high, why
		}
		return v
	}
}

// Sides are the two shares, in per cent, of which a leaf With a score is the difference: on its
// trials, and on those that they are compared with.
func Sides(leaf string) (here, there Sum) {
	side := func(of func(*tally) int) Sum {
		return func(g Group) GroupValue {
			x, tallies := g.leaf(leaf)
			n := g.Count(leaf)
			var cells []Fraction
			for _, y := range tallies {
				cells = append(cells, Fraction{of(y), y.by[0].Den})
			}
			by := byJudge{cells}
			v := GroupValue{Count: n, Why: g.why(x, n), Uses: cells, Of: func(sums []float64) (float64, bool) {
				var h, k [few]float64
				hits, known := by.add(sums, h[:0], k[:0])
				return OverJudges(hits, known, 100)
			}}
			v.Share = func(c clusters) (stats.Share, bool) { return by.share(c) }
			v.Ends = v.Share.times(100)
			return v
		}
	}
	return side(func(y *tally) int { return y.with }), side(func(y *tally) int { return y.without })
}

func scaled(name string, scale float64) Sum {
	return func(g Group) GroupValue {
		x, _ := g.leaf(name)
		n, by := g.Count(name), g.Fractions(name)
		return GroupValue{Count: n, Why: g.why(x, n), Uses: slices.Concat(by...), Of: g.eachDraw(fmt.Sprint(name, " times ", scale), func(sums []float64) (float64, bool) {
			var h, k [few]float64
			hits, known := by.add(sums, h[:0], k[:0])
			return OverJudges(hits, known, scale)
		})}
	}
}

// Fixed is the mean of a leaf in per cent where every trial whose score of exists
// counts for every judge: what is not known is 0, or 1 where right says so. exists
// is a leaf that is Fixed.
func Fixed(name, exists string, right bool) Sum {
	return func(g Group) GroupValue {
		x, tallies := g.leaf(exists)
		n, by := g.Count(exists), g.Fractions(name)
		v := GroupValue{Count: Count{N: n.N + n.Invalid, Undefined: n.Undefined}, Why: g.why(x, n), Uses: slices.Concat(by...)}
		var trials []int
		for _, y := range tallies {
			trials = append(trials, y.fixed)
			v.Uses = append(v.Uses, Fraction{y.fixed, y.fixed})
		}
		v.Of = func(sums []float64) (float64, bool) {
			var h, k [few]float64
			hits, known := by.add(sums, h[:0], k[:0])
			var all, extra float64
			for _, c := range trials {
				all += sums[c]
			}
			if right {
				for _, k := range known {
					extra += all - k
				}
			}
			return FixedN(hits, all, extra)
		}
		v.Share = func(c clusters) (stats.Share, bool) {
			all := c.zeros()
			for _, t := range trials {
				c.sum(t, all)
			}
			var shares []stats.Share
			for _, cells := range by {
				hits, known := c.zeros(), c.zeros()
				for _, f := range cells {
					c.sum(f.Num, hits)
					c.sum(f.Den, known)
				}
				if right {
					for k := range hits {
						hits[k] += all[k] - known[k]
					}
				}
				if s := stats.ShareOf(hits, all); s.P != nil {
					shares = append(shares, s)
				}
			}
			s := stats.MeanShare(shares, true)
			return s, s.P != nil
		}
		v.Ends = v.Share.times(100)
		return v
	}
}

// F1 is the harmonic mean of two; its n is that of a leaf.
func F1(a, b Sum, n string) Sum {
	return func(g Group) GroupValue {
		p, r := a(g), b(g)
		x, _ := g.leaf(n)
		v := GroupValue{Count: g.Count(n), Uses: slices.Concat(p.Uses, r.Uses), Else: "both averages are 0"}
		v.Why = g.why(x, v.Count)
		v.Of = func(sums []float64) (float64, bool) {
			x, ok := p.Of(sums)
			y, okY := r.Of(sums)
			if !ok || !okY {
				return 0, false
			}
			return Harmonic(x, y)
		}
		return v
	}
}

// Minus is the difference of two: the same items are drawn for both.
func Minus(a, b Sum) Sum {
	return func(g Group) GroupValue {
		x, y := a(g), b(g)
		n := x.Count
		n.Plus(y.Count)
		out := GroupValue{Count: n, Uses: slices.Concat(x.Uses, y.Uses), Why: cmp.Or(x.Why, y.Why), Of: func(sums []float64) (float64, bool) {
			u, ok := x.Of(sums)
			v, okV := y.Of(sums)
			return u - v, ok && okV
		}}
		if x.Share != nil && y.Share != nil {
			out.Ends = x.Share.less(y.Share, 100)
		}
		return out
	}
}

// Ratio is the quotient of two times a number: the same items are drawn for both. otherwise is
// why there is none where the second is 0.
func Ratio(a, b Sum, times float64, otherwise string) Sum {
	return func(g Group) GroupValue {
		x, y := a(g), b(g)
		return GroupValue{Count: x.Count, Uses: slices.Concat(x.Uses, y.Uses), Why: cmp.Or(x.Why, y.Why), Else: otherwise, Of: func(sums []float64) (float64, bool) {
			u, ok := x.Of(sums)
			v, okV := y.Of(sums)
			if !ok || !okV || v == 0 {
				return 0, false
			}
			return times * u / v, true
		}}
	}
}

// In is a kind over the cells of a group that have the given keys.
func In(k Keys, f Sum) Sum { return func(g Group) GroupValue { return f(g.In(k)) } }

// cells is a metric over each cell of a group, and all of them as one Value that has yet no Of.
func (g Group) cells(f Sum, why, otherwise string) (all GroupValue, of []GroupValue) {
	all.Why, all.Else = why, otherwise
	for _, one := range g.Each() {
		v := f(one)
		all.Count.Plus(v.Count)
		all.Uses, of = append(all.Uses, v.Uses...), append(of, v)
	}
	return all, of
}

// Slope is the change of a metric per doubling of a parameter whose levels are a group's cells, times a number
// (stats.PerDoubling). A replicate draws items once for all levels: they are columns of one sample.
func Slope(f Sum, levels []float64, times float64, why string) Sum {
	return func(g Group) GroupValue {
		out, of := g.cells(f, why, why)
		out.Of = func(sums []float64) (float64, bool) {
			y := make([]float64, len(of))
			for i, v := range of {
				var ok bool
				if y[i], ok = v.Of(sums); !ok {
					y[i] = math.NaN()
				}
			}
			slope, ok := stats.PerDoubling(levels, y)
			return times * slope, ok
		}
		return out
	}
}

// EachCell is the unweighted mean over the cells of a group that have the metric.
func EachCell(f Sum, why string) Sum {
	return func(g Group) GroupValue {
		out, of := g.cells(f, why, "")
		out.Of = func(sums []float64) (float64, bool) {
			var total float64
			k := 0
			for _, v := range of {
				if x, ok := v.Of(sums); ok {
					total += x
					k++
				}
			}
			if k == 0 {
				return 0, false
			}
			return total / float64(k), true
		}
		if !slices.ContainsFunc(of, func(v GroupValue) bool { return v.Share == nil }) {
			out.Share = func(c clusters) (stats.Share, bool) { return meanShare(c, of) }
			out.Ends = out.Share.times(100)
		}
		return out
	}
}

// meanShare is the unweighted mean of the shares that exist.
func meanShare(c clusters, of []GroupValue) (stats.Share, bool) {
	var shares []stats.Share
	for _, v := range of {
		if s, ok := v.Share(c); ok {
			shares = append(shares, s)
		}
	}
	s := stats.MeanShare(shares, false)
	return s, s.P != nil
}

// share is the mean over judges of each one's own share.
func (b byJudge) share(c clusters) (stats.Share, bool) {
	var shares []stats.Share
	for _, cells := range b {
		sums, answers := c.zeros(), c.zeros()
		for _, f := range cells {
			c.sum(f.Num, sums)
			c.sum(f.Den, answers)
		}
		if s := stats.ShareOf(sums, answers); s.P != nil {
			shares = append(shares, s)
		}
	}
	s := stats.MeanShare(shares, true)
	return s, s.P != nil
}

// Spread is the sample standard deviation of a metric between the cells of a group;
// n is the cells that have it.
func Spread(f Sum, why string) Direct {
	return func(r Row) *results.Estimate {
		_, cells := r.cells(f, why, "")
		e := &results.Estimate{Why: why}
		r.After(func() {
			var v []float64
			for _, c := range cells {
				if x, ok := r.Now(c); ok {
					v = append(v, x)
				}
			}
			e.N, e.Undefined = len(v), len(cells)-len(v)
			if sd, ok := stats.SD(v); ok {
				e.Value, e.Why = &sd, ""
			}
		})
		return e
	}
}

// Quantiles are those (each in 0..1) of what a leaf keeps; their n is that of
// another leaf.
func Quantiles(name, n string, q ...float64) []Direct {
	var out []Direct
	for i := range q {
		out = append(out, func(r Row) *results.Estimate {
			x, _ := r.leaf(n)
			c := r.Count(n)
			all := r.memo("quantiles "+name, func() any { return r.Sample.Quantiles(r.Kept(name), q...) })
			return c.Of(all.([]*results.Estimate)[i], r.why(x, c))
		})
	}
	return out
}

// Known is a number without an interval.
func Known(n Count, why string, v float64, ok bool) *results.Estimate {
	e := &results.Estimate{N: n.N, Undefined: n.Undefined, Invalid: n.Invalid, Why: why}
	if ok && !math.IsNaN(v) {
		e.Value, e.Why = &v, ""
	}
	return e
}

// Coverage is the share, in per cent, of the verdicts asked for that are known: of
// a leaf that is Fixed, over its trials and all judges.
func Coverage(name string) Direct {
	return func(r Row) *results.Estimate {
		usable, asked := 0.0, 0
		by := r.Fractions(name)
		for _, f := range slices.Concat(by...) {
			usable += r.Sample.Sum(f.Den)
		}
		_, tallies := r.leaf(name)
		for _, y := range tallies {
			asked += int(r.Sample.Sum(y.fixed)) * len(by)
		}
		return Known(Count{N: asked}, "no judge was asked", 100*usable/float64(asked), asked > 0)
	}
}

// Total is the sum of a leaf over all judges; n is the known scores.
func Total(name string) Direct {
	return func(r Row) *results.Estimate {
		var num, den float64
		for _, f := range slices.Concat(r.Fractions(name)...) {
			num += r.Sample.Sum(f.Num)
			den += r.Sample.Sum(f.Den)
		}
		return Known(Count{N: int(den)}, "", num, true)
	}
}

// Paired counts items by what most of their known scores say, over judges and
// repeats, in two groups.
type Paired struct {
	OnlyA, OnlyB, Both, Neither, Undecided int

	scored, unscored int       // items with a known score in both groups, and those without
	less             []float64 // by cluster, the sum of the items' own means in a less those in b
}

// PairedBy counts the items that have trials in both groups, of a leaf of 0 and 1
// that is Fixed.
func PairedBy(a, b Group, name string) Paired {
	var p Paired
	hitsA, knownA, trialsA := a.votes(name)
	hitsB, knownB, trialsB := b.votes(name)
	sums := map[int]float64{}
	for i := range hitsA {
		switch {
		case trialsA[i] == 0 || trialsB[i] == 0:
		case knownA[i] == 0 || knownB[i] == 0:
			p.unscored++
		default:
			p.scored++
			sums[a.Sample.cluster[i]] += hitsA[i]/knownA[i] - hitsB[i]/knownB[i]
		}
		x, ok := majority(hitsA[i], knownA[i])
		y, okB := majority(hitsB[i], knownB[i])
		switch {
		case trialsA[i] == 0 || trialsB[i] == 0:
		case !ok || !okB:
			p.Undecided++
		case x && y:
			p.Both++
		case x:
			p.OnlyA++
		case y:
			p.OnlyB++
		default:
			p.Neither++
		}
	}
	p.flip(sums)
	return p
}

// flip takes differences by cluster.
func (p *Paired) flip(sums map[int]float64) {
	for _, c := range slices.Sorted(maps.Keys(sums)) {
		p.less = append(p.less, sums[c])
	}
}

// votes are, of each item, the sum of a leaf that is Fixed and the scores that are known,
// over judges, and the trials.
func (g Group) votes(name string) (hits, known, trials []float64) {
	_, tallies := g.leaf(name)
	hits, known, trials = make([]float64, g.Sample.N()), make([]float64, g.Sample.N()), make([]float64, g.Sample.N())
	for _, f := range slices.Concat(g.Fractions(name)...) {
		g.Sample.into(hits, f.Num)
		g.Sample.into(known, f.Den)
	}
	for _, y := range tallies {
		g.Sample.into(trials, y.fixed)
	}
	return hits, known, trials
}

// Decided is the items that are not undecided.
func (p Paired) Decided() int { return p.OnlyA + p.OnlyB + p.Both + p.Neither }

// Test is p of no difference: sign flips of clusters of the items' own means, over judges and
// repeats (stats.SignFlips). Where every cluster is one item of one score it is McNemar's mid-p.
func (p Paired) Test() *results.Estimate {
	e := Known(Count{N: p.scored, Invalid: p.unscored}, "no item has a known score in both", stats.SignFlips(p.less), p.scored > 0)
	e.Clusters = len(p.less)
	return e
}

// Tested is a test of no difference of a leaf between two groups.
type Tested struct {
	P    *results.Estimate // as Paired.Test; n: items with a known score in both
	More float64           // the sum over those items of the first's own mean less the second's
}

// TestOf tests two groups of one model.
func TestOf(a, b Group, name string) Tested {
	hitsA, knownA, _ := a.votes(name)
	hitsB, knownB, _ := b.votes(name)
	var p Paired
	sums, more := map[int]float64{}, 0.
	for i := range hitsA {
		if knownA[i] > 0 && knownB[i] > 0 {
			p.scored++
			less := hitsA[i]/knownA[i] - hitsB[i]/knownB[i]
			sums[a.Sample.cluster[i]] += less
			more += less
		}
	}
	p.flip(sums)
	return Tested{p.Test(), more}
}

// TestColumns are p, and p corrected for all rows of the table (Run.Table).
func TestColumns(help string, of func(Row) Tested) []Metric {
	return []Metric{
		{Column: results.Column{Name: columnP, Title: "p", Digits: 4, Help: help + ": " + TestHelp}, Of: Direct(func(r Row) *results.Estimate { return of(r).P })},
		{Column: results.Column{Name: results.PairHolm, Title: "Holm p", Digits: 4, Help: holmHelp}, Of: Direct(func(r Row) *results.Estimate {
			e := *of(r).P
			e.Value = nil
			return &e
		})},
	}
}

// columnP is the name of a column of p.
const columnP = "p"

const holmHelp = "p corrected for all rows of this table (Holm)"

// correct fills a table's column of Holm p, where it has one, from that of p.
func correct(t results.Table) {
	at := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == name })
	}
	p, holm := at(columnP), at(results.PairHolm)
	if p < 0 || holm < 0 {
		return
	}
	var tests []*float64
	for _, row := range t.Rows {
		tests = append(tests, row[p].Estimate.Value)
	}
	for i, v := range stats.Holm(tests) {
		e := t.Rows[i][holm].Estimate
		if e.Value = v; v != nil {
			e.Why = ""
		}
	}
}

// Repeats is what a metric is of each repeat by itself.
type Repeats struct {
	Values  []float64
	Without int // repeats that have no value
}

// ByRepeat is the mean of a leaf that has Repeats, in per cent, of each repeat.
func ByRepeat(g Group, name string) Repeats {
	var out Repeats
	x, tallies := g.leaf(name)
	for _, n := range g.Repeats() {
		hits, known := make([]float64, len(x.by)), make([]float64, len(x.by))
		for _, y := range tallies {
			for j, by := range y.repeats {
				if s := by[n]; s != nil {
					hits[j], known[j] = hits[j]+s[0], known[j]+s[1]
				}
			}
		}
		if v, ok := OverJudges(hits, known, 100); ok {
			out.Values = append(out.Values, v)
		} else {
			out.Without++
		}
	}
	return out
}

// Over is a summary of the repeats' values: false where it does not exist.
func (r Repeats) Over(why string, f func([]float64) (float64, bool)) *results.Estimate {
	v, ok := f(r.Values)
	return Known(Count{N: len(r.Values), Undefined: r.Without}, why, v, ok)
}

// Bound says which end of what is not known is taken.
type Bound int

// Bounds of Both.
const (
	Middle Bound = iota // as those that are known
	Least               // none of it
	Most                // all of it
)

// Both is the share, in per cent, of a leaf's trials on which it holds and another leaf,
// judged where it holds, does too. why is said without a trial, none without a verdict.
func Both(first, second string, bound Bound, why, none string) Sum {
	return func(g Group) GroupValue {
		a, b := g.Fractions(first), g.Fractions(second)
		return GroupValue{Count: g.Count(first), Why: why, Else: none, Uses: slices.Concat(slices.Concat(a...), slices.Concat(b...)),
			Of: func(sums []float64) (float64, bool) {
				var h, k, h2, k2 [few]float64
				hits, n := a.add(sums, h[:0], k[:0])
				also, judged := b.add(sums, h2[:0], k2[:0])
				v, least, most, ok, bounded := bothOf(n[0], hits[0], also, judged)
				return [...]float64{v, least, most}[bound], [...]bool{ok, bounded, bounded}[bound]
			}}
	}
}

// Kappa is Cohen's kappa of two raters: counts[i][j] is a leaf whose sum is how often the
// first said i and the second j of the same. none is said where it does not exist.
func Kappa(counts [][]string, w stats.Weights, none string) Sum {
	return Pairs(counts, none, func(table [][]int) (float64, bool) {
		k, why := stats.Kappa(table, w)
		return k, why == ""
	})
}

// Pairs is any number that follows from the table of two raters.
func Pairs(counts [][]string, none string, of func(table [][]int) (float64, bool)) Sum {
	return func(g Group) GroupValue {
		v := Mean(counts[0][0])(g)
		v.Else, v.Uses = none, nil
		by := make([][][]Fraction, len(counts))
		for i, row := range counts {
			for _, leaf := range row {
				by[i] = append(by[i], slices.Concat(g.Fractions(leaf)...))
			}
			v.Uses = append(v.Uses, slices.Concat(by[i]...)...)
		}
		v.Of = func(sums []float64) (float64, bool) {
			table := make([][]int, len(by))
			for i, row := range by {
				table[i] = make([]int, len(row))
				for j, fs := range row {
					for _, f := range fs {
						table[i][j] += int(math.Round(sums[f.Num]))
					}
				}
			}
			return of(table)
		}
		return v
	}
}

// TestHelp says what p is in a column's words.
const TestHelp = "two-sided, of no difference: signs of whole clusters are flipped (items that share an image are one); McNemar's mid-p where no items do"

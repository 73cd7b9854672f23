package agree

import (
	"math"
	"slices"

	"assay/results"
	"assay/results/stats"
)

// fewerDraws is by how much fewer replicates draw raters too: each makes a consensus
// anew.
const fewerDraws = 5

// Options are how agreement is computed.
type Options struct {
	Draws int  // replicates of intervals over clusters of items
	BCa   bool // bias-corrected and accelerated intervals over clusters, not percentiles
}

// view is a part of the rated answers.
type view struct {
	d        *data
	units    []int   // of data.units
	clusters [][]int // of units: what is drawn together
	Options
}

// draw is the bootstrap over clusters.
func (v *view) draw() stats.Bootstrap {
	return stats.Bootstrap{Seed: v.d.Seed, B: v.Draws, Alpha: 0.05}
}

// drawCrossed is the bootstrap over clusters and raters.
func (v *view) drawCrossed() stats.Bootstrap {
	b := v.draw()
	b.B = max(1, b.B/fewerDraws)
	return b
}

// view is the answers of a part; "": all.
func (d *data) view(part string, o Options) *view {
	v := &view{d: d, Options: o}
	at := map[string]int{}
	for i, u := range d.Units {
		if part != "" && u.Part != part {
			continue
		}
		c, ok := at[u.Cluster]
		if !ok {
			c = len(v.clusters)
			at[u.Cluster] = c
			v.clusters = append(v.clusters, nil)
		}
		v.clusters[c] = append(v.clusters[c], len(v.units))
		v.units = append(v.units, i)
	}
	return v
}

// of takes the view's columns.
func (v *view) of(row []stats.Rating) []stats.Rating {
	out := make([]stats.Rating, len(v.units))
	for k, i := range v.units {
		out[k] = row[i]
	}
	return out
}

func (v *view) human(axis string) stats.Ratings {
	var out stats.Ratings
	for _, row := range v.d.Human[axis] {
		out = append(out, v.of(row))
	}
	return out
}

func (v *view) judged(axis, judge string) []stats.Rating { return v.of(v.d.Judged[axis][judge]) }

// among are the clusters of the cases that a statistic is of, as positions in them;
// all keeps those without a case.
func (v *view) among(cases []int, all bool) [][]int {
	at := make([]int, len(v.units))
	for i := range at {
		at[i] = -1
	}
	for k, c := range cases {
		at[c] = k
	}
	var out [][]int
	for _, cluster := range v.clusters {
		var here []int
		for _, c := range cluster {
			if at[c] >= 0 {
				here = append(here, at[c])
			}
		}
		if all || len(here) > 0 {
			out = append(out, here)
		}
	}
	return out
}

// bootstrap is the interval of a statistic of clusters.
func (v *view) bootstrap(clusters [][]int, f func(idx []int) (float64, bool)) stats.Estimate {
	b := v.draw()
	g := stats.Clustered(clusters, f)
	if v.BCa {
		return b.Accelerated(len(clusters), g)
	}
	return b.Stat(len(clusters), g)
}

// estimate is a statistic's as tables show it, of n cases of so many clusters.
func estimate(e stats.Estimate, n, clusters int, why stats.Undefined) *results.Estimate {
	out := &results.Estimate{Value: e.Value, Low: e.Low, High: e.High, N: n, Clusters: clusters, Why: string(e.Why)}
	if e.Value == nil && why != "" {
		out.Why = string(why)
	}
	return out
}

// pairing is two sides' values of the same cases.
type pairing struct {
	x, y  []float64
	cases []int
}

func pairOf(a, b []stats.Rating) pairing {
	var p pairing
	p.x, p.y, p.cases = stats.Both(a, b)
	return p
}

// tau is how two sides agree on the order of cases.
type tau struct {
	*results.Estimate
	p *float64
}

func (v *view) tau(a, b []stats.Rating) tau {
	p := pairOf(a, b)
	t, why := stats.Kendall(p.x, p.y)
	clusters := v.among(p.cases, false)
	out := tau{Estimate: estimate(v.bootstrap(clusters, stats.TauOf(p.x, p.y)), len(p.x), len(clusters), why)}
	if why == "" {
		out.p = &t.P
	}
	return out
}

// consensus is the people's.
func (v *view) consensus(axis string) []stats.Rating {
	z, _ := v.human(axis).Standard()
	if len(z) == 0 {
		return make([]stats.Rating, len(v.units))
	}
	return z.Consensus(nil)
}

// crossed is the interval of a judge's tau with items and raters drawn, and how many
// draws it does not exist for.
func (v *view) crossed(axis, judge string) (*results.Estimate, int) {
	z, used := v.human(axis).Standard()
	var panel stats.Ratings
	for i, row := range z {
		if used[i] {
			panel = append(panel, row)
		}
	}
	judged := v.judged(axis, judge)
	if len(panel) == 0 {
		return &results.Estimate{Why: "no rater tells anything apart"}, 0
	}
	times := make([]int, len(panel))
	e := v.drawCrossed().Crossed(len(v.clusters), len(panel), func(items, raters []int) (float64, bool) {
		clear(times)
		for _, r := range raters {
			times[r]++
		}
		p := pairOf(judged, panel.Consensus(times))
		if len(p.x) == 0 {
			return 0, false
		}
		return stats.Clustered(v.among(p.cases, true), stats.TauOf(p.x, p.y))(items)
	})
	return estimate(e, len(pairOf(judged, v.consensus(axis)).x), len(v.clusters), ""), e.Dropped
}

// panel is a statistic of how people agree among themselves, with its intervals.
func (v *view) panel(axis string, declared int, of func(*stats.Panel) stats.PanelStat) (one, crossed *results.Estimate, degenerate int) {
	r := v.human(axis)
	p := stats.NewPanel(r, declared)
	f := of(p)
	_, why := p.Whole(f)
	n := 0
	for c := range v.units {
		rated := 0
		for _, row := range r {
			if row[c].Given {
				rated++
			}
		}
		if rated > 1 {
			n++
		}
	}
	all := make([]int, len(r))
	for i := range all {
		all[i] = i
	}
	e := v.bootstrap(v.among(upTo(len(v.units)), false), func(idx []int) (float64, bool) {
		x, why := f(idx, all)
		return x, why == ""
	})
	both := v.drawCrossed().Crossed(len(v.clusters), len(r), func(items, raters []int) (float64, bool) {
		var idx []int
		for _, c := range items {
			idx = append(idx, v.clusters[c]...)
		}
		x, why := f(idx, raters)
		return x, why == ""
	})
	return estimate(e, n, len(v.clusters), why), estimate(both, n, len(v.clusters), why), both.Dropped
}

// pair is a statistic of how two sides agree, of the cases that both graded.
func (v *view) pair(two stats.Ratings, grades int, of func(*stats.Panel) stats.PanelStat) *results.Estimate {
	p := stats.NewPanel(two, grades)
	f := of(p)
	_, why := p.Whole(f)
	cases := pairOf(two[0], two[1]).cases
	clusters := v.among(cases, false)
	e := v.bootstrap(clusters, func(idx []int) (float64, bool) {
		at := make([]int, len(idx))
		for i, k := range idx {
			at[i] = cases[k]
		}
		x, why := f(at, []int{0, 1})
		return x, why == ""
	})
	return estimate(e, len(cases), len(clusters), why)
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// kappas are Cohen's, of two sides' grades.
func (v *view) kappa(a axis, first, second []stats.Rating, w stats.Weights) *results.Estimate {
	p := pairOf(first, second)
	k := a.Grades()
	if k == 0 {
		return &results.Estimate{N: len(p.x), Why: "the axis has no grades"}
	}
	table := make([][]int, k)
	for i := range table {
		table[i] = make([]int, k)
	}
	grade := func(x float64) int { return min(k-1, max(0, int(math.Round(x-a.Low)))) }
	f := func(idx []int) (float64, stats.Undefined) {
		for _, row := range table {
			clear(row)
		}
		for _, i := range idx {
			table[grade(p.x[i])][grade(p.y[i])]++
		}
		return stats.Kappa(table, w)
	}
	_, why := f(upTo(len(p.x)))
	clusters := v.among(p.cases, false)
	e := v.bootstrap(clusters, func(idx []int) (float64, bool) {
		x, why := f(idx)
		return x, why == ""
	})
	return estimate(e, len(p.x), len(clusters), why)
}

// macroAxes are those whose mean tau ranks judges.
func (v *view) macroAxes() []axis {
	out := slices.DeleteFunc(slices.Clone(v.d.Axes), func(a axis) bool { return a.Score == "" })
	for _, a := range slices.Clone(out) {
		if a.Derived != nil {
			out = slices.DeleteFunc(out, func(o axis) bool { return slices.Contains(a.Derived.Within, o.Name) })
		}
	}
	return out
}

// macroOf is a judge's mean tau over axes as a statistic of the view's clusters.
func (v *view) macroOf(judge string) (f func(drawn []int) (float64, bool), n int, why stats.Undefined) {
	var parts []func([]int) (float64, bool)
	for _, a := range v.macroAxes() {
		if !slices.Contains(v.d.Judges[a.Name], judge) {
			return nil, 0, "not asked on axis " + stats.Undefined(a.Name)
		}
		p := pairOf(v.judged(a.Name, judge), v.consensus(a.Name))
		if _, why := stats.Kendall(p.x, p.y); why != "" {
			return nil, 0, why + " (axis " + stats.Undefined(a.Name) + ")"
		}
		n = max(n, len(p.x))
		parts = append(parts, stats.Clustered(v.among(p.cases, true), stats.TauOf(p.x, p.y)))
	}
	if len(parts) == 0 {
		return nil, 0, stats.NoCases
	}
	return func(drawn []int) (float64, bool) {
		var s float64
		for _, f := range parts {
			x, ok := f(drawn)
			if !ok {
				return 0, false
			}
			s += x
		}
		return s / float64(len(parts)), true
	}, n, ""
}

func (v *view) macro(judge string) *results.Estimate {
	f, n, why := v.macroOf(judge)
	if why != "" {
		return &results.Estimate{Why: string(why)}
	}
	b := v.draw()
	if v.BCa {
		return estimate(b.Accelerated(len(v.clusters), f), n, len(v.clusters), "")
	}
	return estimate(b.Stat(len(v.clusters), f), n, len(v.clusters), "")
}

// difference is how much more one judge's macro tau is than another's, with the same
// clusters drawn for both.
func (v *view) difference(first, second string) *results.Estimate {
	f, n, why := v.macroOf(first)
	g, _, why2 := v.macroOf(second)
	if why != "" || why2 != "" {
		return &results.Estimate{Why: "one of the two has no macro tau"}
	}
	return estimate(v.draw().Paired(len(v.clusters), f, g), n, len(v.clusters), "")
}

// ceiling is each rater's tau with the consensus of the others.
func (v *view) ceiling(axis string) []tau {
	r := v.human(axis)
	_, used := r.Standard()
	var out []tau
	for i := range r {
		if !used[i] {
			out = append(out, tau{Estimate: &results.Estimate{Why: "all ratings are equal, so that the rater tells nothing apart"}})
			continue
		}
		out = append(out, v.tau(r[i], r.Others(i)))
	}
	return out
}

// equivalence is whether a judge's mean lies within a margin of the people's, as
// scores of 0..100, over some answers.
func (v *view) equivalence(a axis, judge string, margin float64) (e stats.Equivalence, answers int) {
	r, judged := v.human(a.Name), v.judged(a.Name, judge)
	sums, of := make([]float64, len(v.clusters)), make([]float64, len(v.clusters))
	for i, cluster := range v.clusters {
		for _, c := range cluster {
			var sum, k float64
			for _, row := range r {
				if row[c].Given {
					sum, k = sum+row[c].Value, k+1
				}
			}
			if k > 0 && judged[c].Given {
				sums[i] += 100 * (a.Unit(judged[c].Value) - a.Unit(sum/k))
				of[i]++
				answers++
			}
		}
	}
	return stats.TOST(stats.Linearized(sums, of), -margin, margin), answers
}

// people are the mean ratings of axes, as scores of 0..1, of the answers that have one
// on each, and which answers of each cluster they are.
func (v *view) people(axes []string) (scores [][]float64, items [][]int) {
	scores = make([][]float64, len(axes))
	of := make([]axis, len(axes))
	rows := make([]stats.Ratings, len(axes))
	for k, name := range axes {
		rows[k] = v.human(name)
		for _, a := range append(slices.Clone(v.d.protocol.Axes), peoples(v.d.protocol)...) {
			if a.Name == name {
				of[k] = a
			}
		}
	}
	var cases []int
	mean := make([]float64, len(axes))
	for c := range v.units {
		known := true
		for k := range axes {
			var s, n float64
			for _, row := range rows[k] {
				if row[c].Given {
					s, n = s+row[c].Value, n+1
				}
			}
			if known = known && n > 0; known {
				mean[k] = of[k].Unit(s / n)
			}
		}
		if known {
			cases = append(cases, c)
			for k := range axes {
				scores[k] = append(scores[k], mean[k])
			}
		}
	}
	return scores, v.among(cases, false)
}

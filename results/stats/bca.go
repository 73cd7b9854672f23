package stats

import (
	"math"
	"slices"
)

// oneSided says that replicates do not lie on both sides of an estimate.
const oneSided Undefined = "all replicates lie on one side of the estimate"

// bca is the bias-corrected and accelerated interval (Efron 1987) of an estimate,
// from its replicates and its values with each case left out in turn: of 1 - alpha.
// Replicates equal to the estimate count half. Its ends are type 7 quantiles.
// "": it exists.
func bca(value float64, replicates, leftOut []float64, alpha float64) (low, high float64, why Undefined) {
	switch {
	case len(leftOut) < 2:
		return 0, 0, OneCase
	case len(replicates) == 0:
		return 0, 0, NoReplicates
	}
	const hair = rounding
	reps := slices.Clone(replicates)
	slices.Sort(reps)
	if reps[len(reps)-1]-reps[0] < hair || slices.Max(leftOut)-slices.Min(leftOut) < hair {
		return 0, 0, Constant
	}
	var below float64
	for _, r := range reps {
		switch {
		case math.Abs(r-value) < hair:
			below += 0.5
		case r < value:
			below++
		}
	}
	share := below / float64(len(reps))
	if share == 0 || share == 1 {
		return 0, 0, oneSided
	}
	mean, _ := Mean(leftOut)
	var squares, cubes []float64
	for _, v := range leftOut {
		d := mean - v
		squares, cubes = append(squares, d*d), append(cubes, d*d*d)
	}
	a := sum(cubes) / (6 * math.Pow(sum(squares), 1.5))
	z0 := normalQuantile(share)
	at := func(q float64) float64 {
		z := z0 + normalQuantile(q)
		v, _ := SortedQuantile(reps, normalBelow(z0+z/(1-a*z)))
		return v
	}
	return at(alpha / 2), at(1 - alpha/2), ""
}

// Accelerated is Stat with a BCa interval in place of the percentiles.
func (b Bootstrap) Accelerated(n int, f func(idx []int) (float64, bool)) Estimate {
	var reps []float64
	first := true
	e := b.Stat(n, func(idx []int) (float64, bool) {
		v, ok := f(idx)
		if ok && !first {
			reps = append(reps, v)
		}
		first = false
		return v, ok
	})
	e.Low, e.High = nil, nil
	if e.Value == nil || e.Why != "" {
		return e
	}
	var out []float64
	for i := range n {
		idx := slices.DeleteFunc(upTo(n), func(k int) bool { return k == i })
		if v, ok := f(idx); ok {
			out = append(out, v)
		}
	}
	low, high, why := bca(*e.Value, reps, out, b.Alpha)
	if why != "" {
		e.Why = why
		return e
	}
	e.Low, e.High = &low, &high
	return e
}

// Clustered is a statistic of cases as one of clusters of cases, which are drawn
// whole: questions about one picture, answers to one item.
func Clustered(clusters [][]int, f func(idx []int) (float64, bool)) func(drawn []int) (float64, bool) {
	var idx []int
	return func(drawn []int) (float64, bool) {
		idx = idx[:0]
		for _, c := range drawn {
			idx = append(idx, clusters[c]...)
		}
		return f(idx)
	}
}

// Crossed bootstraps a statistic of items and raters, of which each replicate draws
// both, independently of each other. With few raters some draws hold the same one
// only: where the statistic does not exist for them they are counted as dropped.
func (b Bootstrap) Crossed(items, raters int, f func(items, raters []int) (float64, bool)) Estimate {
	idx, who := upTo(items), upTo(raters)
	value, ok := f(idx, who)
	if raters == 0 {
		items = 0
	}
	return b.run(items, value, ok, notDefined, func(rng *SplitMix64) (float64, bool) {
		for i := range idx {
			idx[i] = rng.Index(len(idx))
		}
		for i := range who {
			who[i] = rng.Index(len(who))
		}
		return f(idx, who)
	})
}

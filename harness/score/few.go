package score

import (
	"cmp"
	"math"
	"slices"

	"assay/results/stats"
)

// Few is of how many items, at most, replicates repeat each other so much that it pays
// to look at each different one alone: of six there are 462.
const Few = 6

// repeated is the replicates of few items.
type repeated struct {
	Different [][]uint8 // how often each item was drawn, in the order in which they came
	Of        []uint16  // each replicate: its place among them
	times     []int     // how many are like each
}

// repeat draws b replicates of n items, at most Few: those that Draws draws.
func repeat(n, b int, seed uint64) *repeated {
	if n > Few {
		panic("draws: internal error: too many items to look for replicates that are alike")
	}
	r := &repeated{Of: make([]uint16, b)}
	rng := stats.SplitMix64(seed)
	seen := map[[Few]uint8]uint16{}
	for i := range r.Of {
		var times [Few]uint8
		rng.Tally(times[:n])
		at, known := seen[times]
		if !known {
			at = uint16(len(r.Different))
			seen[times] = at
			r.Different, r.times = append(r.Different, slices.Clone(times[:n])), append(r.times, 0)
		}
		r.Of[i] = at
		r.times[at]++
	}
	return r
}

// Sum writes the sums of all columns over one of the different replicates, each item
// after the other.
func (r *repeated) Sum(different int, columns [][]float64, sums []float64) {
	for j, c := range columns {
		sums[j] = 0
		for item, n := range r.Different[different] {
			sums[j] += float64(n) * c[item]
		}
	}
}

// Ends are the ends of the interval of all replicates that leaves out a tail on either side,
// of the values of the different ones, NaN where there is none; false: there is none at all.
func (r *repeated) Ends(values []float64, tail float64) (low, high float64, ok bool) {
	order := make([]int, 0, len(values))
	n := 0
	for i, v := range values {
		if !math.IsNaN(v) {
			order = append(order, i)
			n += r.times[i]
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	of := func(rank int) float64 {
		for _, i := range order {
			if rank -= r.times[i]; rank < 0 {
				return values[i]
			}
		}
		panic("draws: internal error: a rank beyond all replicates")
	}
	return stats.RankedQuantile(n, tail, of), stats.RankedQuantile(n, 1-tail, of), true
}

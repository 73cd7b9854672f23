package score

import (
	"math"

	"assay/results/stats"
)

// Tails keeps of the replicates of many scores what the ends of their 95 % percentile
// intervals rest on: the lowest and the highest. All of them would be most of a report's
// memory, and writing them down most of the time that simple scores take.
type Tails struct {
	kept       int // of each end
	replicates int
	of         []tails
	// What lies between the two changes neither end; NaN: everything counts.
	floor, roof []float64
}

// tails are those of one score.
type tails struct {
	missing   int       // replicates in which it does not exist
	low, high []float64 // the first of them as many as are kept, or all there are
}

// tailsOf begins those of so many scores and b replicates at most.
func tailsOf(scores, b int) *Tails {
	t := &Tails{
		kept: int(0.025*float64(b)) + 2, // an end lies between two ranks
		of:   make([]tails, scores), floor: make([]float64, scores), roof: make([]float64, scores),
	}
	room := make([]float64, scores*4*t.kept)
	part := func() []float64 {
		p := room[: 0 : 2*t.kept]
		room = room[2*t.kept:]
		return p
	}
	for i := range t.of {
		t.of[i].low, t.of[i].high = part(), part()
		t.floor[i], t.roof[i] = math.NaN(), math.NaN()
	}
	return t
}

// Add takes in a replicate's value of each score, NaN where it does not exist.
func (t *Tails) Add(values []float64) {
	t.replicates++
	floor, roof := t.floor[:len(values)], t.roof[:len(values)]
	for i, v := range values {
		if v >= floor[i] && v <= roof[i] {
			continue
		}
		t.take(i, v)
	}
}

// take keeps a value that is not between floor and roof.
func (t *Tails) take(i int, v float64) {
	x := &t.of[i]
	if math.IsNaN(v) {
		x.missing++
		return
	}
	if !(v >= t.floor[i]) {
		if x.low = append(x.low, v); len(x.low) == 2*t.kept {
			rank(x.low, t.kept-1)
			x.low = x.low[:t.kept]
			t.floor[i] = x.low[t.kept-1]
		}
	}
	if !(v <= t.roof[i]) {
		if x.high = append(x.high, -v); len(x.high) == 2*t.kept {
			rank(x.high, t.kept-1)
			x.high = x.high[:t.kept]
			t.roof[i] = -x.high[t.kept-1]
		}
	}
}

// Ends are the ends of a score's interval that leaves out a tail on either side, at most
// 0.025 of its replicates; false: it exists in none.
func (t *Tails) Ends(i int, tail float64) (low, high float64, ok bool) {
	x := &t.of[i]
	n := t.replicates - x.missing
	if n == 0 {
		return 0, 0, false
	}
	return stats.RankedQuantile(n, tail, func(k int) float64 { return ranked(x.low, k) }),
		stats.RankedQuantile(n, 1-tail, func(k int) float64 { return -ranked(x.high, n-1-k) }), true
}

// ranked is the value of rank k; the others change places.
func ranked(v []float64, k int) float64 {
	rank(v, k)
	return v[k]
}

// rank puts the value of rank k, from 0, to its place, smaller ones before it and
// larger ones behind.
func rank(v []float64, k int) {
	for low, high := 0, len(v)-1; low < high; {
		a, b, c := v[low], v[(low+high)/2], v[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for pivot < v[j] {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

package stats

import (
	"math"
	"math/bits"
	"slices"
)

// SplitMix64 is Steele, Lea and Flood's generator; its value is the state. It
// is used because its output is the same in every language.
type SplitMix64 uint64

// increment is 2^64 over the golden ratio, made odd.
const increment = 0x9e3779b97f4a7c15

// Next is the next 64 random bits.
func (s *SplitMix64) Next() uint64 {
	*s += increment
	return mix(uint64(*s))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Index draws from 0..n-1: the high word of the 128-bit product Next*n.
func (s *SplitMix64) Index(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}

// Tally draws as many of len(counts) items as there are, with replacement, and adds
// each to its count: as so many calls of Index. It panics where a count does not fit.
func (s *SplitMix64) Tally(counts []uint8) {
	state, n := uint64(*s), uint64(len(counts))
	for range counts {
		state += increment
		i, _ := bits.Mul64(mix(state), n)
		counts[i]++
		if counts[i] == 0 {
			panic("stats: internal error: an item was drawn more than 255 times")
		}
	}
	*s = SplitMix64(state)
}

// Bootstrap resamples items, or clusters of them, with replacement, row by row, and takes
// the percentile interval of a statistic. Replicates where the statistic does not
// exist are dropped and counted. Replicates that are all alike give no interval.
type Bootstrap struct {
	Seed  uint64
	B     int     // replicates, > 0
	Alpha float64 // in (0, 1): the interval covers 1 - Alpha
	Plain bool    // percentiles of 1 - Alpha itself, not expanded for few items (TailOf)
}

// Bootstrap95 is an interval of 95 % from b replicates, 10,000 by default (metrics.md
// section 0).
func Bootstrap95(seed uint64, b int) Bootstrap { return Bootstrap{Seed: seed, B: b, Alpha: 0.05} }

// Estimate is a statistic with its interval; a nil field does not exist.
type Estimate struct {
	Value     *float64
	Low, High *float64  // nil also when no replicate was defined
	N         int       // items resampled
	Used      int       // replicates that the interval rests on
	Dropped   int       // replicates left out: the statistic was undefined
	Why       Undefined // why Value or the interval is nil; "": both are there
}

// Stat bootstraps any statistic of n items; f gets the indices of a resample
// (the identity for the value itself), which it must not keep or change.
func (b Bootstrap) Stat(n int, f func(idx []int) (float64, bool)) Estimate {
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	value, ok := f(idx)
	return b.run(n, value, ok, notDefined, func(rng *SplitMix64) (float64, bool) {
		for i := range idx {
			idx[i] = rng.Index(n)
		}
		return f(idx)
	})
}

// Paired bootstraps first - second with one draw of items for both sides.
func (b Bootstrap) Paired(n int, first, second func(idx []int) (float64, bool)) Estimate {
	return b.Stat(n, func(idx []int) (float64, bool) {
		x, ok := first(idx)
		if !ok {
			return 0, false
		}
		y, ok := second(idx)
		return x - y, ok
	})
}

// Sums bootstraps a function of column sums over the items: accuracies,
// differences of means, ratios of sums, F1 of two averages. An item that lacks
// a quantity has 0 in that column and in the column that counts it. All columns
// have one value per item. It is several times faster than Stat.
func (b Bootstrap) Sums(cols [][]float64, f func(sums []float64) (float64, bool)) Estimate {
	if len(cols) == 0 {
		panic("stats: internal error: a bootstrap without columns")
	}
	n, k := len(cols[0]), len(cols)
	sums := make([]float64, k)
	// Row-major, so that one draw touches one cache line.
	rows := make([]float64, n*k)
	for j, c := range cols {
		if len(c) != n {
			panic("stats: internal error: columns of different lengths")
		}
		for i, x := range c {
			rows[i*k+j] = x
		}
		sums[j] = sum(c)
	}
	value, ok := f(sums)
	return b.run(n, value, ok, ZeroDivisor, func(rng *SplitMix64) (float64, bool) {
		s := *rng
		switch k {
		case 1:
			var t float64
			for range n {
				t += rows[s.Index(n)]
			}
			sums[0] = t
		case 2:
			var t, u float64
			for range n {
				at := 2 * s.Index(n)
				r := rows[at : at+2]
				t += r[0]
				u += r[1]
			}
			sums[0], sums[1] = t, u
		default:
			clear(sums)
			for range n {
				at := k * s.Index(n)
				for j, x := range rows[at : at+k] {
					sums[j] += x
				}
			}
		}
		*rng = s
		return f(sums)
	})
}

// Ratio bootstraps sum(num)/sum(den), such as a mean over the items that have a
// value (den 1 there and 0 elsewhere). It is undefined where sum(den) is 0.
func (b Bootstrap) Ratio(num, den []float64) Estimate {
	return b.Sums([][]float64{num, den}, func(s []float64) (float64, bool) {
		if s[1] == 0 {
			return 0, false
		}
		return s[0] / s[1], true
	})
}

func (b Bootstrap) run(n int, value float64, ok bool, why Undefined, next func(*SplitMix64) (float64, bool)) Estimate {
	if b.B <= 0 || !(b.Alpha > 0 && b.Alpha < 1) {
		panic("stats: internal error: a bootstrap without replicates or with alpha outside (0, 1)")
	}
	e := Estimate{N: n}
	if n == 0 {
		why = NoCases
	}
	if ok {
		e.Value = &value
	} else {
		e.Why = why
		return e
	}
	if n == 0 {
		return e
	}
	reps := make([]float64, 0, b.B)
	rng := SplitMix64(b.Seed)
	for range b.B {
		if v, ok := next(&rng); ok {
			reps = append(reps, v)
		}
	}
	e.Used, e.Dropped = len(reps), b.B-len(reps)
	if len(reps) == 0 {
		e.Why = NoReplicates
		return e
	}
	slices.Sort(reps)
	tail := b.Alpha / 2
	if !b.Plain {
		if n < 2 {
			e.Why = OneCluster
			return e
		}
		tail = tailOf(n, b.Alpha)
	}
	lo, _ := SortedQuantile(reps, tail)
	hi, _ := SortedQuantile(reps, 1-tail)
	if !b.Plain && Same(lo, hi) {
		e.Why = Constant
		return e
	}
	lo, hi = Settled(lo), Settled(hi)
	e.Low, e.High = &lo, &hi
	return e
}

// Same says whether two numbers differ by no more than rounding does, in whatever decides what is printed: sums of equal values
// in another order.
func Same(a, b float64) bool {
	return math.Abs(a-b) <= rounding*max(1, math.Abs(a), math.Abs(b))
}

// Settled is a number, or 0 where it is no more than rounding leaves of equal ones: no value,
// difference or bound of ours that exists is so small. A p may be.
func Settled(v float64) float64 {
	if Same(v, 0) {
		return 0
	}
	return v
}

package score

import (
	"cmp"
	"math"
	"slices"

	"assay/results"
)

// Observation is a value that belongs to an item; an item may have several.
type Observation struct {
	Item  int
	Value float64
}

// Quantiles adds the q-quantiles (each in 0..1) of observations.
//
// The value is Hyndman and Fan's type 7, as stats.Quantile. Replicates are type
// 6, whose rank is right on average for the population that the observations come
// from: with type 7, the interval of a 95th percentile lies too low. The median
// is the same in both.
func (s *PairSample) Quantiles(obs []Observation, q ...float64) []*results.Estimate {
	o := ordered(slices.Clone(obs))
	slices.SortFunc(o, func(a, b Observation) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Item, b.Item)) })
	all := s.Column()
	for _, x := range o {
		s.Add(all, x.Item, 1)
	}
	// In a replicate, a quantile lies near that of the observations themselves. How
	// many are drawn of those below is a column's sum, and from there it is not far.
	from, below := make([]int, len(q)), make([]int, len(q))
	for k, p := range q {
		from[k], below[k] = int(p*float64(len(obs))), s.Column()
		for _, x := range o[:from[k]] {
			s.Add(below[k], x.Item, 1)
		}
	}
	replicate := false // the value itself is computed first
	list := s.Several(len(q), func(sums []float64, w []uint8, out []float64) {
		n := int64(sums[all])
		for k, p := range q {
			if n == 0 {
				out[k] = math.NaN()
				continue
			}
			h := float64(n-1) * p
			if replicate {
				h = min(max(float64(n+1)*p-1, 0), float64(n-1))
			}
			low := int64(h)
			a, b := o.at(w, from[k], int64(sums[below[k]]), low, low+1 < n)
			out[k] = a
			if f := h - float64(low); f > 0 {
				out[k] += f * (b - a)
			}
		}
		replicate = true
	})
	for _, e := range list {
		e.N = len(obs)
		s.Rests(e, nil, all)
	}
	return list
}

// ordered are observations in ascending order.
type ordered []Observation

// at is the drawn observation of a rank, from 0, and the one behind it where there is
// more; below is how many are drawn of those before the observation from.
func (o ordered) at(w []uint8, from int, below, rank int64, more bool) (this, next float64) {
	i, left := from, rank-below
	for left < 0 {
		i--
		left += int64(w[o[i].Item])
	}
	for ; left >= int64(w[o[i].Item]); i++ {
		left -= int64(w[o[i].Item])
	}
	this = o[i].Value
	if !more || left+1 < int64(w[o[i].Item]) {
		return this, this
	}
	for i++; w[o[i].Item] == 0; i++ {
	}
	return this, o[i].Value
}

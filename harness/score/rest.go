package score

import (
	"assay/results"
	"assay/results/stats"
)

// Rest is what a share in per cent leaves of 100.
func Rest(f Sum) Sum {
	less := Then(f, func(x float64) (float64, bool) { return 100 - x, true })
	return func(g Group) GroupValue {
		v := less(g)
		v.Share = nil // of the other part
		if ends := v.Ends; ends != nil {
			v.Ends = func(c clusters) (low, high float64, why stats.Undefined) {
				if low, high, why = ends(c); why == "" {
					low, high = 100-high, 100-low
				}
				return low, high, why
			}
		}
		return v
	}
}

// Plus is the sum of two of the same cases: a bound, without an interval.
func Plus(a, b Sum) Direct {
	return func(r Row) *results.Estimate {
		x, y := a(r.Group), b(r.Group)
		e := Known(x.Count, x.Why, 0, false)
		r.After(func() {
			u, ok := r.Now(x)
			v, okV := r.Now(y)
			if s := u + v; ok && okV {
				e.Value, e.Why = &s, ""
			}
		})
		return e
	}
}

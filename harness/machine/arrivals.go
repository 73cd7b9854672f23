package machine

import (
	"maps"
	"math"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// arrivals counts lags by size, sixteen sizes to a doubling, so that a block of
// any length takes little memory.
type arrivals struct {
	results.Arrivals
	sizes map[int]int
	lags  int
}

func (a *arrivals) add(f results.Flight) {
	switch f.Stamps {
	case timing.StampsKernel:
		a.Kernel++
	case timing.StampsUser:
		a.User++
		return
	default:
		return
	}
	if a.sizes == nil {
		a.sizes = map[int]int{}
	}
	for _, p := range f.Chunks {
		a.Chunks++
		if p.Shared {
			a.Shared++
			continue
		}
		size := -1
		if p.Lag > 0 {
			size = int(math.Round(16 * math.Log2(float64(p.Lag))))
		}
		a.sizes[size]++
		a.lags++
		a.Longest = max(a.Longest, p.Lag)
	}
}

// sum is nil where nothing was seen.
func (a *arrivals) sum() *results.Arrivals {
	if a.Kernel+a.User == 0 {
		return nil
	}
	out := a.Arrivals
	out.Median, out.P99 = a.quantile(.5), a.quantile(.99)
	return &out
}

func (a *arrivals) quantile(q float64) time.Duration {
	left := int(math.Ceil(q * float64(a.lags)))
	for _, size := range slices.Sorted(maps.Keys(a.sizes)) {
		if left -= a.sizes[size]; left <= 0 {
			if size < 0 {
				return 0
			}
			return min(time.Duration(math.Exp2(float64(size)/16)), a.Longest)
		}
	}
	return 0
}

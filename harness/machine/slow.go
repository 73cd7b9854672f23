package machine

import (
	"cmp"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// gapOf is how far apart samples at a rate may be before nothing is known in between.
func gapOf(hz int) time.Duration { return time.Second / time.Duration(max(hz, 1)) * 5 / 2 }

// slowness is when and why a device ran slower than it could: each sample counts
// until the next one.
type slowness struct {
	far   time.Duration // from one sample to the next; further apart is a gap
	spans []slow
}

type slow struct {
	timing.Window
	bits int64
}

// add takes the next sample. Samples that say the same are one span.
func (s *slowness) add(x telemetry.Sample) {
	bits, ok := x.Get(telemetry.Throttle)
	if !ok {
		return
	}
	if n := len(s.spans); n > 0 {
		last := &s.spans[n-1]
		if gap := x.At - last.To; gap <= s.far {
			last.To = x.At
			if last.bits == bits {
				return
			}
		}
	}
	s.spans = append(s.spans, slow{timing.Window{From: x.At, To: x.At}, bits})
}

// throttled is the share of the time in windows, which may overlap, in which the
// devices of a group ran slower, by reason; nil: nothing is known of it.
func throttled(group []*device, ws []timing.Window) *results.Throttled {
	ws = union(ws)
	out := &results.Throttled{}
	shares := []struct {
		bit int64
		to  *float64
	}{{telemetry.ThrottlePower, &out.Power}, {telemetry.ThrottleThermal, &out.Thermal}, {telemetry.ThrottleHardware, &out.Hardware}, {telemetry.ThrottleOther, &out.Other}}
	for _, d := range group {
		i := 0
		for _, w := range ws {
			for i < len(d.slow.spans) && d.slow.spans[i].To <= w.From {
				i++
			}
			for _, s := range d.slow.spans[i:] {
				if s.From >= w.To {
					break
				}
				t := min(s.To, w.To) - max(s.From, w.From)
				out.Of += t
				for _, r := range shares {
					if s.bits&r.bit != 0 {
						*r.to += float64(t)
					}
				}
			}
		}
	}
	if out.Of <= 0 {
		return nil
	}
	for _, r := range shares {
		*r.to /= float64(out.Of)
	}
	return out
}

// union is the time that windows cover, in order.
func union(ws []timing.Window) []timing.Window {
	sorted := slices.SortedFunc(slices.Values(ws), func(a, b timing.Window) int { return cmp.Compare(a.From, b.From) })
	var out []timing.Window
	for _, w := range sorted {
		if n := len(out); n > 0 && w.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, w.To)
		} else {
			out = append(out, w)
		}
	}
	return out
}

package runner

import (
	"context"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// moment is the same instant on both clocks.
type moment struct {
	wall time.Time     // without a monotonic reading
	mono time.Duration // on the run's clock
}

func (r *run) moment() moment {
	if r.job.wall != nil {
		return moment{r.job.wall(), r.job.Clock.Now()}
	}
	now := time.Now() // one reading of both
	return moment{now.Round(0), r.job.Clock.At(now)}
}

// jumped says whether the wall clock was set between two moments, or the machine
// slept. Arrival stamps come from the wall clock, so then they may be wrong. A
// clock that is only steered runs at most 0.05 % fast or slow.
func jumped(from, to moment) bool {
	mono := to.mono - from.mono
	drift := to.wall.Sub(from.wall) - mono
	return drift.Abs() > 2*time.Millisecond+mono/1000
}

// disturbances are the flags of a timed attempt that its responses do not show.
func (b *block) disturbances(a results.Attempt, before moment) []results.Flag {
	var out []results.Flag
	if jumped(before, b.run.moment()) {
		out = append(out, results.FlagClockJump)
	}
	if w := b.run.job.Watch; w != nil {
		for _, turn := range a.Turns {
			from, ok := turn.Trace.At(timing.Start)
			if !ok {
				continue
			}
			to, ok := turn.Trace.At(timing.End)
			if !ok {
				to = b.run.job.Clock.Now()
			}
			for _, f := range w.Flags(from, to) {
				if !slices.Contains(out, f) {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// lookEvery is how often a cool-down looks at the temperature.
const lookEvery = time.Second

// coolDown is the pause before a timed attempt. An unknown temperature may be
// too high. The error is that ctx ended.
func (b *block) coolDown(ctx context.Context, set Settings) error {
	c := set.CoolDown
	for left := c.For; set.Timed && left > 0; left -= lookEvery {
		pause := left
		if c.To != nil {
			if t, ok := b.run.job.Watch.(Thermometer).Temperature(); ok && t <= *c.To {
				return nil
			}
			pause = min(left, lookEvery)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		if c.To == nil {
			return nil
		}
	}
	return nil
}

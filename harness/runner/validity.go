package runner

import (
	"context"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// moment is the same instant on all clocks.
type moment struct {
	wall  time.Time     // without a monotonic reading
	mono  time.Duration // on the run's clock
	other *timing.Clocks
}

func (r *run) moment() moment {
	m := moment{}
	look := timing.LookAtClocks
	if r.job.clocks != nil {
		look = r.job.clocks
	}
	if c, ok := look(); ok {
		m.other = &c
	}
	if r.job.wall != nil {
		m.wall, m.mono = r.job.wall(), r.job.Clock.Now()
		return m
	}
	now := time.Now() // one reading of both
	m.wall, m.mono = now.Round(0), r.job.Clock.At(now)
	return m
}

// clockFlags say what happened to the clocks between two moments: the machine
// slept, the clock was steered, the wall clock was set. Arrival stamps come from
// the wall clock, so then they may be wrong; one that is only steered runs at most
// 0.05 % fast or slow.
func clockFlags(from, to moment) []results.Flag {
	var out []results.Flag
	mono := to.mono - from.mono
	drift := to.wall.Sub(from.wall) - mono
	if from.other != nil && to.other != nil {
		if slept := to.other.Slept(*from.other); slept > 0 {
			drift -= slept // the wall clock does not sleep
			out = append(out, results.FlagStopped)
		}
		if to.other.Slewed(*from.other) {
			out = append(out, results.FlagClockSlewed)
		}
	}
	if drift.Abs() > 2*time.Millisecond+mono/1000 {
		out = append(out, results.FlagClockJump)
	}
	return out
}

// disturbances are the flags of a timed attempt that its responses do not show.
func (b *block) disturbances(a results.Attempt, before moment) []results.Flag {
	now := b.run.moment()
	out := clockFlags(before, now)
	if !slices.Contains(out, results.FlagStopped) && b.still.Stood(before.mono, now.mono) {
		out = append(out, results.FlagStopped)
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

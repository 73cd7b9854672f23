package run

import (
	"context"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

func (r *run) moment() moment {
	m := moment{}
	look := timing.LookAtClocks
	if r.job.clocks != nil {
		look = r.job.clocks
	}
	if c, ok := look(); ok {
		m.Other = &c
	}
	if r.job.wall != nil {
		m.Wall, m.Mono = r.job.wall(), r.job.Clock.Now()
		return m
	}
	now := time.Now() // one reading of both
	m.Wall, m.Mono = now.Round(0), r.job.Clock.At(now)
	return m
}

// disturbances are the flags of a timed attempt that its responses do not show.
func (b *block) disturbances(a results.Attempt, before moment) []results.Flag {
	now := b.run.moment()
	out := clockFlags(before, now)
	if !slices.Contains(out, results.FlagStopped) && b.still.Stood(before.Mono, now.Mono) {
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
		if c.Celsius != nil {
			if t, ok := b.run.job.Watch.(thermometer).Temperature(); ok && t <= *c.Celsius {
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
		if c.Celsius == nil {
			return nil
		}
	}
	return nil
}

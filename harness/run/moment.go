package run

import (
	"time"

	"assay/results"
	"assay/timing"
)

// moment is the same instant on all clocks.
type moment struct {
	Wall  time.Time      // without a monotonic reading
	Mono  time.Duration  // on the run's clock
	Other *timing.Clocks // nil: the machine does not show them
}

// clockFlags say what happened to the clocks between two moments: the machine
// slept, the clock was steered, the wall clock was set. Arrival stamps come from
// the wall clock, so then they may be wrong; one that is only steered runs at most
// 0.05 % fast or slow.
func clockFlags(from, to moment) []results.Flag {
	var out []results.Flag
	mono := to.Mono - from.Mono
	drift := to.Wall.Sub(from.Wall) - mono
	if from.Other != nil && to.Other != nil {
		if slept := to.Other.Slept(*from.Other); slept > 0 {
			drift -= slept // the wall clock does not sleep
			out = append(out, results.FlagStopped)
		}
		if to.Other.Slewed(*from.Other) {
			out = append(out, results.FlagClockSlewed)
		}
	}
	if drift.Abs() > 2*time.Millisecond+mono/1000 {
		out = append(out, results.FlagClockJump)
	}
	return out
}

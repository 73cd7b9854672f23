package exporter

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
)

// longest is what an exporter waited for may take between figures: twice what DCGM's does
// unless told otherwise.
const longest = time.Minute

// Doubt collects from a device's samples what its blocks' energies rest on. The zero
// Doubt has seen none.
type Doubt struct {
	low, high float64 // mW
	any       bool
	counts    bool             // there is a counter
	last      telemetry.Sample // with new figures
	between   time.Duration    // from the new figures before to those
}

// Add takes in the next sample.
func (d *Doubt) Add(s telemetry.Sample) {
	if v, ok := s.Get(telemetry.PowerInstant); ok {
		d.see(float64(v))
	}
	of := telemetry.PowerInstant
	if _, ok := s.Get(telemetry.Energy); ok || d.counts {
		of, d.counts = telemetry.Energy, true
	}
	now, ok := s.Get(of)
	old, before := d.last.Get(of)
	if !ok || before && now == old {
		return
	}
	if before {
		d.between = s.At - d.last.At
		if d.counts && now > old {
			d.see(float64(now-old) / 1000 / d.between.Seconds())
		}
	}
	d.last = s
}

func (d *Doubt) see(mw float64) {
	if !d.any {
		d.low, d.high, d.any = mw, mw, true
	}
	d.low, d.high = min(d.low, mw), max(d.high, mw)
}

// Wait is how long it takes until an exporter has told what was until now, by what was
// sampled of one of its devices; 0 of another device.
func Wait(of telemetry.Device, samples iter.Seq[telemetry.Sample]) time.Duration {
	if !of.Remote {
		return 0
	}
	var d Doubt
	for s := range samples {
		d.Add(s)
	}
	return min(d.between, longest) + 2*every
}

// Of is a block's energy with what an exporter adds to its uncertainty: a figure is up
// to one interval of the exporter older than it seems, so that as much of the block may be
// missing at its end, and as much of what was before be in it. What the exporter does not
// tell from end to end is unknown (false): power that was not read is not to be had any more.
func (d *Doubt) Of(e timing.Energy) (timing.Energy, bool) {
	has := func(f timing.EnergyFlag) bool { return slices.Contains(e.Flags, f) }
	switch {
	case e.Unknown != "":
	case has(timing.FlagStuck):
		e.Unknown = "the exporter repeated itself for a while"
	case d.counts && e.Method == timing.ByPower:
		e.Unknown = "the exporter's counter of energy does not cover the block"
	case has(timing.FlagGap) && e.Method != timing.ByCounter:
		e.Unknown = "the exporter was silent for a while, and no counter went on meanwhile"
	case e.Ticks < 2:
		e.Unknown = fmt.Sprintf("the exporter had new figures only %d times in the block: ask for more answers, or have it collect more often", e.Ticks)
	}
	e = e.Doubted(timing.Milliwatts(d.high - d.low).Over(max(e.Tick, time.Second)))
	return e, e.Unknown == ""
}

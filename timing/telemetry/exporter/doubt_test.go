package exporter

import (
	"math"
	"slices"
	"testing"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
)

// A block's joules are right within what is said of them, or unknown, whatever befalls the
// exporter: never less than what was drawn.
func TestBlocksOfAnExporter(t *testing.T) {
	const trials, busy, pause, begin = 20, 4 * time.Second, 2 * time.Second, 30 * time.Second
	const end = begin + trials*(busy+pause) - pause
	within := func(from, to int) func(time.Duration) bool { // seconds of the block
		return func(at time.Duration) bool {
			return at >= begin+time.Duration(from)*time.Second && at < begin+time.Duration(to)*time.Second
		}
	}
	never := func(time.Duration) bool { return false }
	energy := func(at time.Duration) float64 { // J since the clock's origin: 60 W, and 240 W more for an answer
		j := 60 * at.Seconds()
		for i := range trials {
			from := begin + time.Duration(i)*(busy+pause)
			j += 240 * max(0, min(at, from+busy)-from).Seconds()
		}
		return j
	}
	var windows []timing.Window
	for i := range trials {
		from := begin + time.Duration(i)*(busy+pause)
		windows = append(windows, timing.Window{From: from, To: from + busy})
	}
	for _, c := range []struct {
		name     string
		every    time.Duration // between its figures
		late     time.Duration // so old is each when it is told first
		uncounts bool          // it has no counter
		unpowers bool          // it has nothing else
		silent   func(time.Duration) bool
		hangs    func(time.Duration) bool // tells its last figures again
		restarts time.Duration            // 0: never
		want     float64                  // the relative uncertainty may be so much; 0: the block is unknown
	}{
		{name: "every second", every: time.Second, want: .02},
		{name: "every ten seconds", every: 10 * time.Second, want: .15},
		{name: "and ten seconds late", every: 10 * time.Second, late: 10 * time.Second, want: .15},
		{name: "a counter alone, a second late", every: time.Second, late: time.Second, unpowers: true, want: .03},
		{name: "once in the block", every: 80 * time.Second},
		{name: "silent while the counter goes on", every: time.Second, silent: within(10, 22), want: .02},
		{name: "a restart", every: time.Second, restarts: begin + 15*time.Second, want: .05},
		{name: "a restart of a counter alone", every: time.Second, unpowers: true, restarts: begin + 15*time.Second},
		{name: "a restart while it is silent", every: time.Second, silent: within(10, 22), restarts: begin + 15*time.Second},
		{name: "it dies", every: time.Second, silent: within(60, 10000)},
		{name: "it hangs for a while", every: time.Second, hangs: within(40, 60)},
		{name: "it hangs at the end", every: time.Second, hangs: within(114, 10000)},
		{name: "power alone", every: time.Second, uncounts: true, want: .06},
		{name: "power alone, silent", every: time.Second, uncounts: true, silent: within(10, 22)},
		{name: "power alone, and it hangs", every: time.Second, uncounts: true, hangs: within(10, 22)},
	} {
		if c.silent == nil {
			c.silent = never
		}
		if c.hangs == nil {
			c.hangs = never
		}
		var samples []telemetry.Sample
		var d Doubt
		add := func(s telemetry.Sample) {
			d.Add(s)
			samples = append(samples, s)
		}
		about := telemetry.Device{Remote: true}
		stop := end
		for now := time.Duration(0); now < stop; now += time.Second { // it is asked once a second
			if now+time.Second >= end && stop == end {
				stop += Wait(about, slices.Values(samples))
			}
			s := telemetry.Sample{At: now}
			if n := len(samples); c.hangs(now) {
				if !c.uncounts { // else a figure that does not change is not read
					s = samples[n-1]
					s.At = now
					add(s)
				}
				continue
			}
			if c.silent(now) {
				continue
			}
			of, base := max(0, now.Truncate(c.every)-c.late), 0.
			if c.restarts > 0 && now >= c.restarts {
				base = energy(c.restarts)
			}
			if !c.uncounts {
				s.Set(telemetry.Energy, int64(1e6*(energy(of)-base)))
			}
			if !c.unpowers {
				s.Set(telemetry.PowerInstant, int64(1e3*(energy(of)-energy(of-100*time.Millisecond))/.1)+int64(len(samples)%2))
			}
			add(s)
		}
		m, err := timing.NewMeter(telemetry.Readings(about, slices.Values(samples)))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := m.Stepped(windows).Block(windows)
		e, ok := d.Of(b.Energy)
		truth := energy(end) - energy(begin)
		got, off := float64(e.Gross)/1000, float64(e.Uncertainty)/1000
		t.Logf("%s: %.0f J +/- %.0f, the truth is %.0f; %v, %d ticks; unknown: %q", c.name, got, off, truth, e.Flags, e.Ticks, e.Unknown)
		switch {
		case c.want == 0 && (ok || e.Unknown == ""):
			t.Errorf("%s: %.0f J of %.0f, and nothing told all of them", c.name, got, truth)
		case ok && off < (300-60)*c.every.Seconds():
			t.Errorf("%s: +/- %.0f J; as much as %v of the answer's power may be missing", c.name, off, c.every)
		case c.want > 0 && (!ok || math.Abs(got-truth) > off || off > c.want*truth):
			t.Errorf("%s: %.0f J +/- %.0f (%s), the truth is %.0f", c.name, got, off, e.Unknown, truth)
		}
	}
	if w := Wait(telemetry.Device{}, nil); w != 0 {
		t.Errorf("a GPU of this machine is waited for, %v", w)
	}
}

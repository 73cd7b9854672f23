package machine_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/machine"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// elsewhere is a GPU of another machine: an exporter says once a second what its counter
// and its power were up to a second ago.
type elsewhere struct{ *fake }

func (e elsewhere) Describe() telemetry.Device {
	d := e.fake.Describe()
	d.Remote = true
	return d
}

// A server elsewhere whose GPU an exporter tells once a second: the block's joules are
// right within what is said of them, or unknown, although the run ends with its last
// answer; no single answer has any, and a GPU of this machine does not count. What else
// may befall an exporter is tried in its own package.
func TestEnergyOfAServerElsewhere(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := openStore(t)
			defer st.Close()
			ctx, clock := t.Context(), timing.NewClock()
			const trials, busy, pause, begin = 10, 4 * time.Second, 2 * time.Second, 10 * time.Second
			const end = begin + trials*(busy+pause) - pause
			energy := func(at time.Duration) float64 { // J since the clock's origin: 60 W, and 240 W more for an answer
				j := 60 * at.Seconds()
				for i := range trials {
					from := begin + time.Duration(i)*(busy+pause)
					j += 240 * max(0, min(at, from+busy)-from).Seconds()
				}
				return j
			}
			told := time.Duration(-1)
			far := elsewhere{&fake{id: "GPU-far", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
				now := clock.Now().Truncate(time.Second)
				if now == told {
					return nil
				}
				told = now
				if dies && now > end-5*time.Second {
					return errors.New("exporter: 503")
				}
				s.Set(telemetry.Energy, int64(1e6*energy(now)))
				s.Set(telemetry.PowerInstant, int64(1e3*(energy(now)-energy(now-100*time.Millisecond))/.1))
				return nil
			}}}
			near := &fake{id: "GPU-near", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
				s.Set(telemetry.PowerInstant, 999_000)
				return nil
			}}
			m, err := machine.Start(ctx, st, clock, 10, []telemetry.Probe{near, far}, results.Session{Places: map[string]results.Place{"m": results.PlaceRemote}})
			if err != nil {
				t.Fatal(err)
			}
			m.Begin()
			if _, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"GPU-far"}, How: "telemetry.remote names them"}, nil); err != nil {
				t.Fatal(err)
			}
			<-time.After(end - clock.Now())
			for i := range trials {
				from := begin + time.Duration(i)*(busy+pause)
				put(t, st, clock, key("m", string(rune('a'+i))), from, from+busy)
			}
			if f := m.Flags(begin, begin+busy); len(f) != 0 {
				t.Errorf("flags: %v", f)
			}
			if err := m.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := machine.Measure(ctx, st, 0); err != nil {
				t.Fatal(err)
			}
			for _, r := range rows(t, st) {
				if r.GPU == nil || !strings.Contains(r.GPU.Unknown, "the block's energy") || r.GPU.Held == nil || *r.GPU.Held != busy || r.GPU.Devices == nil || *r.GPU.Devices != 1 {
					t.Fatalf("a single answer: %+v", r.GPU)
				}
			}
			blocks, err := st.Blocks(ctx)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(blocks, func(b results.Block) bool { return b.Part == results.PartGPU })
			e := blocks[i].Energy
			truth := energy(end) - energy(begin)
			got, off := float64(e.Gross)/1000, float64(e.Uncertainty)/1000
			if dies != (e.Unknown != "") || !dies && (math.Abs(got-truth) > off || off > .05*truth) {
				t.Errorf("it dies: %t; %.0f J +/- %.0f (%q), the truth is %.0f", dies, got, off, e.Unknown, truth)
			}
		})
	}
}

package machine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/machine"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// One GPU of ours beside seven that others keep busy, of which one tells no
// utilisation, as with MIG: one GPU, its joules, net of its own power at rest with
// the model in memory. Our trial runs into the power limit for a quarter of its
// time, and a neighbour is too hot.
func TestOneGPUOfOursBesideSevenBusyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		ctx, clock := t.Context(), timing.NewClock()
		var load, always atomic.Bool
		always.Store(true)
		var loaded, limit atomic.Bool
		ours := &fake{id: "ours", kind: telemetry.GPU}
		var sum, last int64
		ours.read = func(s *telemetry.Sample) error {
			power := int64(60)
			if loaded.Load() {
				power = 100
			}
			if load.Load() {
				power = 300
			}
			now := clock.Now().Microseconds()
			sum, last = sum+power*(now-last), now
			s.Set(telemetry.PowerInstant, power*1000)
			s.Set(telemetry.Energy, sum)
			s.Set(telemetry.Throttle, map[bool]int64{true: telemetry.ThrottlePower}[limit.Load()])
			return nil
		}
		probes := []telemetry.Probe{ours}
		for i := range 7 {
			draw := steady(clock, &always, 1)
			probes = append(probes, &fake{id: fmt.Sprint("foreign", i), kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
				err := draw(s)
				s.Set(telemetry.Throttle, telemetry.ThrottleThermal)
				if i == 0 {
					s.Unset(telemetry.CoreBusy)
				}
				return err
			}})
		}
		m, err := machine.Start(ctx, st, clock, 100, probes, results.Session{Places: map[string]results.Place{"m": results.PlaceLocal, "a": results.PlaceLocal, "u": results.PlaceLocal, "n": results.PlaceLocal, "c": results.PlaceLocal}})
		if err != nil {
			t.Fatal(err)
		}
		m.Begin()
		if warn, err := m.Idle(ctx, "m", false); err != nil || len(warn) != 6 { // whose they are is not known yet
			t.Fatal(warn, err)
		}
		loaded.Store(true)
		<-time.After(time.Second)
		if warn, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"ours"}, How: "it holds the server's process"}, nil); err != nil || len(warn) != 0 {
			t.Fatal(warn, err)
		}
		if warn, err := m.Idle(ctx, "m", true); err != nil || len(warn) != 0 {
			t.Fatal(warn, err)
		}
		for model, h := range map[string]results.Hold{
			"a": {Known: true, Assumed: true, GPUs: []string{"ours"}, How: "the only one"},
			"n": {Known: true, How: "Ollama has it in main memory"},
			"u": {How: "the listener is hidden"},
		} {
			if _, err := m.Hold(ctx, model, h, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"ours"}, How: "it holds the server's process"}, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		at := clock.Now()
		load.Store(true)
		<-time.After(6 * time.Second)
		limit.Store(true)
		<-time.After(2 * time.Second)
		limit.Store(false)
		load.Store(false)
		if f := m.Flags(at, clock.Now()); len(f) != 0 {
			t.Errorf("a neighbour's heat or our power limit takes a time away: %v", f)
		}
		<-time.After(2 * time.Second)
		for _, model := range []string{"m", "a", "n", "u", "c"} {
			put(t, st, clock, key(model, "x"), at, at+8*time.Second)
		}
		<-time.After(20 * time.Second)
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		got := rows(t, st)
		for _, model := range []string{"m", "a"} {
			u := got[model+"/x"].GPU
			if u == nil || u.Unknown != "" || u.Devices == nil || *u.Devices != 1 || math.Abs(float64(u.Gross)-2400e3) > 10e3 {
				t.Fatalf("%s: %+v; want one GPU and 2400 J", model, u)
			}
			if slices.Contains(u.Flags, machine.Assumed) != (model == "a") {
				t.Errorf("%s: flags %v", model, u.Flags)
			}
			if model == "m" && (u.Net == nil || math.Abs(float64(*u.Net)-1600e3) > 10e3) {
				t.Errorf("net %v, want 1600 J: less 100 W with the model in memory", u.Net)
			}
			if model == "a" && u.Net != nil {
				t.Errorf("net %v of a block whose power at rest was not measured", *u.Net)
			}
		}
		for model, why := range map[string]string{"n": "no GPU works for this model: Ollama has it in main memory", "u": "it is not known which GPUs work for this model: the listener is hidden",
			"c": "it was not found out which GPUs work for this model"} {
			if u := got[model+"/x"].GPU; u == nil || u.Unknown != why || u.Devices != nil {
				t.Errorf("%s: %+v", model, u)
			}
		}
		blocks, err := st.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Model != "m" || b.Part != results.PartGPU {
				continue
			}
			th := b.Throttled
			if b.Devices == nil || *b.Devices != 1 || math.Abs(float64(b.Energy.Gross)-2400e3) > 10e3 || th == nil {
				t.Fatalf("block %+v", b)
			}
			if math.Abs(th.Power-.25) > .01 || th.Thermal != 0 || th.Hardware != 0 || th.Other != 0 || math.Abs(th.Of.Seconds()-8) > .05 {
				t.Errorf("throttled %+v, want a quarter of 8 s at the power limit", *th)
			}
		}
		ses, err := st.Sessions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := ses[0].Holds["m"].Rest["ours"]
		if r.Loaded == nil || r.Unloaded == nil || math.Abs(float64(r.Loaded.Counter.Median)-100e3) > 1e3 || math.Abs(float64(r.Unloaded.Counter.Median)-60e3) > 1e3 {
			t.Errorf("at rest %+v, want 100 W loaded and 60 W unloaded", r)
		}
	})
}

// Overlapping trials count once, gaps are not known, and a device that says
// nothing has no share.
func TestThrottledTimeIsOfWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		ctx, clock := t.Context(), timing.NewClock()
		var bits, hang atomic.Int64
		gpu := &fake{id: "a", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
			<-time.After(time.Duration(hang.Load()))
			s.Set(telemetry.PowerInstant, 1000)
			s.Set(telemetry.Throttle, bits.Load())
			return nil
		}}
		mute := &fake{id: "b", kind: telemetry.GPU, read: func(s *telemetry.Sample) error { s.Set(telemetry.PowerInstant, 1000); return nil }}
		m, err := machine.Start(ctx, st, clock, 20, []telemetry.Probe{gpu, mute}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		for model, id := range map[string]string{"m": "a", "q": "b"} {
			if _, err := m.Hold(ctx, model, results.Hold{Known: true, GPUs: []string{id}, How: "test"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		at := clock.Now()
		bits.Store(telemetry.ThrottleThermal | telemetry.ThrottlePower)
		<-time.After(2 * time.Second)
		bits.Store(telemetry.ThrottleHardware)
		<-time.After(time.Second)
		bits.Store(telemetry.ThrottleOther)
		<-time.After(time.Second)
		hang.Store(int64(4 * time.Second)) // nothing is known of the next four
		<-time.After(100 * ms)
		hang.Store(0)
		<-time.After(6 * time.Second)
		for i, w := range [][2]time.Duration{{0, 3}, {0, 2}, {1, 8}} {
			put(t, st, clock, key("m", fmt.Sprint(i)), at+w[0]*time.Second, at+w[1]*time.Second)
		}
		put(t, st, clock, key("q", "0"), at, at+time.Second)
		<-time.After(20 * time.Second)
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		blocks, err := st.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			th := b.Throttled
			switch {
			case b.Part != results.PartGPU:
			case b.Model == "q" && th != nil:
				t.Errorf("a device that says nothing: %+v", th)
			case b.Model == "m" && (th == nil || th.Of < 3800*ms || th.Of > 6100*ms):
				t.Errorf("%+v: want some 4 to 6 of 8 s", th)
			case b.Model == "m":
				known := th.Of.Seconds()
				for what, x := range map[string][2]float64{"thermal": {th.Thermal, 2}, "power": {th.Power, 2}, "hardware": {th.Hardware, 1}} {
					if math.Abs(x[0]*known-x[1]) > .11 {
						t.Errorf("%s: %.2f of %.2f s, want %g s", what, x[0]*known, known, x[1])
					}
				}
			}
		}
	})
}

func TestALookThatFailsIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		gpu := &fake{id: "a", kind: telemetry.GPU, read: func(s *telemetry.Sample) error { s.Set(telemetry.MemoryUsed, 7); return nil }}
		m, err := machine.Start(t.Context(), st, timing.NewClock(), 20, []telemetry.Probe{gpu}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		warn, err := m.Hold(t.Context(), "m", results.Hold{Known: true, GPUs: []string{"a"}}, census{})
		if err != nil || len(warn) != 1 || !strings.Contains(warn[0], "who else uses it is not known: not told") {
			t.Errorf("%q, %v", warn, err)
		}
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
}

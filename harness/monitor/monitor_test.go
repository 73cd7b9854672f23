package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/monitor"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

const ms = time.Millisecond

// fake is a GPU that shows what read sets.
type fake struct {
	id   string
	kind telemetry.Kind
	read func(s *telemetry.Sample) error
}

func (f *fake) Describe() telemetry.Device {
	return telemetry.Device{Source: "fake", ID: f.id, Name: "GPU " + f.id, Kind: f.kind,
		Measures: []telemetry.Measure{telemetry.PowerInstant, telemetry.Energy, telemetry.CoreBusy, telemetry.TempCore}}
}
func (f *fake) Read(s *telemetry.Sample) error { return f.read(s) }

func openStore(t testing.TB) *results.Store {
	t.Helper()
	st, err := results.Open(context.Background(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// steady draws 100 W at rest and 300 W while load is set.
func steady(clock timing.Clock, load *atomic.Bool, scale int64) func(s *telemetry.Sample) error {
	var sum int64
	var last time.Duration
	return func(s *telemetry.Sample) error {
		power, busy := int64(100), int64(0)
		if load.Load() {
			power, busy = 300, 100
		}
		now := clock.Now()
		sum += power * (now - last).Microseconds()
		last = now
		s.Set(telemetry.PowerInstant, power*1000*scale)
		s.Set(telemetry.Energy, sum*scale)
		s.Set(telemetry.CoreBusy, busy)
		s.Set(telemetry.TempCore, 55_000*scale)
		return nil
	}
}

func put(t testing.TB, st *results.Store, clock timing.Clock, k results.Key, from, to time.Duration) {
	t.Helper()
	rec := timing.NewRecorder(clock)
	rec.MarkAt(timing.Start, from)
	rec.Pieces([]timing.Piece{{At: to, Runes: 1, Answer: true}}, timing.StampsUser)
	if err := st.PutTrial(context.Background(), results.Trial{Key: k, Inputs: "x", Attempts: []results.Attempt{{Started: clock.Origin().Add(from),
		Output: &results.Output{Answer: "a", Finish: "stop"}, Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a", Finish: "stop"}}}}}); err != nil {
		t.Fatal(err)
	}
}

func key(model, item string) results.Key {
	return results.Key{Study: "cot", Model: model, Item: item, Arm: "cot", Condition: "baseline"}
}

func rows(t testing.TB, st *results.Store) map[string]results.Row {
	t.Helper()
	out := map[string]results.Row{}
	for r, err := range st.Rows(context.Background(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		out[r.Key.Model+"/"+r.Key.Item] = r
	}
	return out
}

func TestFlagsSayWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		clock := timing.NewClock()
		var throttle, processes, hang atomic.Int64
		processes.Store(2)
		var load atomic.Bool
		draw := steady(clock, &load, 1)
		gpu := &fake{"a", telemetry.GPU, func(s *telemetry.Sample) error {
			<-time.After(time.Duration(hang.Load()))
			s.Set(telemetry.Throttle, throttle.Load())
			s.Set(telemetry.Processes, processes.Load())
			return draw(s)
		}}
		cpu := &fake{"c", telemetry.CPU, func(s *telemetry.Sample) error { s.Set(telemetry.Throttle, 1); return nil }}
		m, err := monitor.Start(t.Context(), st, clock, 20, []telemetry.Probe{gpu, cpu}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		trial := func(d time.Duration) string {
			from := clock.Now()
			<-time.After(d)
			return fmt.Sprint(m.Flags(from, clock.Now()))
		}
		expect := func(what, got, want string) {
			if got != want {
				t.Errorf("%s: flags %s, want %s", what, got, want)
			}
		}
		trial(500 * ms)
		expect("quiet", trial(time.Second), "[]")
		expect("quiet and short", trial(7*ms), "[]")
		throttle.Store(telemetry.ThrottleThermal)
		expect("throttled", trial(time.Second), "[throttled]")
		expect("throttled and short", trial(7*ms), "[throttled]")
		throttle.Store(0)
		trial(100 * ms)
		processes.Store(3)
		expect("another process", trial(time.Second), "[other_process]")
		trial(3 * time.Second)
		m.Begin()
		expect("a block of three processes", trial(time.Second), "[]")
		hang.Store(int64(400 * ms))
		expect("a gap", trial(time.Second), "[sampler_gap]")
		hang.Store(0)
		if c, ok := m.Temperature(); !ok || c != 55 || !m.HasTemperature() {
			t.Errorf("temperature %v %v", c, ok)
		}
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
		if err := m.Stop(); err != nil {
			t.Error("the second time:", err)
		}
		ses, err := st.Sessions(t.Context())
		if err != nil || len(ses) != 1 || ses[0].Devices[0].Stats == nil || ses[0].Devices[0].Stats.Gaps == 0 || ses[0].Devices[0].Stats.Samples < 50 {
			t.Errorf("sessions %+v, %v", ses, err)
		}
	})
}

func TestANilMonitorWatchesNothing(t *testing.T) {
	var m *monitor.Monitor
	m.Begin()
	if _, ok := m.Temperature(); ok || m.Flags(0, 1) != nil || m.Session() != 0 || m.HasTemperature() || m.Stop() != nil {
		t.Error("a nil monitor saw something")
	}
	if _, wait := m.NeedsRest(); wait {
		t.Error("a nil monitor wants to wait")
	}
}

// Two GPUs of which one works, a processor, trials alone and together, a model
// elsewhere; and a run that ended without Stop.
func TestMeasureDividesEnergies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		clock := timing.NewClock()
		var load, never atomic.Bool
		cpu := &fake{"cpu", telemetry.CPU, steady(clock, &load, 1)}
		probes := []telemetry.Probe{&fake{"works", telemetry.GPU, steady(clock, &load, 1)}, &fake{"rests", telemetry.GPU, steady(clock, &never, 1)}, cpu}
		ctx := t.Context()
		m, err := monitor.Start(ctx, st, clock, 100, probes, results.Session{Places: map[string]results.Place{"m": results.PlaceLocal, "far": results.PlaceRemote, "p": results.PlacePhantom}})
		if err != nil {
			t.Fatal(err)
		}
		warn, err := m.Rest(ctx, nil)
		if err != nil || len(warn) > 0 {
			t.Fatal(warn, err)
		}
		at := clock.Now()
		load.Store(true)
		<-time.After(10 * time.Second)
		load.Store(false)
		<-time.After(2 * time.Second)
		put(t, st, clock, key("m", "alone"), at, at+4*time.Second)
		put(t, st, clock, key("m", "first"), at+4*time.Second, at+8*time.Second)
		put(t, st, clock, key("m", "second"), at+6*time.Second, at+10*time.Second)
		put(t, st, clock, key("far", "x"), at, at+time.Second)
		put(t, st, clock, key("p", "x"), at, at+time.Second)
		<-time.After(20 * time.Second) // what was sampled is stored by now; nobody calls Stop
		if err := monitor.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		got := rows(t, st)
		near := func(what string, u *results.Use, gross, net float64, held time.Duration) {
			t.Helper()
			if u == nil || u.Unknown != "" || u.Devices == nil || *u.Devices != 1 || u.Net == nil {
				t.Fatalf("%s: %+v", what, u)
			}
			if off := float64(u.Gross)/1000 - gross; off > 10 || off < -10 {
				t.Errorf("%s: gross %.1f J, want %.1f", what, u.Gross/1000, gross)
			}
			if off := float64(*u.Net)/1000 - net; off > 15 || off < -15 {
				t.Errorf("%s: net %.1f J, want %.1f", what, *u.Net/1000, net)
			}
			if u.Held == nil || *u.Held != held {
				t.Errorf("%s: held %v, want %v", what, u.Held, held)
			}
		}
		near("alone", got["m/alone"].GPU, 1200, 800, 4*time.Second)
		near("first", got["m/first"].GPU, 900, 600, 3*time.Second)
		near("second", got["m/second"].GPU, 900, 600, 3*time.Second)
		if cpu := got["m/alone"].CPU; cpu == nil || cpu.Unknown != "" || cpu.Gross < 1_190_000 || cpu.Gross > 1_210_000 {
			t.Errorf("the processor: %+v", cpu)
		}
		if f := got["m/second"].GPU.Flags; !slices.Contains(f, monitor.Shared) || slices.Contains(got["m/alone"].GPU.Flags, monitor.Shared) {
			t.Errorf("flags %v", f)
		}
		for k, why := range map[string]string{"far/x": "another machine", "p/x": "no GPU was watched"} {
			if u := got[k].GPU; u == nil || u.Devices != nil || !strings.Contains(u.Unknown, why) || u.Held == nil || *u.Held != time.Second {
				t.Errorf("%s: %+v", k, u)
			}
		}
		blocks, err := st.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Model == "m" && b.Part == results.PartGPU && (b.Energy.Trials != 3 || b.Energy.Gross < 2_980_000 || b.Energy.Gross > 3_020_000 || b.Energy.Busy != 10*time.Second) {
				t.Errorf("block %+v", b)
			}
		}
		if pending, err := monitor.Pending(ctx, st); pending || err != nil {
			t.Error("still pending", err)
		}
		m.Stop()
	})
}

// Five answers of 4 s: two after the wall clock was set, one without content.
func TestAClockThatIsSetLosesNoTimes(t *testing.T) {
	ctx, st := t.Context(), openStore(t)
	defer st.Close()
	clock := timing.NewClock()
	if _, err := monitor.Start(ctx, st, clock, 20, nil, results.Session{}); err != nil {
		t.Fatal(err)
	}
	for i, step := range []time.Duration{0, 0, -time.Hour, time.Hour, 0} {
		from := time.Duration(10*i) * time.Second
		rec := timing.NewRecorder(clock)
		rec.MarkAt(timing.Start, from)
		if i < 4 {
			rec.Pieces([]timing.Piece{{At: from + 4*time.Second, Runes: 1, Answer: true}}, timing.StampsUser)
		}
		rec.MarkAt(timing.End, from+4*time.Second)
		if err := st.PutTrial(ctx, results.Trial{Key: key("m", fmt.Sprint(i)), Inputs: "x", Attempts: []results.Attempt{{Started: clock.Origin().Add(from + step),
			Output: &results.Output{Finish: "stop"}, Turns: []results.Turn{{Trace: rec.Trace(), Finish: "stop"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := monitor.Measure(ctx, st, 0); err != nil {
		t.Fatal(err)
	}
	s, c := &study.Sample{}, cost.NewCosts("m", "cot", false)
	for _, r := range rows(t, st) {
		c.Add(s.Item(), r, nil, nil)
	}
	hour := 3.6
	c.Score(s, study.Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: &hour}})
	s.Run(1, 100)
	for _, w := range []struct {
		what string
		of   *results.Estimate
		want float64
	}{{"GPU-seconds", c.GPUSeconds, 4}, {"money", c.Money, .004}} {
		if w.of.Value == nil || math.Abs(*w.of.Value-w.want) > 1e-9 || w.of.N != 4 || w.of.Invalid != 1 {
			t.Errorf("%s: %+v, want %v of 4", w.what, w.of, w.want)
		}
	}
	if u := rows(t, st)["m/4"].GPU; u == nil || u.Held != nil || u.Unknown == "" {
		t.Errorf("without content: %+v", u)
	}
}

func TestRestWarnsOfAGPUThatIsNotAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		clock := timing.NewClock()
		var load atomic.Bool
		load.Store(true)
		dead := &fake{"dead", telemetry.GPU, func(*telemetry.Sample) error { return errors.New("lost") }}
		m, err := monitor.Start(t.Context(), st, clock, 20, []telemetry.Probe{&fake{"a", telemetry.GPU, steady(clock, &load, 1)}, dead}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		warn, err := m.Rest(t.Context(), nil)
		if err != nil || len(warn) != 2 || !strings.Contains(warn[0], "100 % busy") || !strings.Contains(warn[1], "unknown") {
			t.Errorf("%q, %v", warn, err)
		}
		m.Stop()
	})
}

// busy is a device whose every figure moves, as a real GPU's under load does.
func busy(rnd *rand.Rand) func(s *telemetry.Sample) error {
	energy := int64(9e12)
	return func(s *telemetry.Sample) error {
		power := 250_000 + int64(rnd.IntN(90_000))
		energy += power * 50
		for m, v := range map[telemetry.Measure]int64{telemetry.PowerInstant: power, telemetry.PowerAverage: power + int64(rnd.IntN(3000)), telemetry.Energy: energy,
			telemetry.CoreBusy: int64(rnd.IntN(101)), telemetry.MemoryBusy: int64(rnd.IntN(60)), telemetry.MemoryUsed: 8 << 30, telemetry.TempCore: 61_000 + int64(rnd.IntN(2))*1000,
			telemetry.TempMemory: 66_000, telemetry.ClockCore: 1980 - int64(rnd.IntN(8))*15, telemetry.ClockMemory: 2619, telemetry.Throttle: 0, telemetry.ThrottleRaw: 4} {
			s.Set(m, v)
		}
		return nil
	}
}

// A million samples take less than 50 MB of the store's file.
func TestAMillionSamplesInTheStore(t *testing.T) {
	const n = 50_000
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		st, err := results.Open(t.Context(), filepath.Join(dir, "s.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := monitor.Start(t.Context(), st, timing.NewClock(), 20, []telemetry.Probe{&fake{"a", telemetry.GPU, busy(rand.New(rand.NewPCG(1, 2)))}}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(n * 50 * ms)
		if err := errors.Join(m.Stop(), st.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "s.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		per := float64(info.Size()) / n
		t.Logf("%.1f bytes of the store's file per sample: %.1f MB for a million", per, per)
		if per > 50 {
			t.Error("over 50 MB for a million")
		}
	})
}

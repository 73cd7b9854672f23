package machine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/machine"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

const ms = time.Millisecond

// fake is a GPU that shows what read sets.
type fake struct {
	id   string
	kind telemetry.Kind
	read func(s *telemetry.Sample) error
	who  atomic.Pointer[[]telemetry.Process]
}

func (f *fake) Processes() ([]telemetry.Process, error) {
	if l := f.who.Load(); l != nil {
		return *l, nil
	}
	return nil, errors.New("not told")
}

func (f *fake) uses(pids ...int) *fake {
	var l []telemetry.Process
	for _, pid := range pids {
		l = append(l, telemetry.Process{PID: pid, Draws: pid == 99})
	}
	f.who.Store(&l)
	return f
}

// census knows the processes of a server.
type census []int

func (c census) Name(pid int) string { return map[int]string{4711: "python"}[pid] }
func (c census) Foreign(_ string, all []telemetry.Process) []telemetry.Process {
	return slices.DeleteFunc(slices.Clone(all), func(p telemetry.Process) bool { return slices.Contains(c, p.PID) })
}

func (f *fake) Describe() telemetry.Device {
	return telemetry.Device{Source: "fake", ID: f.id, Name: "GPU " + f.id, Kind: f.kind,
		Measures: []telemetry.Measure{telemetry.PowerInstant, telemetry.Energy, telemetry.CoreBusy, telemetry.TempCore}}
}
func (f *fake) Read(s *telemetry.Sample) error { return f.read(s) }

func openStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), filepath.Join(t.TempDir(), "s.sqlite"))
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

func put(t testing.TB, st *store.Store, clock timing.Clock, k results.Key, from, to time.Duration) {
	t.Helper()
	rec := timing.NewRecorder(clock)
	rec.MarkAt(timing.Start, from)
	rec.Chunks([]timing.Chunk{{At: to, Runes: 1, Answer: true}}, timing.StampsUser)
	if err := st.PutTrial(context.Background(), results.Trial{Key: k, Inputs: "x", Attempts: []results.Attempt{{Started: clock.Origin().Add(from),
		Output: &results.Output{Answer: "a", Finish: "stop"}, Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a", Finish: "stop"}}}}}); err != nil {
		t.Fatal(err)
	}
}

func key(model, item string) results.Key {
	return results.Key{Study: "cot", Model: model, Item: item, Arm: "cot", Condition: "baseline"}
}

func rows(t testing.TB, st *store.Store) map[string]results.Row {
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
		var throttle, hang atomic.Int64
		var load atomic.Bool
		draw := steady(clock, &load, 1)
		gpu := &fake{id: "a", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
			<-time.After(time.Duration(hang.Load()))
			s.Set(telemetry.Throttle, throttle.Load())
			return draw(s)
		}}
		cpu := &fake{id: "c", kind: telemetry.CPU, read: func(s *telemetry.Sample) error { s.Set(telemetry.Throttle, 1); return nil }}
		hot := &fake{id: "b", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
			s.Set(telemetry.Throttle, telemetry.ThrottleThermal)
			s.Set(telemetry.TempCore, 90_000)
			return nil
		}}
		m, err := machine.Start(t.Context(), st, clock, 20, []telemetry.Probe{gpu, cpu, hot.uses(1, 2, 3)}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		gpu.uses(10)
		if warn, err := m.Hold(t.Context(), "m", results.Hold{Known: true, GPUs: []string{"a"}, How: "test"}, census{10, 11}); err != nil || len(warn) > 0 {
			t.Fatal(warn, err)
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
		throttle.Store(telemetry.ThrottlePower | telemetry.ThrottleOther)
		expect("at its power limit", trial(time.Second), "[]")
		throttle.Store(telemetry.ThrottleHardware)
		expect("slowed down from outside", trial(time.Second), "[throttled]")
		throttle.Store(telemetry.ThrottleThermal)
		expect("throttled", trial(time.Second), "[throttled]")
		expect("throttled and short", trial(7*ms), "[throttled]")
		throttle.Store(0)
		trial(100 * ms)
		gpu.uses(11)
		expect("our server started again", trial(2*time.Second), "[]")
		gpu.uses(4711)
		expect("another process in its place", trial(time.Second), "[other_process]")
		gpu.uses(11)
		trial(3 * time.Second)
		expect("it is gone", trial(time.Second), "[]")
		from := clock.Now()
		gpu.uses(11, 4712)
		expect("another process in a short trial", fmt.Sprint(m.Flags(from, clock.Now())), "[]") // looked at a moment ago
		<-time.After(300 * ms)
		expect("another process in a trial of 0.3 s", fmt.Sprint(m.Flags(from, clock.Now())), "[other_process]")
		m.Begin()
		expect("a block of GPUs not known", trial(time.Second), "[throttled]") // any of them may be the model's
		gpu.uses(11, 99, 4711)
		warn, err := m.Hold(t.Context(), "m", results.Hold{Known: true, GPUs: []string{"a"}, How: "test"}, census{10, 11})
		if err != nil || len(warn) != 2 || !strings.Contains(warn[0], "process (99) draws on it") || !strings.Contains(warn[1], "python (4711), which is not the model's server") {
			t.Errorf("%q, %v", warn, err)
		}
		expect("another process from the first moment", trial(time.Second), "[other_process]")
		gpu.uses(11, 99)
		trial(3 * time.Second)
		expect("a desktop that was there before", trial(time.Second), "[]")
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
		if f := ses[0].Holds["m"].Foreign; fmt.Sprint(f) != "[process (4712) process (99) python (4711)]" {
			t.Errorf("processes of others in the store: %q", f)
		}
	})
}

func TestANilMonitorWatchesNothing(t *testing.T) {
	var m *machine.Monitor
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
		cpu := &fake{id: "cpu", kind: telemetry.CPU, read: steady(clock, &load, 1)}
		probes := []telemetry.Probe{&fake{id: "works", kind: telemetry.GPU, read: steady(clock, &load, 1)}, &fake{id: "rests", kind: telemetry.GPU, read: steady(clock, &never, 1)}, cpu}
		ctx := t.Context()
		m, err := machine.Start(ctx, st, clock, 100, probes, results.Session{Places: map[string]results.Place{"m": results.PlaceLocal, "far": results.PlaceRemote, "p": results.PlacePhantom}})
		if err != nil {
			t.Fatal(err)
		}
		warn, err := m.Idle(ctx, "m", true)
		if err != nil || len(warn) > 0 {
			t.Fatal(warn, err)
		}
		if _, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"works"}, How: "test"}, nil); err != nil {
			t.Fatal(err)
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
		if err := machine.Measure(ctx, st, 0); err != nil {
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
		if f := got["m/second"].GPU.Flags; !slices.Contains(f, machine.Shared) || slices.Contains(got["m/alone"].GPU.Flags, machine.Shared) {
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
		if pending, err := machine.Pending(ctx, st); pending || err != nil {
			t.Error("still pending", err)
		}
		m.Stop()
	})
}

// card is a GPU whose counter is exact at every instant.
type card struct {
	clock timing.Clock
	mu    sync.Mutex
	watts int64
	sum   int64 // uJ
	last  time.Duration
}

// draw is the power from now on, in watts.
func (c *card) draw(watts int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upToNow()
	c.watts = watts
}

func (c *card) upToNow() {
	now := c.clock.Now()
	c.sum, c.last = c.sum+c.watts*(now-c.last).Microseconds(), now
}

func (c *card) read(s *telemetry.Sample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upToNow()
	s.Set(telemetry.PowerInstant, c.watts*1000)
	s.Set(telemetry.Energy, c.sum)
	return nil
}

// What is kept with a trial gives it its energy, though we are killed at once; a
// trial whose samples were lost has none.
func TestAKillLosesOnlyWhatWasNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		clock := timing.NewClock()
		gpu := &card{clock: clock, watts: 100}
		m, err := machine.Start(t.Context(), st, clock, 20, []telemetry.Probe{&fake{id: "a", kind: telemetry.GPU, read: gpu.read}}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Stop()
		if _, err := m.Hold(t.Context(), "m", results.Hold{Known: true, GPUs: []string{"a"}}, nil); err != nil {
			t.Fatal(err)
		}
		trial := func(item string, d time.Duration) (from, to time.Duration) {
			<-time.After(130 * ms)
			from = clock.Now()
			gpu.draw(300)
			<-time.After(d)
			gpu.draw(100)
			return from, clock.Now()
		}
		for i := range 30 {
			from, to := trial(fmt.Sprint(i), 1010*ms)
			if err := m.Keep(); err != nil {
				t.Fatal(err)
			}
			put(t, st, clock, key("m", fmt.Sprint(i)), from, to)
			if i < 10 { // bundles are stored as they grow
				continue
			}
			n := 0
			for c, err := range st.SampleBundles(t.Context(), m.Session(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if end := c.To; c.N > 1024 || n > 2 || end < to && c.N < 1024 {
					t.Errorf("trial %d: bundle %d of %d samples up to %v, the trial ended at %v", i, n, c.N, end, to)
				}
			}
		}
		from, to := trial("lost", 300*ms)
		put(t, st, clock, key("m", "lost"), from, to)
		if err := machine.Measure(t.Context(), st, 0); err != nil { // as another process would
			t.Fatal(err)
		}
		got := rows(t, st)
		for i := range 30 {
			if u := got[fmt.Sprintf("m/%d", i)].GPU; u == nil || u.Unknown != "" || math.Abs(float64(u.Gross)-303_000) > float64(u.Uncertainty) {
				t.Errorf("trial %d: %+v", i, u)
			}
		}
		if u := got["m/lost"].GPU; u == nil || u.Unknown == "" || u.Held == nil || *u.Held != 300*ms {
			t.Errorf("the trial without samples: %+v", u)
		}
	})
}

// Five answers of 4 s: two after the wall clock was set, one without content.
func TestAClockThatIsSetLosesNoTimes(t *testing.T) {
	ctx, st := t.Context(), openStore(t)
	defer st.Close()
	clock := timing.NewClock()
	m, err := machine.Start(ctx, st, clock, 20, nil, results.Session{})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []time.Duration{0, 0, -time.Hour, time.Hour, 0} {
		from := time.Duration(10*i) * time.Second
		rec := timing.NewRecorder(clock)
		rec.MarkAt(timing.Start, from)
		if i < 4 {
			rec.Chunks([]timing.Chunk{{At: from + 4*time.Second, Runes: 1, Answer: true}}, timing.StampsUser)
		}
		rec.MarkAt(timing.End, from+4*time.Second)
		if err := st.PutTrial(ctx, results.Trial{Key: key("m", fmt.Sprint(i)), Inputs: "x", Attempts: []results.Attempt{{Started: clock.Origin().Add(from + step),
			Output: &results.Output{Finish: "stop"}, Turns: []results.Turn{{Trace: rec.Trace(), Finish: "stop"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(m.Stop(), machine.Measure(ctx, st, 0)); err != nil {
		t.Fatal(err)
	}
	hour := 3.6
	b := &study.Basis{Prices: study.Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: &hour}}}
	s, c := &score.PairSample{}, study.NewAccount(b, "m", "cot")
	for _, r := range rows(t, st) {
		c.Add(s.Item(), r, nil, nil, nil)
	}
	if ses, err := st.Sessions(ctx); err != nil || ses[0].Clocks == nil && runtime.GOOS == "linux" || ses[0].Clocks != nil && (ses[0].Clocks.Slept != 0 || ses[0].Clocks.Span <= 0) {
		t.Errorf("the clocks beside: %+v, %v", ses, err)
	}
	c.Score(s)
	s.Run(1, 100)
	for _, w := range []struct {
		what string
		of   *results.Estimate
		want float64
	}{{"GPU-seconds", c.Estimate("gpu_seconds"), 4}, {"money", c.Estimate("money"), .004}} {
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
		dead := &fake{id: "dead", kind: telemetry.GPU, read: func(*telemetry.Sample) error { return errors.New("lost") }}
		m, err := machine.Start(t.Context(), st, clock, 20, []telemetry.Probe{&fake{id: "a", kind: telemetry.GPU, read: steady(clock, &load, 1)}, dead}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		warn, err := m.Idle(t.Context(), "m", true)
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

// A million samples take less than 50 MB of the store's file: of a twentieth of them
// here, of all with ASSAY_BENCH_SAMPLES=1000000.
func TestAMillionSamplesInTheStore(t *testing.T) {
	n := 50_000
	if s := os.Getenv("ASSAY_BENCH_SAMPLES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("ASSAY_BENCH_SAMPLES: expected a number of samples, found %q", s)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		st, err := store.Open(t.Context(), filepath.Join(dir, "s.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := machine.Start(t.Context(), st, timing.NewClock(), 20, []telemetry.Probe{&fake{id: "a", kind: telemetry.GPU, read: busy(rand.New(rand.NewPCG(1, 2)))}}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(n) * 50 * ms)
		if err := errors.Join(m.Stop(), st.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "s.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		per := float64(info.Size()) / float64(n)
		t.Logf("N = %d samples: %.1f bytes of the store's file per sample, %.1f MB for a million", n, per, per)
		if per > 50 {
			t.Error("over 50 MB for a million")
		}
	})
}

package telemetry

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/timing"
)

const ms = time.Millisecond

// fake is a probe whose reads are a function of their number.
type fake struct {
	id   string
	read func(n int, s *Sample) error
	n    int
}

func (f *fake) Describe() Device { return Device{Source: "fake", ID: f.id, Name: "Fake", Kind: GPU} }

func (f *fake) Read(s *Sample) error {
	f.n++
	return f.read(f.n-1, s)
}

func steady(_ int, s *Sample) error {
	s.Set(PowerInstant, 1000)
	return nil
}

// pause lets the bubble's time pass, as a slow driver would.
func pause(d time.Duration) { <-time.After(d) }

// sample runs a sampler for d and hands back its log.
func sample(t *testing.T, hz int, d time.Duration, probes ...Probe) (*Log, error) {
	t.Helper()
	s, err := NewSampler(timing.NewClock(), hz, probes)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return s.Log(), s.Run(ctx)
}

func times(l *Log, device int) (out []time.Duration) {
	for s := range l.All(device) {
		out = append(out, s.At)
	}
	return out
}

func TestSamplesLieOnTheGrid(t *testing.T) {
	for _, c := range []struct {
		hz   int
		want time.Duration
	}{{0, 50 * ms}, {1, time.Second}, {20, 50 * ms}, {100, 10 * ms}} {
		synctest.Test(t, func(t *testing.T) {
			l, err := sample(t, c.hz, 2*time.Second+5*ms, &fake{read: steady})
			if err != nil {
				t.Fatal(err)
			}
			at := times(l, 0)
			if want := int(2*time.Second/c.want) + 1; len(at) != want {
				t.Fatalf("%d Hz: %d samples, want %d", c.hz, len(at), want)
			}
			for i, got := range at {
				if got != time.Duration(i)*c.want {
					t.Fatalf("%d Hz: sample %d at %v", c.hz, i, got)
				}
			}
			if g, f := l.Gaps(0), l.Failures(0); len(g)+len(f) != 0 {
				t.Errorf("%d Hz: gaps %v, failures %v", c.hz, g, f)
			}
		})
	}
	for _, hz := range []int{-1, 101} {
		if _, err := NewSampler(timing.NewClock(), hz, nil); err == nil {
			t.Errorf("%d Hz is taken", hz)
		}
	}
}

func TestASlowReadIsAGapAndDoesNotShiftTheGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := sample(t, 20, 1020*ms, &fake{read: func(n int, s *Sample) error {
			switch n {
			case 0:
			case 4: // at 200 ms
				pause(270 * ms)
			default:
				pause(2 * ms)
			}
			return steady(n, s)
		}}, &fake{id: "other", read: steady})
		if err != nil {
			t.Fatal(err)
		}
		at := times(l, 0)
		want := []time.Duration{0, 51 * ms, 101 * ms, 151 * ms, 335 * ms, 501 * ms, 551 * ms}
		if !slices.Equal(at[:7], want) {
			t.Errorf("samples at %v, want %v", at[:7], want)
		}
		if g := l.Gaps(0); !slices.Equal(g, []gap{{151 * ms, 335 * ms}, {335 * ms, 501 * ms}}) {
			t.Errorf("gaps %v", g)
		}
		st := l.Stats(0)
		if st.Longest != 270*ms || st.Gaps != 2 || st.Samples != len(at) || st.Total != 270*ms+time.Duration(len(at)-2)*2*ms || st.Interval != 50*ms {
			t.Errorf("%+v", st)
		}
		if n := len(times(l, 1)); n != 21 || len(l.Gaps(1)) != 0 {
			t.Errorf("the other device: %d samples, gaps %v", n, l.Gaps(1))
		}
		for s := range l.Samples(0, 300*ms, 400*ms) {
			if s.Took != 270*ms {
				t.Errorf("the slow read took %v", s.Took)
			}
		}
	})
}

func TestFailuresAreCountedAndJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, busy := errors.New("the GPU fell off the bus"), errors.New("busy")
		l, err := sample(t, 20, time.Second, &fake{read: func(n int, s *Sample) error {
			switch {
			case n >= 4 && n < 8:
				return lost
			case n == 8 || n == 12:
				return busy
			}
			return steady(n, s)
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := []Failure{{200 * ms, 350 * ms, 4, lost.Error()}, {400 * ms, 400 * ms, 1, "busy"}, {600 * ms, 600 * ms, 1, "busy"}}
		if f := l.Failures(0); !slices.Equal(f, want) {
			t.Errorf("failures %v, want %v", f, want)
		}
		if g := l.Gaps(0); !slices.Equal(g, []gap{{150 * ms, 450 * ms}}) {
			t.Errorf("gaps %v", g)
		}
		if st := l.Stats(0); st.Failed != 6 || st.Samples != len(times(l, 0)) {
			t.Errorf("%+v", st)
		}
	})
}

func TestAHangingReadDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		began := time.Now()
		l, err := sample(t, 20, time.Second, &fake{id: "a", read: steady}, &fake{id: "b", read: func(n int, s *Sample) error {
			if n == 3 {
				<-release
			}
			return steady(n, s)
		}})
		if err == nil || !strings.Contains(err.Error(), "fake b has not returned 2s after") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("the end took until %v", d)
		}
		close(release)
		synctest.Wait()
		if n := len(times(l, 1)); n != 3 {
			t.Errorf("%d samples: one came in after the end", n)
		}
	})
}

func TestARunThatEndsAtOnceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if l, err := sample(t, 20, 0, &fake{read: steady}); err != nil || len(times(l, 0)) > 1 {
			t.Errorf("%v, %d samples", err, len(times(l, 0)))
		}
		if l, err := sample(t, 20, time.Second); err != nil || len(l.Devices()) != 0 {
			t.Errorf("without probes: %v", err)
		}
	})
}

func TestADeviceIsSampledOnce(t *testing.T) {
	_, err := NewSampler(timing.NewClock(), 20, []Probe{&fake{id: "x"}, &fake{id: "y"}, &fake{id: "x"}})
	if err == nil || !strings.Contains(err.Error(), "two probes of fake x") {
		t.Errorf("got %v", err)
	}
}

func TestALogIsReadWhileItGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSampler(timing.NewClock(), 100, []Probe{&fake{read: func(n int, s *Sample) error {
			s.Set(Energy, int64(n))
			if n%3 == 0 {
				s.Set(TempCore, 40_000)
			}
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		l := s.Log()
		stored := 0
		var all, full []Sample
		grew := false
		store := func() {
			bundles, n := l.Bundles(0, stored)
			stored += n
			for i, c := range bundles {
				part, err := Unpack(c.Bytes)
				if err != nil || len(part) != c.N || part[0].At != c.From || part[c.N-1].At != c.To {
					t.Fatalf("bundle %d: %v", i, err)
				}
				// What was there before from this begin on has grown.
				at := slices.IndexFunc(all, func(s Sample) bool { return s.At == c.From })
				if grew = grew || at >= 0; at < 0 {
					at = len(all)
				}
				if all = append(all[:at:at], part...); i < n {
					full = append(full, part...)
				}
			}
		}
		for range 7 {
			pause(2950 * ms)
			synctest.Wait() // a sample is due at this instant
			store()
			if n := len(slices.Collect(l.All(0))); len(all) != n {
				t.Fatalf("%d samples in the bundles, %d in the log", len(all), n)
			}
			pause(50 * ms)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		store()
		if !grew || !reflect.DeepEqual(all[:len(full)], full) || stored != 3 {
			t.Errorf("a bundle grew: %t; %d bundles", grew, stored)
		}
		if got := slices.Collect(l.All(0)); !reflect.DeepEqual(got, all) || len(all) < 2090 {
			t.Fatalf("%d samples in the log, %d in its bundles", len(got), len(all))
		}
		for i := range all {
			if v, ok := all[i].Get(Energy); !ok || v != int64(i) {
				t.Fatalf("sample %d has %d %t", i, v, ok)
			}
			if _, ok := all[i].Get(TempCore); ok != (i%3 == 0) {
				t.Fatalf("sample %d has a temperature: %t", i, ok)
			}
		}
		in := slices.Collect(l.Samples(0, 5*time.Second, 6*time.Second))
		if len(in) != 101 || in[0].At != 5*time.Second || in[100].At != 6*time.Second {
			t.Errorf("%d samples between 5 and 6 s", len(in))
		}
		for range l.All(0) {
			break // stopping early is allowed
		}
		if c, _ := l.Bundles(0, 1000); len(c) != 0 {
			t.Errorf("%d bundles beyond the last", len(c))
		}
	})
}

// A look beside the grid does not shift it, and does not wait for a probe that hangs.
func TestALookBesideTheGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var slow atomic.Bool
		s, err := NewSampler(timing.NewClock(), 10, []Probe{&fake{id: "a", read: func(int, *Sample) error { return nil }},
			&fake{id: "b", read: func(n int, _ *Sample) error {
				if slow.Load() {
					<-hang
				}
				return nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		pause(250 * ms)
		began := time.Now()
		s.Look(time.Second)
		s.Look(time.Second) // at the same instant there is nothing new
		pause(50 * ms)
		synctest.Wait()
		s.Look(time.Second) // as the grid does
		var at []time.Duration
		for x := range s.Log().All(0) {
			at = append(at, x.At)
		}
		if want := []time.Duration{0, 100 * ms, 200 * ms, 250 * ms, 300 * ms}; !slices.Equal(at, want) || time.Since(began) != 50*ms {
			t.Errorf("samples at %v, want %v, after %v", at, want, time.Since(began))
		}
		slow.Store(true)
		pause(110 * ms)
		began = time.Now()
		s.Look(time.Second)
		if d := time.Since(began); d != time.Second {
			t.Errorf("waited for a probe that hangs for %v", d)
		}
		close(hang)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Look(time.Second) // nobody reads any more
	})
}

func TestAbsentValuesAreAbsent(t *testing.T) {
	var s Sample
	for m := range Measures() {
		if v, ok := s.Get(m); ok || v != 0 {
			t.Errorf("the empty sample has %s", m)
		}
	}
	s.Set(Energy, 0)
	if v, ok := s.Get(Energy); !ok || v != 0 || s.Len() != 1 {
		t.Error("a counter at 0 is a value")
	}
	if _, ok := s.Get(Measure(77)); ok {
		t.Error("an unknown measure has a value")
	}
	d := Device{Facts: []Fact{{"driver", "580.1"}}}
	if v, ok := d.Fact("driver"); !ok || v != "580.1" {
		t.Error(v)
	}
	if _, ok := d.Fact("mig"); ok {
		t.Error("a fact that is not there")
	}
}

func TestReadings(t *testing.T) {
	var a, b, c Sample
	a.At, b.At, c.At = 1, 2, 3
	a.Set(Energy, 5)
	a.Set(PowerAverage, 70)
	b.Set(PowerInstant, 80)
	b.Set(PowerAverage, 75)
	c.Set(Energy, 9)
	d := Device{EnergyWraps: 100, PowerWindow: time.Second}
	r := Readings(d, slices.Values([]Sample{a, b, c}))
	want := timing.Readings{
		Counter: []timing.CounterReading{{At: 1, Microjoules: 5}, {At: 3, Microjoules: 9}},
		WrapsAt: 100,
		Power:   []timing.PowerReading{{At: 2, Power: 80}},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	r = Readings(d, slices.Values([]Sample{a, c}))
	want.Power, want.Average = []timing.PowerReading{{At: 1, Power: 70}}, time.Second
	if !reflect.DeepEqual(r, want) {
		t.Errorf("mean power only: %+v, want %+v", r, want)
	}
}

// TestEnergyOfASampledDevice goes the whole way: a device with a counter of
// 70 ms, sampled, packed, read back and integrated.
func TestEnergyOfASampledDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := timing.NewClock()
		truth := func(at time.Duration) int64 { // µJ at 60 W, and at 360 W from 12 s to 20 s
			busy := min(max(at-12*time.Second, 0), 8*time.Second)
			return (at.Microseconds()*60 + busy.Microseconds()*300)
		}
		p := &fake{read: func(_ int, s *Sample) error {
			now := clock.Now()
			s.Set(Energy, truth(now/(70*ms)*(70*ms)))
			power := int64(60_000)
			if now >= 12*time.Second && now < 20*time.Second {
				power = 360_000
			}
			s.Set(PowerInstant, power)
			return nil
		}}
		s, err := NewSampler(clock, 20, []Probe{p})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		m, err := timing.NewMeter(Readings(p.Describe(), s.Log().All(0)))
		if err != nil {
			t.Fatal(err)
		}
		idle, err := m.Idle(timing.Window{From: time.Second, To: 12 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := m.Window(timing.Window{From: 12 * time.Second, To: 20 * time.Second})
		if !ok {
			t.Fatal(e.Unknown)
		}
		e = e.WithIdle(idle)
		if off := e.Gross - 360*8*1000; off > e.Uncertainty || off < -e.Uncertainty || e.Uncertainty > .02*e.Gross || e.Method != timing.ByCounter || len(e.Flags) != 0 {
			t.Errorf("%+v", e)
		}
		if net := *e.Net / (300 * 8 * 1000); net < .99 || net > 1.01 {
			t.Errorf("net is %.3f of the truth", net)
		}
	})
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := timing.NewClock()
		p := &fake{read: func(_ int, s *Sample) error {
			pause(300 * time.Microsecond)
			s.Set(Energy, int64(clock.Now()/(20*ms)))
			s.Set(PowerAverage, int64(clock.Now()/(100*ms)))
			return nil
		}}
		r, err := MeasureRates(t.Context(), clock, p, 3*time.Second)
		if err != nil || r.Energy == nil || *r.Energy != 20*ms || r.Power == nil || *r.Power != 100*ms || r.Read != 300*time.Microsecond || r.Reads < 2900 {
			t.Errorf("%+v %v", r, err)
		}
		r, err = MeasureRates(t.Context(), clock, &fake{read: steady}, time.Second)
		if err != nil || r.Energy != nil || r.Power != nil {
			t.Errorf("nothing changes: %+v %v", r, err)
		}
		broken := errors.New("no luck")
		if _, err = MeasureRates(t.Context(), clock, &fake{id: "z", read: func(int, *Sample) error { return broken }}, time.Second); !errors.Is(err, broken) || !strings.Contains(err.Error(), "fake z") {
			t.Errorf("a failing read: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err = MeasureRates(ctx, clock, &fake{read: steady}, time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestProblemIsOneLine(t *testing.T) {
	for want, p := range map[string]Problem{
		"nvml: no driver": {Source: "nvml", What: "no driver"},
		"rapl intel-rapl:0: not readable; run as root": {Source: "rapl", Device: "intel-rapl:0", What: "not readable", Do: "run as root"},
	} {
		if p.String() != want {
			t.Errorf("%q, want %q", p.String(), want)
		}
	}
}

// TestReadingsKnowTheirSensors: an H100 has two fields of power, of which the mean sees
// everything; what no recording has is not made up.
func TestReadingsKnowTheirSensors(t *testing.T) {
	var s Sample
	s.Set(PowerInstant, 80_000)
	s.Set(PowerAverage, 75_000)
	samples := slices.Values([]Sample{s})
	h100 := Device{Source: "nvml", Kind: GPU, Name: "NVIDIA H100 PCIe", PowerWindow: time.Second, Facts: []Fact{{"compute_capability", "9.0"}, {"driver", "580.1"}}}
	r := Readings(h100, samples)
	if r.Sensor.Window != 25*time.Millisecond || r.OtherSensor.Window != 1100*time.Millisecond || len(r.Power) != 1 || len(r.Other) != 1 || r.Average != 0 {
		t.Errorf("H100: %+v", r)
	}
	if r := Readings(Device{Source: "nvml", Kind: GPU}, samples); r.Sensor.Window != 20*time.Millisecond || r.Sensor.Spread.Rest < 30_000 {
		t.Errorf("a card of no known kind: %+v", r.Sensor)
	}
	if r := Readings(Device{Source: "rapl", Kind: CPU}, samples); r.Sensor.Name == "" || r.Sensor.Spread != nil {
		t.Errorf("a processor: %+v", r.Sensor)
	}
	if r := Readings(Device{Source: "phantom", Kind: GPU, Synthetic: true}, samples); r.Sensor.Spread == nil || *r.Sensor.Spread != (timing.Spread{}) {
		t.Errorf("a phantom: %+v", r.Sensor)
	}
	if r := Readings(Device{Source: "amdgpu", Kind: GPU}, samples); r.Sensor.Name != "" {
		t.Errorf("an AMD GPU: %+v", r.Sensor)
	}
}

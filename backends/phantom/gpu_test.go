package phantom

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
)

func looked(t *testing.T, g *GPU) telemetry.Sample {
	t.Helper()
	var s telemetry.Sample
	if err := g.Read(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func checkMeasure(t *testing.T, g *GPU, m telemetry.Measure, want int64) {
	t.Helper()
	s := looked(t, g)
	if v, ok := s.Get(m); !ok || v != want {
		t.Errorf("%v after %v is %d (%v), want %d", m, time.Since(g.of.start), v, ok, want)
	}
}

// Two replies overlap: reading in outweighs writing.
func TestGPUFollowsItsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewActivity()
		start := time.Now()
		g := NewGPU(a, Card{Idle: 10_000, Prefill: 300_000, Decode: 200_000})
		time.Sleep(time.Second) // 10 J
		one := a.Begin()
		time.Sleep(time.Second) // 300 J
		one.Decode()
		time.Sleep(time.Second) // 200 J
		checkMeasure(t, g, telemetry.PowerInstant, 200_000)
		two := a.Begin()
		time.Sleep(time.Second) // 300 J
		checkMeasure(t, g, telemetry.PowerInstant, 300_000)
		one.End()
		two.Decode()
		time.Sleep(time.Second) // 200 J
		checkMeasure(t, g, telemetry.CoreBusy, 100)
		two.End()
		time.Sleep(time.Second) // 10 J
		checkMeasure(t, g, telemetry.CoreBusy, 0)
		checkMeasure(t, g, telemetry.Energy, 1020e6)
		checkMeasure(t, g, telemetry.Throttle, 0)
		if e := g.True(start.Add(1500*time.Millisecond), start.Add(3500*time.Millisecond)); e != 150_000+200_000+150_000 {
			t.Errorf("true energy %v", e)
		}
		a.Begin().End() // a reply that never began to write
		if a.now.prefill != 0 || a.now.decode != 0 {
			t.Errorf("at rest: %+v", a.now)
		}
	})
}

// Work that no tick fell into shows in the one after it.
func TestGPUIsBusyBetweenTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewActivity()
		g := NewGPU(a, Card{Idle: 10_000, Prefill: 300_000, Decode: 200_000, Tick: 100 * time.Millisecond})
		time.Sleep(110 * time.Millisecond)
		w := a.Begin()
		time.Sleep(20 * time.Millisecond)
		w.Decode()
		time.Sleep(20 * time.Millisecond)
		w.End()
		checkMeasure(t, g, telemetry.CoreBusy, 0) // as of the last tick
		time.Sleep(60 * time.Millisecond)
		checkMeasure(t, g, telemetry.CoreBusy, 40)
		time.Sleep(100 * time.Millisecond)
		checkMeasure(t, g, telemetry.CoreBusy, 0)
	})
}

func TestGPUFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewActivity()
		second := time.Second
		g := NewGPU(a, Card{Idle: 10_000, Prefill: 300_000, Decode: 200_000, Tick: 100 * time.Millisecond, Limit: 100_000,
			Throttled: []timing.Window{{From: second, To: 2 * second}}, Resets: []time.Duration{3 * second}, WrapsAt: 350e6})
		w := a.Begin()
		time.Sleep(1050 * time.Millisecond)
		checkMeasure(t, g, telemetry.Throttle, telemetry.ThrottlePower)
		checkMeasure(t, g, telemetry.PowerInstant, 100_000)
		checkMeasure(t, g, telemetry.Energy, 300e6) // as of the last tick
		time.Sleep(50 * time.Millisecond)
		checkMeasure(t, g, telemetry.Energy, 310e6)
		time.Sleep(900 * time.Millisecond) // 2 s: 300 + 100 J, wrapped
		checkMeasure(t, g, telemetry.Energy, 50e6)
		time.Sleep(1100 * time.Millisecond) // 0.1 s after the reset
		checkMeasure(t, g, telemetry.Energy, 30e6)
		w.End()
		noisy := NewGPU(a, Card{Idle: 100_000, Tick: 10 * time.Millisecond, Noise: .1})
		low, high := math.Inf(1), math.Inf(-1)
		for range 500 {
			time.Sleep(10 * time.Millisecond)
			s := looked(t, noisy)
			p, _ := s.Get(telemetry.PowerInstant)
			low, high = min(low, float64(p)), max(high, float64(p))
		}
		if low < 90_000 || low > 91_000 || high > 110_000 || high < 109_000 {
			t.Errorf("noise of a tenth: %v to %v mW", low, high)
		}
	})
}

// What the sampler and the energy arithmetic find is what the card drew.
func TestGPUEnergyIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewActivity()
		clock := timing.NewClock()
		card := DefaultCard()
		card.Tick = 20 * time.Millisecond
		g := NewGPU(a, card)
		s, err := telemetry.NewSampler(clock, 100, []telemetry.Probe{g})
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan error, 1)
		run, cancel := context.WithCancel(t.Context())
		go func() { stop <- s.Run(run) }()
		time.Sleep(2 * time.Second)
		from, began := clock.Now(), time.Now()
		w := a.Begin()
		time.Sleep(700 * time.Millisecond)
		w.Decode()
		time.Sleep(1800 * time.Millisecond)
		w.End()
		to, ended := clock.Now(), time.Now()
		time.Sleep(time.Second)
		cancel()
		if err := <-stop; err != nil {
			t.Fatal(err)
		}
		m, err := timing.NewMeter(telemetry.Readings(g.Describe(), s.Log().All(0)))
		if err != nil {
			t.Fatal(err)
		}
		e, _ := m.Window(timing.Window{From: from, To: to})
		truth := g.True(began, ended)
		if e.Unknown != "" || math.Abs(float64(e.Gross-truth)) > float64(e.Uncertainty) || float64(e.Uncertainty) > .05*float64(truth) {
			t.Errorf("found %.0f +/- %.0f mJ (%s), the card drew %.0f", float64(e.Gross), float64(e.Uncertainty), e.Unknown, float64(truth))
		}
	})
}

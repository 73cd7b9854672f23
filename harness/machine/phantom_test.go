package machine

import (
	"assay/backends/phantom"
	"assay/timing"
	"assay/timing/telemetry"
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// What the sampler and the energy arithmetic find is what the card drew.
func TestGPUEnergyIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := phantom.NewActivity()
		clock := timing.NewClock()
		card := phantom.DefaultCard()
		card.Tick = 20 * time.Millisecond
		g := PhantomGPU{phantom.NewGPU(a, card)}
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

// TestPhantomGPUShowsItsCard: each measure is what the card shows.
func TestPhantomGPUShowsItsCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := phantom.NewActivity()
		g := PhantomGPU{phantom.NewGPU(a, phantom.Card{Idle: 10_000, Prefill: 300_000, Decode: 200_000, Memory: 3000, Limit: 100_000,
			Throttled: []timing.Window{{From: time.Second, To: 2 * time.Second}}})}
		check := func(power, energy, busy, throttle int64) {
			t.Helper()
			var s telemetry.Sample
			if err := g.Read(&s); err != nil {
				t.Fatal(err)
			}
			for m, want := range map[telemetry.Measure]int64{telemetry.PowerInstant: power, telemetry.Energy: energy, telemetry.CoreBusy: busy,
				telemetry.MemoryUsed: 1000, telemetry.Throttle: throttle} {
				if v, ok := s.Get(m); !ok || v != want {
					t.Errorf("%v is %d (%v), want %d", m, v, ok, want)
				}
			}
		}
		time.Sleep(500 * time.Millisecond)
		check(10_000, 5e6, 0, 0)
		a.Begin()
		time.Sleep(250 * time.Millisecond)
		check(300_000, 80e6, 100, 0)
		time.Sleep(500 * time.Millisecond)
		check(100_000, 180e6, 100, telemetry.ThrottlePower)
	})
}

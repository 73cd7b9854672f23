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

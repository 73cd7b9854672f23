package phantom

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"assay/timing"
)

func checkLook[T comparable](t *testing.T, g *GPU, what string, of func(look) T, want T) {
	t.Helper()
	if v := of(g.Look()); v != want {
		t.Errorf("%s after %v is %v, want %v", what, time.Since(g.of.start), v, want)
	}
}

func power(l look) timing.Milliwatts { return l.Power }
func busy(l look) int64              { return l.Busy }
func energy(l look) uint64           { return l.Energy }
func throttled(l look) bool          { return l.Throttled }

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
		checkLook(t, g, "power", power, 200_000)
		two := a.Begin()
		time.Sleep(time.Second) // 300 J
		checkLook(t, g, "power", power, 300_000)
		one.End()
		two.Decode()
		time.Sleep(time.Second) // 200 J
		checkLook(t, g, "busy", busy, 100)
		two.End()
		time.Sleep(time.Second) // 10 J
		checkLook(t, g, "busy", busy, 0)
		checkLook(t, g, "energy", energy, 1020e6)
		checkLook(t, g, "throttled", throttled, false)
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
		checkLook(t, g, "busy", busy, 0) // as of the last tick
		time.Sleep(60 * time.Millisecond)
		checkLook(t, g, "busy", busy, 40)
		time.Sleep(100 * time.Millisecond)
		checkLook(t, g, "busy", busy, 0)
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
		checkLook(t, g, "throttled", throttled, true)
		checkLook(t, g, "power", power, 100_000)
		checkLook(t, g, "energy", energy, 300e6) // as of the last tick
		time.Sleep(50 * time.Millisecond)
		checkLook(t, g, "energy", energy, 310e6)
		time.Sleep(900 * time.Millisecond) // 2 s: 300 + 100 J, wrapped
		checkLook(t, g, "energy", energy, 50e6)
		time.Sleep(1100 * time.Millisecond) // 0.1 s after the reset
		checkLook(t, g, "energy", energy, 30e6)
		w.End()
		noisy := NewGPU(a, Card{Idle: 100_000, Tick: 10 * time.Millisecond, Noise: .1})
		low, high := math.Inf(1), math.Inf(-1)
		for range 500 {
			time.Sleep(10 * time.Millisecond)
			p := float64(noisy.Look().Power)
			low, high = min(low, p), max(high, p)
		}
		if low < 90_000 || low > 91_000 || high > 110_000 || high < 109_000 {
			t.Errorf("noise of a tenth: %v to %v mW", low, high)
		}
	})
}

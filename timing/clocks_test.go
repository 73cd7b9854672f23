package timing

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestClocksApart(t *testing.T) {
	const s, us = time.Second, time.Microsecond
	at := Clocks{Mono: 100 * s, Boot: 500 * s, Raw: 90 * s, Within: 2 * us}
	for _, c := range []struct {
		what           string
		mono, boot, rw time.Duration // since then
		slept          time.Duration
		slewed         bool
	}{
		{"nothing", 4 * s, 4 * s, 4 * s, 0, false},
		{"an hour's sleep", 4 * s, 3604 * s, 4 * s, 3600 * s, false},
		{"a sleep of 2 ms", s, s + 2*time.Millisecond, s, 2 * time.Millisecond, false},
		{"reading took a while", s, s + 800*us, s, 0, false},
		{"steered by 0.05 %", 100 * s, 100 * s, 100*s - 50*time.Millisecond, 0, false},
		{"steered fast by 0.2 %", 10 * s, 10 * s, 10*s - 20*time.Millisecond, 0, true},
		{"steered slow by 0.2 %", 10 * s, 10 * s, 10*s + 20*time.Millisecond, 0, true},
		{"steered by 8 % for a short answer", 10 * time.Millisecond, 10 * time.Millisecond, 9200 * us, 0, true},
		{"slept and steered", 10 * s, 20 * s, 9 * s, 10 * s, true},
	} {
		now := Clocks{Mono: at.Mono + c.mono, Boot: at.Boot + c.boot, Raw: at.Raw + c.rw, Within: 3 * us}
		if got := now.Slept(at); got != c.slept {
			t.Errorf("%s: slept %v, want %v", c.what, got, c.slept)
		}
		if got := now.Slewed(at); got != c.slewed {
			t.Errorf("%s: slewed %v", c.what, got)
		}
	}
}

func TestSlew(t *testing.T) {
	at := Clocks{Mono: time.Hour, Raw: time.Minute}
	for _, c := range []struct {
		mono, raw time.Duration
		ppm       float64
		ok        bool
	}{
		{100*time.Second + 5*time.Millisecond, 100 * time.Second, 50, true},
		{100*time.Second - 5*time.Millisecond, 100 * time.Second, -50, true},
		{9 * time.Second, 9 * time.Second, 0, false},
	} {
		ppm, ok := Clocks{Mono: at.Mono + c.mono, Raw: at.Raw + c.raw}.Slew(at)
		if ok != c.ok || math.Abs(ppm-c.ppm) > 1e-6 {
			t.Errorf("%v in %v: %v ppm, %t", c.mono, c.raw, ppm, ok)
		}
	}
}

// The machine's own clocks go together.
func TestLookAtClocks(t *testing.T) {
	a, ok := LookAtClocks()
	if !ok {
		if runtime.GOOS == "linux" {
			t.Fatal("the clocks cannot be read")
		}
		t.Skip("only Linux shows them")
	}
	b, _ := LookAtClocks()
	if b.Mono < a.Mono || b.Boot < a.Boot || b.Raw < a.Raw || a.Boot < a.Mono-a.Within || b.Slept(a) != 0 || b.Slewed(a) {
		t.Errorf("%+v, then %+v", a, b)
	}
}

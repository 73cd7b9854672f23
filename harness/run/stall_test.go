package run

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/timing"
)

const stallUnit = time.Millisecond

// A process that is stopped comes back to a clock that went on.
func TestALateTickIsAStop(t *testing.T) {
	var now time.Duration
	w := &stallWatch{now: func() time.Duration { return now }}
	run := func(until time.Duration) {
		for now < until {
			now += every
			w.Tick()
		}
	}
	run(2000 * stallUnit)
	now += 900 * stallUnit // a busy machine
	run(3000 * stallUnit)
	if w.Stood(0, now) {
		t.Error("a busy machine is taken for a stop")
	}
	from := now - 50*stallUnit
	now += 5 * time.Second
	if !w.Stood(from, now) {
		t.Error("five seconds went unseen: the trial ended before the next tick")
	}
	to := now
	run(to + 3000*stallUnit)
	if !w.Stood(from, to) || !w.Stood(from+2*time.Second, to-2*time.Second) {
		t.Error("the stop was forgotten")
	}
	if w.Stood(to, now) || w.Stood(0, from-every) {
		t.Error("the stop is seen before or after it")
	}
	for range 2 * stallKept {
		now += 2 * late
		w.Tick()
	}
	if len(w.stops) != stallKept || !w.Stood(now-stallUnit, now) {
		t.Errorf("%d stops are remembered", len(w.stops))
	}
}

func TestAStoppedServerIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		clock := timing.NewClock()
		w := start(clock, stopped.Load)
		<-time.After(time.Second)
		from := clock.Now()
		<-time.After(time.Second)
		if w.Stood(from, clock.Now()) {
			t.Error("a server that works is taken for a stopped one")
		}
		from = clock.Now()
		stopped.Store(true)
		<-time.After(time.Second)
		stopped.Store(false)
		to := clock.Now()
		<-time.After(time.Minute)
		if !w.Stood(from, to) || w.Stood(to+every, clock.Now()) {
			t.Error("the server's stop was missed, or is seen afterwards")
		}
		w.Close()
	})
}

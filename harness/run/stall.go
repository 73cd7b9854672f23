// Stall notices that a process stood still while something was timed:
// ours, or that of a model's server.
//
//  1. A stallWatch ticks on the run's clock. A tick that comes much too late says that
//     we were stopped (SIGSTOP, Ctrl-Z, a frozen container, a debugger).
//  2. With each tick it asks whether the server is stopped.
//  3. Stood says whether one of the two was so between two times.
//
// A sleep of the whole machine stops the clock, too, and shows elsewhere:
// timing.Clocks. A server that is stopped for less than a tick, or whose process
// cannot be seen, looks like a slow one.

package run

import (
	"sync"
	"time"

	"assay/timing"
)

const (
	// every is the time between ticks.
	every = 100 * time.Millisecond
	// late is how long after the one before a tick has to come for us to have been
	// stopped. A busy machine delays ticks, too, but not by this much.
	late = time.Second
	// stallKept is how many stops are remembered: far more than one trial meets.
	stallKept = 64
)

// stallWatch looks for standstills until it is closed.
type stallWatch struct {
	now    func() time.Duration
	server func() bool // says that the server is stopped; nil: it cannot be seen

	mu    sync.Mutex
	last  time.Duration // tick
	stops []timing.Window
	end   chan struct{}
}

// start begins to look. server says whether the process of the server under test
// is stopped now; nil: nobody knows.
func start(clock timing.Clock, server func() bool) *stallWatch {
	w := &stallWatch{now: clock.Now, server: server, last: clock.Now(), end: make(chan struct{})}
	go w.run()
	return w
}

func (w *stallWatch) run() {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-w.end:
			return
		case <-t.C:
			w.Tick()
		}
	}
}

// Tick looks now. Before something is timed it keeps an earlier stop out of it.
func (w *stallWatch) Tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick()
}

func (w *stallWatch) tick() {
	now := w.now()
	if now-w.last > late || w.server != nil && w.server() {
		if w.stops = append(w.stops, timing.Window{From: w.last, To: now}); len(w.stops) > stallKept {
			w.stops = w.stops[1:]
		}
	}
	w.last = now
}

// Stood says whether a standstill was seen between two past times on the clock.
func (w *stallWatch) Stood(from, to time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick() // the latest one may be over and not be noted yet
	for _, s := range w.stops {
		if s.From < to && s.To > from {
			return true
		}
	}
	return false
}

// Close ends the looking.
func (w *stallWatch) Close() { close(w.end) }

// Inflight knows which requests are on the wire.

package run

import "sync"

// air is where requests are. The zero Air is empty.
type air struct {
	mu     sync.Mutex
	active map[*flight]bool
}

// flight is a request on the wire.
type flight struct{ concurrent bool }

// Fly notes that a request is on the wire.
func (a *air) Fly() *flight {
	a.mu.Lock()
	defer a.mu.Unlock()
	me := &flight{}
	for o := range a.active {
		o.concurrent, me.concurrent = true, true
	}
	if a.active == nil {
		a.active = map[*flight]bool{}
	}
	a.active[me] = true
	return me
}

// Land notes that it ended, and says whether another was on the wire meanwhile.
func (a *air) Land(me *flight) (concurrent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, me)
	return me.concurrent
}

// Number is how many requests are on the wire now.
func (a *air) Number() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.active)
}

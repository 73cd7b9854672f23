// Inflight knows which requests are on the wire.

package run

import "sync"

// Air is where requests are. The zero Air is empty.
type Air struct {
	mu     sync.Mutex
	active map[*Flight]bool
}

// Flight is a request on the wire.
type Flight struct{ concurrent bool }

// Fly notes that a request is on the wire.
func (a *Air) Fly() *Flight {
	a.mu.Lock()
	defer a.mu.Unlock()
	me := &Flight{}
	for o := range a.active {
		o.concurrent, me.concurrent = true, true
	}
	if a.active == nil {
		a.active = map[*Flight]bool{}
	}
	a.active[me] = true
	return me
}

// Land notes that it ended, and says whether another was on the wire meanwhile.
func (a *Air) Land(me *Flight) (concurrent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, me)
	return me.concurrent
}

// Number is how many requests are on the wire now.
func (a *Air) Number() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.active)
}

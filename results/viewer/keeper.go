package viewer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/results"
)

// storePair is two runs that are compared.
type storePair struct {
	A, B  string // their names
	Times bool   // times and energies although the machines differ
}

// status is how far a comparison is.
type status struct {
	Made     *Comparison // the latest; nil: there is none
	At       time.Time   // when it was made
	Err      error       // why it cannot be made
	Old      bool        // the stores have changed since; it is made again
	Waiting  bool        // it is made, or will be
	Done, Of int         // models compared so far; Of is 0 before it is begun
}

// Words is what a person waits for; "": nothing.
func (s status) Words() string {
	switch {
	case s.Waiting && s.Of == 0:
		return "waits to be compared"
	case s.Waiting:
		return fmt.Sprintf("compared: %d of %s", s.Done, results.Count(s.Of, "model", "models"))
	case s.Old:
		return "of " + s.At.UTC().Format("15:04:05") + " UTC; the runs go on"
	}
	return ""
}

// keeper makes comparisons that are asked for, one after the other, and keeps the last
// few.
type keeper struct {
	now  func() time.Time
	wake chan struct{}

	mu    sync.Mutex
	kept  map[storePair]*entry
	order []storePair // asked for last comes last
}

type entry struct {
	status
	of, want [2]int64 // revisions of both runs
	took     time.Duration
}

// newKeeper is a keeper of nothing yet.
func newKeeper(now func() time.Time) *keeper {
	return &keeper{now: now, wake: make(chan struct{}, 1), kept: map[storePair]*entry{}}
}

const mostKept = 12

// Ask says how far the comparison of two runs is, at these revisions of their trials. One
// that was never made, or of former revisions, is made next; while runs go on, a
// comparison is made at most a tenth of the time.
func (k *keeper) Ask(p storePair, revisions [2]int64) status {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.kept[p]
	if e == nil {
		e = &entry{status: status{Waiting: true}}
		k.kept[p] = e
		k.forget()
	}
	e.want = revisions
	k.order = append(slices.DeleteFunc(k.order, func(o storePair) bool { return o == p }), p)
	if !e.Waiting && e.of != revisions {
		e.Old = true
		e.Waiting = k.now().Sub(e.At) >= 10*e.took
	}
	if e.Waiting {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	return e.status
}

// forget drops what was not asked for in the longest time.
func (k *keeper) forget() {
	for i := 0; len(k.kept) > mostKept && i < len(k.order); {
		if p := k.order[i]; !k.kept[p].Waiting {
			delete(k.kept, p)
			k.order = slices.Delete(k.order, i, i+1)
			continue
		}
		i++
	}
}

// maker makes a comparison; tell is told how many models are done, of how many.
type maker func(ctx context.Context, p storePair, tell func(done, of int)) (*Comparison, error)

// Work makes comparisons until ctx ends.
func (k *keeper) Work(ctx context.Context, maker maker) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			for ctx.Err() == nil && k.Step(ctx, maker) {
			}
		}
	}
}

// Step makes the comparison that was asked for last; false: none is waiting.
func (k *keeper) Step(ctx context.Context, maker maker) bool {
	k.mu.Lock()
	var p storePair
	var e *entry
	for _, p = range slices.Backward(k.order) {
		if e = k.kept[p]; e.Waiting {
			break
		}
		e = nil
	}
	if e == nil {
		k.mu.Unlock()
		return false
	}
	of := e.want
	k.mu.Unlock()
	begin := k.now()
	made, err := maker(ctx, p, func(done, of int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		e.Done, e.Of = done, of
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	at := k.now()
	e.status = status{Made: made, At: at, Err: err}
	e.of, e.took = of, at.Sub(begin)
	return true
}

package machine

import (
	"context"
	"fmt"
	"sync"
)

// Listeners finds which process listens where a model of a bench is served. It
// knows nothing of phantoms, which live in this process, of servers elsewhere, and
// of those whose process this user may not see. stopped says whether the one that
// was found last, or one that it started, is stopped.
func Listeners(on Setup) (who func(ctx context.Context, model string) (string, bool), stopped func(model string) bool) {
	w := watchdog{site: ThisMachine(), last: map[string]Process{}, away: map[string]bool{}}
	address := map[string]string{}
	for _, m := range on.Models {
		for _, be := range on.Servers {
			if be.Name == m.Backend && !be.Phantom() {
				address[m.Name] = be.URL
			}
		}
	}
	return func(ctx context.Context, model string) (string, bool) { return w.who(ctx, address[model]) },
		func(model string) bool { return w.stopped(address[model]) }
}

// watchdog remembers who listened, so that all processes are looked through only
// where that one has ended.
type watchdog struct {
	site Site

	mu   sync.Mutex
	last map[string]Process // by URL
	away map[string]bool    // URLs elsewhere
}

// who is the process that listens where a URL of this machine points, in words that
// stay its own; false: it is not known.
func (w *watchdog) who(ctx context.Context, address string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if address == "" || w.away[address] {
		return "", false
	}
	p, found := w.last[address]
	now, err := w.site.Processes.Process(p.PID)
	if !found || err != nil || !now.Same(p) {
		at, here, err := w.site.At(ctx, address)
		if err != nil || !here {
			w.away[address] = !found
			return "", false
		}
		if p, err = w.site.Processes.Listener(ctx, at); err != nil {
			delete(w.last, address)
			return "", false
		}
		w.last[address] = p
	}
	return fmt.Sprintf("process %d, started at tick %d", p.PID, p.Started), true
}

func (w *watchdog) stopped(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.last[address]
	if !ok {
		return false
	}
	now, err := w.site.Processes.Process(p.PID)
	return err == nil && now.Same(p) && w.site.Processes.Stopped(p.PID)
}

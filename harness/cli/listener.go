package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"

	"assay/harness/bench"
	"assay/harness/process"
)

// listener finds which process listens where a model of a bench is served. It
// knows nothing of phantoms, which live in this process, of servers elsewhere, and
// of those whose process this user may not see. stopped says whether the one that
// was found last, or one that it started, is stopped.
func listener(b *bench.Bench) (who func(ctx context.Context, model string) (string, bool), stopped func(model string) bool) {
	w := watchdog{table: process.Here(), last: map[string]process.Process{}, away: map[string]bool{}}
	address := map[string]string{}
	for _, m := range b.Config.Models {
		for _, be := range b.Config.Backends {
			if be.Name == m.Backend && be.Kind != "phantom" {
				address[m.Name] = hostPort(be.URL)
			}
		}
	}
	return func(ctx context.Context, model string) (string, bool) { return w.who(ctx, address[model]) },
		func(model string) bool { return w.stopped(address[model]) }
}

// hostPort is where a server's address points; "": it is not such an address.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// watchdog remembers who listened, so that all processes are looked through only
// where that one has ended.
type watchdog struct {
	table process.Table

	mu   sync.Mutex
	last map[string]process.Process // by address
	away map[string]bool            // addresses elsewhere
}

// who is the process that listens at an address of this machine, in words that
// stay its own; false: it is not known.
func (w *watchdog) who(ctx context.Context, address string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.last[address]
	switch {
	case address == "" || w.away[address]:
		return "", false
	case !ok && !here(ctx, address):
		w.away[address] = true
		return "", false
	case ok:
		now, err := w.table.Process(p.PID)
		ok = err == nil && now.Same(p)
	}
	if !ok {
		var err error
		if p, err = w.table.Listener(ctx, address); err != nil {
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
	now, err := w.table.Process(p.PID)
	return err == nil && now.Same(p) && w.table.Stopped(p.PID)
}

// here says whether an address is this machine's.
func here(ctx context.Context, address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ips, err := process.Addresses(ctx, host)
	if err != nil || len(ips) == 0 {
		return false
	}
	own, _ := net.InterfaceAddrs() // without them, loopback is known
	for _, ip := range ips {
		mine := ip.IsLoopback()
		for _, a := range own {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == ip {
				mine = true
			}
		}
		if !mine {
			return false
		}
	}
	return true
}

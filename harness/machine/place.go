package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"assay/backends"
	"assay/results"
)

// Site is this machine as seen from inside.
type Site struct {
	Processes Table
	Own       []netip.Addr // of its network interfaces
}

// ThisMachine is the site that this process runs on.
func ThisMachine() Site {
	s := Site{Processes: Processes()}
	all, _ := net.InterfaceAddrs() // without them, only loopback is known to be here
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				s.Own = append(s.Own, ip.Unmap())
			}
		}
	}
	return s
}

// Where is where a backend's server is, and what tells.
type Where struct {
	Place results.Place
	Why   string
	// Server listens at the backend's address; PID 0: not known.
	Server Process
	UID    *int // whose the listener is, where nothing more can be seen of it
	// Forwarded says that what listens, if anything does, hands connections on to a
	// container.
	Forwarded bool
}

// tunnels listen here for a server that is elsewhere.
var tunnels = []string{"ssh", "sshd", "sshd-session", "autossh", "dbclient", "dropbear"}

// forwarders listen here for a server in a container of this machine. Kernels cut names at 15 bytes.
var forwarders = []string{"docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2", "conmon", "wslrelay"}

// Locate says where a backend's server is. bench.yaml's place goes before all else.
func (s Site) Locate(ctx context.Context, b backends.Server) Where {
	if b.Phantom() {
		return Where{Place: results.PlacePhantom, Why: "it is a phantom, inside this process"}
	}
	w := s.ByAddress(ctx, b)
	switch {
	case b.Place != "":
		w.Place, w.Why = results.Place(b.Place), "bench.yaml says so (place: "+b.Place+")"
	case len(b.Command) > 0:
		w.Place, w.Why = results.PlaceLocal, "the run starts it here"
	}
	return w
}

// ByAddress says where a backend's server is by its address and who listens there.
func (s Site) ByAddress(ctx context.Context, b backends.Server) Where {
	far := func(format string, args ...any) Where {
		return Where{Place: results.PlaceRemote, Why: fmt.Sprintf(format, args...)}
	}
	if u, err := url.Parse(b.URL); err == nil && strings.Contains(u.Scheme, "unix") {
		return Where{Place: results.PlaceLocal, Why: "its address is a socket file of this machine"}
	}
	at, here, err := s.At(ctx, b.URL)
	switch {
	case err != nil:
		return far("%v", err)
	case !here:
		return far("%s is no address of this machine", at)
	}
	near := Where{Place: results.PlaceLocal}
	p, err := s.Processes.Listener(ctx, at)
	hidden := new(HiddenError)
	switch {
	case errors.As(err, &hidden):
		near.UID = &hidden.UID
		near.Why = fmt.Sprintf("%s is this machine; which process of user %d listens there is hidden from this user, so a tunnel would not be noticed", at, hidden.UID)
	case errors.Is(err, ErrNobody):
		near.Forwarded = true
		near.Why = at + " is this machine; no process of it listens there: the server does not run, or the kernel forwards to a container"
	case err != nil:
		near.Why = fmt.Sprintf("%s is this machine; who listens there is not known (%v)", at, err)
	case slices.Contains(tunnels, p.Name):
		w := far("at %s listens %s (%d), a tunnel to another machine", at, p.Name, p.PID)
		w.Server = p
		return w
	case slices.Contains(forwarders, p.Name):
		near.Forwarded = true
		near.Why = fmt.Sprintf("at %s listens %s (%d), which forwards to a container of this machine", at, p.Name, p.PID)
	default:
		near.Server = p
		near.Why = fmt.Sprintf("at %s listens %s (%d)", at, p.Name, p.PID)
	}
	return near
}

// At is the host and port that a server's URL points to, and whether they are this
// machine's: one of the host's addresses is loopback or its own.
func (s Site) At(ctx context.Context, address string) (at string, here bool, err error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("its address cannot be read: %w", err)
	case u.Hostname() == "":
		return "", false, fmt.Errorf("its address %q names no host", address)
	}
	at = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
	ips, err := Addresses(ctx, u.Hostname())
	if err != nil {
		return at, false, fmt.Errorf("its name cannot be resolved (%w)", err)
	}
	return at, slices.ContainsFunc(ips, func(ip netip.Addr) bool { return ip.IsLoopback() || slices.Contains(s.Own, ip) }), nil
}

// Places says where the server of each model is.
func Places(ctx context.Context, on Setup, s Site) map[string]results.Place {
	by := map[string]results.Place{}
	for _, b := range on.Servers {
		by[b.Name] = s.Locate(ctx, b).Place
	}
	out := map[string]results.Place{}
	for _, m := range on.Models {
		out[m.Name] = by[m.Backend]
	}
	return out
}

package machine

import (
	"strings"
	"testing"

	"assay/backends"
	"assay/results"
)

func TestWhereAServerIs(t *testing.T) {
	llama := func() *proc {
		return newProc().listen(any8080, 1000, "71").run(10, 1, "llama-server", 5, "71")
	}
	by := func(name string) *proc {
		return newProc().listen(loopback8080, 1000, "71").run(10, 1, name, 5, "71")
	}
	for _, c := range []struct {
		what  string
		proc  *proc
		b     backends.Server
		place results.Place
		why   string
	}{
		{"loopback", llama(), backends.Server{URL: "http://127.0.0.1:8080"}, "local", "listens llama-server (10)"},
		{"a name in capitals", llama(), backends.Server{URL: "http://LOCALHOST:8080"}, "local", "llama-server (10)"},
		{"any address", llama(), backends.Server{URL: "http://0.0.0.0:8080"}, "local", "llama-server (10)"},
		{"any address of IPv6", llama(), backends.Server{URL: "http://[::]:8080"}, "local", "llama-server (10)"},
		{"IPv6's loopback, nobody there", newProc(), backends.Server{URL: "http://[::1]:8080"}, "local", "no process of it listens"},
		{"IPv4 in IPv6", llama(), backends.Server{URL: "http://[::ffff:127.0.0.1]:8080"}, "local", "llama-server (10)"},
		{"an address of its own", llama(), backends.Server{URL: "http://192.168.7.2:8080"}, "local", "llama-server (10)"},
		{"an address of another", llama(), backends.Server{URL: "http://192.168.7.3:8080"}, "remote", "no address of this machine"},
		{"no host", llama(), backends.Server{URL: "http:///v1"}, "remote", "names no host"},
		{"a tunnel", by("ssh"), backends.Server{URL: "http://127.0.0.1:8080"}, "remote", "ssh (10), a tunnel"},
		{"a tunnel from the other end", by("sshd"), backends.Server{URL: "http://localhost:8080"}, "remote", "sshd (10), a tunnel"},
		{"a tunnel, newer", by("sshd-session"), backends.Server{URL: "http://localhost:8080"}, "remote", "a tunnel"},
		{"no tunnel", by("sshx"), backends.Server{URL: "http://localhost:8080"}, "local", "sshx (10)"},
		{"a container's port", by("docker-proxy"), backends.Server{URL: "http://127.0.0.1:8080"}, "local", "forwards to a container"},
		{"a container's port by the kernel", newProc(), backends.Server{URL: "http://127.0.0.1:8080"}, "local", "forwards to a container"},
		{"a service of another user", newProc().listen(loopback8080, 998, "71"), backends.Server{URL: "http://127.0.0.1:8080"}, "local", "user 998"},
		{"the usual port", newProc().listen("0100007F:0050", 0, "71").run(10, 1, "nginx", 5, "71"), backends.Server{URL: "http://127.0.0.1"}, "local", "nginx (10)"},
		{"said to be here", by("ssh"), backends.Server{URL: "http://127.0.0.1:8080", Place: "local"}, "local", "place: local"},
		{"said to be there", llama(), backends.Server{URL: "http://127.0.0.1:8080", Place: "remote"}, "remote", "place: remote"},
		{"started by the run", newProc(), backends.Server{URL: "http://127.0.0.1:8080", Command: []string{"x"}}, "local", "the run starts it"},
		{"a phantom", newProc(), backends.Server{Kind: "phantom"}, "phantom", "phantom"},
	} {
		w := c.proc.processSite().Locate(t.Context(), c.b)
		if w.Place != c.place || !strings.Contains(w.Why, c.why) {
			t.Errorf("%s: %s, because %s", c.what, w.Place, w.Why)
		}
	}
}

func TestOwnAddressesAreKnown(t *testing.T) {
	if s := ThisMachine(); len(s.Own) == 0 {
		t.Skip("no network interface is visible")
	}
	for _, ip := range ThisMachine().Own {
		url := "http://" + ip.String()
		if ip.Is6() {
			url = "http://[" + ip.String() + "]"
		}
		if w := ThisMachine().Locate(t.Context(), backends.Server{URL: url + ":1"}); w.Place != results.PlaceLocal {
			t.Errorf("%s: %s", url, w.Why)
		}
	}
}

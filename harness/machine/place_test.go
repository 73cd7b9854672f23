package machine

import (
	"strings"
	"testing"

	"assay/harness/config"
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
		b     config.Backend
		place results.Place
		why   string
	}{
		{"loopback", llama(), config.Backend{URL: "http://127.0.0.1:8080"}, "local", "listens llama-server (10)"},
		{"a name in capitals", llama(), config.Backend{URL: "http://LOCALHOST:8080"}, "local", "llama-server (10)"},
		{"any address", llama(), config.Backend{URL: "http://0.0.0.0:8080"}, "local", "llama-server (10)"},
		{"any address of IPv6", llama(), config.Backend{URL: "http://[::]:8080"}, "local", "llama-server (10)"},
		{"IPv6's loopback, nobody there", newProc(), config.Backend{URL: "http://[::1]:8080"}, "local", "no process of it listens"},
		{"IPv4 in IPv6", llama(), config.Backend{URL: "http://[::ffff:127.0.0.1]:8080"}, "local", "llama-server (10)"},
		{"an address of its own", llama(), config.Backend{URL: "http://192.168.7.2:8080"}, "local", "llama-server (10)"},
		{"an address of another", llama(), config.Backend{URL: "http://192.168.7.3:8080"}, "remote", "no address of this machine"},
		{"no host", llama(), config.Backend{URL: "http:///v1"}, "remote", "names no host"},
		{"a tunnel", by("ssh"), config.Backend{URL: "http://127.0.0.1:8080"}, "remote", "ssh (10), a tunnel"},
		{"a tunnel from the other end", by("sshd"), config.Backend{URL: "http://localhost:8080"}, "remote", "sshd (10), a tunnel"},
		{"a tunnel, newer", by("sshd-session"), config.Backend{URL: "http://localhost:8080"}, "remote", "a tunnel"},
		{"no tunnel", by("sshx"), config.Backend{URL: "http://localhost:8080"}, "local", "sshx (10)"},
		{"a container's port", by("docker-proxy"), config.Backend{URL: "http://127.0.0.1:8080"}, "local", "forwards to a container"},
		{"a container's port by the kernel", newProc(), config.Backend{URL: "http://127.0.0.1:8080"}, "local", "forwards to a container"},
		{"a service of another user", newProc().listen(loopback8080, 998, "71"), config.Backend{URL: "http://127.0.0.1:8080"}, "local", "user 998"},
		{"the usual port", newProc().listen("0100007F:0050", 0, "71").run(10, 1, "nginx", 5, "71"), config.Backend{URL: "http://127.0.0.1"}, "local", "nginx (10)"},
		{"said to be here", by("ssh"), config.Backend{URL: "http://127.0.0.1:8080", Place: "local"}, "local", "place: local"},
		{"said to be there", llama(), config.Backend{URL: "http://127.0.0.1:8080", Place: "remote"}, "remote", "place: remote"},
		{"started by the run", newProc(), config.Backend{URL: "http://127.0.0.1:8080", Command: []string{"x"}}, "local", "the run starts it"},
		{"a phantom", newProc(), config.Backend{Kind: "phantom"}, "phantom", "phantom"},
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
		if w := ThisMachine().Locate(t.Context(), config.Backend{URL: url + ":1"}); w.Place != results.PlaceLocal {
			t.Errorf("%s: %s", url, w.Why)
		}
	}
}

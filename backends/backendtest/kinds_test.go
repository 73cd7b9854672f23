package backendtest_test

import (
	"fmt"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
	"assay/timing"
)

// TestMain has garbage collected less often: what these tests make is small and soon gone.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

func of(t *testing.T, name string) kinds.Kind {
	t.Helper()
	k, ok := kinds.Named(name, "")
	if !ok {
		t.Fatalf("no kind %q", name)
	}
	return k
}

// TestAServerOfAnotherKindIsNamed: recorded servers and phantoms, asked as what they
// are not. Those that speak for themselves are not held up.
func TestAServerOfAnotherKindIsNamed(t *testing.T) {
	servers := map[string]func(t *testing.T) *backendtest.Network{
		"ollama": func(t *testing.T) *backendtest.Network {
			r := map[string]backendtest.Recording{}
			for route, name := range map[string]string{"GET /": "root", "GET /api/version": "version", "POST /api/show": "show-vlm", "GET /api/tags": "tags", "GET /v1/models": "v1-models"} {
				r[route] = load(t, "ollama-0.24.0/"+name)
			}
			return &backendtest.Network{Routes: r}
		},
		"llamacpp": func(t *testing.T) *backendtest.Network {
			r := map[string]backendtest.Recording{}
			for route, name := range map[string]string{"GET /health": "health", "GET /props": "props", "GET /v1/models": "models", "GET /version": "err-404", "GET /api/version": "err-404"} {
				r[route] = load(t, "llama-server-b10573/"+name)
			}
			return &backendtest.Network{Routes: r}
		},
		"vllm": func(t *testing.T) *backendtest.Network { // written by hand: see UNVERIFIED-vllm
			return &backendtest.Network{Routes: map[string]backendtest.Recording{"GET /health": backendtest.Reply(200, "text/plain"), "GET /version": fixture(t, "version.json", 200),
				"GET /v1/models": backendtest.Reply(200, "application/json", `{"data":[{"id":"tiny-vlm","owned_by":"vllm"}]}`), "POST /v1/chat/completions": fixture(t, "probe.json", 200)}}
		},
	}
	for is, network := range servers {
		for _, api := range []string{"ollama", "llamacpp", "vllm"} {
			t.Run(is+" as "+api, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := network(t)
					id, err := connect(t, api, n).Identify(t.Context(), map[string]string{"ollama": "tiny-vlm:latest", "llamacpp": "tiny-vlm", "vllm": "tiny-vlm"}[is])
					if is == api {
						if err != nil {
							t.Errorf("%+v, %v", id, err)
						}
						return
					}
					if err == nil || !strings.Contains(err.Error(), "this is "+of(t, is).Called+": write kind: "+is) {
						t.Errorf("%v", err)
					}
					if id.Digest != "" || id.Vision != nil {
						t.Errorf("%+v", id)
					}
				})
			})
		}
	}
	for _, is := range []string{"ollama", "llamacpp", "vllm"} {
		h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: is, Loaded: map[string]string{"llamacpp": "honest"}[is]})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		c, err := wire.New(wire.Config{URL: s.URL, Signs: kinds.Signs()})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Kind(t.Context()); !ok || got.Kind != is {
			t.Errorf("a phantom %s is taken for %q", is, got.Kind)
		}
		s.Close()
		if got, ok := c.Kind(t.Context()); ok {
			t.Errorf("nobody is taken for %q", got.Kind)
		}
	}
}

// TestErrorsOfProxies: pages are cut to a line, compressed bytes and requests that are
// too large are named, through every adapter.
func TestErrorsOfProxies(t *testing.T) {
	page := "<!DOCTYPE html>\n<html>\n<head><title>502 Bad\n Gateway</title><style>x{}</style></head>\n<body><h1>" + strings.Repeat("long ", 1000) + "</h1></body></html>"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       backends.Kind
		says       string
	}{
		"a page":         {502, "text/html", page, backends.ErrServer, "a web page, not a model server's reply: 502 Bad Gateway"},
		"without title":  {500, "text/html", "<html><body bgcolor='x'><p>It &amp; that</p><br>failed</body></html>", backends.ErrServer, "reply: It & that failed"},
		"nothing but":    {500, "text/html", "<html>down</html>", backends.ErrServer, "reply: down"},
		"too large":      {413, "text/html", "<html><title>413 Request Entity Too Large</title></html>", backends.ErrRefused, "client_max_body_size"},
		"too large, API": {413, "application/json", `{"error":{"message":"too big"}}`, backends.ErrRefused, "max_side"},
		"compressed":     {500, "application/json", "\x1f\x8b\x08\x00rest", backends.ErrServer, "gzip"},
	} {
		for _, api := range []string{"ollama", "openai", "llamacpp", "vllm"} {
			t.Run(fmt.Sprintf("%s/%s", name, api), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: backendtest.Reply(c.status, c.kind, c.body)}}
					r, err := connect(t, api, n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
					e := backendtest.Typed(t, r, err, c.want)
					if !strings.Contains(e.Error(), c.says) || len(e.Message) > 500 || strings.ContainsAny(e.Message, "\n<\x1f") {
						t.Errorf("%q does not say %q on one line", e, c.says)
					}
				})
			})
		}
	}
}

func TestAnAddressWithoutScheme(t *testing.T) {
	for url, want := range map[string]string{"127.0.0.1:11434": "http://127.0.0.1:11434?", "localhost:8080": "http://localhost:8080?", "//host": "http://host?", "host": "http://host?"} {
		if _, err := wire.New(wire.Config{URL: url}); err == nil || !strings.Contains(err.Error(), "did you mean "+want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

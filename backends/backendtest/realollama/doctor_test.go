//go:build realollama

package realollama_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends/backendtest/tinymodel"
	"assay/results"
)

// The doctor against a real Ollama: who it is, what its caches do, a model
// without eyes, and a server that is not there.
func TestRealOllamaDoctor(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		dir := g.folder(t, tinymodel.VLMName)
		code, out := g.run(t, dir, "doctor", "-c", "bench.yaml")
		t.Logf("assay doctor:\n%s", out)
		if code != 0 {
			t.Errorf("status %d for a server in order", code)
		}
		for _, want := range []string{"model tiny: ollama ", "weights ", "sees images", "repeated with caches kept cold", "nonces", "clock: ", "GB free"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q", want)
			}
		}
		_, out = g.run(t, dir, "doctor", "-c", "bench.yaml", "--json")
		var d struct {
			Servers []struct {
				Models []struct {
					First    time.Duration `json:"first_ns"`
					Repeated time.Duration `json:"repeated_ns"`
					Cold     time.Duration `json:"cold_ns"`
				}
			}
		}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&d); err != nil || len(d.Servers) != 1 || len(d.Servers[0].Models) != 2 {
			t.Fatalf("%v: %s", err, out)
		}
		m := d.Servers[0].Models[0]
		t.Logf("first content of a new request %v, repeated %v, with nonces %v", m.First, m.Repeated, m.Cold)
		if m.First <= 0 || m.Repeated <= 0 || m.Cold <= 0 {
			t.Errorf("times are missing: %+v", m)
		}

		for _, c := range []struct{ from, to, want string }{
			{"model: " + tinymodel.VLMName + "}\njudges", "model: " + tinymodel.TextName + "}\njudges", "cannot see pictures, and a study shows them"},
			{g.url, "http://127.0.0.1:9", "start the server"},
			{"num_ctx: 4096, ", "", "num_ctx is not given"},
		} {
			b, err := os.ReadFile(filepath.Join(dir, "bench.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(string(b), c.from, c.to, 1)
			if text == string(b) {
				t.Fatalf("nothing to replace: %q", c.from)
			}
			if err := os.WriteFile(filepath.Join(dir, "other.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out := g.run(t, dir, "doctor", "-c", "other.yaml", "--quick")
			if !strings.Contains(out, c.want) || (code == 3) == (c.to == "") {
				t.Errorf("%q instead of %q: status %d\n%s", c.to, c.from, code, out)
			}
		}
	}
}

// Between the blocks of two models the first one leaves the memory, and /api/ps
// says so.
func TestRealOllamaUnloadsBetweenModels(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		dir := g.folder(t, tinymodel.VLMName)
		b, err := os.ReadFile(filepath.Join(dir, "bench.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(b), "models:\n", "models:\n  blind: {backend: ollama, model: "+tinymodel.TextName+"}\n", 1)
		// The second block belongs to a model that is refused before it loads, so
		// that nothing but the first one's leaving can empty the memory.
		text = strings.Replace(text, "  blind:", "  zz-blind:", 1)
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "  zz-blind:") { // models run in the order of the file
				lines[i], lines[i+1] = lines[i+1], lines[i]
				break
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		_, out := g.run(t, dir, "run", "-c", "bench.yaml", "--limit", "2")
		events, err := stored(t, dir).Events(t.Context())
		if err != nil || len(events) == 0 {
			t.Fatalf("no events (%v):\n%s", err, out)
		}
		if e := events[0]; e.Kind != results.EventUnloaded || e.Subject != tinymodel.VLMName {
			t.Errorf("%+v, want that %s was unloaded", e, tinymodel.VLMName)
		}
	}
}

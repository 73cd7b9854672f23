//go:build fleet && linux

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// traffic counts requests to a server; gone are those whose asker did not wait.
type traffic struct{ asked, answered, gone atomic.Int32 }

// slow is a phantom server that thinks for a while before it answers, and counts.
func slow(t testing.TB, think time.Duration, counts ...*traffic) string {
	t.Helper()
	p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Protocol: "ollama", Seed: 3, Skill: new(films.Films)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	to, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {} // a worker was killed
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			for _, c := range counts {
				c.asked.Add(1)
			}
			time.Sleep(think)
			for _, c := range counts {
				if r.Context().Err() != nil {
					c.gone.Add(1)
				}
				c.answered.Add(1)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// bench is an experiment on it.
func bench(server string, items int) string {
	return fmt.Sprintf(`name: fleet
seed: 3
store: one.sqlite
datasets: {chest: {kind: phantom, items: %d, size: 256}}
backends: {p: {kind: ollama, url: %q, place: remote}}
models:
  honest: {backend: p, model: honest}
  silent: {backend: p, model: silent-sycophant}
judges: {lexical: {kind: lexical}}
studies:
  cot:
    dataset: chest
    timed: false
    rubrics: {accuracy: [lexical], precision: [lexical], recall: [lexical], order: [lexical]}
  faithfulness:
    dataset: chest
    arms: [structured]
    conditions: [sham, TB-LA-, VO-BB]
    rubrics: {CF: [lexical], CA: [lexical], CT: [lexical]}
telemetry: {devices: [host], hz: 20}
`, items, server)
}

// rows are an export's.
func rows(t testing.TB, exported string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(exported) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// differences are where trials are not those of one machine, but for times and what is
// made of them, and for the machine.
func differences(one, several []map[string]any) (out []string) {
	if len(one) != len(several) || len(one) == 0 {
		return []string{fmt.Sprintf("%d trials on one machine, %d on several", len(one), len(several))}
	}
	apart := []string{"ttft_at_most", "latency_at_most", "flags", "missing", "attempts", "host", "gpu", "driver"}
	for i, r := range one {
		for name, v := range r {
			if !strings.HasPrefix(name, "energy_") && !strings.HasSuffix(name, "_s") && !slices.Contains(apart, name) && !reflect.DeepEqual(v, several[i][name]) {
				out = append(out, fmt.Sprintf("%v/%v/%v/%v/%v: %s is %v on one machine and %v on several", r["study"], r["model"], r["item"], r["arm"], r["condition"], name, v, several[i][name]))
			}
		}
	}
	return out
}

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"assay/backends/phantom"
	"assay/harness/cli"
	films "assay/harness/dataset/phantom"
)

// evil sets a terminal's title, hides what stands before it, and turns what comes behind.
const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"

// TestEscapesOfOthers: what servers and exporters say of themselves cannot steer a terminal.
func TestEscapesOfOthers(t *testing.T) {
	t.Parallel()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a%s\",modelName=\"NVIDIA L4%[1]s\",Hostname=\"box%[1]s\"} 70\n", evil)
	}))
	defer exporter.Close()
	for _, protocol := range phantom.Protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			says := new(atomic.Value)
			says.Store(evil)
			server := httptest.NewServer(boastful(t, protocol, says))
			defer server.Close()
			dir := t.TempDir()
			bench := filepath.Join(dir, "bench.yaml")
			put(t, bench, []byte(`name: run
seed: 3
store: `+filepath.Join(dir, "run.sqlite")+`
datasets: {chest: {kind: phantom, items: 1, size: 256}}
telemetry: {remote: [{backend: p, url: "`+exporter.URL+`"}]}
backends: {p: {kind: `+protocol+`, url: "`+server.URL+`"}}
models: {honest: {backend: p}}
judges: {lexical: {kind: lexical}}
studies: {cot: {dataset: chest, arms: [direct]}}
`))
			for _, args := range [][]string{{"doctor", "-c", bench}, {"run", "-c", bench}, {"plan", "-c", bench}, {"run", "-c", bench}} {
				var out bytes.Buffer
				code := cli.Main(context.Background(), append([]string{"assay"}, args...), strings.NewReader(""), &out, &out)
				said := out.String()
				if i := strings.IndexAny(said, "\x1b\x07\u009b\u202e"); i >= 0 {
					t.Errorf("%s (exit code %d) prints an escape at byte %d: %q", args[0], code, i, said[max(0, i-80):min(len(said), i+40)])
				}
				if code == 2 {
					t.Errorf("%s: %s", args[0], said)
				}
				says.Store(evil + args[0]) // a store goes on with no other server
				t.Logf("%s ends with %d and %d characters, %d escapes shown as their code points", args[0], code, len(said), strings.Count(said, "[U+001B]"))
			}
		})
	}
}

// boastful is a phantom server that puts escapes behind all that it says of itself.
func boastful(t *testing.T, protocol string, says *atomic.Value) http.Handler {
	h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: protocol})
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/api/show" {
			h.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		var v any
		body := rec.Body.Bytes()
		if json.Unmarshal(body, &v) == nil {
			body, _ = json.Marshal(steered("", v, says.Load().(string)))
		}
		for k, values := range rec.Header() {
			w.Header()[k] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		w.Write(body)
	})
}

func steered(key string, v any, more string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = steered(k, v[k], more)
		}
	case []any:
		for i := range v {
			v[i] = steered(key, v[i], more)
		}
	case string:
		switch key {
		case "version", "build_info", "digest", "quantization_level", "model_path", "owned_by", "family", "root":
			return v + more
		}
	}
	return v
}

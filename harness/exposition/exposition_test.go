package exposition_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"assay/harness/config/bench"
	"assay/harness/dataset/formats"
	"assay/harness/experiment"
	"assay/harness/exposition"
	"assay/harness/managed"
	"assay/harness/monitor"
	"assay/harness/plan"
	"assay/results"
	"assay/results/serve"
	"assay/results/sqlite"
	"assay/timing"
	"assay/timing/telemetry"
)

const small = `name: small
seed: 3
store: small.sqlite
datasets:
  chest: {kind: phantom, items: 4, size: 256}
backends:
  p: {kind: phantom, protocol: ollama}
models:
  honest: {backend: p, model: honest}
  blind: {backend: p, model: blind}
judges:
  lexical: {kind: lexical}
studies:
  cot:
    dataset: chest
    arms: [direct]
    sampling: {temperature: 0, max_tokens: 64, seed: 1}
    in_flight: 2
telemetry: {hz: 20, devices: [phantom]}
`

// read is OpenMetrics text by Prometheus's own parser: values by series, and the types
// and units of families.
func read(t *testing.T, text []byte) (values map[string]float64, types, units map[string]string) {
	t.Helper()
	values, types, units = map[string]float64{}, map[string]string{}, map[string]string{}
	p := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return values, types, units
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch e {
		case textparse.EntryType:
			name, kind := p.Type()
			if types[string(name)] != "" {
				t.Errorf("%s twice", name)
			}
			types[string(name)] = string(kind)
		case textparse.EntryUnit:
			name, unit := p.Unit()
			units[string(name)] = string(unit)
		case textparse.EntrySeries:
			series, at, v := p.Series()
			if at != nil {
				t.Errorf("%s has a time", series)
			}
			if _, twice := values[string(series)]; twice {
				t.Errorf("%s twice", series)
			}
			values[string(series)] = v
		}
	}
}

// begun is the small experiment, planned, with its store.
func begun(t *testing.T) (*experiment.Bench, *plan.Plan, *sqlite.Store, results.Manifest) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := bench.Read(file, experiment.Known())
	if err != nil {
		t.Fatal(err)
	}
	b, err := experiment.Assemble(cfg, formats.Library{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	st, man, err := b.Open(t.Context(), p, b.Manifest(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return b, p, st, man
}

// TestMetricsAreTheStores: at a run's end they are what the store counts, and while it
// goes on somebody may look.
func TestMetricsAreTheStores(t *testing.T) {
	t.Parallel()
	b, p, st, man := begun(t)
	srv := managed.NewServers(b.Config)
	defer srv.Close()
	b.Meter = exposition.New(man.Name, "test")
	held, err := st.Extents(t.Context(), man)
	if err != nil {
		t.Fatal(err)
	}
	b.Meter.Begin(held)
	before, _, _ := read(t, b.Meter.Text())
	if before[`assay_trials{study="cot",model="honest",state="planned"}`] != 4 || before[`assay_trials{study="cot",model="honest",state="answered"}`] != 0 {
		t.Errorf("before the run: %v", before)
	}

	over := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				b.Meter.Text()
			}
		}
	})
	_, err = b.Answer(t.Context(), p, st, &man, experiment.Asking{Servers: srv, Notes: io.Discard})
	close(over)
	looking.Wait()
	if err != nil {
		t.Fatal(err)
	}
	tally, err := b.Judge(t.Context(), p, st, srv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got, types, units := read(t, b.Meter.Text())
	extents, err := st.Extents(t.Context(), man)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range extents {
		of := `{study="` + e.Study + `",model="` + e.Model + `"`
		var ttft, latency float64
		tokens, prompts, n := 0, 0, 0
		for row, err := range st.Rows(t.Context(), e.Study) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Key.Model == e.Model && !row.Failed {
				n++
				ttft, latency, tokens, prompts = ttft+row.TTFT.Seconds(), latency+row.Latency.Seconds(), tokens+*row.CompletionTokens, prompts+*row.PromptTokens
			}
		}
		for series, want := range map[string]float64{
			"assay_trials" + of + `,state="answered"}`: float64(e.Answers), "assay_trials" + of + `,state="failed"}`: float64(e.Failures), "assay_trials" + of + `,state="planned"}`: float64(*e.Planned),
			"assay_attempts_total" + of + `,outcome="answer"}`: float64(n), "assay_completion_tokens_total" + of + "}": float64(tokens), "assay_prompt_tokens_total" + of + "}": float64(prompts),
			"assay_ttft_seconds_count" + of + "}": float64(n), "assay_ttft_seconds_sum" + of + "}": ttft, "assay_ttft_seconds_bucket" + of + `,le="+Inf"}`: float64(n),
			"assay_latency_seconds_count" + of + "}": float64(n), "assay_latency_seconds_sum" + of + "}": latency,
		} {
			if v, ok := got[series]; !ok || math.Abs(v-want) > 1e-9 {
				t.Errorf("%s: %v (%t), want %v", series, v, ok, want)
			}
		}
		if n == 0 {
			t.Errorf("no answers of %+v", e)
		}
	}
	judged := 0
	for _, n := range tally {
		judged += n
	}
	if got[`assay_judgments_total{verdict="yes"}`]+got[`assay_judgments_total{verdict="no"}`] != float64(judged) || judged == 0 || got["assay_judge_queue"] != 0 || got["assay_requests_in_flight"] != 0 {
		t.Errorf("%d judgments: %v", judged, got)
	}
	if types["assay_ttft_seconds"] != "histogram" || types["assay_completion_tokens"] != "counter" || types["assay_run"] != "info" || units["assay_ttft_seconds"] != "seconds" {
		t.Errorf("%v %v", types, units)
	}
}

// TestMetricsOfTrials: what replaces a stored outcome takes its place, bounds are within
// their bucket, several turns are added up, and what no turn knows has no line.
func TestMetricsOfTrials(t *testing.T) {
	t.Parallel()
	_, p, db, _ := begun(t)
	m := exposition.New("a \"b\"\\\n", "1")
	st := m.Store(db)
	k := p.Blocks[0].Trials[0].Key
	failed := results.Attempt{Failure: &results.Failure{Kind: "timeout", Message: "x"}}
	turn := func(ttft, latency time.Duration) results.Turn {
		rec := timing.NewRecorder(timing.NewClock())
		for e, at := range map[timing.Event]time.Duration{timing.Start: 0, timing.FirstContent: ttft, timing.LastContent: latency} {
			rec.MarkAt(e, at)
		}
		return results.Turn{Trace: rec.Trace()}
	}
	answer := results.Attempt{Output: &results.Output{Answer: "B"}, Turns: []results.Turn{turn(50*time.Millisecond, time.Second), turn(50*time.Millisecond, time.Second)}}
	for _, attempts := range [][]results.Attempt{{failed}, {failed, failed}, {failed, failed, answer}} {
		if err := st.PutTrial(t.Context(), results.Trial{Key: k, Attempts: attempts}); err != nil {
			t.Fatal(err)
		}
	}
	got, _, _ := read(t, m.Text())
	of := `{study="cot",model="` + k.Model + `"`
	for series, want := range map[string]float64{
		"assay_trials" + of + `,state="answered"}`: 1, "assay_trials" + of + `,state="failed"}`: 0,
		"assay_attempts_total" + of + `,outcome="timeout"}`: 2, "assay_attempts_total" + of + `,outcome="answer"}`: 1,
		"assay_ttft_seconds_bucket" + of + `,le="0.05"}`: 0, "assay_ttft_seconds_bucket" + of + `,le="0.1"}`: 1, "assay_ttft_seconds_sum" + of + "}": 0.1,
		"assay_latency_seconds_bucket" + of + `,le="1.0"}`: 0, "assay_latency_seconds_bucket" + of + `,le="2.5"}`: 1, "assay_latency_seconds_sum" + of + "}": 2,
		`assay_run_info{name="a \"b\"\\\n",version="1"}`: 1,
	} {
		if v, ok := got[series]; !ok || math.Abs(v-want) > 1e-9 {
			t.Errorf("%s: %v (%t), want %v", series, v, ok, want)
		}
	}
	for series := range got {
		if strings.Contains(series, "tokens") || strings.Contains(series, "planned") || strings.Contains(series, "queue") {
			t.Errorf("%s is not known", series)
		}
	}
}

// TestMetricsOfDevices: in base units, and none where a device says nothing.
func TestMetricsOfDevices(t *testing.T) {
	t.Parallel()
	m := exposition.New("r", "1")
	var s telemetry.Sample
	s.Set(telemetry.PowerAverage, 250_500)
	s.Set(telemetry.Energy, 3_000_000)
	s.Set(telemetry.MemoryUsed, 1<<30)
	m.Watch(func() []monitor.Reading {
		return []monitor.Reading{{Device: telemetry.Device{Source: "nvml", Name: "card"}, Sample: s}, {Device: telemetry.Device{Source: "host", Name: "cpu"}}}
	})
	got, _, units := read(t, m.Text())
	of := `{device="0",source="nvml",name="card",synthetic="false"}`
	if got["assay_device_power_watts"+of] != 250.5 || got["assay_device_energy_joules_total"+of] != 3 || got["assay_device_memory_used_bytes"+of] != 1<<30 || units["assay_device_energy_joules"] != "joules" {
		t.Errorf("%v %v", got, units)
	}
	for series := range got {
		if strings.Contains(series, `"cpu"`) || strings.Contains(series, "temperature") {
			t.Errorf("%s is not known", series)
		}
	}
}

// TestMetricsAreServed under one path, as OpenMetrics, and to no page that goes by
// another name.
func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	h := serve.Guard(serve.Options{Listen: "127.0.0.1:9400"}, exposition.New("r", "1"))
	for _, c := range []struct {
		path, host string
		code       int
	}{{"/metrics", "127.0.0.1:9400", 200}, {"/metrics", "localhost:9400", 200}, {"/", "127.0.0.1:9400", 404}, {"/metrics", "evil.example:9400", 421}} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if c.code == 200 && (w.Header().Get("Content-Type") != "application/openmetrics-text; version=1.0.0; charset=utf-8" || !bytes.HasSuffix(w.Body.Bytes(), []byte("# EOF\n"))) {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
	}
}

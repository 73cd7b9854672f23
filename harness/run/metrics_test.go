package run_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
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

// read is the text of a meter, by Prometheus's own parser: values by series, and the types of
// families.
func read(t *testing.T, m *run.Meter) (values map[string]float64, types map[string]string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	values, types = map[string]float64{}, map[string]string{}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Body)
	}
	for name, f := range families {
		types[name] = strings.ToLower(f.GetType().String())
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			put := func(end string, v float64, more ...string) {
				series := name + end
				if all := slices.Sorted(slices.Values(append(more, labels...))); len(all) > 0 {
					series += "{" + strings.Join(all, ",") + "}"
				}
				if _, twice := values[series]; twice {
					t.Errorf("%s twice", series)
				}
				values[series] = v
			}
			if h := one.GetHistogram(); h != nil {
				put("_count", float64(h.GetSampleCount()))
				put("_sum", h.GetSampleSum())
				for _, b := range h.GetBucket() {
					put("_bucket", float64(b.GetCumulativeCount()), fmt.Sprintf("le=%q", fmt.Sprint(b.GetUpperBound())))
				}
				continue
			}
			put("", one.GetCounter().GetValue()+one.GetGauge().GetValue())
		}
	}
	return values, types
}

// begun is the small experiment, planned, with its store.
func begun(t *testing.T) (*experiment.Bench, *plan.Plan, *store.Store, results.Manifest) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		t.Fatal(err)
	}
	b, err := experiment.Assemble(t.Context(), cfg)
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
	srv := servers.NewServers(experiment.Setup(b.Config))
	defer srv.Close()
	b.Meter = run.NewMeter(man.Name, "test")
	held, err := st.Extents(t.Context(), man)
	if err != nil {
		t.Fatal(err)
	}
	b.Meter.Begin(held)
	before, _ := read(t, b.Meter)
	if before[`assay_trials{model="honest",state="planned",study="cot"}`] != 4 || before[`assay_trials{model="honest",state="answered",study="cot"}`] != 0 {
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
				b.Meter.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
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
	got, types := read(t, b.Meter)
	extents, err := st.Extents(t.Context(), man)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range extents {
		of, study := `{model="`+e.Model+`"`, `,study="`+e.Study+`"}`
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
			"assay_trials" + of + `,state="answered"` + study: float64(e.Answers), "assay_trials" + of + `,state="failed"` + study: float64(e.Failures), "assay_trials" + of + `,state="planned"` + study: float64(*e.Planned),
			"assay_attempts_total" + of + `,outcome="answer"` + study: float64(n), "assay_completion_tokens_total" + of + study: float64(tokens), "assay_prompt_tokens_total" + of + study: float64(prompts),
			"assay_ttft_seconds_count" + of + study: float64(n), "assay_ttft_seconds_sum" + of + study: ttft, `assay_ttft_seconds_bucket{le="+Inf",` + of[1:] + study: float64(n),
			"assay_latency_seconds_count" + of + study: float64(n), "assay_latency_seconds_sum" + of + study: latency,
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
	if types["assay_ttft_seconds"] != "histogram" || types["assay_completion_tokens_total"] != "counter" {
		t.Error(types)
	}
}

// TestMetricsOfTrials: what replaces a stored outcome takes its place, bounds are within
// their bucket, several turns are added up, and what no turn knows has no line.
func TestMetricsOfTrials(t *testing.T) {
	t.Parallel()
	_, p, db, _ := begun(t)
	m := run.NewMeter("a \"b\"\\\n", "1")
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
	got, _ := read(t, m)
	of, study := `{model="`+k.Model+`"`, `,study="cot"}`
	for series, want := range map[string]float64{
		"assay_trials" + of + `,state="answered"` + study: 1, "assay_trials" + of + `,state="failed"` + study: 0,
		"assay_attempts_total" + of + `,outcome="timeout"` + study: 2, "assay_attempts_total" + of + `,outcome="answer"` + study: 1,
		`assay_ttft_seconds_bucket{le="0.05",` + of[1:] + study: 0, `assay_ttft_seconds_bucket{le="0.1",` + of[1:] + study: 1, "assay_ttft_seconds_sum" + of + study: 0.1,
		`assay_latency_seconds_bucket{le="1",` + of[1:] + study: 0, `assay_latency_seconds_bucket{le="2.5",` + of[1:] + study: 1, "assay_latency_seconds_sum" + of + study: 2,
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
	m := run.NewMeter("r", "1")
	var s telemetry.Sample
	s.Set(telemetry.PowerAverage, 250_500)
	s.Set(telemetry.Energy, 3_000_000)
	s.Set(telemetry.MemoryUsed, 1<<30)
	m.Watch(func() []machine.Reading {
		return []machine.Reading{{Device: telemetry.Device{Source: "nvml", Name: "card"}, Sample: s}, {Device: telemetry.Device{Source: "host", Name: "cpu"}}}
	})
	got, _ := read(t, m)
	of := `{device="0",name="card",source="nvml",synthetic="false"}`
	if got["assay_device_power_watts"+of] != 250.5 || got["assay_device_energy_joules_total"+of] != 3 || got["assay_device_memory_used_bytes"+of] != 1<<30 {
		t.Error(got)
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
	h := viewer.Guard(viewer.Options{Listen: "127.0.0.1:9400"}, run.NewMeter("r", "1"))
	for _, c := range []struct {
		path, host string
		code       int
	}{{"/metrics", "127.0.0.1:9400", 200}, {"/metrics", "localhost:9400", 200}, {"/", "127.0.0.1:9400", 404}, {"/metrics", "evil.example:9400", 421}} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Host = c.host
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if c.code == 200 && (!strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text; version=1.0.0; charset=utf-8") || !bytes.HasSuffix(w.Body.Bytes(), []byte("# EOF\n"))) {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
	}
}

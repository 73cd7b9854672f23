// Metrics shows what a run does to programs that watch it, as Prometheus or
// OpenMetrics text.
//
//  1. A Meter is told what the store holds (Begin), and learns of every trial through
//     the metricsStore that it puts before the run's, of judges, requests and devices.
//  2. ServeHTTP writes what it knows. What is not known has no line, and is never 0.

package run

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay/harness/judge"
	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// Meter counts what a run does. A nil *Meter counts nothing. It may be used from
// several goroutines.
type Meter struct {
	air   air
	serve http.Handler

	trials                      *prometheus.GaugeVec // the store's
	attempts, prompt, completed *prometheus.CounterVec
	ttft, latency               *prometheus.HistogramVec

	mu      sync.Mutex
	devices func() []machine.Reading
	judging interface{ Left() int } // nil: nobody judges yet
	judged  judge.Progress
}

// NewMeter is the meter of a run, which is told by name.
func NewMeter(name, version string) *Meter {
	reg := prometheus.NewRegistry()
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"study", "model"}, more...))
		reg.MustRegister(v)
		return v
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}}, []string{"study", "model"})
		reg.MustRegister(v)
		return v
	}
	m := &Meter{
		serve:     promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}),
		trials:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "assay_trials", Help: "Trials of the store by their last attempt, and how many are planned."}, []string{"study", "model", "state"}),
		attempts:  counter("assay_attempts_total", "Attempts of this call of run, by what became of them.", "outcome"),
		prompt:    counter("assay_prompt_tokens_total", "As servers count them, of answers of this call of run."),
		completed: counter("assay_completion_tokens_total", "As servers count them, of answers of this call of run."),
		ttft:      histogram("assay_ttft_seconds", "First content - start of answers of this call of run, summed over turns."),
		latency:   histogram("assay_latency_seconds", "Last content - start of answers of this call of run, summed over turns."),
	}
	run := prometheus.NewGauge(prometheus.GaugeOpts{Name: "assay_run_info", Help: "The run, by its name in bench.yaml.", ConstLabels: prometheus.Labels{"name": name, "version": version}})
	run.Set(1)
	reg.MustRegister(m, m.trials, run)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_requests_in_flight", Help: "Requests on the wire."}, func() float64 { return float64(m.air.Number()) }))
	return m
}

// Begin tells what the store holds before the run.
func (m *Meter) Begin(extents []results.Extent) {
	for _, e := range extents {
		m.trials.WithLabelValues(e.Study, e.Model, metricsAnswered).Set(float64(e.Answers))
		m.trials.WithLabelValues(e.Study, e.Model, metricsFailed).Set(float64(e.Failures))
		if e.Planned != nil {
			m.trials.WithLabelValues(e.Study, e.Model, "planned").Set(float64(*e.Planned))
		}
	}
}

// What a trial's last attempt is.
const metricsAnswered, metricsFailed = "answered", "failed"

// Air is where the run is to say which requests are on the wire.
func (m *Meter) Air() *air {
	if m == nil {
		return nil
	}
	return &m.air
}

// Watch says where the devices' latest samples are.
func (m *Meter) Watch(latest func() []machine.Reading) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.devices = latest
}

// Judging shows how far judges are, as lines on notes, and counts.
func (m *Meter) Judging(shown *judging, notes io.Writer) func(judge.Progress) {
	if m != nil {
		m.mu.Lock()
		m.judging = shown
		m.mu.Unlock()
	}
	return func(p judge.Progress) {
		if m != nil {
			m.mu.Lock()
			m.judged = p
			m.mu.Unlock()
		}
		io.WriteString(notes, shown.Line(p))
	}
}

// metricsStore is a run's store that tells a meter of every trial.
type metricsStore struct {
	*store.Store
	meter *Meter // nil: nobody is told
}

// Store puts the meter before a run's store.
func (m *Meter) Store(st *store.Store) metricsStore { return metricsStore{st, m} }

// PutTrial stores a trial, and then tells.
func (s metricsStore) PutTrial(ctx context.Context, t results.Trial) error {
	if s.meter == nil {
		return s.Store.PutTrial(ctx, t)
	}
	var before results.Trial
	if len(t.Attempts) > 1 { // it may be there already
		var err error
		if before, _, err = s.Trial(ctx, t.Key); err != nil {
			return err
		}
	}
	err := s.Store.PutTrial(ctx, t)
	if err == nil {
		s.meter.add(before, t)
	}
	return err
}

func (m *Meter) add(before, t results.Trial) {
	count := func(a results.Attempt, n float64) {
		state := metricsAnswered
		if a.Failure != nil {
			state = metricsFailed
		}
		m.trials.WithLabelValues(t.Key.Study, t.Key.Model, state).Add(n)
	}
	if last, ok := before.Last(); ok {
		count(last, -1)
	}
	for _, a := range t.Attempts[len(before.Attempts):] {
		kind := "answer"
		if a.Failure != nil {
			kind = a.Failure.Kind
		}
		m.attempts.WithLabelValues(t.Key.Study, t.Key.Model, kind).Inc()
	}
	last, _ := t.Last()
	if count(last, 1); last.Failure != nil {
		return
	}
	if d, ok := sum(last, timing.Trace.TTFT); ok {
		m.ttft.WithLabelValues(t.Key.Study, t.Key.Model).Observe(d.Seconds())
	}
	if d, ok := sum(last, timing.Trace.Latency); ok {
		m.latency.WithLabelValues(t.Key.Study, t.Key.Model).Observe(d.Seconds())
	}
	for _, u := range last.Turns {
		if n := u.Usage.PromptTokens; n != nil {
			m.prompt.WithLabelValues(t.Key.Study, t.Key.Model).Add(float64(*n))
		}
		if n := u.Usage.CompletionTokens; n != nil {
			m.completed.WithLabelValues(t.Key.Study, t.Key.Model).Add(float64(*n))
		}
	}
}

// sum is over the turns of an attempt; false: one of them lacks it, or there is none.
func sum(a results.Attempt, of func(timing.Trace) (time.Duration, bool)) (all time.Duration, ok bool) {
	for _, u := range a.Turns {
		d, known := of(u.Trace)
		if !known {
			return 0, false
		}
		all += d
	}
	return all, len(a.Turns) > 0
}

// ServeHTTP writes the metrics at /metrics.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	m.serve.ServeHTTP(w, r)
}

// Describe says nothing beforehand: which devices there are is known later.
func (m *Meter) Describe(chan<- *prometheus.Desc) {}

// Collect is what others know: judges and devices.
func (m *Meter) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	put := func(name, help string, kind prometheus.ValueType, v float64, labels prometheus.Labels) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, v)
	}
	const judgments = "Judgments of this call of run, also those that were in the store, by whether they have a verdict."
	put("assay_judgments_total", judgments, prometheus.CounterValue, float64(m.judged.Done-m.judged.Failed), prometheus.Labels{"verdict": "yes"})
	put("assay_judgments_total", judgments, prometheus.CounterValue, float64(m.judged.Failed), prometheus.Labels{"verdict": "no"})
	if m.judging != nil {
		put("assay_judge_queue", "Stored answers that judges have not begun with in this pass.", prometheus.GaugeValue, float64(m.judging.Left()), nil)
	}
	if m.devices == nil {
		return
	}
	for i, r := range m.devices() {
		labels := prometheus.Labels{"device": strconv.Itoa(i), "source": r.Device.Source, "name": strings.ToValidUTF8(r.Device.Name, "\ufffd"), "synthetic": strconv.FormatBool(r.Device.Synthetic)}
		for _, d := range []struct {
			name, help string
			kind       prometheus.ValueType
			measures   []telemetry.Measure // the first that a device has
			scale      float64
		}{
			{"assay_device_power_watts", "Power that the device reports now, or its own mean.", prometheus.GaugeValue, []telemetry.Measure{telemetry.PowerInstant, telemetry.PowerAverage}, 1e-3},
			{"assay_device_energy_joules_total", "The device's counter of energy.", prometheus.CounterValue, []telemetry.Measure{telemetry.Energy}, 1e-6},
			{"assay_device_memory_used_bytes", "Memory of the device in use, by all processes.", prometheus.GaugeValue, []telemetry.Measure{telemetry.MemoryUsed}, 1},
			{"assay_device_busy_ratio", "Share of the device's last interval in which it worked.", prometheus.GaugeValue, []telemetry.Measure{telemetry.CoreBusy}, 0.01},
			{"assay_device_temperature_celsius", "Its usual sensor.", prometheus.GaugeValue, []telemetry.Measure{telemetry.TempCore}, 1e-3},
		} {
			for _, measure := range d.measures {
				if v, ok := r.Sample.Get(measure); ok {
					put(d.name, d.help, d.kind, float64(v)*d.scale, labels)
					break
				}
			}
		}
	}
}

// Package exposition shows what a run does to programs that watch it, as OpenMetrics
// text 1.0.0 (https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md).
//
//  1. A Meter is told what the store holds (Begin), and learns of every trial through
//     the Store that it puts before the run's, of judges, requests and devices.
//  2. ServeHTTP writes what it knows. What is not known has no line, and is never 0.
package exposition

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/harness/aloft"
	"assay/harness/judge"
	"assay/harness/monitor"
	"assay/harness/progress"
	"assay/results"
	"assay/results/sqlite"
	"assay/timing"
	"assay/timing/telemetry"
)

// Meter counts what a run does. A nil *Meter counts nothing. It may be used from
// several goroutines.
type Meter struct {
	name, version string
	air           aloft.Air

	mu      sync.Mutex
	blocks  map[of]*block
	devices func() []monitor.Reading
	judging interface{ Left() int } // nil: nobody judges yet
	judged  judge.Progress
}

// of is a study and a model.
type of struct{ study, model string }

// block is what is counted of them.
type block struct {
	planned           *int // trials; nil: not known
	answered, failed  int  // trials in the store, by their last attempt
	attempts          map[string]int
	ttft, latency     histogram
	prompt, completed int // tokens
	counted           [2]bool
}

// New is the meter of a run, which is told by name.
func New(name, version string) *Meter {
	return &Meter{name: name, version: version, blocks: map[of]*block{}}
}

// Begin tells what the store holds before the run.
func (m *Meter) Begin(extents []results.Extent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range extents {
		b := m.block(of{e.Study, e.Model})
		b.planned, b.answered, b.failed = e.Planned, e.Answers, e.Failures
	}
}

// block is that of a study and a model; mu is held.
func (m *Meter) block(o of) *block {
	if m.blocks[o] == nil {
		m.blocks[o] = &block{attempts: map[string]int{}, ttft: newHistogram(), latency: newHistogram()}
	}
	return m.blocks[o]
}

// Air is where the run is to say which requests are on the wire.
func (m *Meter) Air() *aloft.Air {
	if m == nil {
		return nil
	}
	return &m.air
}

// Watch says where the devices' latest samples are.
func (m *Meter) Watch(latest func() []monitor.Reading) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.devices = latest
}

// Judging shows how far judges are, as lines on notes, and counts.
func (m *Meter) Judging(shown *progress.Judging, notes io.Writer) func(judge.Progress) {
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

// Store is a run's store that tells a meter of every trial.
type Store struct {
	*sqlite.Store
	meter *Meter // nil: nobody is told
}

// Store puts the meter before a run's store.
func (m *Meter) Store(st *sqlite.Store) Store { return Store{st, m} }

// PutTrial stores a trial, and then tells.
func (s Store) PutTrial(ctx context.Context, t results.Trial) error {
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
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.block(of{t.Key.Study, t.Key.Model})
	if last, ok := before.Last(); ok {
		if last.Failure != nil {
			b.failed--
		} else {
			b.answered--
		}
	}
	for _, a := range t.Attempts[len(before.Attempts):] {
		kind := "answer"
		if a.Failure != nil {
			kind = a.Failure.Kind
		}
		b.attempts[kind]++
	}
	last, _ := t.Last()
	if last.Failure != nil {
		b.failed++
		return
	}
	b.answered++
	if d, ok := sum(last, timing.Trace.TTFT); ok {
		b.ttft.add(d)
	}
	if d, ok := sum(last, timing.Trace.Latency); ok {
		b.latency.add(d)
	}
	for _, u := range last.Turns {
		if n := u.Usage.PromptTokens; n != nil {
			b.prompt, b.counted[0] = b.prompt+*n, true
		}
		if n := u.Usage.CompletionTokens; n != nil {
			b.completed, b.counted[1] = b.completed+*n, true
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

// histogram counts durations up to each bound, in seconds, and above the last.
type histogram struct {
	bounds []float64
	counts []int // one more than bounds
	sum    float64
}

func newHistogram() histogram {
	bounds := []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	return histogram{bounds, make([]int, len(bounds)+1), 0}
}

func (h *histogram) add(d time.Duration) {
	i, _ := slices.BinarySearch(h.bounds, d.Seconds()) // a bound itself is within
	h.counts[i]++
	h.sum += d.Seconds()
}

// contentType is that of OpenMetrics text.
const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// ServeHTTP writes the metrics at /metrics.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(m.Text()) // who left is told nothing
}

// page is text that grows by families.
type page struct{ bytes.Buffer }

// family begins a metric; the unit ends its name, or is "".
func (p *page) family(name, kind, unit, help string) {
	fmt.Fprintf(p, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(p, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(p, "# HELP %s %s\n", name, help)
}

// line is a value; labels are pairs of name and value.
func (p *page) line(name string, v float64, labels ...string) {
	p.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(p, "%c%s=\"%s\"", map[bool]byte{true: '{', false: ','}[i == 0], labels[i], strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(labels[i+1], "\ufffd")))
	}
	if len(labels) > 0 {
		p.WriteByte('}')
	}
	fmt.Fprintf(p, " %s\n", strconv.FormatFloat(v, 'g', -1, 64))
}

// Text is all that is known now.
func (m *Meter) Text() []byte {
	flying := m.air.Number()
	m.mu.Lock()
	defer m.mu.Unlock()
	var readings []monitor.Reading
	if m.devices != nil {
		readings = m.devices()
	}
	var p page
	p.family("assay_run", "info", "", "The run, by its name in bench.yaml.")
	p.line("assay_run_info", 1, "name", m.name, "version", m.version)
	m.writeTrials(&p)
	p.family("assay_requests_in_flight", "gauge", "", "Requests on the wire.")
	p.line("assay_requests_in_flight", float64(flying))
	p.family("assay_judgments", "counter", "", "Judgments of this call of run, also those that were in the store, by whether they have a verdict.")
	p.line("assay_judgments_total", float64(m.judged.Done-m.judged.Failed), "verdict", "yes")
	p.line("assay_judgments_total", float64(m.judged.Failed), "verdict", "no")
	if m.judging != nil {
		p.family("assay_judge_queue", "gauge", "", "Stored answers that judges have not begun with in this pass.")
		p.line("assay_judge_queue", float64(m.judging.Left()))
	}
	writeDevices(&p, readings)
	p.WriteString("# EOF\n")
	return p.Bytes()
}

// each visits the blocks by study and model.
func (m *Meter) each(visit func(b *block, labels []string)) {
	keys := slices.SortedFunc(maps.Keys(m.blocks), func(a, b of) int { return strings.Compare(a.study+"\x00"+a.model, b.study+"\x00"+b.model) })
	for _, k := range keys {
		visit(m.blocks[k], []string{"study", k.study, "model", k.model})
	}
}

func (m *Meter) writeTrials(p *page) {
	p.family("assay_trials", "gauge", "", "Trials of the store by their last attempt, and how many are planned.")
	m.each(func(b *block, l []string) {
		p.line("assay_trials", float64(b.answered), append(l, "state", "answered")...)
		p.line("assay_trials", float64(b.failed), append(l, "state", "failed")...)
		if b.planned != nil {
			p.line("assay_trials", float64(*b.planned), append(l, "state", "planned")...)
		}
	})
	p.family("assay_attempts", "counter", "", "Attempts of this call of run, by what became of them.")
	m.each(func(b *block, l []string) {
		for _, kind := range slices.Sorted(maps.Keys(b.attempts)) {
			p.line("assay_attempts_total", float64(b.attempts[kind]), append(l, "outcome", kind)...)
		}
	})
	for _, h := range []struct {
		name, help string
		of         func(*block) histogram
	}{{"assay_ttft_seconds", "First content - start of answers of this call of run, summed over turns.", func(b *block) histogram { return b.ttft }},
		{"assay_latency_seconds", "Last content - start of answers of this call of run, summed over turns.", func(b *block) histogram { return b.latency }}} {
		p.family(h.name, "histogram", "seconds", h.help)
		m.each(func(b *block, l []string) {
			n, v := 0, h.of(b)
			for i, c := range v.counts {
				le := "+Inf"
				if n += c; i < len(v.bounds) {
					le = strconv.FormatFloat(v.bounds[i], 'f', -1, 64)
					if !strings.Contains(le, ".") {
						le += ".0" // as the standard writes whole numbers here
					}
				}
				p.line(h.name+"_bucket", float64(n), append(l, "le", le)...)
			}
			p.line(h.name+"_count", float64(n), l...)
			p.line(h.name+"_sum", v.sum, l...)
		})
	}
	for i, name := range []string{"assay_prompt_tokens", "assay_completion_tokens"} {
		p.family(name, "counter", "tokens", "As servers count them, of answers of this call of run.")
		m.each(func(b *block, l []string) {
			if b.counted[i] {
				p.line(name+"_total", float64([]int{b.prompt, b.completed}[i]), l...)
			}
		})
	}
}

func writeDevices(p *page, readings []monitor.Reading) {
	for _, d := range []struct {
		name, kind, unit, help string
		measures               []telemetry.Measure // the first that a device has
		scale                  float64
		counter                bool
	}{
		{"assay_device_power_watts", "gauge", "watts", "Power that the device reports now, or its own mean.", []telemetry.Measure{telemetry.PowerInstant, telemetry.PowerAverage}, 1e-3, false},
		{"assay_device_energy_joules", "counter", "joules", "The device's counter of energy.", []telemetry.Measure{telemetry.Energy}, 1e-6, true},
		{"assay_device_memory_used_bytes", "gauge", "bytes", "Memory of the device in use, by all processes.", []telemetry.Measure{telemetry.MemoryUsed}, 1, false},
		{"assay_device_busy_ratio", "gauge", "ratio", "Share of the device's last interval in which it worked.", []telemetry.Measure{telemetry.CoreBusy}, 0.01, false},
		{"assay_device_temperature_celsius", "gauge", "celsius", "Its usual sensor.", []telemetry.Measure{telemetry.TempCore}, 1e-3, false},
	} {
		p.family(d.name, d.kind, d.unit, d.help)
		for i, r := range readings {
			for _, measure := range d.measures {
				if v, ok := r.Sample.Get(measure); ok {
					name := d.name
					if d.counter {
						name += "_total"
					}
					p.line(name, float64(v)*d.scale, "device", strconv.Itoa(i), "source", r.Device.Source, "name", r.Device.Name, "synthetic", strconv.FormatBool(r.Device.Synthetic))
					break
				}
			}
		}
	}
}

package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/backends"
	"assay/backends/phantom"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// Machine is what a run does to the machine around its trials: it watches the
// devices, and takes models out of memory between blocks.
type Machine struct {
	run    Run
	clock  timing.Clock
	probes []telemetry.Probe
	bad    []telemetry.Problem
	mon    *Monitor

	site   Site
	places map[string]results.Place // by model
	block  *resident                // under way

	session atomic.Int64 // of mon
	seen    atomic.Pointer[Monitor]
	mu      sync.Mutex
	told    map[string]bool
	held    *loaded // the model that a server has in memory for us and can unload
}

type loaded struct {
	model  string
	server backends.Unloader
}

// Setup is what of a run concerns machines: the model servers, the models on them, and
// what is watched.
type Setup struct {
	Dir       string // in which servers are started
	Store     string // path of the run's store: servers' logs stand beside it
	Seed      uint64 // of phantom servers and GPUs
	Servers   []backends.Server
	Models    []backends.Model
	Telemetry telemetry.Settings
}

// Run is what a Machine is told of the run.
type Run struct {
	Setup
	Into     *store.Store
	Activity *phantom.Activity                           // of phantom backends
	Backend  func(name string) (backends.Backend, error) // of bench.yaml; nil: none can be asked to unload
	Down     func(backend string)                        // stops its server, if the run has started it
	Silent   func(backends.Server) bool                  // says that it may load a model only when it is asked, and does not say so; nil: none is so
	Notes    io.Writer                                   // what a person should know, a line each
	// Host describes this machine, but for its GPUs, at the begin of the session and once
	// more at its end, when its clock may have been compared; nil: it is not kept.
	Host func() results.Host
}

// New finds the devices to watch.
func New(r Run) *Machine {
	m := &Machine{run: r, clock: timing.NewClock(), told: map[string]bool{}, site: ThisMachine()}
	m.places = Places(context.Background(), r.Setup, m.site)
	m.probes, m.bad = FindProbes(r.Setup, m.places, r.Activity)
	return m
}

// Clock is the one that stamps requests and samples.
func (m *Machine) Clock() timing.Clock { return m.clock }

// Flags implements run.Watch.
func (m *Machine) Flags(from, to time.Duration) []results.Flag { return m.mon.Flags(from, to) }

// Keep implements run.Keeper.
func (m *Machine) Keep() error { return m.mon.Keep() }

// thermal is a machine whose GPUs report temperatures.
type thermal struct{ *Machine }

// Temperature implements run.Thermometer.
func (t thermal) Temperature() (float64, bool) { return t.mon.Temperature() }

// watch is what the runner looks at the machine with.
type watch interface {
	Flags(from, to time.Duration) []results.Flag
}

// Watch is nil where nothing is watched.
func (m *Machine) Watch() watch {
	hot := func(p telemetry.Probe) bool {
		d := p.Describe()
		return d.Kind == telemetry.GPU && (slices.Contains(d.Measures, telemetry.TempCore) || slices.Contains(d.Measures, telemetry.TempHotspot))
	}
	switch {
	case slices.ContainsFunc(m.probes, hot):
		return thermal{m}
	case len(m.probes) > 0:
		return m
	}
	return nil
}

// Reading is what a device said last.
type Reading struct {
	Device telemetry.Device
	Sample telemetry.Sample // without measures: nothing of the last two seconds
}

// Latest is what the watched devices said last. It may be asked at any time.
func (m *Machine) Latest() (out []Reading) {
	mon := m.seen.Load()
	if mon == nil || mon.sampler == nil {
		return nil
	}
	log, now := mon.sampler.Log(), m.clock.Now()
	for i, d := range log.Devices() {
		out = append(out, Reading{d, latest(log, i, now)})
	}
	return out
}

func (m *Machine) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.told[line] {
		m.told[line] = true
		fmt.Fprintln(m.run.Notes, line)
	}
}

// Event notes what happened to a server.
func (m *Machine) Event(subject string, kind results.EventKind, text string) {
	switch kind {
	case results.EventDied:
		m.say("%s: the server died: %s", subject, text)
	case results.EventStayed:
		m.say("warning: %s: %s", subject, text)
	}
	// A store that cannot be written ends the run at its next trial.
	_ = m.run.Into.PutEvent(context.Background(), results.Event{Session: m.session.Load(), At: time.Now(), Kind: kind, Subject: subject, Text: text})
}

// Begin is told that a block begins. The first one begins the session.
func (m *Machine) Begin(ctx context.Context, model string) error {
	if m.mon == nil {
		if err := m.start(ctx); err != nil {
			return err
		}
	}
	m.mon.Begin()
	if err := m.makeRoom(ctx, model); err != nil {
		return err
	}
	return m.beginHold(ctx, model)
}

func (m *Machine) start(ctx context.Context) error {
	ses := results.Session{Places: m.places, Host: m.host()}
	var names []string
	for _, p := range m.probes {
		names = append(names, p.Describe().Name)
	}
	if len(names) > 0 {
		m.say("watching at %d Hz: %s", m.run.Telemetry.Hz, strings.Join(names, ", "))
	}
	for _, p := range m.bad {
		ses.Problems = append(ses.Problems, p.String())
		m.say("not measured: %s", p)
	}
	var err error
	if m.mon, err = Start(ctx, m.run.Into, m.clock, m.run.Telemetry.Hz, m.probes, ses); err != nil {
		return err
	}
	m.session.Store(m.mon.Session())
	m.seen.Store(m.mon)
	rest := timing.Level{Median: phantomCard(m.run.Seed).Idle}
	known := map[string]timing.Baseline{}
	for _, p := range m.probes {
		if d := p.Describe(); d.Synthetic {
			known[d.ID] = timing.Baseline{Counter: &rest, Power: &rest}
		}
	}
	return m.mon.Rest(ctx, known)
}

// host is this machine as it is now; nil: nobody says.
func (m *Machine) host() *results.Host {
	if m.run.Host == nil {
		return nil
	}
	h := m.run.Host()
	var devices []telemetry.Device
	for _, p := range m.probes {
		devices = append(devices, p.Describe())
	}
	h.GPUs = GPUs(devices)
	return &h
}

// makeRoom takes the model of the block before out of its server's memory, and
// looks for others that take room from the one to come.
func (m *Machine) makeRoom(ctx context.Context, model string) error {
	next := m.loads(model)
	if m.held != nil && (next == nil || *next != *m.held) {
		m.unload(ctx)
	}
	m.held = next
	if next == nil || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := next.server.Loaded(ctx)
	if err != nil {
		return nil // the block will find out, and say so
	}
	for _, l := range list {
		if !l.Is(next.model) {
			m.say("warning: %s: its server also holds %s in memory (%.1f GB): run %s, or times and energies may suffer", model, l.Model, float64(l.Bytes)/1e9, l.Stop)
		}
	}
	return nil
}

// config finds a backend by name; bench.yaml was checked, so it is there.
func (m *Machine) config(name string) backends.Server {
	for _, b := range m.run.Servers {
		if b.Name == name {
			return b
		}
	}
	panic("machine: internal error: no backend " + name)
}

// loads is the server that will load a model and can unload it; nil: another kind does.
func (m *Machine) loads(model string) *loaded {
	for _, md := range m.run.Models {
		if md.Name != model || m.run.Backend == nil || m.config(md.Backend).Phantom() {
			continue
		}
		if len(m.config(md.Backend).Command) > 0 {
			return nil // it is stopped as a whole
		}
		be, err := m.run.Backend(md.Backend)
		if err != nil {
			return nil
		}
		if o, ok := be.(backends.Unloader); ok {
			return &loaded{md.Model, o}
		}
	}
	return nil
}

const unloadTimeout = 30 * time.Second

func (m *Machine) unload(ctx context.Context) {
	if m.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unloadTimeout)
	defer cancel()
	if err := m.held.server.Unload(ctx, m.held.model); err != nil {
		m.Event(m.held.model, results.EventStayed, "it could not be taken out of memory, so the next model may have less: "+err.Error())
	} else {
		m.Event(m.held.model, results.EventUnloaded, "")
	}
	m.held = nil
}

// End is told that a block is over.
func (m *Machine) End(model string) {
	m.endHold(model)
	for _, md := range m.run.Models {
		if md.Name == model {
			m.run.Down(md.Backend)
		}
	}
}

// Close ends the session and computes its energies. judged says that judges on
// model servers follow.
func (m *Machine) Close(ctx context.Context, judged bool) error {
	if m.mon == nil { // nothing ran; what was killed before may not be measured yet
		return Measure(context.WithoutCancel(ctx), m.run.Into, 0)
	}
	if judged {
		m.unload(ctx)
	}
	stopped := m.mon.Stop()
	if h := m.host(); h != nil && h.Clock != nil {
		stopped = errors.Join(stopped, m.run.Into.PutHost(context.WithoutCancel(ctx), m.mon.Session(), *h))
	}
	err := Measure(context.WithoutCancel(ctx), m.run.Into, 0)
	var fault results.Fault
	if stopped != nil && (!errors.As(err, &fault) || !errors.Is(stopped, fault)) { // the same trouble is said once
		m.say("warning: telemetry is not complete: %v", stopped)
	}
	return err
}

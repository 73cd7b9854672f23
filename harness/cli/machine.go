package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/backends/ollama"
	"assay/backends/phantom"
	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/managed"
	"assay/harness/monitor"
	"assay/harness/runner"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
	"assay/timing/telemetry/amdgpu"
	"assay/timing/telemetry/host"
	"assay/timing/telemetry/nvml"
	"assay/timing/telemetry/rapl"
)

// places says where the server of each model is.
func places(cfg *config.Config) map[string]results.Place {
	out := map[string]results.Place{}
	for _, m := range cfg.Models {
		for _, b := range cfg.Backends {
			if b.Name == m.Backend {
				out[m.Name] = place(b)
			}
		}
	}
	return out
}

func place(b config.Backend) results.Place {
	if b.Kind == "phantom" {
		return results.PlacePhantom
	}
	if u, err := url.Parse(b.URL); err == nil {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return results.PlaceLocal
		}
	}
	return results.PlaceRemote
}

// phantomCard is the GPU that phantom backends work on.
func phantomCard(cfg *config.Config) phantom.Card {
	c := phantom.DefaultCard()
	c.Seed = cfg.Seed
	return c
}

// findDevices looks for what bench.yaml wants watched. Real devices are looked
// for where a server on this machine may use them.
func findDevices(cfg *config.Config, act *phantom.Activity) ([]telemetry.Probe, []telemetry.Problem) {
	var probes []telemetry.Probe
	var problems []telemetry.Problem
	add := func(p []telemetry.Probe, bad []telemetry.Problem) {
		probes, problems = append(probes, p...), append(problems, bad...)
	}
	t := cfg.Telemetry
	local, phantoms := false, false
	for _, p := range places(cfg) {
		local, phantoms = local || p == results.PlaceLocal, phantoms || p == results.PlacePhantom
	}
	wants := func(kind string) bool { return t.Watches(kind) && (local || !t.Auto) }
	if wants("nvidia") {
		add(nvml.Find())
	}
	if wants("amd") {
		p, bad := amdgpu.Find(os.DirFS("/sys"))
		if len(p)+len(bad) == 0 && !t.Auto {
			bad = []telemetry.Problem{{Source: "amdgpu", What: "no AMD GPU is here", Do: "take amd out of telemetry.devices in bench.yaml"}}
		}
		add(p, bad)
	}
	if wants("rapl") {
		add(rapl.Find(os.DirFS("/sys")))
	}
	if t.Watches("host") {
		add(host.Find(existing(filepath.Dir(cfg.Store))))
	}
	if t.Watches("phantom") && phantoms && act != nil {
		add([]telemetry.Probe{phantom.NewGPU(act, phantomCard(cfg))}, nil)
	}
	return probes, problems
}

// machine is what a run does to the machine around its trials: it watches the
// devices, and takes models out of memory between blocks.
type machine struct {
	streams
	b      *bench.Bench
	st     *results.Store
	srv    *servers
	clock  timing.Clock
	probes []telemetry.Probe
	bad    []telemetry.Problem
	mon    *monitor.Monitor
	beside *beside

	session atomic.Int64 // of mon
	mu      sync.Mutex
	told    map[string]bool
	held    *loaded // the model that an Ollama server has in memory for us
}

type loaded struct {
	backend, model string
	server         *ollama.Backend
}

func (s streams) machine(b *bench.Bench, st *results.Store, srv *servers) *machine {
	m := &machine{streams: s, b: b, st: st, srv: srv, clock: timing.NewClock(), told: map[string]bool{}}
	m.probes, m.bad = findDevices(b.Config, srv.activity)
	srv.tell = m.event
	return m
}

// Flags implements runner.Watch.
func (m *machine) Flags(from, to time.Duration) []results.Flag { return m.mon.Flags(from, to) }

// thermal is a machine whose GPUs report temperatures.
type thermal struct{ *machine }

// Temperature implements runner.Thermometer.
func (t thermal) Temperature() (float64, bool) { return t.mon.Temperature() }

// watch is what the runner looks at the machine with; nil: nothing is watched.
func (m *machine) watch() runner.Watch {
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

func (m *machine) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.told[line] {
		m.told[line] = true
		fmt.Fprintln(m.err, line)
	}
}

// event notes what happened to a server.
func (m *machine) event(subject string, kind results.EventKind, text string) {
	switch kind {
	case results.EventDied:
		m.say("%s: the server died: %s", subject, text)
	case results.EventStayed:
		m.say("warning: %s: %s", subject, text)
	}
	// A store that cannot be written ends the run at its next trial.
	_ = m.st.PutEvent(context.Background(), results.Event{Session: m.session.Load(), At: time.Now(), Kind: kind, Subject: subject, Text: text})
}

// begin is told that a block begins. The first one begins the session.
func (m *machine) begin(ctx context.Context, model string) error {
	if m.mon == nil {
		if err := m.start(ctx); err != nil {
			return err
		}
	}
	m.mon.Begin()
	return m.makeRoom(ctx, model)
}

func (m *machine) start(ctx context.Context) error {
	ses := results.Session{Places: places(m.b.Config)}
	var names []string
	for _, p := range m.probes {
		names = append(names, p.Describe().Name)
	}
	if len(names) > 0 {
		m.say("watching at %d Hz: %s", m.b.Config.Telemetry.Hz, strings.Join(names, ", "))
	}
	for _, p := range m.bad {
		ses.Problems = append(ses.Problems, p.String())
		m.say("not measured: %s", p)
	}
	var err error
	if m.mon, err = monitor.Start(ctx, m.st, m.clock, m.b.Config.Telemetry.Hz, m.probes, ses); err != nil {
		return err
	}
	m.session.Store(m.mon.Session())
	if d, wait := m.mon.NeedsRest(); wait {
		m.say("measuring what the GPUs draw at rest: %.0f s", d.Seconds())
	}
	rest := timing.Level{Median: phantomCard(m.b.Config).Idle}
	known := map[string]timing.Baseline{}
	for _, p := range m.probes {
		if d := p.Describe(); d.Synthetic {
			known[d.ID] = timing.Baseline{Counter: &rest, Power: &rest}
		}
	}
	warn, err := m.mon.Rest(ctx, known)
	for _, w := range warn {
		m.say("warning: %s", w)
	}
	return err
}

// makeRoom takes the model of the block before out of its server's memory, and
// looks for others that take room from the one to come.
func (m *machine) makeRoom(ctx context.Context, model string) error {
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
		if !sameModel(l.Model, next.model) {
			m.say("warning: %s: Ollama also holds %s in memory (%.1f GB): run ollama stop %s, or times and energies may suffer", model, l.Model, float64(l.Bytes)/1e9, l.Model)
		}
	}
	return nil
}

// sameModel compares names with and without the tag latest.
func sameModel(a, b string) bool {
	return strings.TrimSuffix(a, ":latest") == strings.TrimSuffix(b, ":latest")
}

// loads is the Ollama server that will load a model; nil: another kind does.
func (m *machine) loads(model string) *loaded {
	for _, md := range m.b.Config.Models {
		if md.Name != model || m.srv.config(md.Backend).Kind != "ollama" {
			continue
		}
		if len(m.srv.config(md.Backend).Command) > 0 {
			return nil // it is stopped as a whole
		}
		be, err := m.srv.backend(md.Backend)
		if err != nil {
			return nil
		}
		if o, ok := be.(*ollama.Backend); ok {
			return &loaded{md.Backend, md.Model, o}
		}
	}
	return nil
}

const unloadTimeout = 30 * time.Second

func (m *machine) unload(ctx context.Context) {
	if m.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unloadTimeout)
	defer cancel()
	if err := m.held.server.Unload(ctx, m.held.model); err != nil {
		m.event(m.held.model, results.EventStayed, "it could not be taken out of memory, so the next model may have less: "+err.Error())
	} else {
		m.event(m.held.model, results.EventUnloaded, "")
	}
	m.held = nil
}

// end is told that a block is over.
func (m *machine) end(model string) {
	for _, md := range m.b.Config.Models {
		if md.Name == model {
			m.srv.down(md.Backend)
		}
	}
	m.beside.more()
}

// close ends the session and computes its energies. judged says that judges on
// model servers follow.
func (m *machine) close(ctx context.Context, judged bool) error {
	m.beside.wait()
	if m.mon == nil {
		return nil
	}
	if judged {
		m.unload(ctx)
	}
	if err := m.mon.Stop(); err != nil {
		m.say("warning: telemetry is not complete: %v", err)
	}
	return monitor.Measure(context.WithoutCancel(ctx), m.st, 0)
}

// manage puts a managed server's life around its adapter.
func (s *servers) manage(c config.Backend, log string) *managed.Server {
	if srv, ok := s.managed[c.Name]; ok {
		return srv
	}
	var out *os.File
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err == nil {
		if f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
			out = f
			s.logs = append(s.logs, f)
		}
	}
	conf := managed.Config{Name: c.Name, URL: c.URL, Command: c.Command, Dir: filepath.Dir(s.cfg.File), Timeout: c.StartTimeout, Restarts: c.Restarts,
		Tell: func(kind results.EventKind, text string) {
			if s.tell != nil {
				s.tell(c.Name, kind, text)
			}
		}}
	if out != nil {
		conf.Log = out
	}
	srv := managed.New(conf)
	s.managed[c.Name] = srv
	return srv
}

// down stops a backend's server, if the run has started it.
func (s *servers) down(backend string) {
	if m, ok := s.managed[backend]; ok {
		m.Down()
	}
}

// measure computes the energies that a run which was killed has left over. The
// store is open for reading; while a run writes to it, that run will do it.
func (s streams) measure(ctx context.Context, st *results.Store, path string) error {
	pending, err := monitor.Pending(ctx, st)
	if err != nil || !pending {
		return environment(err)
	}
	w, err := results.Open(ctx, path)
	if err != nil {
		fmt.Fprintf(s.err, "the energies of the latest run are not in this report: %v\n", err)
		return nil
	}
	defer w.Close()
	return environment(monitor.Measure(ctx, w, 0))
}

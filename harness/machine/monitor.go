// Package machine watches the machine while a run's trials are timed, makes room
// there for models, and computes afterwards what each trial took of it.
//
//  1. device.go finds what is to be watched. hosts.go says what the machine is.
//  2. machine.go is told by a run of each block's begin and end. It begins a
//     session (Start): one sampler on the run's clock, whose samples go into the
//     store every few seconds, and by Keep with each timed trial.
//  3. resident.go has Idle measure what devices draw at rest, with the model of a
//     block in memory and out of it; a phantom's level is known (Rest).
//  4. process.go tells the processes of a model's server from all others, place.go where
//     servers are, claim.go which GPUs work for a model and who is foreign there. They
//     read Linux's /proc and nothing else; elsewhere the answer is an error that says so.
//  5. hold.go is told which GPUs work for the model, and lists who else uses them. Flags
//     says what was seen while a trial was on the wire: it is the run's Watch.
//  6. Stop waits for the samples that cover the last trial, and ends the session.
//  7. Measure computes energies from the stored samples and times. It can be done
//     at any later time, so that a run that was killed loses none.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
	"assay/timing/telemetry/exporter"
)

const (
	storeEvery = 2 * time.Second
	// lookWithin is how long a device may take to be read beside its turn.
	lookWithin = 250 * time.Millisecond
	// restFor is how long devices are watched at rest: ten whole seconds, and
	// what a counter's tick and a sensor's averaging need on both sides.
	restFor  = 12500 * time.Millisecond
	restEdge = 700 * time.Millisecond
	// ratesFor is how long a counter is read as fast as possible, to learn its tick.
	ratesFor = time.Second
	// busyAtRest, in percent, is what a GPU at rest does not show.
	busyAtRest = 5
	tickFact   = "energy_tick_ns"
)

// Monitor is a session under way. A nil Monitor watches nothing.
type Monitor struct {
	store   *store.Store
	clock   timing.Clock
	sampler *telemetry.Sampler
	probes  []telemetry.Probe
	ses     results.Session
	end     context.CancelFunc
	ended   chan error // of the sampler
	stored  chan error // of what stores

	looks sync.Mutex     // held while processes are listed; before mu
	began *timing.Clocks // nil: they do not show, or what came of it is stored

	keeping sync.Mutex // guards kept
	kept    []int      // by device: full bundles in the store

	mu    sync.Mutex // guards what follows, and ses.Holds
	guard *guard     // nil: it is not known which GPUs work for the block's model
}

// Start begins a session and stores it with what ses says of problems and
// places. hz is 1 to 100. Without probes nothing is sampled, and the session only
// tells the run's trials from those of others.
func Start(ctx context.Context, st *store.Store, clock timing.Clock, hz int, probes []telemetry.Probe, ses results.Session) (*Monitor, error) {
	m := &Monitor{store: st, clock: clock, ses: ses, probes: probes}
	m.ses.Origin = clock.Origin()
	if c, ok := timing.LookAtClocks(); ok {
		m.began = &c
	}
	if ticks, err := ticksOf(ctx, clock, probes); err != nil {
		return nil, err
	} else if len(probes) > 0 {
		var err error
		if m.sampler, err = telemetry.NewSampler(clock, hz, probes); err != nil {
			return nil, err
		}
		m.ses.Hz = hz
		for i, d := range m.sampler.Log().Devices() {
			if ticks[i] > 0 {
				d.Facts = append(slices.Clone(d.Facts), telemetry.Fact{Name: tickFact, Value: strconv.FormatInt(int64(ticks[i]), 10)})
			}
			about, err := json.Marshal(d)
			if err != nil {
				panic("machine: internal error: a device that is not JSON: " + err.Error())
			}
			m.ses.Devices = append(m.ses.Devices, results.Watched{Source: d.Source, ID: d.ID, Name: d.Name, Kind: string(d.Kind), Synthetic: d.Synthetic, About: about})
		}
	}
	if err := st.PutSession(ctx, &m.ses); err != nil {
		return nil, err
	}
	if m.sampler == nil {
		return m, nil
	}
	m.kept = make([]int, len(m.ses.Devices))
	var run context.Context
	run, m.end = context.WithCancel(context.WithoutCancel(ctx))
	m.ended, m.stored = make(chan error, 1), make(chan error, 1)
	sampled := make(chan struct{})
	go func() {
		m.ended <- m.sampler.Run(run)
		close(sampled)
	}()
	go func() { m.stored <- m.keep(sampled) }()
	go m.lookOften(run)
	return m, nil
}

// ticksOf is the time between changes of real devices' counters, by fast
// reading; 0: not known.
func ticksOf(ctx context.Context, clock timing.Clock, probes []telemetry.Probe) ([]time.Duration, error) {
	ticks := make([]time.Duration, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		if d := p.Describe(); d.Synthetic || d.Remote || !slices.Contains(d.Measures, telemetry.Energy) {
			continue
		}
		wg.Go(func() {
			// A read that fails now may work later; then the tick is as seen.
			if r, err := telemetry.MeasureRates(ctx, clock, p, ratesFor); err == nil && r.Energy != nil {
				ticks[i] = *r.Energy
			}
		})
	}
	wg.Wait()
	return ticks, context.Cause(ctx)
}

// Session is the number of the session in the store; 0 of a nil Monitor.
func (m *Monitor) Session() int64 {
	if m == nil {
		return 0
	}
	return m.ses.ID
}

// keep stores what was sampled, again and again, until done is closed.
func (m *Monitor) keep(done <-chan struct{}) error {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return m.put()
		case <-tick.C:
			if err := m.put(); err != nil {
				return err
			}
		}
	}
}

// put stores what was sampled since the last time; it is durable with the next
// change of the store that is.
func (m *Monitor) put() error {
	m.keeping.Lock() // what grows is stored in the order it grew
	defer m.keeping.Unlock()
	for i := range m.kept {
		var bundles []results.SampleBundle
		list, full := m.sampler.Log().Bundles(i, m.kept[i])
		for _, c := range list {
			bundles = append(bundles, results.SampleBundle{From: c.From, To: c.To, N: c.N, Bytes: c.Bytes})
		}
		// What was sampled is kept whatever ends the run.
		if err := m.store.PutSampleBundles(context.Background(), m.ses.ID, i, bundles); err != nil {
			return err
		}
		m.kept[i] += full
	}
	return nil
}

// Keep looks at the devices once more and stores what was sampled. It is durable
// with the next change of the store that is: a trial that ended before, stored
// now, is not without its energy if we are killed.
func (m *Monitor) Keep() error {
	if m == nil || m.sampler == nil || m.end == nil {
		return nil
	}
	m.sampler.Look(lookWithin)
	return m.put()
}

// hasPower says whether a device's energy is of interest.
func hasPower(kind string) bool {
	return slices.Contains([]telemetry.Kind{telemetry.GPU, telemetry.CPU, telemetry.Memory, telemetry.Meter}, telemetry.Kind(kind))
}

// NeedsRest says whether there is a real GPU, for which Idle takes a while.
func (m *Monitor) NeedsRest() (time.Duration, bool) {
	if m == nil {
		return 0, false
	}
	return restFor, slices.ContainsFunc(m.probes, func(p telemetry.Probe) bool { return p.Describe().RealGPU() })
}

// Rest stores what is known of devices at rest, by their IDs.
func (m *Monitor) Rest(ctx context.Context, known map[string]timing.Baseline) error {
	if m == nil || m.sampler == nil {
		return nil
	}
	for i := range m.ses.Devices {
		b, given := known[m.ses.Devices[i].ID]
		if !given {
			continue
		}
		m.ses.Devices[i].Baseline = &b
		if err := m.store.PutDevice(ctx, m.ses.ID, i, m.ses.Devices[i]); err != nil {
			return err
		}
	}
	return nil
}

func median(log *telemetry.Log, device int, of telemetry.Measure, w timing.Window) (int64, bool) {
	var all []int64
	for s := range log.Samples(device, w.From, w.To) {
		if v, ok := s.Get(of); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// Begin is told that a block begins: it is not known yet which GPUs work for its
// model.
func (m *Monitor) Begin() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.guard = nil
}

// faults are the reasons to run slower that take a time away: a power limit is
// ordinary work.
const faults = telemetry.ThrottleThermal | telemetry.ThrottleHardware

// Flags are what was seen between two past times on the GPUs of the block's
// model, on all where these are not known: throttled, another process, or that
// nothing was seen at all.
func (m *Monitor) Flags(from, to time.Duration) []results.Flag {
	if m == nil || m.sampler == nil {
		return nil
	}
	m.lookNow(lookAgain)
	log := m.sampler.Log()
	every := time.Second / time.Duration(m.ses.Hz)
	far := every * 5 / 2
	seen := map[results.Flag]bool{}
	for i, d := range log.Devices() {
		if d.Kind != telemetry.GPU || d.Remote || !m.counts(i) {
			continue
		}
		inside, last, any := 0, telemetry.Sample{}, false
		look := func(s telemetry.Sample) {
			if v, ok := s.Get(telemetry.Throttle); ok && v&faults != 0 {
				seen[results.FlagThrottled] = true
			}
		}
		for s := range log.Samples(i, from-2*time.Second, to) {
			if any && s.At-last.At > far && s.At > from {
				seen[results.FlagSamplerGap] = true
			}
			last, any = s, true
			if s.At >= from {
				inside++
				look(s)
			}
		}
		switch {
		case !any || to-last.At > far:
			seen[results.FlagSamplerGap] = true
		case inside == 0: // a short trial: the look before it is the nearest one
			look(last)
		}
	}
	if m.disturbed(from, to) {
		seen[results.FlagOtherProcess] = true
	}
	var out []results.Flag
	for _, f := range results.Flags() {
		if seen[f] {
			out = append(out, f)
		}
	}
	return out
}

// Temperature is that of the hottest GPU of the block's model now, in degrees Celsius; false: unknown.
func (m *Monitor) Temperature() (celsius float64, ok bool) {
	if m == nil || m.sampler == nil {
		return 0, false
	}
	log, now := m.sampler.Log(), m.clock.Now()
	for i, d := range log.Devices() {
		if d.Kind != telemetry.GPU || !m.counts(i) {
			continue
		}
		last := latest(log, i, now)
		for _, of := range []telemetry.Measure{telemetry.TempCore, telemetry.TempHotspot} {
			if v, has := last.Get(of); has && (!ok || float64(v)/1000 > celsius) {
				celsius, ok = float64(v)/1000, true
			}
		}
	}
	return celsius, ok
}

// latest is a device's last sample; without measures where it has none of the last two seconds.
func latest(log *telemetry.Log, device int, now time.Duration) (last telemetry.Sample) {
	for s := range log.Samples(device, now-2*time.Second, now) {
		if s.Len() > 0 { // between an exporter's answers there is nothing
			last = s
		}
	}
	return last
}

// Stop waits for the samples that the last trial's energy needs, stores all
// that is left, and ends the session. It may be called again.
func (m *Monitor) Stop() error {
	if m == nil {
		return nil
	}
	var err error
	if now, ok := timing.LookAtClocks(); ok && m.began != nil {
		c := results.Clocks{Span: now.Mono - m.began.Mono, Slept: now.Slept(*m.began)}
		if ppm, ok := now.Slew(*m.began); ok {
			c.Slew = &ppm
		}
		m.began = nil
		err = m.store.PutClocks(context.Background(), m.ses.ID, c)
	}
	if m.sampler == nil || m.end == nil {
		return err
	}
	late := 3*time.Second/time.Duration(m.ses.Hz) + 250*time.Millisecond
	for i, d := range m.sampler.Log().Devices() {
		late = max(late, d.PowerWindow+100*time.Millisecond, exporter.Wait(d, m.sampler.Log().All(i)))
	}
	time.Sleep(late)
	m.end()
	m.end = nil
	err = errors.Join(err, <-m.ended, <-m.stored)
	log := m.sampler.Log()
	for i := range m.ses.Devices {
		s := log.Stats(i)
		w := &results.WatchStats{Samples: s.Samples, Failed: s.Failed, Gaps: s.Gaps, Total: s.Total, Longest: s.Longest}
		if bundles, _ := log.Bundles(i, 0); len(bundles) > 0 {
			w.Span = bundles[len(bundles)-1].To - bundles[0].From
		}
		for _, f := range log.Failures(i) {
			if !slices.Contains(w.Failures, f.Err) {
				w.Failures = append(w.Failures, f.Err)
			}
		}
		m.ses.Devices[i].Stats = w
		err = errors.Join(err, m.store.PutDevice(context.Background(), m.ses.ID, i, m.ses.Devices[i]))
	}
	return err
}

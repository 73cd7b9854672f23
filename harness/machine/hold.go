package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

const (
	// lookEvery is how often the processes on a model's GPUs are listed.
	lookEvery = time.Second
	// lookAgain is how old the last list may be at the end of a trial.
	lookAgain = 200 * time.Millisecond
)

// guard is the GPUs that hold the model of the block, and who else uses them.
type guard struct {
	model  string
	gpus   map[int]bool // positions of devices
	census census       // nil: nobody can tell
	looked time.Duration
	visits map[visitor]*visit
}

type visitor struct{ gpu, pid int }

// visit is the stay of a process that is not the server's.
type visit struct {
	from, to time.Duration // of the first and the last list that has it
	name     string
	drew     bool // a desktop that was there before the block
}

// Hold notes which GPUs work for the model of the block that has begun, and from
// now on lists who else uses them. census may be nil where nothing tells. What it
// returns first is worth a warning: processes that are there already.
func (m *Monitor) Hold(ctx context.Context, model string, h results.Hold, census census) ([]string, error) {
	if m == nil {
		return nil, nil
	}
	g := &guard{model: model, gpus: map[int]bool{}, census: census, visits: map[visitor]*visit{}}
	for i, p := range m.probes {
		if d := p.Describe(); slices.Contains(h.GPUs, d.ID) && d.Kind == telemetry.GPU {
			g.gpus[i] = true
		}
	}
	m.looks.Lock()
	warn := m.look(g, true)
	m.looks.Unlock()
	m.mu.Lock()
	h.Rest, h.Foreign = m.ses.Holds[model].Rest, m.ses.Holds[model].Foreign
	m.setHold(model, h)
	m.foreign(g)
	if h.Known {
		m.guard = g
	}
	m.mu.Unlock()
	return warn, m.putHolds(ctx)
}

// setHold replaces what is known of a model; m.mu is held. The map is a new one:
// the old one may be being stored.
func (m *Monitor) setHold(model string, h results.Hold) {
	all := maps.Clone(m.ses.Holds)
	if all == nil {
		all = map[string]results.Hold{}
	}
	all[model] = h
	m.ses.Holds = all
}

func (m *Monitor) putHolds(ctx context.Context) error {
	m.mu.Lock()
	all := m.ses.Holds
	m.mu.Unlock()
	return m.store.PutHolds(context.WithoutCancel(ctx), m.ses.ID, all)
}

// foreign adds the names of a guard's visitors to its hold and says whether there
// are new ones; m.mu is held.
func (m *Monitor) foreign(g *guard) bool {
	h, ok := m.ses.Holds[g.model]
	if !ok {
		return false
	}
	names := slices.Clone(h.Foreign)
	for _, v := range g.visits {
		if !slices.Contains(names, v.name) {
			names = append(names, v.name)
		}
	}
	if len(names) == len(h.Foreign) {
		return false
	}
	slices.Sort(names)
	h.Foreign = names
	m.setHold(g.model, h)
	return true
}

// look lists the processes on a guard's GPUs; m.looks is held. first: the block
// begins.
func (m *Monitor) look(g *guard, first bool) (warn []string) {
	if g.census == nil {
		return nil
	}
	for _, i := range slices.Sorted(maps.Keys(g.gpus)) {
		l, ok := m.probes[i].(telemetry.Lister)
		if !ok {
			continue
		}
		dev := m.probes[i].Describe()
		all, err := l.Processes()
		if err != nil {
			if first {
				warn = append(warn, fmt.Sprintf("%s: who else uses it is not known: %v", dev.Name, err))
			}
			continue
		}
		now := m.clock.Now()
		for _, p := range g.census.Foreign(dev.ID, all) {
			v := g.visits[visitor{i, p.PID}]
			if v == nil {
				v = &visit{from: now, name: named(g.census, p), drew: first && p.Draws}
				m.mu.Lock()
				g.visits[visitor{i, p.PID}] = v
				m.mu.Unlock()
				if first && v.drew {
					warn = append(warn, fmt.Sprintf("%s: %s draws on it: what it takes is in the model's times and energies", dev.Name, v.name))
				} else if first {
					warn = append(warn, fmt.Sprintf("%s: %s, which is not the model's server, uses it: times taken beside it do not count; stop it, or name other GPUs in telemetry.gpus", dev.Name, v.name))
				}
			}
			m.mu.Lock()
			v.to = now
			m.mu.Unlock()
		}
	}
	g.looked = m.clock.Now()
	return warn
}

func named(c census, p telemetry.Process) string {
	name := c.Name(p.PID)
	if name == "" {
		name = "process"
	}
	return fmt.Sprintf("%s (%d)", name, p.PID)
}

// lookOften lists processes until ctx ends.
func (m *Monitor) lookOften(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			m.lookNow(lookEvery / 2)
		}
	}
}

// lookNow lists processes unless the last list is younger than age.
func (m *Monitor) lookNow(age time.Duration) {
	m.mu.Lock()
	g := m.guard
	m.mu.Unlock()
	if g == nil {
		return
	}
	m.looks.Lock()
	if m.clock.Now()-g.looked >= age {
		m.look(g, false)
	}
	m.looks.Unlock()
	m.mu.Lock()
	more := m.foreign(g)
	m.mu.Unlock()
	if more {
		// A store that cannot be written ends the run at its next trial.
		_ = m.putHolds(context.Background())
	}
}

// disturbed says whether a process of others used the model's GPUs between two
// times, as far as lists a second apart show.
func (m *Monitor) disturbed(from, to time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guard == nil {
		return false
	}
	for _, v := range m.guard.visits {
		if !v.drew && v.to >= from-2*lookEvery && v.from <= to+lookAgain {
			return true
		}
	}
	return false
}

// counts says whether a GPU may work for the model of the block: one of its own
// where these are known, else any.
func (m *Monitor) counts(device int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.guard == nil || m.guard.gpus[device]
}

// Idle measures what real devices draw before the model of the block is asked
// anything, with it in memory or out of it, by watching them for restFor. It is
// for a machine with a real GPU (NeedsRest). What it returns first is worth a warning.
func (m *Monitor) Idle(ctx context.Context, model string, isLoaded bool) ([]string, error) {
	d, real := m.NeedsRest()
	if !real || m.sampler == nil {
		return nil, nil
	}
	from := m.clock.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
	}
	w := timing.Window{From: from + restEdge, To: m.clock.Now() - restEdge}
	log := m.sampler.Log()
	var warn []string
	rest := map[string]results.Rest{}
	for i, dev := range m.ses.Devices {
		if !hasPower(dev.Kind) || dev.Synthetic || log.Devices()[i].Remote || dev.Kind == string(telemetry.Meter) {
			continue
		}
		var b timing.Baseline
		meter, err := timing.NewMeter(telemetry.Readings(log.Devices()[i], log.All(i)))
		if err == nil {
			b, err = meter.Idle(w)
		}
		if err != nil {
			warn = append(warn, fmt.Sprintf("%s: %v: net energies are unknown", dev.Name, err))
			continue
		}
		if busy, ok := median(log, i, telemetry.CoreBusy, w); ok && busy > busyAtRest && dev.Kind == string(telemetry.GPU) && m.counts(i) {
			warn = append(warn, fmt.Sprintf("%s was %d %% busy while it was to be at rest: something else uses it, and net energies come out too low", dev.Name, busy))
		}
		one := results.Rest{Unloaded: &b}
		if isLoaded {
			one = results.Rest{Loaded: &b}
		}
		rest[dev.ID] = one
	}
	m.mu.Lock()
	h := m.ses.Holds[model]
	all := maps.Clone(h.Rest)
	if all == nil {
		all = map[string]results.Rest{}
	}
	for id, one := range rest {
		old := all[id]
		if one.Loaded == nil {
			one.Loaded = old.Loaded
		}
		if one.Unloaded == nil {
			one.Unloaded = old.Unloaded
		}
		all[id] = one
	}
	h.Rest = all
	if h.How == "" {
		h.How = "nothing was found out yet"
	}
	m.setHold(model, h)
	m.mu.Unlock()
	return warn, m.putHolds(ctx)
}

package machine

import (
	"context"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing/telemetry"
	"assay/timing/telemetry/exporter"
)

// resident is the model of the block under way, from Begin to End.
type resident struct {
	ctx     context.Context // of Begin: once it has ended, nothing is waited for
	model   string
	backend backends.Server
	before  map[string]Users // by GPU, with the model out of memory; nil: it was not out
	told    bool             // which GPUs hold it is found out, or cannot be
	rested  bool             // power at rest was measured with it in memory
	settles bool             // its GPU is a phantom's, whose rest is not measured
}

// settling is longer than any tick of a phantom GPU: after it, what a warm-up drew is in
// no tick of a trial. On real GPUs measuring at rest lies between them.
const settling = 250 * time.Millisecond

// beginHold looks at the GPUs before the server is asked anything.
func (m *Machine) beginHold(ctx context.Context, model string) error {
	b := &resident{ctx: ctx, model: model}
	m.block = b
	for _, md := range m.run.Models {
		if md.Name == model {
			b.backend = m.config(md.Backend)
		}
	}
	switch m.places[model] {
	case results.PlacePhantom:
		b.told, b.rested = true, true
		h := results.Hold{Known: true, How: "the phantom works on it"}
		for _, p := range m.probes {
			if d := p.Describe(); d.Kind == telemetry.GPU && d.Synthetic {
				h.GPUs = append(h.GPUs, d.ID)
				b.settles = true
			}
		}
		_, err := m.mon.Hold(ctx, model, h, nil)
		return err
	case results.PlaceRemote:
		b.told, b.rested = true, true
		h := results.Hold{Known: true, How: m.site.Locate(ctx, b.backend).Why}
		for _, p := range m.probes {
			if d := p.Describe(); exporter.Serves(d, b.backend.Name) {
				h.GPUs, h.How = append(h.GPUs, d.ID), "telemetry.remote names them"
			}
		}
		_, err := m.mon.Hold(ctx, model, h, nil)
		return err
	}
	_, real := m.mon.NeedsRest()
	if !real {
		b.told, b.rested = true, true
		return nil
	}
	switch m.inMemory(ctx, b) {
	case yes:
		return m.whose(ctx, b) // a run that is killed knows it then
	case no:
		b.before = m.allUsers()
		return m.rest(ctx, b, false)
	}
	return nil
}

// Ready is told that the model of the block is warm and that nothing of it has been
// timed yet.
func (m *Machine) Ready(ctx context.Context, _ string) error {
	b := m.block
	if b != nil && b.settles {
		b.settles = false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settling):
		}
	}
	if b == nil || b.rested {
		return nil
	}
	if err := m.whose(ctx, b); err != nil {
		return err
	}
	return m.rest(ctx, b, true)
}

// endHold makes up for what Ready did not do, as in a block of no timed study:
// its model is still in memory.
func (m *Machine) endHold(string) {
	b := m.block
	m.block = nil
	if b == nil || b.rested || b.ctx.Err() != nil || m.inMemory(b.ctx, b) == no {
		return
	}
	// A store that cannot be written has ended the run by itself.
	if err := m.whose(b.ctx, b); err == nil {
		_ = m.rest(b.ctx, b, true)
	}
}

// rest measures what the GPUs draw.
func (m *Machine) rest(ctx context.Context, b *resident, loaded bool) error {
	d, _ := m.mon.NeedsRest()
	how := "without " + b.model + " in memory"
	if loaded {
		how = "with " + b.model + " in memory"
		b.rested = true
	}
	m.say("measuring what the GPUs draw at rest, %s: %.0f s", how, d.Seconds())
	warn, err := m.mon.Idle(ctx, b.model, loaded)
	for _, w := range warn {
		m.say("warning: %s", w)
	}
	return err
}

// answer to whether a model is in memory.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

const askWithin = 5 * time.Second

// inMemory says whether the model of a block is in its server's memory. A server
// that loads models when they are asked for tells; others have theirs while they run.
func (m *Machine) inMemory(ctx context.Context, b *resident) answer {
	if m.held != nil {
		switch vram, err := m.heldVRAM(ctx); {
		case err != nil:
			return unknown // the block will find out, and say so
		case vram != nil:
			return yes
		}
		return no
	}
	if m.run.Silent != nil && m.run.Silent(b.backend) {
		return unknown
	}
	w := m.site.ByAddress(ctx, b.backend)
	switch {
	case w.Server.PID > 0 || w.UID != nil:
		return yes
	case len(b.backend.Command) > 0 && w.Forwarded:
		return no
	}
	return unknown
}

// heldVRAM is what a server that unloads says it has of the block's model on GPUs; nil: it
// does not have it in memory, or is no such server.
func (m *Machine) heldVRAM(ctx context.Context) (*int64, error) {
	if m.held == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	list, err := m.held.server.Loaded(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if l.Is(m.held.model) {
			return &l.BytesVRAM, nil
		}
	}
	return nil, nil
}

// allUsers are who uses the real GPUs now.
func (m *Machine) allUsers() map[string]Users {
	out := map[string]Users{}
	for _, p := range m.probes {
		d := p.Describe()
		if d.RealGPU() {
			out[d.ID] = usersOf(p)
		}
	}
	return out
}

// whose finds out which GPUs work for the model of a block, which is in memory.
func (m *Machine) whose(ctx context.Context, b *resident) error {
	now := m.allUsers()
	var gpus []GPU
	for _, p := range m.probes {
		d := p.Describe()
		if c, ok := now[d.ID]; ok {
			g := GPU{Device: d, Users: c}
			if old, ok := b.before[d.ID]; ok {
				g.Before = &old
			}
			gpus = append(gpus, g)
		}
	}
	e := m.site.Evidence(ctx, m.run.Setup, b.backend)
	e.GPUs = gpus
	e.VRAM, _ = m.heldVRAM(ctx) // without it, other evidence has to do
	h, census := e.Claim()
	warn, err := m.mon.Hold(ctx, b.model, h, census)
	switch {
	case !h.Known:
		m.say("warning: %s: which GPUs work for it is not known, so its energies will be unknown: %s", b.model, h.How)
	case h.Assumed:
		m.say("warning: %s: %v is assumed to be its GPU: %s; telemetry.gpus in bench.yaml says it for certain", b.model, h.GPUs, h.How)
	case !b.told:
		m.say("%s: its GPUs are %v: %s", b.model, h.GPUs, h.How)
	}
	b.told = true
	for _, w := range warn {
		m.say("warning: %s: %s", b.model, w)
	}
	return err
}

package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/config"
	"assay/harness/machine"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
)

// Connect is a model's server with its adapter.
func Connect(cfg *config.Config, model string, srv *servers.Servers) (run.Endpoint, error) {
	end, c := endpoint(cfg, model)
	var err error
	end.Backend, err = srv.Backend(c.Name)
	return end, err
}

// Setup is what of a bench.yaml concerns machines.
func Setup(cfg *config.Config) machine.Setup {
	return machine.Setup{Dir: filepath.Dir(cfg.File), Store: cfg.Store, Seed: cfg.Seed, Servers: cfg.Backends, Models: cfg.Models, Telemetry: cfg.Telemetry}
}

// Asking is how the trials of a plan are asked.
type Asking struct {
	Servers     *servers.Servers
	RetryFailed bool
	Notes       io.Writer // what a person should know, a line each, and how far it is
	Width       int       // of Notes in characters
	Terminal    bool      // Notes is one
	// Host describes this machine, but for its GPUs; it is asked again at the end, when its
	// clock may have been compared with another. nil: the store will not know the machine.
	Host func() results.Host
	// Enough ends when the trials under way are to be the last; nil: never.
	Enough context.Context
}

// Answer runs the plan's trials. man, which the store holds, is kept up to date.
func (b *Bench) Answer(ctx context.Context, p *plan.Plan, st *store.Store, man *results.Manifest, a Asking) (run.Summary, error) {
	var none run.Summary
	cfg := b.Config.Served()
	all := p
	p, elsewhere := p.Split(b.Config.Imported)
	job := run.Job{
		Plan: p, Settings: map[string]run.Settings{}, Endpoints: map[string]run.Endpoint{}, Known: man.Models,
		Store: b.Meter.Store(st), Seed: b.Config.Seed, RetryFailed: a.RetryFailed, Enough: a.Enough, Air: b.Meter.Air(),
	}
	m := machine.New(machine.Run{Setup: Setup(cfg), Into: st, Activity: a.Servers.Activity, Backend: a.Servers.Backend, Down: a.Servers.Down, Notes: a.Notes, Host: a.Host,
		Silent: func(b backends.Server) bool { return kinds.Server(b.Kind, b.Protocol).Silent }})
	a.Servers.Tell = m.Event
	b.Meter.Watch(m.Latest)
	job.Clock, job.Watch, job.Begin, job.Ready = m.Clock(), m.Watch(), m.Begin, m.Ready
	for _, sc := range b.Config.Studies {
		job.Settings[sc.Name] = b.Settings(sc)
	}
	for _, block := range p.Blocks {
		end, err := Connect(b.Config, block.Model, a.Servers)
		if err != nil {
			return none, err
		}
		job.Endpoints[block.Model] = end
	}
	job.Listener, job.Stopped = machine.Listeners(Setup(cfg))
	job.Identified = func(ctx context.Context, model string, id backends.Identity) error {
		man.Models[model] = id
		if id.Synthetic {
			man.Synthetic = addOnce(man.Synthetic, fmt.Sprintf("model %s is a phantom reader", model))
		}
		return st.PutManifest(ctx, *man)
	}
	job.Named = func(ctx context.Context, model, name string) error {
		if man.ServedAs == nil {
			man.ServedAs = map[string][]string{}
		}
		man.ServedAs[model] = addOnce(man.ServedAs[model], name)
		return st.PutManifest(ctx, *man)
	}
	side, err := b.judgeBeside(ctx, all, st, a.Servers, a.Notes)
	if err != nil {
		return none, err
	}
	job.Ended = func(model string) {
		m.End(model)
		side.more()
	}
	var done func()
	job.Progress, done = run.ShowProgress(ctx, a.Notes, a.Width, a.Terminal)
	sum, err := run.Run(ctx, job)
	done()
	side.wait()
	closed := m.Close(ctx, slices.ContainsFunc(b.Config.Judges, func(j config.Judge) bool { return j.Kind == "model" }))
	var fault results.Fault
	if errors.As(err, &fault) && errors.Is(closed, fault) {
		closed = nil // the same trouble with the store: it is said once
	}
	if err == nil {
		stored, left, lacking, e := plan.Imported(ctx, st, elsewhere)
		sum.Skipped, sum.Left, sum.Warnings, err = sum.Skipped+stored, sum.Left+left, append(sum.Warnings, lacking...), e
	}
	return sum, errors.Join(err, closed)
}

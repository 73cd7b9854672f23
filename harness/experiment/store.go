package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
)

// MixesError is a change of bench.yaml that would mix results in a store.
type MixesError struct{ File, Store, Diff string }

func (e *MixesError) Error() string {
	return fmt.Sprintf("%s would mix results in %s:\n%sundo the change, or give the new experiment a store of its own (store: in %s)", e.File, e.Store, e.Diff, e.File)
}

// WaitError is a store that another assay still had when ctx ended.
type WaitError struct {
	Store string
	cause error
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("interrupted: %s is still in use, and nothing was begun", e.Store)
}

func (e *WaitError) Unwrap() error { return e.cause }

// lookEvery is how often a run that waits for another looks whether that has ended.
const lookEvery = 200 * time.Millisecond

// Open opens the run's store and brings manifest and items up to date. now is the
// manifest of a run that begins now. A bench.yaml that would mix results in the
// store is a *MixesError. While another assay that has the store is stopping, it waits,
// and says so on notes.
func (b *Bench) Open(ctx context.Context, p *plan.Plan, now results.Manifest, notes io.Writer) (*store.Store, results.Manifest, error) {
	said := false
	for {
		st, man, err := b.open(ctx, p, now)
		if !errors.Is(err, results.FaultInUse) {
			return st, man, err
		}
		pid, stopping := store.Stopping(b.Config.Store)
		if !stopping {
			return st, man, err
		}
		if !said {
			fmt.Fprintf(notes, "another assay (process %d) has %s and is stopping; waiting for it\n", pid, b.Config.Store)
			said = true
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, man, &WaitError{b.Config.Store, ctx.Err()}
		case <-t.C:
		}
	}
}

func (b *Bench) open(ctx context.Context, p *plan.Plan, now results.Manifest) (*store.Store, results.Manifest, error) {
	var none results.Manifest
	st, err := store.Open(ctx, b.Config.Store)
	if err != nil {
		return nil, none, err
	}
	man, err := b.enter(ctx, st, p, now)
	if err != nil {
		st.Close()
		return nil, none, err
	}
	return st, man, nil
}

func (b *Bench) enter(ctx context.Context, st *store.Store, p *plan.Plan, man results.Manifest) (results.Manifest, error) {
	old, ok, err := st.Manifest(ctx)
	if err != nil {
		return man, err
	}
	if ok {
		man.Created, man.Models, man.JudgeModels, man.People, man.Imported, man.ServedAs = old.Created, old.Models, old.JudgeModels, old.People, old.Imported, old.ServedAs
		if b.Changed, err = b.mayGoOn(old, man, func() (map[results.Key]results.Outcome, error) { return st.Outcomes(ctx) }); err != nil {
			return man, err
		}
		for _, ch := range b.Changed {
			for _, m := range b.Config.Models {
				if strings.HasPrefix(ch.Path, "models."+m.Name+".") {
					delete(man.Models, m.Name) // nobody answered under it yet
				}
			}
		}
		for _, why := range old.Synthetic {
			man.Synthetic = addOnce(man.Synthetic, why)
		}
	}
	if man.Models == nil {
		man.Models = map[string]backends.Identity{}
	}
	man.Conditions = b.conditions(old)
	if man.Planned, err = b.Planned(ctx, st, p); err != nil {
		return man, err
	}
	// First: the former manifest says what the judges of unknown versions were.
	if err := st.PutVersions(ctx, b.versionsIn(man), b.versionsIn(old)); err != nil {
		return man, err
	}
	for name := range man.JudgeModels {
		if !maps.Equal(judgeIn(old, name), judgeIn(man, name)) {
			delete(man.JudgeModels, name) // it may be another model now
		}
	}
	if err := st.PutManifest(ctx, man); err != nil {
		return man, err
	}
	for _, sel := range p.Studies {
		study := b.Studies[sel.Study]
		var items []results.Item
		for _, it := range sel.Known {
			facts, err := study.Facts(b.Config.Seed, *it)
			if err != nil {
				return man, fmt.Errorf("study %s, item %s: %w", sel.Study, it.ID, err)
			}
			facts.Study = sel.Study
			items = append(items, facts)
		}
		if err := st.PutItems(ctx, items); err != nil {
			return man, err
		}
	}
	return man, nil
}

// addOnce adds s unless the list has it.
func addOnce(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// Planned counts the trials of the whole bench, whatever one call of run is
// limited to, so that a report can tell whether a run is finished. Of models whose answers are
// made elsewhere, these are the ones that were offered (plan.Offered).
func (b *Bench) Planned(ctx context.Context, st plan.Outcomes, p *plan.Plan) ([]results.Planned, error) {
	if b.whole != nil {
		return b.whole, nil
	}
	if p.Narrowed {
		var err error
		if p, err = b.Plan(plan.Filter{}); err != nil {
			return nil, err
		}
	}
	offered, elsewhere := *p, false
	offered.Blocks = slices.Clone(p.Blocks)
	for i, block := range offered.Blocks {
		if !b.Config.Imported(block.Model) {
			continue
		}
		var err error
		if offered.Blocks[i], err = plan.Offered(ctx, st, block); err != nil {
			return nil, err
		}
		elsewhere = true
	}
	var out []results.Planned
	for _, c := range plan.Counts(&offered) {
		if n := len(out); n > 0 && out[n-1].Study == c.Study && out[n-1].Model == c.Model {
			out[n-1].Trials += c.Trials
			continue
		}
		out = append(out, results.Planned{Study: c.Study, Model: c.Model, Trials: c.Trials})
	}
	if !elsewhere { // else it grows with what is imported
		b.whole = out
	}
	return out, nil
}

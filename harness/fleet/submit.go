package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/results"
)

// submitted is an experiment as it was submitted.
type submitted struct {
	Experiment string   `json:"experiment"`
	There      bool     `json:"there"` // it was there already
	Slices     int      `json:"slices"`
	Trials     int      `json:"trials"`
	Again      int      `json:"given_again"` // slices that were tried again
	Notes      []string `json:"notes,omitempty"`
}

// Submit cuts an experiment into slices of about so many trials, and inserts it. needs
// are the tags that hosts must have, by model. An experiment of that name that is there
// has to be the same, else the error says every difference.
func Submit(ctx context.Context, f *Fleet, b *experiment.Bench, man results.Manifest, size int, needs map[string][]string) (submitted, error) {
	sub := submitted{Experiment: b.Config.Name}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return sub, err
	}
	var parts []Part
	for _, m := range b.Config.Models {
		if b.Config.Imported(m.Name) {
			sub.Notes = append(sub.Notes, fmt.Sprintf("model %s: its answers are made elsewhere; assay import predictions brings them into what was pulled", m.Name))
			continue
		}
		timed, most := about(b, p, m.Name)
		for i, n := range cut(b, p, m.Name, size, most) {
			if n.trials > 0 {
				parts = append(parts, Part{Model: m.Name, Part: i + 1, Parts: n.of, Trials: n.trials, Timed: timed, Tags: needs[m.Name]})
				sub.Trials += n.trials
			}
		}
	}
	sub.Slices = len(parts)
	for _, sc := range b.Config.Studies {
		if len(sc.Levels) > 0 {
			sub.Notes = append(sub.Notes, fmt.Sprintf("study %s: a sweep of requests in flight belongs to one machine; each slice makes one of its own, of few requests", sc.Name))
		}
	}
	dir, err := os.MkdirTemp("", "assay-submit-")
	if err != nil {
		return sub, err
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "base.sqlite")
	if err := baseStore(ctx, b, man, base); err != nil {
		return sub, err
	}
	packed, err := pack(ctx, base)
	if err != nil {
		return sub, err
	}
	e := Experiment{Name: b.Config.Name, Config: string(b.Config.Text), Judged: len(b.Config.Judges) > 0, Version: man.Version, Revision: man.Revision}
	if e.ID, sub.There, err = f.Submit(ctx, e, packed, parts); err != nil || !sub.There {
		return sub, err
	}
	return sub, agrees(ctx, f, e.ID, base, dir)
}

// part is a slice's size.
type part struct{ trials, of int }

// cut divides a model's trials into slices of about size trials, and of at least one item.
func cut(b *experiment.Bench, p *plan.Plan, model string, size, items int) (out []part) {
	trials := 0
	for _, bl := range p.Blocks {
		if bl.Model == model {
			trials = len(bl.Trials)
		}
	}
	n := max(1, min((trials+size-1)/size, items))
	for _, t := range p.Parts(b.Config.Seed, model, n) {
		out = append(out, part{t, n})
	}
	return out
}

// about says whether a study that asks a model is timed, and how many items the one
// with the most of them has.
func about(b *experiment.Bench, p *plan.Plan, model string) (timed bool, most int) {
	for _, sel := range p.Studies {
		for _, sc := range b.Config.Studies {
			if sc.Name == sel.Study && slices.Contains(sc.Models, model) {
				timed, most = timed || sc.Timed || len(sc.Levels) > 0, max(most, len(sel.Items))
			}
		}
	}
	return timed, most
}

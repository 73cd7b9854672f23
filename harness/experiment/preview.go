package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// Preview is what a run would do.
type Preview struct {
	Store   string         `json:"store"`
	Counts  []plan.Count   `json:"counts"`
	Stored  int            `json:"stored"` // trials that a run would skip
	Trials  int            `json:"trials"` // in all
	LeftOut []plan.LeftOut `json:"left_out"`
	Sends   []recipient    `json:"sends"`
	Read    []reading      `json:"read,omitempty"` // of own questions
	// Seconds is the estimated time of the trials to come; nil: unknown.
	Seconds *float64 `json:"estimated_seconds"`
	Why     string   `json:"estimate_note"`
	// Projection is what all trials take, stored ones included; nil: there is no store.
	Projection *study.Projection `json:"projection,omitempty"`
}

// reading is how a table of questions is read: what nobody said of its columns, in words, and
// what of it is not used.
type reading struct {
	Dataset string   `json:"dataset"`
	Guesses []string `json:"guesses,omitempty"`
	Unused  []string `json:"unused,omitempty"`
}

// Readings are how the tables of questions are read. Of a whole plan they say how many rows have
// boxes that it draws nothing with.
func (b *Bench) Readings(p *plan.Plan) (out []reading) {
	drawn := map[*dataset.Item]bool{}
	for _, block := range p.Blocks {
		for _, t := range block.Trials {
			if slices.ContainsFunc(t.Condition.Ops, func(o perturb.Op) bool { return len(o.Regions) > 0 }) {
				drawn[t.Item] = true
			}
		}
	}
	for _, d := range b.Config.Datasets {
		set := b.Sets[d.Name]
		if set == nil {
			continue
		}
		unused, rows := slices.Clone(set.Unused), 0
		for i := range set.Items {
			if set.Items[i].Regions != nil && !drawn[&set.Items[i]] {
				rows++
			}
		}
		if rows > 0 && d.Has("boxes") && !p.Narrowed {
			unused = append(unused, "boxes of "+results.Count(rows, "row", "rows")+" (no condition draws in them)")
		}
		if len(set.Guesses)+len(unused) > 0 {
			out = append(out, reading{d.Name, set.Guesses, unused})
		}
	}
	return out
}

// Preview compares a plan with what is stored. A bench.yaml that would mix results in
// its store is a *MixesError, as it is for a run.
func (b *Bench) Preview(ctx context.Context, p *plan.Plan) (*Preview, error) {
	pre := &Preview{Store: b.Config.Store, Counts: plan.Counts(p), LeftOut: b.surprising(p.LeftOut), Sends: b.leaves(), Read: b.Readings(p)}
	done := map[results.Key]results.Outcome{}
	type cell struct{ model, study, arm string }
	seen := map[cell][]float64{}
	if _, err := os.Stat(b.Config.Store); err == nil {
		st, err := store.OpenReader(ctx, b.Config.Store)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		if done, err = st.Outcomes(ctx); err != nil {
			return nil, err
		}
		old, ok, err := st.Manifest(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			if _, err := b.mayGoOn(old, b.Manifest(), func() (map[results.Key]results.Outcome, error) { return done, nil }); err != nil {
				return nil, err
			}
		}
		for _, s := range b.Config.Studies {
			for row, err := range st.Rows(ctx, s.Name) {
				if err != nil {
					return nil, err
				}
				if row.Latency != nil {
					k := cell{row.Key.Model, row.Key.Study, row.Key.Arm}
					seen[k] = append(seen[k], row.Latency.Seconds())
				}
			}
		}
	}
	var err error
	if pre.Projection, err = b.Project(ctx, p); err != nil {
		return nil, err
	}
	flight := map[string]int{}
	for _, sc := range b.Config.Studies {
		flight[sc.Name] = max(1, sc.InFlight)
	}
	total, unknown := plan.Estimate(p, func(k results.Key) (time.Duration, bool) {
		pre.Trials++
		if _, ok := done[k]; ok {
			pre.Stored++
			return 0, true
		}
		mid, ok := stats.Median(seen[cell{k.Model, k.Study, k.Arm}])
		return time.Duration(mid / float64(flight[k.Study]) * float64(time.Second)), ok
	})
	switch {
	case unknown == 0:
		seconds := total.Seconds()
		pre.Seconds, pre.Why = &seconds, "from the median latency of stored answers per model and arm; preparing pictures, warm-up and judging come on top"
	default:
		pre.Why = fmt.Sprintf("unknown: no stored answer of the same model and arm for %d trials; a short run (assay run --limit 3) gives one", unknown)
	}
	return pre, nil
}

// surprising leaves out what is so by design: the items of a phantom data set that
// are there for another study.
func (b *Bench) surprising(all []plan.LeftOut) []plan.LeftOut {
	made := func(study string) bool {
		return slices.ContainsFunc(b.Config.Studies, func(s config.Study) bool { return s.Name == study && b.Sets[s.Dataset].Synthetic })
	}
	return slices.DeleteFunc(slices.Clone(all), func(l plan.LeftOut) bool { return l.Trials != nil && *l.Trials == 0 && made(l.Study) })
}

// Project says what a whole plan will take, judging by what is stored; nil:
// there is no store yet.
func (b *Bench) Project(ctx context.Context, p *plan.Plan) (*study.Projection, error) {
	if _, err := os.Stat(b.Config.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	st, err := store.OpenReader(ctx, b.Config.Store)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var loads []study.Load
	for _, c := range plan.Counts(p) {
		loads = append(loads, study.Load{Study: c.Study, Model: c.Model, Arm: c.Arm, Trials: c.Trials})
	}
	flight := map[string]int{}
	for _, sc := range b.Config.Studies {
		flight[sc.Name] = sc.InFlight
	}
	pr, err := study.Project(ctx, st, b.Config.Seed, b.Config.Cost, loads, flight)
	if err != nil {
		return nil, err
	}
	return &pr, nil
}

package results

import (
	"context"

	"assay/backends"
)

// Planned is how many trials a study asks of a model: the whole of bench.yaml,
// whatever one call of run was limited to.
type Planned struct {
	Study  string `json:"study"`
	Model  string `json:"model"`
	Trials int    `json:"trials"`
}

// Extent is how far one model's trials of one study got, counted in the store.
type Extent struct {
	Study, Model string
	Planned      *int // trials; nil: the store does not say
	Answers      int
	Failures     int
	Items        int // that have a trial
	Timed        int // answers of a timed study
	Warm         int // of these, with caches left as they were
	// Of those whose caches were to be cold, what became of it.
	Proven, Hit, Unverified int
}

// Stored is the trials that are there, answered or failed.
func (e Extent) Stored() int { return e.Answers + e.Failures }

// Extents counts the trials of every study and model that was planned or has
// trials: those that were planned first, in the manifest's order.
func (s *Store) Extents(ctx context.Context, m Manifest) ([]Extent, error) {
	var out []Extent
	at := map[[2]string]int{}
	of := func(study, model string) *Extent {
		k := [2]string{study, model}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Extent{Study: study, Model: model})
		}
		return &out[i]
	}
	for _, p := range m.Planned {
		of(p.Study, p.Model).Planned = &p.Trials
	}
	type cell struct {
		study, model, outcome string
		policy, state         *string
		n                     int
	}
	for c, err := range query(ctx, s, "counting the trials", `SELECT study, model, outcome, cache_policy, cache_state, count(*) FROM trial
		GROUP BY study, model, outcome, cache_policy, cache_state`, nil, func(row func(...any) error) (cell, error) {
		var c cell
		return c, row(&c.study, &c.model, &c.outcome, &c.policy, &c.state, &c.n)
	}) {
		if err != nil {
			return nil, err
		}
		e := of(c.study, c.model)
		switch policy := CachePolicy(str(c.policy)); {
		case c.outcome == "failure":
			e.Failures += c.n
			continue
		case policy == PolicyCold:
			switch backends.CacheState(str(c.state)) {
			case backends.CacheCold:
				e.Proven += c.n
			case backends.CacheHit:
				e.Hit += c.n
			default:
				e.Unverified += c.n
			}
			e.Timed += c.n
		case policy == PolicyWarm:
			e.Warm += c.n
			e.Timed += c.n
		}
		e.Answers += c.n
	}
	type items struct {
		study, model string
		n            int
	}
	for c, err := range query(ctx, s, "counting the items", "SELECT study, model, count(DISTINCT item) FROM trial GROUP BY study, model", nil, func(row func(...any) error) (items, error) {
		var c items
		return c, row(&c.study, &c.model, &c.n)
	}) {
		if err != nil {
			return nil, err
		}
		of(c.study, c.model).Items = c.n
	}
	return out, nil
}

// Judging counts the judgments of each rubric by each judge, whatever their status.
func (s *Store) Judging(ctx context.Context) (map[[2]string]int, error) {
	out := map[[2]string]int{}
	type cell struct {
		by [2]string
		n  int
	}
	for c, err := range query(ctx, s, "counting the judgments", "SELECT rubric, judge, count(*) FROM judgment GROUP BY rubric, judge", nil, func(row func(...any) error) (cell, error) {
		var c cell
		return c, row(&c.by[0], &c.by[1], &c.n)
	}) {
		if err != nil {
			return nil, err
		}
		out[c.by] = c.n
	}
	return out, nil
}

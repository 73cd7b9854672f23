package sqlite

import (
	"context"

	"assay/backends"
	"assay/results"
	"assay/results/file"
)

// Extents counts the trials of every study and model that was planned or has
// trials: those that were planned first, in the manifest's order.
func (s *Store) Extents(ctx context.Context, m results.Manifest) ([]results.Extent, error) {
	var out []results.Extent
	at := map[[2]string]int{}
	of := func(study, model string) *results.Extent {
		k := [2]string{study, model}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, results.Extent{Study: study, Model: model})
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
	for c, err := range file.Query(ctx, s.file, "counting the trials", `SELECT study, model, outcome, cache_policy, cache_state, count(*) FROM trial
		GROUP BY study, model, outcome, cache_policy, cache_state`, nil, func(row func(...any) error) (cell, error) {
		var c cell
		return c, row(&c.study, &c.model, &c.outcome, &c.policy, &c.state, &c.n)
	}) {
		if err != nil {
			return nil, err
		}
		e := of(c.study, c.model)
		switch policy := results.CachePolicy(str(c.policy)); {
		case c.outcome == "failure":
			e.Failures += c.n
			continue
		case policy == results.PolicyCold:
			switch backends.CacheState(str(c.state)) {
			case backends.CacheCold:
				e.Proven += c.n
			case backends.CacheHit:
				e.Hit += c.n
			default:
				e.Unverified += c.n
			}
			e.Timed += c.n
		case policy == results.PolicyWarm:
			e.Warm += c.n
			e.Timed += c.n
		}
		e.Answers += c.n
	}
	type items struct {
		study, model string
		n            int
	}
	for c, err := range file.Query(ctx, s.file, "counting the items", "SELECT study, model, count(DISTINCT item) FROM trial GROUP BY study, model", nil, func(row func(...any) error) (items, error) {
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

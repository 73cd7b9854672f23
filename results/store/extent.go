package store

import (
	"context"

	"assay/backends"
	"assay/results"
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
	type counts struct {
		study, model                                     string
		items, failures, cold, proven, hit, warm, trials int
	}
	// In the order of the key, so that nothing has to be sorted.
	for c, err := range Query(ctx, s.file, "counting the trials", `SELECT study, model, count(*), sum(failures), sum(cold), sum(proven), sum(hit), sum(warm), sum(trials) FROM (
			SELECT study, model, sum(outcome = 'failure') AS failures, count(*) AS trials,
				count(*) FILTER (WHERE outcome <> 'failure' AND cache_policy = ?1) AS cold,
				count(*) FILTER (WHERE outcome <> 'failure' AND cache_policy = ?1 AND cache_state = ?2) AS proven,
				count(*) FILTER (WHERE outcome <> 'failure' AND cache_policy = ?1 AND cache_state = ?3) AS hit,
				count(*) FILTER (WHERE outcome <> 'failure' AND cache_policy = ?4) AS warm
			FROM trial GROUP BY study, model, item) GROUP BY study, model`,
		[]any{string(results.PolicyCold), string(backends.CacheCold), string(backends.CacheHit), string(results.PolicyWarm)}, func(row func(...any) error) (counts, error) {
			var c counts
			return c, row(&c.study, &c.model, &c.items, &c.failures, &c.cold, &c.proven, &c.hit, &c.warm, &c.trials)
		}) {
		if err != nil {
			return nil, err
		}
		e := of(c.study, c.model)
		e.Items, e.Failures, e.Answers = c.items, c.failures, c.trials-c.failures
		e.Proven, e.Hit, e.Unverified, e.Warm = c.proven, c.hit, c.cold-c.proven-c.hit, c.warm
		e.Timed = c.cold + c.warm
	}
	return out, nil
}

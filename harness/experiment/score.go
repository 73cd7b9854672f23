package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results/store"
)

// Asked are the studies of a store that have scores, with the judges asked.
func Asked(ctx context.Context, st *store.Store) ([]score.Asked, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	var out []score.Asked
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		proto, err := NewStudy(name, nil, study.Choice{})
		if errors.Is(err, ErrUnknown) || err == nil && proto.Scores.Score == nil {
			continue // of a study that is not known, the report says so
		}
		if err != nil {
			return nil, err
		}
		out = append(out, score.Asked{Rules: proto.Scores, Judges: man.Rubrics[name]})
	}
	return out, nil
}

// Score stores what trials scored where that has changed, and says on notes how far it is
// when it takes long.
func Score(ctx context.Context, st *store.Store, notes io.Writer) error {
	const every = 5 * time.Second
	all, err := Asked(ctx, st)
	if err != nil {
		return err
	}
	for _, a := range all {
		last := time.Now()
		_, err := score.Refresh(ctx, st, a.Rules, a.Judges, func(trials int) {
			if time.Since(last) >= every {
				fmt.Fprintf(notes, "scoring %s: %d trials\n", a.Rules.Study, trials)
				last = time.Now()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scored says whether the stored scores of a store are what Score would store.
func scored(ctx context.Context, st *store.Store) (bool, error) {
	all, err := Asked(ctx, st)
	for _, a := range all {
		if ok, err := score.Fresh(ctx, st, a.Rules, a.Judges); err != nil || !ok {
			return false, err
		}
	}
	return err == nil, err
}

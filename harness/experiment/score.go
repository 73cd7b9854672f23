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
	"assay/harness/studies"
	"assay/harness/study"
	"assay/results/sqlite"
)

// scored are the studies of a store that have scores, with the judges asked.
func scored(ctx context.Context, st *sqlite.Store, each func(score.Rules, map[string][]string) error) error {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		proto, err := studies.New(name, nil, study.Choice{})
		if errors.Is(err, studies.ErrUnknown) || err == nil && proto.Scores.Score == nil {
			continue // of a study that is not known, the report says so
		}
		if err == nil {
			err = each(proto.Scores, man.Rubrics[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Score stores what trials scored, where that has changed, and says on notes how far
// it is when it takes long.
func Score(ctx context.Context, st *sqlite.Store, notes io.Writer) error {
	const every = 5 * time.Second
	return scored(ctx, st, func(r score.Rules, judges map[string][]string) error {
		last := time.Now()
		_, err := score.Refresh(ctx, st, r, judges, func(trials int) {
			if time.Since(last) >= every {
				fmt.Fprintf(notes, "scoring %s: %d trials\n", r.Study, trials)
				last = time.Now()
			}
		})
		return err
	})
}

// Scored says whether the stored scores of a store are what Score would store.
func Scored(ctx context.Context, st *sqlite.Store) (bool, error) {
	fresh := true
	err := scored(ctx, st, func(r score.Rules, judges map[string][]string) error {
		ok, err := score.Fresh(ctx, st, r, judges)
		fresh = fresh && ok
		return err
	})
	return fresh, err
}

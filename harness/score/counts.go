package score

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/results"
	"assay/results/store"
)

// Counts is what a report counts of a store: of a million trials that takes seconds, so
// it is kept with what its trials scored.
type Counts struct {
	Extents  []results.Extent
	Versions []results.Version
}

// ofAll stands for a study where counts of all studies are kept.
const ofAll = ""

// countsOf are a store's counts, kept or made now; kept says which.
func countsOf(ctx context.Context, st *store.Store, man results.Manifest) (c Counts, of results.Digest, kept bool, err error) {
	revision, err := st.Revision(ctx)
	if err != nil {
		return c, "", false, err
	}
	basis, err := json.Marshal(map[string]any{"code": build(), "revision": revision, "planned": man.Planned})
	if err != nil {
		return c, "", false, fmt.Errorf("what is counted: %w", err)
	}
	of = results.DigestOf(basis)
	// What cannot be read is counted.
	if set, ok, err := st.ScoreSet(ctx, ofAll); err == nil && ok && set.Digest == of && json.Unmarshal(set.About, &c) == nil {
		return c, of, true, nil
	}
	var unread error
	c.Extents, err = st.Extents(ctx, man)
	c.Versions, unread = st.Versions(ctx)
	return c, of, false, cmp.Or(err, unread)
}

// CountsOf are those of a store, from what KeepCounts kept where nothing has changed
// since. With an error they are what can be counted.
func CountsOf(ctx context.Context, st *store.Store, man results.Manifest) (Counts, error) {
	c, _, _, err := countsOf(ctx, st, man)
	return c, err
}

// KeepCounts counts and keeps it, unless what is kept is of what is there now. The store
// must be open for writing. Of a damaged one nothing is kept.
func KeepCounts(ctx context.Context, st *store.Store) error {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return err
	}
	c, of, kept, err := countsOf(ctx, st, man)
	if errors.Is(err, results.FaultDamaged) {
		return nil
	}
	if err != nil || kept {
		return err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("what is counted: %w", err)
	}
	// A change meanwhile raised the revision, so that this is never taken for what is there then.
	none := func(func(results.ScoreBundle, error) bool) {}
	return st.PutScores(ctx, ofAll, none, func() results.ScoreSet { return results.ScoreSet{Digest: of, About: b} })
}

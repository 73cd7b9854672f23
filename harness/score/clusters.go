package score

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/results/store"
)

// Clusters are, by item, what is drawn together in intervals and tests: items that show the
// same images, or what bench.yaml names as their cluster. An item without one is a cluster of
// its own, and so is every item under the rules of the authors' code (metrics.md section 0).
func Clusters(ctx context.Context, st *store.Store, study string) (map[string]string, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil || man.Released() {
		return nil, err
	}
	out := map[string]string{}
	for it, err := range st.Items(ctx, study) {
		if err != nil {
			return nil, err
		}
		var facts struct{ Picture string }
		if len(it.Facts) > 0 {
			if err := json.Unmarshal(it.Facts, &facts); err != nil {
				return nil, fmt.Errorf("%s: the facts of item %s cannot be read: %w; the store is damaged or was written by another version", study, it.ID, err)
			}
		}
		if facts.Picture != "" {
			out[it.ID] = facts.Picture
		}
	}
	return out, nil
}

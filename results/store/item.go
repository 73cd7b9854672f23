package store

import (
	"context"
	"iter"

	"assay/results"
)

// TrialsOf iterates over one model's trials of one item in Key order. It reads
// nothing else, so that a few can be looked at in a store of any size.
func (s *Store) TrialsOf(ctx context.Context, study, model, item string) iter.Seq2[results.Trial, error] {
	return s.trials(ctx, " WHERE t.study = ? AND t.model = ? AND t.item = ?", study, model, item)
}

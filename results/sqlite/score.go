package sqlite

import (
	"context"
	"encoding/json"
	"iter"

	"assay/results"
	"assay/results/file"
)

// changing is an operation that changes what scores are made of.
func changing(do func(*file.Tx) error) func(*file.Tx) error {
	return func(t *file.Tx) error {
		if err := do(t); err != nil {
			return err
		}
		return t.Exec("UPDATE revision SET n = n + 1")
	}
}

// changed notes it where the last statement changed a row.
func changed(t *file.Tx) error {
	return t.Exec("UPDATE revision SET n = n + 1 WHERE changes() > 0")
}

// Revision is a number that rises with every change of what scores are made of:
// trials, cases, judgments, judges, energies and items. The manifest is not among
// them.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if err := s.file.Flush(ctx); err != nil {
		return 0, err
	}
	var n int64
	_, err := s.file.One(ctx, "reading the revision", "SELECT n FROM revision", nil, &n)
	return n, err
}

// ScoreSet is what is said of a study's stored scores; false: there are none, or
// they are not whole.
func (s *Store) ScoreSet(ctx context.Context, study string) (results.ScoreSet, bool, error) {
	set := results.ScoreSet{Study: study}
	var about string
	ok, err := s.file.One(ctx, "reading the scores", "SELECT digest, about FROM score_set WHERE study = ?", []any{study}, &set.Digest, &about)
	set.About = json.RawMessage(about)
	return set, ok, err
}

// PutScores replaces a study's scores. set is called after the last of them and
// says what they were made of; until it is stored, the study has none.
func (s *Store) PutScores(ctx context.Context, study string, scores iter.Seq2[results.StoredScore, error], set func() results.ScoreSet) error {
	const attempt, together = "storing the scores", 500
	err := s.file.Put(ctx, attempt, true, func(t *file.Tx) error { return t.Exec("DELETE FROM score_set WHERE study = ?", study) })
	if err != nil {
		return err
	}
	batch := make([]results.StoredScore, 0, together)
	write := func() error {
		rows := batch
		batch = make([]results.StoredScore, 0, together)
		return s.file.Put(ctx, attempt, false, func(t *file.Tx) error {
			for _, r := range rows {
				if err := t.Exec("INSERT OR REPLACE INTO score VALUES (?, ?)", r.Trial, r.Bytes); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for r, err := range scores {
		if err != nil {
			return err
		}
		if batch = append(batch, r); len(batch) == together {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := write(); err != nil {
		return err
	}
	last := set()
	return s.file.Put(ctx, attempt, true, func(t *file.Tx) error {
		return t.Exec("INSERT OR REPLACE INTO score_set VALUES (?, ?, ?)", study, string(last.Digest), string(last.About))
	})
}

// ScoredRows iterates over a study's trials in Key order with the scores of a set
// of a revision; over none, where there is another by now: one statement asks and
// reads, because a run may write meanwhile.
func (s *Store) ScoredRows(ctx context.Context, set results.ScoreSet, revision int64) iter.Seq2[results.ScoredRow, error] {
	return func(yield func(results.ScoredRow, error) bool) {
		var scores []byte
		for r, err := range s.rows(ctx, set.Study, "", beside{column: "(SELECT bytes FROM score WHERE trial = t.id)",
			where: " AND (SELECT n FROM revision) = ? AND (SELECT digest FROM score_set WHERE study = ?) = ?", args: []any{revision, set.Study, string(set.Digest)},
			take: func(_ *results.JudgedRow, b []byte) error { scores = b; return nil }}) {
			if !yield(results.ScoredRow{Row: r.Row, Bytes: scores}, err) {
				return
			}
		}
	}
}

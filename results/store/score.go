package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"assay/results"
)

// changing is an operation that changes what scores are made of.
func changing(do func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		if err := do(t); err != nil {
			return err
		}
		return t.Exec("UPDATE revision SET n = n + 1")
	}
}

// changed notes it where the last statement changed a row.
func changed(t *Tx) error {
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

// PutScores replaces a study's scores by bundles in any order. set is called after the
// last of them and says what they were made of; until it is stored, the study has none.
func (s *Store) PutScores(ctx context.Context, study string, bundles iter.Seq2[results.ScoreBundle, error], set func() results.ScoreSet) error {
	const attempt, together = "storing the scores", 32 // bundles that may wait for the disk
	err := s.file.Put(ctx, attempt, true, func(t *Tx) error {
		if err := t.Exec("DELETE FROM score_set WHERE study = ?", study); err != nil {
			return err
		}
		return t.Exec("DELETE FROM score_bundle WHERE study = ?", study)
	})
	if err != nil {
		return err
	}
	n := 0
	for c, err := range bundles {
		if err != nil {
			return err
		}
		n++
		if err := s.file.Put(ctx, attempt, n%together == 0, func(t *Tx) error {
			return t.Exec("INSERT INTO score_bundle VALUES (?, ?, ?, ?)", study, c.Model, c.N, c.Bytes)
		}); err != nil {
			return err
		}
	}
	last := set()
	return s.file.Put(ctx, attempt, true, func(t *Tx) error {
		return t.Exec("INSERT OR REPLACE INTO score_set VALUES (?, ?, ?)", study, string(last.Digest), string(last.About))
	})
}

// ScoreBundles iterates over the bundles of a set of a revision in Key order, whose Bytes
// are valid until the next; over none, where there is another set by now: one statement
// asks and reads, because a run may write meanwhile.
func (s *Store) ScoreBundles(ctx context.Context, set results.ScoreSet, revision int64) iter.Seq2[results.ScoreBundle, error] {
	var bytes sql.RawBytes
	return Query(ctx, s.file, "reading the scores", `SELECT model, n, bytes FROM score_bundle
		WHERE study = ? AND (SELECT n FROM revision) = ? AND (SELECT digest FROM score_set WHERE study = ?) = ? ORDER BY model, n`,
		[]any{set.Study, revision, set.Study, string(set.Digest)}, func(row func(...any) error) (c results.ScoreBundle, err error) {
			err = row(&c.Model, &c.N, &bytes)
			c.Bytes = bytes
			return c, err
		})
}

package curate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"assay/results"
	"assay/results/store"
)

// schema is the tables of a store of continuations.
func schema() store.Schema {
	return store.Schema{Steps: []string{`
CREATE TABLE continuation (
	model TEXT NOT NULL,   -- its name in bench.yaml
	served TEXT NOT NULL,  -- digest of what its server said of it
	asked TEXT NOT NULL,   -- digest of how it was asked
	text TEXT NOT NULL,    -- digest of the text
	answer TEXT NOT NULL,  -- JSON of an Answer
	PRIMARY KEY (model, asked, text, served)
) WITHOUT ROWID;
CREATE TABLE about (created TEXT NOT NULL) -- one row
`}}
}

// answerStore keeps continuations. It is a file of its own beside a run's store, because a
// continuation is neither a trial nor a judgment: it has no arm, no condition and no
// times. One process at a time may have it open.
type answerStore struct{ file *store.File }

// open opens or makes the store at path.
func open(ctx context.Context, path string) (*answerStore, error) {
	f, err := store.OpenFile(ctx, path, schema())
	if err != nil {
		return nil, err
	}
	return &answerStore{f}, nil
}

// Close closes it.
func (s *answerStore) Close() error { return s.file.Close() }

// put stores an answer, and returns when it is safe.
func (s *answerStore) put(ctx context.Context, model string, served, asked results.Digest, a answer) error {
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("storing a continuation: %w", err)
	}
	return s.file.Put(ctx, "storing a continuation", true, func(t *store.Tx) error {
		return t.Exec("INSERT OR REPLACE INTO continuation (model, served, asked, text, answer) VALUES (?, ?, ?, ?, ?)", model, string(served), string(asked), string(a.Text), string(b))
	})
}

// answers are those of a model that was asked so, by text, and how many more there are
// of other states of it.
func (s *answerStore) answers(ctx context.Context, model string, served, asked results.Digest) (list map[results.Digest]answer, former int, err error) {
	type row struct{ served, answer string }
	list = map[results.Digest]answer{}
	for r, err := range store.Query(ctx, s.file, "reading continuations", "SELECT served, answer FROM continuation WHERE model = ? AND asked = ?", []any{model, string(asked)}, func(scan func(...any) error) (row, error) {
		var r row
		return r, scan(&r.served, &r.answer)
	}) {
		if err != nil {
			return nil, 0, err
		}
		if r.served != string(served) {
			former++
			continue
		}
		var a answer
		if err := json.Unmarshal([]byte(r.answer), &a); err != nil {
			return nil, 0, fmt.Errorf("reading continuations: %w: %v", results.FaultDamaged, err)
		}
		list[a.Text] = a
	}
	return list, former, nil
}

// created is when the store was first used: now, unless it was before.
func (s *answerStore) created(ctx context.Context, now time.Time) (time.Time, error) {
	var stored string
	ok, err := s.file.One(ctx, "reading when it was made", "SELECT created FROM about", nil, &stored)
	if err != nil {
		return now, err
	}
	if !ok {
		return now, s.file.Put(ctx, "storing when it was made", true, func(t *store.Tx) error {
			return t.Exec("INSERT INTO about (created) VALUES (?)", now.Format(time.RFC3339))
		})
	}
	if now, err = time.Parse(time.RFC3339, stored); err != nil {
		return now, fmt.Errorf("reading when the store was made: %w: %v", results.FaultDamaged, err)
	}
	return now, nil
}

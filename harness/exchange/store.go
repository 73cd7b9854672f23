package exchange

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"assay/results"
	"assay/results/store"
)

// Metric is where numbers come from.
type Metric struct {
	Name    string
	Tool    string
	Version string
	Higher  bool           // higher is better
	File    string         // its name
	Digest  results.Digest // of its bytes
}

// scores are numbers of a metric by case; nil: the tool gave none.
type scores struct {
	Metric
	Of map[results.Digest]*float64
}

func schema() store.Schema {
	return store.Schema{Steps: []string{`
CREATE TABLE metric (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL, tool TEXT NOT NULL, version TEXT NOT NULL,
	higher INTEGER NOT NULL, -- 1: higher is better
	file TEXT NOT NULL, digest TEXT NOT NULL,
	UNIQUE (name, tool, version)
);
CREATE TABLE score (
	metric INTEGER NOT NULL REFERENCES metric(id) ON DELETE CASCADE,
	judged TEXT NOT NULL, -- digest of a case
	value REAL,           -- NULL: the tool gave none
	PRIMARY KEY (metric, judged)
) WITHOUT ROWID;
`}}
}

// StoreOf is where the numbers of other tools are kept: beside a run's store.
func StoreOf(store string) string {
	return strings.TrimSuffix(store, filepath.Ext(store)) + "-scores.sqlite"
}

// ScoreStore keeps them. One process at a time may have it open.
type ScoreStore struct{ file *store.File }

// OpenScores opens or makes the store at path.
func OpenScores(ctx context.Context, path string) (*ScoreStore, error) {
	f, err := store.OpenFile(ctx, path, schema())
	if err != nil {
		return nil, err
	}
	return &ScoreStore{f}, nil
}

// Close closes it.
func (s *ScoreStore) Close() error { return s.file.Close() }

// Put stores numbers of a metric, all of them or none, in place of those that the same
// tool and version gave before.
func (s *ScoreStore) Put(ctx context.Context, m Metric, list []joinedScores) error {
	return s.file.Put(ctx, "storing scores", true, func(t *store.Tx) error {
		var id int64
		if err := t.Exec("DELETE FROM score WHERE metric IN (SELECT id FROM metric WHERE name = ? AND tool = ? AND version = ?)", m.Name, m.Tool, m.Version); err != nil {
			return err
		}
		if err := t.Exec("INSERT INTO metric (name, tool, version, higher, file, digest) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name, tool, version) DO UPDATE SET higher = excluded.higher, file = excluded.file, digest = excluded.digest",
			m.Name, m.Tool, m.Version, m.Higher, m.File, string(m.Digest)); err != nil {
			return err
		}
		if _, err := t.Scan("SELECT id FROM metric WHERE name = ? AND tool = ? AND version = ?", []any{m.Name, m.Tool, m.Version}, &id); err != nil {
			return err
		}
		for _, j := range list {
			var v any
			if j.Value != nil {
				v = *j.Value
			}
			if err := t.Exec("INSERT INTO score (metric, judged, value) VALUES (?, ?, ?)", id, string(j.Case), v); err != nil {
				return fmt.Errorf("case %s: %w", j.Case, err)
			}
		}
		return nil
	})
}

// All are the numbers of every metric, by name, tool and version.
func (s *ScoreStore) All(ctx context.Context) ([]scores, error) {
	type row struct {
		m      Metric
		digest string
		judged *string
		value  *float64
	}
	var out []scores
	for r, err := range store.Query(ctx, s.file, "reading scores", "SELECT m.name, m.tool, m.version, m.higher, m.file, m.digest, s.judged, s.value FROM metric m LEFT JOIN score s ON s.metric = m.id ORDER BY m.name, m.tool, m.version, s.judged", nil,
		func(scan func(...any) error) (row, error) {
			var r row
			return r, scan(&r.m.Name, &r.m.Tool, &r.m.Version, &r.m.Higher, &r.m.File, &r.digest, &r.judged, &r.value)
		}) {
		if err != nil {
			return nil, err
		}
		r.m.Digest = results.Digest(r.digest)
		if n := len(out); n == 0 || out[n-1].Metric != r.m {
			out = append(out, scores{r.m, map[results.Digest]*float64{}})
		}
		if r.judged != nil {
			out[len(out)-1].Of[results.Digest(*r.judged)] = r.value
		}
	}
	return out, nil
}

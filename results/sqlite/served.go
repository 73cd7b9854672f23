package sqlite

import (
	"context"
	"encoding/json"

	"assay/backends"
	"assay/results"
	"assay/results/file"
)

// PutServed keeps who answers, before the first attempt that says so is stored.
func (s *Store) PutServed(ctx context.Context, id backends.Identity) error {
	return s.file.Put(ctx, "storing who serves a model", true, func(t *file.Tx) error {
		return t.Exec("INSERT OR IGNORE INTO served (digest, identity) VALUES (?, ?)", string(results.ServedBy(id)), marshal(id))
	})
}

// Served is everybody who answered, by the name that attempts carry.
func (s *Store) Served(ctx context.Context) (map[results.Digest]backends.Identity, error) {
	out := map[results.Digest]backends.Identity{}
	type row struct {
		digest results.Digest
		id     backends.Identity
	}
	for r, err := range file.Query(ctx, s.file, "reading who served the models", "SELECT digest, identity FROM served", nil, func(scan func(...any) error) (row, error) {
		var r row
		var text string
		if err := scan(&r.digest, &text); err != nil {
			return r, err
		}
		return r, json.Unmarshal([]byte(text), &r.id)
	}) {
		if err != nil {
			return nil, err
		}
		out[r.digest] = r.id
	}
	return out, nil
}

package store

import (
	"context"

	"assay/backends"
	"assay/results"
)

// PutServed keeps who answers, before the first attempt that says so is stored.
func (s *Store) PutServed(ctx context.Context, id backends.Identity) error {
	return s.file.Put(ctx, "storing who serves a model", true, func(t *Tx) error {
		return t.Exec("INSERT OR IGNORE INTO served (digest, identity) VALUES (?, ?)", string(results.ServedBy(id)), marshal(id))
	})
}

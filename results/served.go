package results

import (
	"context"
	"encoding/json"

	"assay/backends"
)

// ServedBy names an identity: attempts carry it.
func ServedBy(id backends.Identity) Digest { return DigestOf([]byte(marshal(id))) }

// PutServed keeps who answers, before the first attempt that says so is stored.
func (s *Store) PutServed(ctx context.Context, id backends.Identity) error {
	return s.put(ctx, "storing who serves a model", true, func(t *tx) error {
		return t.exec("INSERT OR IGNORE INTO served (digest, identity) VALUES (?, ?)", string(ServedBy(id)), marshal(id))
	})
}

// Served is everybody who answered, by the name that attempts carry.
func (s *Store) Served(ctx context.Context) (map[Digest]backends.Identity, error) {
	out := map[Digest]backends.Identity{}
	type row struct {
		digest Digest
		id     backends.Identity
	}
	for r, err := range query(ctx, s, "reading who served the models", "SELECT digest, identity FROM served", nil, func(scan func(...any) error) (row, error) {
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

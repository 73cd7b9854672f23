package store

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"assay/backends"
	"assay/results"
)

// Served is everybody who answered, by the name that attempts carry.
func (s *Store) Served(ctx context.Context) (map[results.Digest]backends.Identity, error) {
	out := map[results.Digest]backends.Identity{}
	type row struct {
		digest results.Digest
		id     backends.Identity
	}
	for r, err := range Query(ctx, s.file, "reading who served the models", "SELECT digest, identity FROM served", nil, func(scan func(...any) error) (row, error) {
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

// An attempt belongs to the identity that served it, also after others served the
// same trial; one that nobody put is refused.
func TestAttemptsBelongToWhoServedThem(t *testing.T) {
	s := openStore(t)
	one, two := backends.Identity{Server: "llama.cpp", Path: "a.gguf"}, backends.Identity{Server: "llama.cpp", Path: "b.gguf"}
	k := results.Key{Study: "s", Model: "m", Item: "i", Arm: "a", Condition: "baseline"}
	said := func(by results.Digest) results.Attempt {
		return results.Attempt{Served: by, Failure: &results.Failure{Kind: "server", Message: "no"}}
	}
	if err := s.PutTrial(bg, results.Trial{Key: k, Attempts: []results.Attempt{said(results.ServedBy(one))}}); err == nil || !strings.Contains(err.Error(), "not stored") {
		t.Errorf("an attempt of a server that nobody knows: %v", err)
	}
	for _, id := range []backends.Identity{one, two, one} {
		if err := s.PutServed(bg, id); err != nil {
			t.Fatal(err)
		}
	}
	want := results.Trial{Key: k, Attempts: []results.Attempt{said(results.ServedBy(one)), said(""), said(results.ServedBy(two))}}
	if err := s.PutTrial(bg, want); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Trial(bg, k)
	if err != nil || len(got.Attempts) != 3 {
		t.Fatal(got, err)
	}
	for i, a := range got.Attempts {
		if a.Served != want.Attempts[i].Served {
			t.Errorf("attempt %d was served by %q, want %q", i, a.Served, want.Attempts[i].Served)
		}
	}
	all, err := s.Served(bg)
	if err != nil || len(all) != 2 || all[results.ServedBy(one)] != one || all[results.ServedBy(two)] != two {
		t.Errorf("%v, %v", all, err)
	}
}

// Package store is the store of a run: one SQLite file, and what is in its tables.
//
//  1. Open makes and migrates it; OpenReader reads it while a run writes (store.go, over
//     file.go: one process writes a file, others read it; pagesum.go: every page has a
//     checksum).
//  2. Put methods write; most return when what they wrote is durable.
//  3. The others read: whole trials, or rows without their texts, which are what most
//     scores need of a million of them (judged.go, over sqlite.go).
//  4. Merge joins stores of one run into one (merge.go, join.go).
//  5. Check says whether a store is whole; Salvage copies what is (check.go, salvage.go).
//
// Unknown is NULL, never 0 or "". Schemas are in migrations, oldest first.
package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"sync/atomic"

	"assay/results"
)

// Store is one run's SQLite file. Any number of goroutines may use it; one
// process at a time may write to it, others may read.
type Store struct {
	file    *File
	session atomic.Int64 // that new attempts belong to; 0: none
	rules   string       // see Under; "": the run's own
	models  []string     // see Only; nil: all
}

//go:embed migrations/*.sql
var migrations embed.FS

// What the first newAt migrations leave in an empty file. A run's first second is not
// spent on the history of its tables. TestANewStoreIsAMigratedOne holds both to be the same.
//
//go:embed new.sql
var newSQL string

const newAt = 18

// schema is the migrations in order; its length is the schema version.
func schema() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		panic("store: internal error: no migrations are embedded")
	}
	out := make([]string, len(names))
	for i, n := range names {
		b, err := migrations.ReadFile(n)
		if err != nil {
			panic("store: internal error: " + err.Error())
		}
		out[i] = string(b)
	}
	return out
}

// wanted is the schema that steps end with.
func wanted(steps []string) Schema {
	w := Schema{Steps: steps, Remade: remade}
	if len(steps) >= newAt {
		w.New, w.At = newSQL, newAt
	}
	return w
}

// remade is the schema before which tables have to be made anew: a store of before
// is copied first.
const remade = 9

// Open opens or creates the store at path for writing, migrating an older
// schema. Only one process may have it open so; the lock ends with the process,
// however that ends. The error is a results.Fault where the file cannot be used,
// and says what can be done.
func Open(ctx context.Context, path string) (*Store, error) {
	f, err := OpenFile(ctx, path, wanted(schema()))
	if err != nil {
		return nil, err
	}
	return &Store{file: f}, nil
}

// OpenReader opens an existing store for reading, also while a run writes to it.
// A store of an older schema is migrated first, which needs the lock that Open
// takes.
func OpenReader(ctx context.Context, path string) (*Store, error) {
	f, err := openFileReader(ctx, path, wanted(schema()))
	if err != nil {
		return nil, err
	}
	return &Store{file: f}, nil
}

// newBlank makes an empty store of an older schema, which Open brings to the present one.
func newBlank(ctx context.Context, path string, version int) error {
	all := schema()
	if version < 1 || version > len(all) {
		return fmt.Errorf("making the store %s: %w: its schema is version %d, this one knows up to %d", path, results.FaultNewer, version, len(all))
	}
	return blankFile(ctx, path, wanted(all[:version]))
}

// File is the store's file, for questions that one page alone has.
func (s *Store) File() *File { return s.file }

// MarkStopping says to others that this process, which writes to the store, is about
// to close it. Closing it, or opening it after a kill, takes that back.
func (s *Store) MarkStopping() { s.file.MarkStopping() }

// Close waits for what is being written, and closes the file.
func (s *Store) Close() error { return s.file.Close() }

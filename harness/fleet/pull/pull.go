// Package pull brings what a fleet stored into one store.
//
// Slices are downloaded some at a time and joined, and what came of that is joined with
// the store that is there: results/merge decides everything. So it may be done again at
// any time, and a pull that is stopped leaves the store as it was.
package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"assay/harness/fleet"
	"assay/results/merge"
)

// Pulled is what was brought.
type Pulled struct {
	merge.Merged
	Slices  int           `json:"slices"`  // that were stored
	Missing []fleet.Count `json:"missing"` // that are not yet
}

// Into joins all stored slices of an experiment into the store at out. progress is
// told how many slices were downloaded, of how many.
func Into(ctx context.Context, f *fleet.Fleet, e fleet.Experiment, out string, progress func(n, of int)) (p Pulled, err error) {
	dir := out + ".pulling"
	if err := os.RemoveAll(dir); err != nil { // of a pull that was killed
		return p, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Before the slices: what is stored meanwhile is then called missing, and not the other way round.
	counts, err := f.Progress(ctx, e.ID)
	if err != nil {
		return p, err
	}
	for _, c := range counts {
		if c.State != fleet.StateDone {
			p.Missing = append(p.Missing, c)
		}
	}
	base := filepath.Join(dir, "base.sqlite")
	packed, err := f.Base(ctx, e.ID)
	if err != nil {
		return p, err
	}
	if err := write(base, func(w io.Writer) error { return fleet.Unpack(w, packed) }); err != nil {
		return p, err
	}
	stored, err := f.Stored(ctx, e.ID)
	if err != nil {
		return p, err
	}
	p.Slices = len(stored)
	want := 0
	// With the base in each, so that items are in its order everywhere.
	groups := []string{base}
	for from, size := 0, groupOf(len(stored)); from < len(stored); from += size {
		parts := []string{base}
		for _, s := range stored[from:min(from+size, len(stored))] {
			path := filepath.Join(dir, fmt.Sprintf("%d.sqlite", s.ID))
			if err := write(path, func(w io.Writer) error { return f.Load(ctx, e.ID, s.Model, s.Part, w) }); err != nil {
				return p, err
			}
			parts = append(parts, path)
			want += s.Trials
			progress(from+len(parts)-1, len(stored))
		}
		if len(stored) <= size {
			groups = parts
			break
		}
		group := filepath.Join(dir, fmt.Sprintf("group-%d.sqlite", from))
		if _, err := merge.Stores(ctx, group, parts, nil); err != nil {
			return p, err
		}
		for _, path := range parts[1:] {
			if err := os.Remove(path); err != nil {
				return p, err
			}
		}
		groups = append(groups, group)
	}
	if p.Merged, err = merge.Stores(ctx, out, groups, nil); err != nil {
		return p, err
	}
	if p.Trials < want {
		return p, fmt.Errorf("expected at least the %d trials that the database has of %d slices, found %d in %s: some of what was downloaded is lost; please report this", want, len(stored), p.Trials, out)
	}
	return p, nil
}

// groupOf is how many of n stores are joined at once: all where a process may have so
// many open, else so many that every trial is written twice.
func groupOf(n int) int {
	const most = 200
	if n <= most {
		return most
	}
	return min(int(math.Ceil(math.Sqrt(float64(n)))), most)
}

func write(path string, do func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

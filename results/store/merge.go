// Merge joins stores of one run into one.
//
//  1. What the stores say of their run has to agree: seed, settings, data, prompts,
//     models, judges. Else nothing is written, and the error has every difference.
//  2. Trials are read in the order of their keys from all stores at once. A trial that
//     several stores hold is taken once: an answer before a failure, a time that counts
//     before one that does not, then the lower digest of its content. No clock decides.
//     What was not taken is kept as an event. Cases and judgments go the same way.
//  3. What was watched comes along; energies and scores are made anew of it.
//  4. The new file takes the place of OUT when it is whole. Until then OUT is as it was.
//
// OUT is one of the stores that are joined where it is there already. The same stores
// give the same rows in any order, and however often they are given.

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/results"
)

// Merged is what Stores joined.
type Merged struct {
	To        string        `json:"to"`
	From      []mergeSource `json:"from"`
	Trials    int           `json:"trials"`
	Judgments int           `json:"judgments"`
	Sessions  int           `json:"sessions"`
	Aside     int           `json:"set_aside"` // trials and judgments that were not taken, kept as events
	// Examples say of some of them why another was taken.
	Examples []string `json:"examples,omitempty"`
}

// mergeSource is what was in one of the stores.
type mergeSource struct {
	Path      string `json:"store"`
	Trials    int    `json:"trials"`
	Judgments int    `json:"judgments"`
}

// SetAside is an event of a store that Stores made: its text holds what was not taken.
const SetAside results.EventKind = "set_aside"

const mostExamples = 20

// DiffersError is stores that are not of one run.
type DiffersError struct {
	A, B        string // their paths
	Differences []string
}

func (e *DiffersError) Error() string {
	s := fmt.Sprintf("%s and %s are not of one run:", e.A, e.B)
	for _, d := range e.Differences {
		s += "\n  " + d
	}
	return s + "\nmerge joins what one bench.yaml made; stores of different runs stay apart"
}

// Stores joins the stores at in, and that at out where there is one, into out.
// progress, which may be nil, is told how many trials were read.
func Stores(ctx context.Context, out string, in []string, progress func(read int)) (Merged, error) {
	m := Merged{To: out}
	fail := func(err error) (Merged, error) {
		var differ *DiffersError
		if errors.As(err, &differ) {
			return m, err
		}
		return m, fmt.Errorf("merging into %s: %w", out, err)
	}
	real, err := mergeTarget(out)
	if err != nil {
		return fail(err)
	}
	paths := in
	var old *Store // holds the lock of out, so that no run writes to it
	if _, err := os.Stat(real); err == nil {
		if old, err = Open(ctx, real); err != nil {
			return fail(err)
		}
		defer func() {
			if old != nil {
				old.Close()
			}
		}()
		paths = append([]string{real}, in...)
	}
	var sources []*source
	defer func() {
		for _, s := range sources {
			s.close()
		}
	}()
	for _, p := range paths {
		if again, err := among(sources, p); again || err != nil {
			if err != nil {
				return fail(err)
			}
			continue
		}
		s, err := openSource(ctx, p)
		if err != nil {
			return fail(err)
		}
		sources = append(sources, s)
	}
	man, err := agreed(sources)
	if err != nil {
		return fail(err)
	}
	tmp := real + ".merging"
	if err := blank(ctx, tmp); err != nil {
		return fail(err)
	}
	j := &join{sources: sources, merged: &m, progress: progress}
	err = j.into(ctx, tmp)
	if err == nil {
		err = finish(ctx, tmp, man)
	}
	if err != nil {
		return fail(errors.Join(err, remove(tmp)))
	}
	for _, s := range sources {
		m.From = append(m.From, mergeSource{s.path, s.trials, s.judgments})
		s.close()
	}
	sources = nil
	if old != nil {
		err := old.Close()
		old = nil
		if err != nil {
			return fail(errors.Join(err, remove(tmp)))
		}
		// With the log of the former file beside it the new one would be damaged.
		if st, err := os.Stat(real + "-wal"); err == nil && st.Size() > 0 {
			return fail(errors.Join(fmt.Errorf("%w: another program reads it; merge again when it has ended", results.FaultInUse), remove(tmp)))
		}
		for _, end := range []string{"-wal", "-shm"} {
			if err := os.Remove(real + end); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fail(errors.Join(err, remove(tmp)))
			}
		}
	}
	if err := os.Rename(tmp, real); err != nil {
		return fail(err)
	}
	return m, errors.Join(remove(tmp), syncFolder(filepath.Dir(real)))
}

// mergeTarget is where the links of a path end; the file need not be there.
func mergeTarget(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// among says whether the file at path is one of the sources.
func among(sources []*source, path string) (bool, error) {
	st, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("reading the store %s: %w", path, results.FaultMissing)
	}
	for _, s := range sources {
		if have, err := os.Stat(s.path); err == nil && os.SameFile(have, st) {
			return true, nil
		}
	}
	return false, nil
}

// blank makes an empty store; what an earlier merge left there goes.
func blank(ctx context.Context, tmp string) error {
	if _, err := os.Stat(tmp); err == nil {
		left, err := Open(ctx, tmp)
		if errors.Is(err, results.FaultInUse) {
			return fmt.Errorf("another merge is at work: %w", err)
		}
		if err == nil {
			left.Close()
		}
	}
	if err := remove(tmp); err != nil {
		return err
	}
	st, err := Open(ctx, tmp)
	if err != nil {
		return err
	}
	return st.Close()
}

// finish gives the new store its manifest.
func finish(ctx context.Context, tmp string, man results.Manifest) error {
	st, err := Open(ctx, tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(st.PutManifest(ctx, man), st.Close()); err != nil {
		return err
	}
	f, err := os.Open(tmp)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder makes a rename durable, where the system can.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	_ = d.Sync() // some file systems refuse it
	return nil
}

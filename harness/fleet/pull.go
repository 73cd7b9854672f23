// Pull brings what a fleet stored into one store.
//
// Slices are downloaded some ahead and added one after the other to the store, where it
// is: results/store decides what of two copies is taken. The store notes which it has, so
// that a pull that was stopped goes on where it was, and one that is done again brings
// what is new.

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/results/store"
)

// Pulled is what was brought.
type Pulled struct {
	store.Merged
	Slices  int     `json:"slices"`  // that were stored
	New     int     `json:"new"`     // that the store did not have
	Missing []Count `json:"missing"` // that are not stored yet
}

// temporary begins the end of the name of a pull's folder.
const temporary = ".pulling-"

// ahead is how many slices lie here that are not added yet.
const ahead = 4

// PullInto adds all stored slices of an experiment to the store at out, which is made where
// there is none. progress is told how many slices are in it, of how many; again of a
// database that is away. Where ctx ends, those that were added stay, and p says how many.
func PullInto(ctx context.Context, f *Fleet, e Experiment, out string, progress func(n, of int), again io.Writer) (Pulled, error) {
	p, want, err := into(ctx, f, e, out, progress, again)
	if err == nil && p.Trials < want {
		err = fmt.Errorf("expected at least the %d trials that the database has of %d slices, found %d in %s: some of what was downloaded is lost; please report this", want, p.Slices, p.Trials, out)
	}
	return p, err
}

// into says how many trials are to be there.
func into(ctx context.Context, f *Fleet, e Experiment, out string, progress func(n, of int), again io.Writer) (p Pulled, trials int, err error) {
	// Before the slices: what is stored meanwhile is then called missing, and not the other way round.
	var counts []Count
	var stored []slice
	var packed []byte
	if err := Patient(ctx, again, func() (err error) {
		if counts, err = f.Progress(ctx, e.ID); err == nil {
			stored, err = f.Stored(ctx, e.ID)
		}
		if err == nil {
			packed, err = f.Base(ctx, e.ID)
		}
		return err
	}); err != nil {
		return p, 0, err
	}
	for _, c := range counts {
		if c.State != StateDone {
			p.Missing = append(p.Missing, c)
		}
	}
	p.Slices = len(stored)
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return p, 0, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), filepath.Base(out)+temporary)
	if err != nil {
		return p, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base := filepath.Join(dir, "base.sqlite")
	if err := write(base, func(w io.Writer) error { return unpackStore(w, packed) }); err != nil {
		return p, 0, err
	}
	begun, err := begin(out, base)
	if err != nil {
		return p, 0, err
	}
	a, err := store.Extend(ctx, out)
	if err != nil {
		return p, 0, err
	}
	defer func() {
		m, failed := a.Close(context.WithoutCancel(ctx))
		p.Merged, err = m, errors.Join(err, failed)
	}()
	// Nobody else has the store now: what else is there is of a pull that was killed.
	left, err := os.ReadDir(filepath.Dir(out))
	for _, other := range left {
		if name := other.Name(); strings.HasPrefix(name, filepath.Base(out)+temporary) && name != filepath.Base(dir) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(out), name)))
		}
	}
	if err != nil {
		return p, 0, err
	}
	// Two experiments of a name are not submitted at the same microsecond.
	of := fmt.Sprintf("%s %s", e.Name, e.Submitted.UTC().Format(time.RFC3339Nano))
	switch {
	case begun:
		err = a.Note(ctx, of)
	case !a.Has(of):
		err = a.Add(ctx, of, base)
	}
	if err != nil {
		return p, 0, err
	}
	mark := func(s slice) string {
		return fmt.Sprintf("%s slice %d %s", of, s.ID, s.Ended.UTC().Format(time.RFC3339Nano))
	}
	var lacks []slice
	for _, s := range stored {
		trials += s.Trials
		if !a.Has(mark(s)) {
			lacks = append(lacks, s)
		}
	}
	type got struct {
		slice
		path string
		err  error
	}
	loading, stop := context.WithCancel(ctx)
	loaded := make(chan got, ahead)
	defer func() {
		stop()
		for range loaded { // until nothing is written any more
		}
	}()
	go func() {
		defer close(loaded)
		for _, s := range lacks {
			one := got{slice: s, path: filepath.Join(dir, fmt.Sprintf("%d.sqlite", s.ID))}
			one.err = Patient(loading, again, func() error {
				return write(one.path, func(w io.Writer) error { return f.Download(loading, s.ID, w) })
			})
			select {
			case loaded <- one:
			case <-loading.Done():
				return
			}
			if one.err != nil {
				return
			}
		}
	}()
	for one := range loaded {
		if err := errors.Join(one.err, ctx.Err()); err != nil {
			return p, 0, err
		}
		if err := a.Add(ctx, mark(one.slice), one.path); err != nil {
			return p, 0, err
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(one.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return p, 0, err
			}
		}
		p.New++
		progress(len(stored)-len(lacks)+p.New, len(stored))
	}
	return p, trials, ctx.Err()
}

// begin makes the store at out of that at base, if nothing is there: its items are all that
// there are, in their order. Of two who do, one does.
func begin(out, base string) (begun bool, err error) {
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = os.Link(base, out)
	switch {
	case err == nil:
		return true, os.Remove(base)
	case errors.Is(err, fs.ErrExist):
		return false, nil
	}
	return true, os.Rename(base, out) // a file system without links
}

func write(path string, do func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

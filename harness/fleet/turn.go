// A turn has the workers of one machine wait for each other: timed slices have
// their GPUs to themselves, and nothing untimed runs beside them. The locks are files;
// the kernel gives them back when a process ends, however it ends.

package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// turn is what a process holds until Close.
type turn struct{ files []*flock.Flock }

// Close gives it back; a nil turn holds nothing.
func (t *turn) Close() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		f.Close()
	}
}

// lookEvery is how often one who waits looks.
const lookEvery = 50 * time.Millisecond

// timed waits until the GPUs are free and nothing untimed runs on this machine. dir is
// the machine's folder for locks; visible names the GPUs that are ours: "", all.
func timed(ctx context.Context, dir, visible string) (*turn, error) {
	names, shared := gpus(visible)
	t := &turn{}
	for _, n := range names {
		if err := t.take(ctx, dir, n, n == "gpu-all" && shared); err != nil {
			t.Close()
			return nil, err
		}
	}
	if err := t.among(ctx, dir, "timed", "others", true); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// other waits until nothing timed runs on this machine.
func other(ctx context.Context, dir string) (*turn, error) {
	t := &turn{}
	if err := t.among(ctx, dir, "others", "timed", false); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// gpus are the locks of what is visible, in an order that all have; shared says that
// others may have other GPUs.
func gpus(visible string) (names []string, shared bool) {
	names = []string{"gpu-all"}
	for _, id := range strings.Split(visible, ",") {
		if id = unfit.ReplaceAllString(strings.TrimSpace(id), "_"); id != "" {
			names, shared = append(names, "gpu-"+id), true
		}
	}
	return names, shared
}

// among joins those of one kind while there are none of the other. Who goes first keeps
// its place while it waits; the others step back.
func (t *turn) among(ctx context.Context, dir, ours, theirs string, first bool) error {
	for {
		if err := t.take(ctx, dir, ours, true); err != nil {
			return err
		}
		for {
			probe := &turn{}
			free, err := probe.try(dir, theirs, false)
			probe.Close()
			if err != nil || free {
				return err
			}
			if !first {
				break
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
		t.files[len(t.files)-1].Close()
		t.files = t.files[:len(t.files)-1]
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// take waits for a lock.
func (t *turn) take(ctx context.Context, dir, name string, shared bool) error {
	for {
		if ok, err := t.try(dir, name, shared); ok || err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// try takes a lock if nobody is in the way.
func (t *turn) try(dir, name string, shared bool) (bool, error) {
	path, flag := filepath.Join(dir, "assay-"+name+".lock"), os.O_RDONLY
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // O_CREATE is refused of one that another user made
		flag |= os.O_CREATE
	}
	f := flock.New(path, flock.SetFlag(flag), flock.SetPermissions(0o644))
	lock := f.TryLock
	if shared {
		lock = f.TryRLock
	}
	if ok, err := lock(); !ok {
		f.Close()
		return false, err
	}
	t.files = append(t.files, f)
	return true, nil
}

// folder has a folder to itself, as nobody else may work in it; false: another process has it.
func folder(dir string) (*turn, bool, error) {
	t := &turn{}
	ok, err := t.try(dir, "worker", false)
	return t, ok, err
}

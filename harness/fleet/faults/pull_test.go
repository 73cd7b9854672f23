//go:build fleet && linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/fleet"
	"assay/results"
)

// filled is an experiment whose n slices were answered: the answers of one slice, given
// other items' names again and again.
type filled struct {
	*fleet.Fleet
	experiment fleet.Experiment
	template   string
	keys       []string
	n          int
}

func fill(t testing.TB, address string, items, n int) (f *filled, uploading, whole time.Duration) {
	t.Helper()
	f = &filled{Fleet: connect(t, address), n: n}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), scaled(slow(t, 0), items))
	ok(t, assay(t), dir, "", "run")
	f.template = filepath.Join(dir, "template.sqlite")
	put(t, f.template, string(edited(t, filepath.Join(dir, "one.sqlite"), unjudged)))
	f.keys = keysOf(t, f.template)
	var parts []fleet.Part
	for i := range n {
		parts = append(parts, fleet.Part{Model: "honest", Part: i + 1, Parts: n, Trials: len(f.keys)})
	}
	if _, _, err := f.Submit(t.Context(), fleet.Experiment{Name: "many"}, changed(t, f.template, fmt.Sprintf(empty, n)), parts); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.experiment, err = f.Experiment(t.Context(), "many"); err != nil {
		t.Fatal(err)
	}
	if err := f.Register(t.Context(), fleet.Host{ID: "a", Name: "a", Facts: []byte("{}"), Tags: []string{}, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	uploading = f.answer(t, n, "")
	return f, uploading, time.Since(began)
}

// answer has n slices answered, and says how long claiming and uploading took; more is a
// statement for their stores.
func (f *filled) answer(t testing.TB, n int, more string) (uploading time.Duration) {
	t.Helper()
	jobs(t, f.Fleet, fleet.Queue(f.experiment.ID, fleet.Answer, "honest"), n, func(ctx context.Context, job *fleet.Job) {
		at := time.Now()
		s, err := f.Claim(ctx, job.Args, "a")
		if err != nil {
			t.Error(err)
			return
		}
		uploading += time.Since(at)
		packed := changed(t, f.template, fmt.Sprintf(others, s.Part)+more)
		var trials []fleet.Trial
		for _, k := range f.keys {
			trials = append(trials, fleet.Trial{Key: fmt.Sprint(k, "/", s.Part)})
		}
		at = time.Now()
		if err := f.Store(ctx, job, s, "a", trials, packed); err != nil {
			t.Error(err)
		}
		uploading += time.Since(at)
	})
	return uploading
}

// A pull that is interrupted goes on where it was, also beside a second one and over a
// restart of the database; done again it brings what is new, and nothing else.
func TestPullGoesOn(t *testing.T) {
	pg := postgres(t)
	f, _, _ := fill(t, pg.database("again"), 4, 8)
	each := len(f.keys)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.sqlite")
	into := func(ctx context.Context, progress func(n, of int)) (fleet.Pulled, error) {
		return fleet.PullInto(ctx, f.Fleet, f.experiment, out, progress, io.Discard)
	}
	ctx, stop := context.WithCancel(t.Context())
	p, err := into(ctx, func(n, of int) {
		if n == 3 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || p.New != 3 || p.Trials != 3*each {
		t.Errorf("stopped after three slices: %d new, %d trials, %v", p.New, p.Trials, err)
	}
	if n := count(t, out); n != 3*each {
		t.Errorf("%d trials are there", n)
	}
	p, err = into(t.Context(), func(n, of int) {
		if n != 5 || of != 8 {
			return
		}
		if _, err := into(t.Context(), func(int, int) {}); !errors.Is(err, results.FaultInUse) {
			t.Errorf("two pulls at once: %v", err)
		}
		pg.stop(syscall.SIGINT)
		pg.start()
	})
	if err != nil || p.New != 5 || p.Trials != 8*each || p.Slices != 8 {
		t.Errorf("gone on with: %+v, %v", p, err)
	}
	if p, err = into(t.Context(), func(int, int) { t.Error("a slice was brought twice") }); err != nil || p.New != 0 || p.Trials != 8*each {
		t.Errorf("once more: %+v, %v", p, err)
	}
	// Two slices are tried again, and have no failures then.
	pg.do("again", "UPDATE assay.trial SET failed = true WHERE slice IN (SELECT id FROM assay.slice WHERE part IN (2, 7))")
	if n, err := f.Retry(t.Context(), f.experiment.ID, true); n != 2 || err != nil {
		t.Fatalf("%d given out again, %v", n, err)
	}
	if p, err = into(t.Context(), func(int, int) {}); err != nil || p.New != 0 {
		t.Errorf("while they are tried again: %+v, %v", p, err)
	}
	f.answer(t, 2, "; UPDATE trial SET latency_ns = latency_ns + 1, flags = NULL")
	if p, err = into(t.Context(), func(int, int) {}); err != nil || p.New != 2 || p.Trials != 8*each {
		t.Errorf("tried again: %+v, %v", p, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if strings.Contains(name.Name(), "pulling") {
			t.Errorf("left behind: %s", name.Name())
		}
	}
	// Into a store that others made: what is in it stays.
	if err := os.Rename(out, filepath.Join(dir, "part.sqlite")); err != nil {
		t.Fatal(err)
	}
	put(t, out, string(edited(t, f.template, fmt.Sprintf(others, 1))))
	if p, err = into(t.Context(), func(int, int) {}); err != nil || p.New != 8 || p.Trials != 8*each || p.Aside != 0 {
		t.Errorf("into a store that holds one slice: %+v, %v", p, err)
	}
}

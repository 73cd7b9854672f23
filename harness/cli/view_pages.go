// View_pages gives a viewer what only the harness knows of a store: scores, and what
// was sent.
//
//  1. Open opens a store, and finds its bench.yaml and data where they are at hand.
//  2. tables.go makes an index of each study's trials, with their scores.
//  3. sent.go makes prompts and pictures again, and shows them where their digest is the
//     stored one.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/page"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// OpenView opens the store at path for a viewer; configs are the bench.yaml of which one may
// have made it. Close its Store in the end.
func OpenView(ctx context.Context, path string, configs []string) (*viewer.Run, error) {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	man, ok, err := st.Manifest(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("the store %s holds no run; assay run makes one", path)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	is := func(column string, values ...string) viewer.Filter {
		return viewer.Filter{Column: column, Op: viewer.Is, Values: values}
	}
	r := &viewer.Run{
		// A name of dots alone would lead elsewhere in an address.
		Name: cmp.Or(strings.Trim(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "."), "store"), Path: path, Store: st,
		Index: &indexer{path: path, st: st}, Sent: &sender{st: st, configs: configs, man: man, kept: map[results.Key]*viewer.Sent{}},
		Read:   reader(),
		Right:  scoreRight,
		Shown:  []string{viewer.KeyItem, viewer.KeyModel, viewer.KeyArm, viewer.KeyCondition, scoreRight, columnBaseline, columnArm, "flip", "to_target", "silent", columnFlags, columnHost, columnGPU, "latency_s", "energy_j", "tokens"},
		Facets: facets(),
		Finds: []viewer.Find{
			{Title: "reasoning helped", Where: []viewer.Filter{is(columnArm, helped)}}, {Title: "reasoning harmed", Where: []viewer.Filter{is(columnArm, harmed)}},
			{Title: "flipped in silence", Where: []viewer.Filter{is("flip", "1"), is("silent", "1")}}, {Title: "flipped to the target", Where: []viewer.Filter{is("to_target", "1")}},
			{Title: "condition harmed", Where: []viewer.Filter{is(columnBaseline, harmed)}},
			{Title: "wrong", Where: []viewer.Filter{is(scoreRight, "0")}}, {Title: "could not be read", Where: []viewer.Filter{is(study.ScoreNoAnswer, "1")}}, {Title: "failed", Where: []viewer.Filter{is("answered", "0")}},
			{Title: "flagged", Where: []viewer.Filter{{Column: columnFlags, Op: viewer.Known}}},
		},
	}
	return r, nil
}

// facets are the columns that are offered to choose by.
func facets() []string {
	return []string{viewer.KeyModel, viewer.KeyArm, viewer.KeyCondition, viewer.KeyRepeat, columnType, columnTask, columnModality, scoreRight, study.ScoreNoAnswer, columnBaseline, columnArm, "flip", "to_target", "silent",
		"answered", "failure", columnFlags, columnCache, columnHost, columnGPU}
}

// Sparing has the garbage collector keep memory low until back is called: indexes are
// large, and what a page leaves behind is of their size.
func Sparing() (back func()) {
	was := debug.SetGCPercent(50)
	return func() { debug.SetGCPercent(was) }
}

// PrepareView measures and scores what the store has not, where no other process writes to
// it. It says on notes how far it is.
func PrepareView(ctx context.Context, path string, notes io.Writer) error {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	err = experiment.MeasureFile(ctx, st, path, notes)
	if err == nil {
		st, err = experiment.ScoreFile(ctx, st, path, notes)
	}
	if st != nil {
		err = errors.Join(err, st.Close())
	}
	return err
}

// reader reads verdicts by the rubrics of this version.
func reader() func(study string, j results.Judgment) results.Reading {
	var mu sync.Mutex
	known := map[string][]judge.Rubric{}
	return func(study string, j results.Judgment) results.Reading {
		mu.Lock()
		defer mu.Unlock()
		rubrics, ok := known[study]
		if !ok {
			rubrics, _ = page.Rubrics(study) // of a study that is not known, verdicts stand as they are stored
			known[study] = rubrics
		}
		return page.Reading(rubrics, j)
	}
}

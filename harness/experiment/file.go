package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"

	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
)

// MeasureFile computes the energies that a run which was killed has left over. The
// store is open for reading; while a run writes to it, that run will do it.
func MeasureFile(ctx context.Context, st *store.Store, path string, notes io.Writer) error {
	pending, err := machine.Pending(ctx, st)
	if err != nil || !pending {
		return err
	}
	w, err := store.Open(ctx, path)
	if err != nil {
		fmt.Fprintf(notes, "the energies of the latest run are not measured yet: %v\n", err)
		return nil
	}
	defer w.Close()
	return machine.Measure(ctx, w, 0)
}

// ScoreFile scores a store that is open for reading, where that is to be done, and opens
// it again. Where it cannot be written, or another process writes to it, the report
// makes scores on its way.
func ScoreFile(ctx context.Context, st *store.Store, path string, notes io.Writer) (*store.Store, error) {
	if fresh, err := scored(ctx, st); err != nil || fresh {
		return st, nil // reading the rest will say what is wrong
	}
	st.Close() // while it is open, the log beside the store would stay
	if w, err := store.Open(ctx, path); err == nil {
		err = errors.Join(Score(ctx, w, notes), w.Close())
		if err != nil && !errors.Is(err, results.FaultDamaged) && ctx.Err() == nil {
			fmt.Fprintf(notes, "the scores could not be stored, and are made anew for this report: %v\n", err)
		}
	}
	return store.OpenReader(ctx, path)
}

// Reprice puts other prices into a store's manifest.
func Reprice(ctx context.Context, path string, man results.Manifest, cost *results.Cost) error {
	w, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	man.Cost = cost
	return errors.Join(w.PutManifest(ctx, man), w.Close())
}

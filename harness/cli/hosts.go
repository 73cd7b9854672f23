package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// Columns of an index where a store has trials of several hosts, or of several kinds of GPU.
const (
	columnHost = "host"
	columnGPU  = "gpu"
)

// hosts say what the trials of a store ran on.
type hosts struct {
	st       *store.Store
	hardware func(session int64, model string) results.Hardware
	cols     []results.FileColumn // those in which trials may differ
	digest   results.Digest       // of all that cells are made of beside the trials
}

func hostsOf(ctx context.Context, st *store.Store) (*hosts, error) {
	all, err := st.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	h := &hosts{st: st, hardware: results.HardwareOf(all)}
	names, gpus := map[string]bool{}, map[string]bool{}
	var list []string
	for _, s := range all {
		host := s.Hardware("").Host
		names[host] = true
		list = append(list, fmt.Sprintf("%d %q", s.ID, host))
		for model := range s.Holds {
			w := h.hardware(s.ID, model)
			gpus[w.GPU] = true
			list = append(list, fmt.Sprintf("%d %q %q", s.ID, model, w))
		}
	}
	delete(names, "")
	delete(gpus, "")
	if len(names) > 1 {
		h.cols = append(h.cols, results.FileColumn{Name: columnHost, Kind: results.TextColumn, Help: "machine that asked, at the last attempt"})
	}
	if len(gpus) > 1 {
		h.cols = append(h.cols, results.FileColumn{Name: columnGPU, Kind: results.TextColumn, Help: "the model's GPU at the last attempt, equal ones counted; none: it had none; nothing: not known, as of a server on another machine"})
	}
	slices.Sort(list)
	h.digest = results.DigestOf(fmt.Append(nil, h.cols, list))
	return h, nil
}

// cells reads a study's trials: fill fills the cells of the next trial's columns; trials
// come in Key order.
func (h *hosts) cells(ctx context.Context, study string) (fill func(k results.Key, cells []viewer.Cell) error, stop func()) {
	if len(h.cols) == 0 {
		return func(results.Key, []viewer.Cell) error { return nil }, func() {}
	}
	next, stop := iter.Pull2(h.st.TrialSessions(ctx, study))
	at, err, more := next()
	return func(k results.Key, cells []viewer.Cell) error {
		for more && err == nil && at.Key.Compare(k) < 0 {
			at, err, more = next()
		}
		clear(cells)
		if !more || err != nil || at.Key != k {
			return err
		}
		w := h.hardware(at.Session, k.Model)
		for i, c := range h.cols {
			if v := map[string]string{columnHost: w.Host, columnGPU: w.GPU}[c.Name]; v != "" {
				cells[i] = viewer.Cell{Kind: viewer.Text, Text: v}
			}
		}
		return nil
	}, stop
}

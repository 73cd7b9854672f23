package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"assay/harness/score"
	"assay/results"
	"assay/results/store"
)

// Run is a store's manifest and what its trials scored.
type Run struct {
	Path     string
	Manifest results.Manifest
	GPUs     []string            // names of the devices that were watched, sorted
	Cards    []string            // IDs of the real ones, sorted
	On       map[string][]string // by model, the GPUs and drivers that it was timed on, sorted; none: not known
	Caches   map[string][]string // states by study, sorted
	Studies  map[string]Table
}

// Table is what the trials of a study scored.
type Table struct {
	Columns []score.Column
	N       int // trials
	Trials  trials
	// Clusters are by item what is drawn together; an item without one is a cluster of its own.
	Clusters map[string]string
}

// trials are those of a study, in Key order.
type trials interface {
	Key(n int) results.Key
	// Number is a score of the nth trial, by its column; false: there is none.
	Number(n, column int) (float64, bool)
}

// Begin collects of a store what it was run with, and no trials.
func Begin(ctx context.Context, st *store.Store, path string) (*Run, error) {
	r := &Run{Path: path, On: map[string][]string{}, Caches: map[string][]string{}, Studies: map[string]Table{}}
	var ok bool
	var err error
	if r.Manifest, ok, err = st.Manifest(ctx); err != nil || !ok {
		if err == nil {
			err = fmt.Errorf("%s: no run was begun in it", path)
		}
		return nil, err
	}
	sessions, err := st.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		for _, d := range s.Devices {
			if d.Kind == "gpu" && !slices.Contains(r.GPUs, d.Name) {
				r.GPUs = append(r.GPUs, d.Name)
			}
			if d.Kind == "gpu" && !d.Synthetic && !slices.Contains(r.Cards, d.ID) {
				r.Cards = append(r.Cards, d.ID)
			}
		}
		for model := range s.Places {
			w := s.Hardware(model)
			if w.Driver != "" {
				w.GPU += ", driver " + w.Driver
			}
			if w.GPU != "" && !slices.Contains(r.On[model], w.GPU) {
				r.On[model] = append(r.On[model], w.GPU)
				slices.Sort(r.On[model])
			}
		}
	}
	slices.Sort(r.GPUs)
	slices.Sort(r.Cards)
	return r, nil
}

// ReadRun collects a store.
func ReadRun(ctx context.Context, st *store.Store, path string, asked []score.Asked) (*Run, error) {
	r, err := Begin(ctx, st, path)
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		columns := a.Rules.Layout(a.Judges).Columns()
		var kept memory
		states := map[string]bool{}
		err := score.Walk(ctx, st, a.Rules, a.Judges, func(trials []score.Scored) error {
			for _, t := range trials {
				values := make([]float64, len(columns))
				for i := range values {
					v, ok := t.Number(i)
					if !ok {
						v = math.NaN()
					}
					values[i] = v
				}
				kept = append(kept, trial{t.Row.Key, values})
				if t.Row.CacheState != "" {
					states[string(t.Row.CacheState)] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		clusters, err := score.Clusters(ctx, st, a.Rules.Study)
		if err != nil {
			return nil, err
		}
		r.Studies[a.Rules.Study] = Table{columns, len(kept), kept, clusters}
		r.Caches[a.Rules.Study] = slices.Sorted(maps.Keys(states))
	}
	return r, nil
}

// memory keeps trials.
type memory []trial

type trial struct {
	key    results.Key
	values []float64 // NaN: no number
}

func (m memory) Key(n int) results.Key { return m[n].key }

func (m memory) Number(n, column int) (float64, bool) {
	v := m[n].values[column]
	return v, !math.IsNaN(v)
}

// models are those of a study, in order.
func (t Table) models() (out []string) {
	for at := 0; at < t.N; {
		m := t.Trials.Key(at).Model
		out = append(out, m)
		_, at = t.of(m)
	}
	return out
}

// of is where the trials of a model begin and end.
func (t Table) of(model string) (from, to int) {
	from = sort.Search(t.N, func(i int) bool { return t.Trials.Key(i).Model >= model })
	return from, from + sort.Search(t.N-from, func(i int) bool { return t.Trials.Key(from+i).Model > model })
}

// cell is an arm under a condition: the trials of a model that are compared.
type cell struct {
	arm, condition string
	items          []item
}

// item has the pairs of an item's repeats, by their places in both tables.
type item struct {
	id    string
	pairs [][2]int
}

// paired are the cells of a model of a, which is called other in b, and how many pairs
// they have.
func paired(a, b Table, model, other string) (cells []cell, pairs int) {
	of := map[[2]string]*cell{}
	i, end := a.of(model)
	j, last := b.of(other)
	for i < end && j < last {
		x, y := a.Trials.Key(i), b.Trials.Key(j)
		y.Study, y.Model = x.Study, x.Model
		switch c := x.Compare(y); {
		case c < 0:
			i++
			continue
		case c > 0:
			j++
			continue
		}
		at := [2]string{x.Arm, x.Condition}
		c := of[at]
		if c == nil {
			c = &cell{arm: x.Arm, condition: x.Condition}
			of[at] = c
		}
		if n := len(c.items); n == 0 || c.items[n-1].id != x.Item {
			c.items = append(c.items, item{id: x.Item})
		}
		it := &c.items[len(c.items)-1]
		it.pairs = append(it.pairs, [2]int{i, j})
		i, j, pairs = i+1, j+1, pairs+1
	}
	for _, c := range of {
		cells = append(cells, *c)
	}
	slices.SortFunc(cells, func(x, y cell) int { return cmp.Or(cmp.Compare(x.arm, y.arm), cmp.Compare(x.condition, y.condition)) })
	return cells, pairs
}

package cli

import (
	"context"

	"assay/harness/compare"
	"assay/harness/experiment"
	"assay/harness/score"
	"assay/results/stats"
	"assay/results/viewer"
)

// Comparer compares runs as assay compare does, from their indexes.
type Comparer struct{}

// indexed are the trials of an index.
type indexed struct {
	*viewer.Table
	numbers []func(row int) (float64, bool) // of each score
}

func (x indexed) Number(n, column int) (float64, bool) { return x.numbers[column](n) }

// runOf is a run under view, as far as it is indexed.
func runOf(ctx context.Context, r *viewer.Run) (*compare.Run, error) {
	out, err := compare.Begin(ctx, r.Store, r.Path)
	if err != nil {
		return nil, err
	}
	asked, err := experiment.Asked(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		study := a.Rules.Study
		t := r.Table(study)
		if t == nil {
			continue
		}
		x := indexed{Table: t}
		var columns []score.Column
		for _, c := range a.Rules.Layout(a.Judges).Columns() {
			if name := scoreColumn(c).Name; t.Has(name) {
				columns, x.numbers = append(columns, c), append(x.numbers, t.Numbers(name))
			}
		}
		clusters, err := score.Clusters(ctx, r.Store, study)
		if err != nil {
			return nil, err
		}
		out.Studies[study] = compare.Table{Columns: columns, N: t.Rows, Trials: x, Clusters: clusters}
		for _, c := range t.Values(columnCache) {
			if c.Kind == viewer.Text {
				out.Caches[study] = append(out.Caches[study], c.Text)
			}
		}
	}
	return out, nil
}

func both(ctx context.Context, a, b *viewer.Run) (x, y *compare.Run, err error) {
	if x, err = runOf(ctx, a); err == nil {
		y, err = runOf(ctx, b)
	}
	return x, y, err
}

// Compare implements viewer.Comparer.
func (Comparer) Compare(ctx context.Context, a, b *viewer.Run, times bool, tell func(done, of int)) (*viewer.Comparison, error) {
	x, y, err := both(ctx, a, b)
	if err != nil {
		return nil, err
	}
	c, err := compare.Runs(ctx, x, y, compare.Choice{Times: times, Moved: -1, Tell: tell})
	if err != nil {
		return nil, err
	}
	out := &viewer.Comparison{Notes: c.Notes, Pairs: c.Pairs, OnlyA: c.OnlyA, OnlyB: c.OnlyB, Changed: c.Changed}
	for _, r := range c.Rows {
		if r.Worse {
			out.Worse++
		}
		out.Rows = append(out.Rows, viewer.Row{
			Place: viewer.Place{Study: r.Study, Model: r.Model, Arm: r.Arm, Condition: r.Condition, Score: r.Score, Judge: r.Judge},
			A:     stats.Significant(r.A, 4), B: stats.Significant(r.B, 4), Difference: r.Difference(), Chance: r.Chance(), P: r.Holm,
			Items: r.Items, Up: r.Up, Down: r.Down, Direction: r.Direction(),
		})
	}
	return out, nil
}

// Items implements viewer.Comparer.
func (Comparer) Items(ctx context.Context, a, b *viewer.Run, at viewer.Place) ([]viewer.Item, error) {
	x, y, err := both(ctx, a, b)
	if err != nil {
		return nil, err
	}
	moved, other := compare.Items(x, y, compare.Row{Study: at.Study, Model: at.Model, Arm: at.Arm, Condition: at.Condition, Score: at.Score, Judge: at.Judge})
	out := make([]viewer.Item, 0, len(moved))
	for _, m := range moved {
		out = append(out, viewer.Item{Item: m.Item, Repeat: m.First, Other: other, A: stats.Significant(m.A, 3), B: stats.Significant(m.B, 3)})
	}
	return out, nil
}

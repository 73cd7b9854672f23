package cli

import (
	"context"
	"errors"

	"assay/harness/compare"
	"assay/harness/experiment"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results/stats"
	"assay/results/viewer"
)

// Comparer compares runs as assay compare does, from their indexes.
type Comparer struct{}

// runOf is a run under view, as far as it is indexed, with the numbers of one score; "": of all.
// Ask the readers for their errors in the end.
func runOf(ctx context.Context, r *viewer.Run, only string) (*compare.Run, []*viewer.Reader, error) {
	out, err := compare.Begin(ctx, r.Store, r.Path)
	if err != nil {
		return nil, nil, err
	}
	asked, err := experiment.Asked(ctx, r.Store)
	if err != nil {
		return nil, nil, err
	}
	var readers []*viewer.Reader
	for _, a := range asked {
		of := a.Rules.Study
		t := r.Table(of)
		if t == nil {
			continue
		}
		var columns []score.Column
		var names []string
		for _, c := range a.Rules.Layout(a.Judges).Columns() {
			if name := scoreColumn(c).Name; t.Has(name) {
				// What could be read is the rest of what could not.
				if only != "" && c.Name.Name != only && c.Name.Name != study.ScoreNoAnswer {
					name = ""
				}
				columns, names = append(columns, c), append(names, name)
			}
		}
		x, err := t.Reader(names)
		if err != nil {
			return nil, nil, err
		}
		readers = append(readers, x)
		clusters, err := score.Clusters(ctx, r.Store, of)
		if err != nil {
			return nil, nil, err
		}
		out.Studies[of] = compare.Table{Columns: columns, N: t.Rows, Trials: x, Clusters: clusters}
		if out.Caches[of], err = t.Texts(columnCache); err != nil {
			return nil, nil, err
		}
	}
	return out, readers, nil
}

// both does something with two runs under view.
func both(ctx context.Context, a, b *viewer.Run, only string, do func(x, y *compare.Run) error) error {
	x, readers, err := runOf(ctx, a, only)
	if err != nil {
		return err
	}
	y, more, err := runOf(ctx, b, only)
	if err != nil {
		return err
	}
	err = do(x, y)
	for _, r := range append(readers, more...) {
		err = errors.Join(err, r.Err())
	}
	return err
}

// Compare implements viewer.Comparer.
func (Comparer) Compare(ctx context.Context, a, b *viewer.Run, times bool, tell func(done, of int)) (*viewer.Comparison, error) {
	var c *compare.Comparison
	err := both(ctx, a, b, "", func(x, y *compare.Run) (err error) {
		c, err = compare.Runs(ctx, x, y, compare.Choice{Times: times, Moved: -1, Tell: tell})
		return err
	})
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
	out := []viewer.Item{}
	err := both(ctx, a, b, at.Score, func(x, y *compare.Run) error {
		moved, other := compare.Items(x, y, compare.Row{Study: at.Study, Model: at.Model, Arm: at.Arm, Condition: at.Condition, Score: at.Score, Judge: at.Judge})
		for _, m := range moved {
			out = append(out, viewer.Item{Item: m.Item, Repeat: m.First, Other: other, A: stats.Significant(m.A, 3), B: stats.Significant(m.B, 3)})
		}
		return nil
	})
	return out, err
}

// Grids are conditions that cover a picture cell by cell.

package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// tableCells is the name of the table of a grid's cells, after the study's.
const tableCells = "grid-cells"

// GridSize names a grid by its size.
func GridSize(c *perturb.Cell) string { return fmt.Sprintf("%dx%d", c.Columns, c.Rows) }

// GridTable is the share of answers that flip, by cell of each grid; of is the cell that a cell of
// trials covers, nil: none.
func GridTable(study string, of func(score.Keys) *perturb.Cell, flips score.Sum) score.Table {
	return score.Table{Name: study + "-" + tableCells, Title: "Changed answers by cell", Keys: []string{"arm", "grid", "row", "column"},
		Rows: func(all score.Group) (rows []score.Row) {
			for _, arm := range score.ByKey(all) {
				sizes := map[string]*perturb.Cell{}
				for _, c := range arm.Cells {
					if covered := of(c.Keys); covered != nil {
						sizes[GridSize(covered)] = covered
					}
				}
				for _, size := range slices.Sorted(maps.Keys(sizes)) {
					for i := range sizes[size].Rows * sizes[size].Columns {
						row, column := i/sizes[size].Columns+1, i%sizes[size].Columns+1
						rows = append(rows, score.Row{Text: []string{arm.Text[0], size, fmt.Sprint(row), fmt.Sprint(column)}, Group: arm.Only(func(k score.Keys) bool {
							x := of(k)
							return x != nil && GridSize(x) == size && x.Row == row && x.Column == column
						})})
					}
				}
			}
			return rows
		},
		Columns: []score.Metric{Percent("flip_rate", "Flips", "answers that became another one when this cell alone was covered", flips)}}
}

// GridFigures is a map for each model, arm and size in such a table.
func GridFigures(study string, cells results.Table) (out []results.Figure) {
	var done []string
	for _, row := range cells.Rows {
		key := strings.Join([]string{row[0].Text, row[1].Text, row[2].Text}, "\n")
		if slices.Contains(done, key) {
			continue
		}
		done = append(done, key)
		f := gridFigure(study, cells.Rows, row[0].Text, row[1].Text, row[2].Text)
		own := f.Name
		for n := 2; slices.ContainsFunc(out, func(o results.Figure) bool { return o.Name == f.Name }); n++ { // gemma3:4b and gemma3-4b
			f.Name = fmt.Sprintf("%s-%d", own, n)
		}
		out = append(out, f)
	}
	return out
}

// gridFigure is the map of one model's changes in an arm, from rows of model, arm, grid,
// row, column and flips.
func gridFigure(study string, cells [][]results.Cell, model, arm, size string) results.Figure {
	zero := 0.0
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(model))
	f := results.Figure{Name: study + "-map-" + name + "-" + arm + "-" + size, Kind: results.FigureHeat, Title: fmt.Sprintf("What the answers of %s depend on (%s)", model, arm),
		Caption: "Each cell of the image was covered by itself; the colour says how many answers changed.",
		X:       results.Axis{Title: "Column"}, Y: results.Axis{Title: "Row"}, Z: results.Axis{Title: "Changed answers", Unit: "%", Low: &zero}}
	most, where := 0.0, ""
	for _, row := range cells {
		if row[0].Text != model || row[1].Text != arm || row[2].Text != size {
			continue
		}
		r, c, flips := row[3].Text, row[4].Text, row[5].Estimate
		if n := len(f.Series); n == 0 || f.Series[n-1].Name != "r"+r {
			f.Series = append(f.Series, results.Series{Name: "r" + r})
		}
		series := &f.Series[len(f.Series)-1]
		series.Points = append(series.Points, results.Point{Label: "c" + c, Y: flips})
		if flips.Value != nil && *flips.Value > most {
			most, where = *flips.Value, fmt.Sprintf("row %s, column %s", r, c)
		}
	}
	f.Alt = fmt.Sprintf("No cell changes an answer of %s.", model)
	if where != "" {
		f.Alt = fmt.Sprintf("Answers of %s change most where %s is covered: %s %%.", model, where, stats.Fixed(most, 1))
	}
	return f
}

package faithfulness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// The occlusion grid covers the picture cell by cell and asks again: where the
// answer changes, it depended on what was covered.

func sizeOf(c *perturb.Cell) string { return fmt.Sprintf("%dx%d", c.Columns, c.Rows) }

// sizes are the grids that a store describes, one cell of each.
func (c conditions) sizes() []*perturb.Cell {
	found := map[string]*perturb.Cell{}
	for _, f := range c {
		if f.Cell != nil {
			found[sizeOf(f.Cell)] = f.Cell
		}
	}
	var out []*perturb.Cell
	for _, size := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[size])
	}
	return out
}

// covered is the cells of a grid's size that keep picks.
func (c conditions) covered(g score.Group, size string, keep func(*perturb.Cell) bool) score.Group {
	return c.only(g, func(f condition) bool { return f.Cell != nil && sizeOf(f.Cell) == size && keep(f.Cell) })
}

func anyCell(*perturb.Cell) bool { return true }

// gridTables are one about the regions, and one of every cell.
func (c conditions) gridTables() []score.Table {
	in, out := score.Percent(leafInside), score.Percent(leafOutside)
	difference := score.Sum(func(g score.Group) score.GroupValue {
		v := score.Minus(in, out)(g)
		v.Why = "the questions have no regions"
		return v
	})
	list := []score.Table{{Name: tableGrid, Title: "Do answers depend on the region in question?", Keys: []string{"arm", "grid"},
		Rows: func(all score.Group) (rows []score.Row) {
			for _, arm := range score.ByKey(all) {
				for _, size := range c.sizes() {
					if g := c.covered(arm.Group, sizeOf(size), anyCell); len(g.Cells) > 0 {
						rows = append(rows, score.Row{Group: g, Text: []string{arm.Text[0], sizeOf(size)}})
					}
				}
			}
			return rows
		},
		Columns: []score.Metric{
			study.Percent("inside", "Inside", "changed answers / covered cells whose middle lies in a region of the question", in),
			study.Percent("outside", "Outside", "the same of the other cells", out),
			number("difference", "Difference", "points", 2, "inside - outside", difference),
			study.Percent("share_inside", "Changes inside", "of all changes, those of cells inside", insideOf("no answer changed", true)),
			study.Percent("area_inside", "Cells inside", "of all cells, those inside: what chance would give", insideOf("the questions have no regions", false)),
		}}}
	return append(list, score.Table{Name: tableCells, Title: "Changed answers by cell", Keys: []string{"arm", "grid", "row", "column"},
		Rows: func(all score.Group) (rows []score.Row) {
			for _, arm := range score.ByKey(all) {
				for _, size := range c.sizes() {
					if len(c.covered(arm.Group, sizeOf(size), anyCell).Cells) == 0 {
						continue
					}
					for i := range size.Rows * size.Columns {
						row, column := i/size.Columns+1, i%size.Columns+1
						rows = append(rows, score.Row{Group: c.covered(arm.Group, sizeOf(size), func(x *perturb.Cell) bool { return x.Row == row && x.Column == column }),
							Text: []string{arm.Text[0], sizeOf(size), fmt.Sprint(row), fmt.Sprint(column)}})
					}
				}
			}
			return rows
		},
		Columns: []score.Metric{study.Percent(flipRate, "Flips", "answers that became another one when this cell alone was covered", score.Percent(flip))}})
}

// insideOf is the share of the covered cells, or of those that changed the answer,
// that lie in a region; cells of questions without regions are in neither.
func insideOf(why string, changed bool) score.Sum {
	return func(g score.Group) score.GroupValue {
		columns := func(leaf string) (out []int, n int) {
			for _, cells := range g.Fractions(leaf) {
				for _, f := range cells {
					c := f.Den
					if changed {
						c = f.Num
					}
					out, n = append(out, c), n+int(g.Sample.Sum(c))
				}
			}
			return out, n
		}
		in, n := columns(leafInside)
		out, more := columns(leafOutside)
		v := score.GroupValue{Why: why, Count: score.Count{N: n + more}}
		if !changed {
			v.Count.Invalid = g.Count(leafInside).Invalid + g.Count(leafOutside).Invalid
		}
		v.Of = func(sums []float64) (float64, bool) {
			var a, b float64
			for _, c := range in {
				a += sums[c]
			}
			for _, c := range out {
				b += sums[c]
			}
			if a+b == 0 {
				return 0, false
			}
			return 100 * a / (a + b), true
		}
		return v
	}
}

// grids is where answers depend on the picture; false: no grid was run.
func (r *run) grids() (results.Section, bool) {
	cells := r.Table(tableCells)
	s := results.Section{Name: tableGrid, Title: "Occlusion grid", Tables: []results.Table{r.Table(tableGrid), cells},
		Intro: "The picture is covered cell by cell. Where the answer changes, it depended on what was covered. A model that looks where the question asks changes its answer inside of the region, not outside."}
	s.Figures = gridFigures(s.Tables[0].Rows, cells.Rows)
	return s, len(s.Figures) > 0
}

// gridFigures is a map for each row of the table: a model, an arm, a size.
func gridFigures(rows, cells [][]results.Cell) (out []results.Figure) {
	for _, row := range rows {
		f := gridFigure(cells, row[0].Text, row[1].Text, row[2].Text)
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
func gridFigure(cells [][]results.Cell, model, arm, size string) results.Figure {
	zero := 0.0
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(model))
	f := results.Figure{Name: "faithfulness-map-" + name + "-" + arm + "-" + size, Kind: results.FigureHeat, Title: fmt.Sprintf("What the answers of %s depend on (%s)", model, arm),
		Caption: "Each cell of the picture was covered by itself; the colour says how many answers changed.",
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

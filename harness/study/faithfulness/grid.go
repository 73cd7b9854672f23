package faithfulness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/metric"
	"assay/harness/study"
	"assay/harness/study/faithfulness/scoring"
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
func (c conditions) covered(g metric.Group, size string, keep func(*perturb.Cell) bool) metric.Group {
	return c.only(g, func(f perturb.Condition) bool { return f.Cell != nil && sizeOf(f.Cell) == size && keep(f.Cell) })
}

func anyCell(*perturb.Cell) bool { return true }

// gridTables are one about the regions, and a map for each size.
func (c conditions) gridTables() []metric.Table {
	in, out := metric.Percent(leafInside), metric.Percent(leafOutside)
	difference := metric.Sum(func(g metric.Group) metric.Value {
		v := metric.Minus(in, out)(g)
		v.Why = "the questions have no regions"
		return v
	})
	list := []metric.Table{{Name: tableGrid, Title: "Do answers depend on the region in question?", Keys: []string{"arm", "grid"},
		Rows: func(all metric.Group) (rows []metric.Row) {
			for _, arm := range metric.ByKey(all) {
				for _, size := range c.sizes() {
					if g := c.covered(arm.Group, sizeOf(size), anyCell); len(g.Cells) > 0 {
						rows = append(rows, metric.Row{Group: g, Text: []string{arm.Text[0], sizeOf(size)}})
					}
				}
			}
			return rows
		},
		Columns: []metric.Metric{
			study.Percent("inside", "Inside", "changed answers / covered cells whose middle lies in a region of the question", in),
			study.Percent("outside", "Outside", "the same of the other cells", out),
			number("difference", "Difference", "points", 2, "inside - outside", difference),
			study.Percent("share_inside", "Changes inside", "of all changes, those of cells inside", insideOf("no answer changed", true)),
			study.Percent("area_inside", "Cells inside", "of all cells, those inside: what chance would give", insideOf("the questions have no regions", false)),
		}}}
	for _, size := range c.sizes() {
		t := metric.Table{Name: tableGrid + "-" + sizeOf(size), Title: "Changed answers by cell, " + sizeOf(size), Keys: []string{"arm", "row"},
			Rows: func(all metric.Group) (rows []metric.Row) {
				for _, arm := range metric.ByKey(all) {
					if len(c.covered(arm.Group, sizeOf(size), anyCell).Cells) == 0 {
						continue
					}
					for row := range size.Rows {
						rows = append(rows, metric.Row{Group: c.covered(arm.Group, sizeOf(size), func(x *perturb.Cell) bool { return x.Row == row+1 }),
							Text: []string{arm.Text[0], fmt.Sprintf("r%d", row+1)}})
					}
				}
				return rows
			}}
		for column := range size.Columns {
			name := fmt.Sprintf("c%d", column+1)
			t.Columns = append(t.Columns, study.Percent(name, name, "", metric.Sum(func(g metric.Group) metric.Value {
				return metric.Percent(scoring.Flip)(c.covered(g, sizeOf(size), func(x *perturb.Cell) bool { return x.Column == column+1 }))
			})))
		}
		list = append(list, t)
	}
	return list
}

// insideOf is the share of the covered cells, or of those that changed the answer,
// that lie in a region; cells of questions without regions are in neither.
func insideOf(why string, changed bool) metric.Sum {
	return func(g metric.Group) metric.Value {
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
		v := metric.Value{Why: why, Count: metric.Count{N: n + more}}
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
	s := results.Section{Name: tableGrid, Title: "Occlusion grid", Tables: []results.Table{r.Table(tableGrid)},
		Intro: "The picture is covered cell by cell. Where the answer changes, it depended on what was covered. A model that looks where the question asks changes its answer inside of the region, not outside."}
	maps := map[string]results.Table{}
	for _, size := range r.known.sizes() {
		if t := r.Table(tableGrid + "-" + sizeOf(size)); len(t.Rows) > 0 {
			maps[sizeOf(size)] = t
			s.Tables = append(s.Tables, t)
		}
	}
	s.Figures = gridFigures(s.Tables[0].Rows, maps)
	return s, len(s.Figures) > 0
}

// gridFigures is a map for each row of the table: a model, an arm, a size.
func gridFigures(rows [][]results.Cell, maps map[string]results.Table) (out []results.Figure) {
	for _, row := range rows {
		f := gridFigure(maps[row[2].Text], row[0].Text, row[1].Text, row[2].Text)
		own := f.Name
		for n := 2; slices.ContainsFunc(out, func(o results.Figure) bool { return o.Name == f.Name }); n++ { // gemma3:4b and gemma3-4b
			f.Name = fmt.Sprintf("%s-%d", own, n)
		}
		out = append(out, f)
	}
	return out
}

// gridFigure is the map of one model's changes in an arm.
func gridFigure(t results.Table, model, arm, size string) results.Figure {
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
	for _, row := range t.Rows {
		if row[0].Text != model || row[1].Text != arm {
			continue
		}
		series := results.Series{Name: row[2].Text}
		for c, cell := range row[3:] {
			series.Points = append(series.Points, results.Point{Label: t.Columns[3+c].Name, Y: cell.Estimate})
			if v := cell.Estimate.Value; v != nil && *v > most {
				most, where = *v, fmt.Sprintf("row %s, column %d", strings.TrimPrefix(row[2].Text, "r"), c+1)
			}
		}
		f.Series = append(f.Series, series)
	}
	f.Alt = fmt.Sprintf("No cell changes an answer of %s.", model)
	if where != "" {
		f.Alt = fmt.Sprintf("Answers of %s change most where %s is covered: %s %%.", model, where, stats.Fixed(most, 1))
	}
	return f
}

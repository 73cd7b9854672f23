package faithfulness

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/faithfulness/pair"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// The occlusion grid covers the picture cell by cell and asks again: where the
// answer changes, it depended on what was covered.

// grid collects one grid of one model in one arm.
type grid struct {
	arm             string
	columns, rows   int
	cells           []metric.Fraction // changes, row by row
	inside, outside metric.Fraction   // changes of cells whose middle is in a region, and of the others
	n               []metric.Count
	nIn, nOut       metric.Count

	scores gridScores
}

type gridScores struct {
	cells                       []*results.Estimate
	inside, outside, difference *results.Estimate
	share, area                 *results.Estimate // of changes and of cells: those inside
}

func (m *model) grid(arm string, c *perturb.Cell) *grid {
	for _, g := range m.grids {
		if g.arm == arm && g.columns == c.Columns && g.rows == c.Rows {
			return g
		}
	}
	n := c.Columns * c.Rows
	g := &grid{arm: arm, columns: c.Columns, rows: c.Rows, cells: m.fractions(n), inside: m.fraction(), outside: m.fraction(), n: make([]metric.Count, n)}
	m.grids = append(m.grids, g)
	return g
}

// addGrid takes in the trial of one cell. Any change counts that is a flip.
func (m *model) addGrid(at int, f perturb.Condition, t score.Scored) {
	g, place := m.grid(t.Row.Key.Arm, f.Cell), m.run.at
	i := (f.Cell.Row-1)*g.columns + f.Cell.Column - 1
	m.tally(g.cells[i], &g.n[i], at, t, place.Flip)
	switch inside, ok := t.Number(place.Inside); {
	case !ok: // the question has no regions
	case inside == 1:
		m.tally(g.inside, &g.nIn, at, t, place.Flip)
	default:
		m.tally(g.outside, &g.nOut, at, t, place.Flip)
	}
}

func (m *model) scoreGrid(g *grid) {
	s, out := m.sample, &g.scores
	for i, f := range g.cells {
		out.cells = append(out.cells, g.n[i].Of(s.Sums(f.Percent), "no pair of readable answers"))
	}
	both := metric.Count{N: g.nIn.N + g.nOut.N, Invalid: g.nIn.Invalid + g.nOut.Invalid}
	out.inside = g.nIn.Of(s.Sums(g.inside.Percent), "no cell lies in a region")
	out.outside = g.nOut.Of(s.Sums(g.outside.Percent), "no cell lies outside of a region")
	out.difference = both.Of(s.Sums(func(sums []float64) (float64, bool) {
		a, ok := g.inside.Percent(sums)
		b, okB := g.outside.Percent(sums)
		return a - b, ok && okB
	}), "the questions have no regions")
	changes := metric.Count{N: int(s.Sum(g.inside.Num) + s.Sum(g.outside.Num))}
	out.share = changes.Of(s.Sums(func(sums []float64) (float64, bool) {
		return pair.Ratio(100*sums[g.inside.Num], sums[g.inside.Num]+sums[g.outside.Num])
	}), "no answer changed")
	out.area = both.Of(s.Sums(func(sums []float64) (float64, bool) {
		return pair.Ratio(100*sums[g.inside.Den], sums[g.inside.Den]+sums[g.outside.Den])
	}), "the questions have no regions")
}

// grids is where answers depend on the picture; false: no grid was run.
func (r *run) grids() (results.Section, bool) {
	overlap := results.Table{Name: "faithfulness-grid", Title: "Do answers depend on the region in question?",
		Columns: []results.Column{study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("grid", "Grid"),
			percent("inside", "Inside", "changed answers / covered cells whose middle lies in a region of the question"),
			percent("outside", "Outside", "the same of the other cells"),
			{Name: "difference", Title: "Difference", Unit: "points", Digits: 2, Help: "inside - outside"},
			percent("share_inside", "Changes inside", "of all changes, those of cells inside"),
			percent("area_inside", "Cells inside", "of all cells, those inside: what chance would give")}}
	s := results.Section{Name: "faithfulness-grid", Title: "Occlusion grid",
		Intro: "The picture is covered cell by cell. Where the answer changes, it depended on what was covered. A model that looks where the question asks changes its answer inside of the region, not outside."}
	var maps []results.Table
	for _, m := range r.models {
		for _, g := range m.grids {
			x := g.scores
			size := fmt.Sprintf("%dx%d", g.columns, g.rows)
			overlap.Rows = append(overlap.Rows, []results.Cell{study.Text(m.name), study.Text(g.arm), study.Text(size), study.Value(x.inside), study.Value(x.outside),
				study.Value(x.difference), study.Value(x.share), study.Value(x.area)})
			at := slices.IndexFunc(maps, func(t results.Table) bool { return t.Name == "faithfulness-grid-"+size })
			if at < 0 {
				t := results.Table{Name: "faithfulness-grid-" + size, Title: "Changed answers by cell, " + size,
					Columns: []results.Column{study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("row", "Row")}}
				for c := range g.columns {
					t.Columns = append(t.Columns, percent(fmt.Sprintf("c%d", c+1), fmt.Sprintf("c%d", c+1), ""))
				}
				at, maps = len(maps), append(maps, t)
			}
			s.Figures = append(s.Figures, g.figure(m.name, size))
			for row := range g.rows {
				cells := []results.Cell{study.Text(m.name), study.Text(g.arm), study.Text(fmt.Sprintf("r%d", row+1))}
				for c := range g.columns {
					cells = append(cells, study.Value(x.cells[row*g.columns+c]))
				}
				maps[at].Rows = append(maps[at].Rows, cells)
			}
		}
	}
	s.Tables = append([]results.Table{overlap}, maps...)
	return s, len(overlap.Rows) > 0
}

// figure is the map of one model's changes.
func (g *grid) figure(model, size string) results.Figure {
	zero := 0.0
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(model))
	f := results.Figure{Name: "faithfulness-map-" + name + "-" + g.arm + "-" + size, Kind: results.FigureHeat, Title: fmt.Sprintf("What the answers of %s depend on (%s)", model, g.arm),
		Caption: "Each cell of the picture was covered by itself; the colour says how many answers changed.",
		X:       results.Axis{Title: "Column"}, Y: results.Axis{Title: "Row"}, Z: results.Axis{Title: "Changed answers", Unit: "%", Low: &zero}}
	most, where := 0.0, ""
	for row := range g.rows {
		series := results.Series{Name: fmt.Sprintf("r%d", row+1)}
		for c := range g.columns {
			e := g.scores.cells[row*g.columns+c]
			series.Points = append(series.Points, results.Point{Label: fmt.Sprintf("c%d", c+1), Y: e})
			if e.Value != nil && *e.Value > most {
				most, where = *e.Value, fmt.Sprintf("row %d, column %d", row+1, c+1)
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

package faithfulness

import (
	"maps"
	"slices"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// The occlusion grid covers the picture cell by cell and asks again: where the
// answer changes, it depended on what was covered.

// sizes are the grids that a store describes, one cell of each.
func (c conditions) sizes() []*perturb.Cell {
	found := map[string]*perturb.Cell{}
	for _, f := range c {
		if f.Cell != nil {
			found[study.GridSize(f.Cell)] = f.Cell
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
	return c.only(g, func(f condition) bool { return f.Cell != nil && study.GridSize(f.Cell) == size && keep(f.Cell) })
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
					if g := c.covered(arm.Group, study.GridSize(size), anyCell); len(g.Cells) > 0 {
						rows = append(rows, score.Row{Group: g, Text: []string{arm.Text[0], study.GridSize(size)}})
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
	return append(list, study.GridTable(Name, func(k score.Keys) *perturb.Cell { return c.of(k).Cell }, score.Percent(flip)))
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
	cells := r.Table(Name + "-grid-cells")
	s := results.Section{Name: tableGrid, Title: "Occlusion grid", Tables: []results.Table{r.Table(tableGrid), cells},
		Intro: "The image is covered cell by cell. Where the answer changes, it depended on what was covered. A model that looks where the question asks changes its answer inside the region, not outside."}
	s.Figures = study.GridFigures(Name, cells)
	if len(s.Figures) > 0 {
		s.Main = []string{tableGrid, s.Figures[0].Name}
	}
	return s, len(s.Figures) > 0
}

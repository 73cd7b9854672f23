package report

import (
	"fmt"
	"slices"

	"assay/results"
)

// grid is a table made ready for people: all of it is text that shows.
type grid struct {
	title   string
	caption string
	cols    []col
	rows    [][]cell
	feet    []string // footnotes: the first is number 1
	notes   []string
}

// col is one column of a grid.
type col struct {
	title, unit, help string
	numeric           bool
	lead              bool // names the row: repeated where a table is broken up
}

// cell is one cell of a grid.
type cell struct {
	text     string // of a text column
	value    string // of an estimate
	interval string // "[low, high]"; "": none
	n        string // "n=48"; "": the row's n stands in a column of its own, or it is a count
	foot     int    // footnote; 0: none
	doubt    bool   // the value is no more than a guess
}

// line is the cell on one line.
func (c cell) line() string { return c.after(c.text+c.value+superscript(c.foot), " ") }

// lines is the cell with its parts below each other.
func (c cell) lines() string { return c.after(c.text+c.value+superscript(c.foot), "\n") }

// after is s, and after it the interval and the n that there are.
func (c cell) after(s, by string) string {
	for _, part := range []string{c.interval, c.n} {
		if part != "" {
			s += by + part
		}
	}
	return s
}

func superscript(n int) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[n%10]) + s
	}
	return s
}

func newGrid(t results.Table, m Meta) grid { return gridOf(t, m, true) }

// gridOf is a grid; share gives the n that most cells of a row have a column.
func gridOf(t results.Table, m Meta, share bool) grid {
	g := grid{title: m.caption(visible(t.Title)), caption: visible(t.Caption)}
	for _, n := range t.Notes {
		g.notes = append(g.notes, visible(n))
	}
	counts := make([]bool, len(t.Columns))
	for j, c := range t.Columns {
		counts[j] = c.Unit == "" && c.Digits == 0 && !c.Significant
		for _, row := range t.Rows {
			if e := row[j].Estimate; e != nil {
				counts[j] = counts[j] && e.Low == nil
			}
		}
		g.cols = append(g.cols, col{title: visible(c.Title), unit: visible(c.Unit), help: visible(c.Help), numeric: t.Numeric(j)})
	}
	for j := 0; j < len(g.cols) && !g.cols[j].numeric; j++ {
		g.cols[j].lead = true
	}
	printers := make([]results.Printer, len(t.Columns))
	for j, c := range t.Columns {
		var held []*results.Estimate
		for _, row := range t.Rows {
			held = append(held, row[j].Estimate)
		}
		printers[j] = m.Digits.Of(c, held)
		g.cols[j].unit = visible(printers[j].Unit)
	}
	var shared []string
	if share {
		shared = sharedN(t, counts)
	}
	guesses := false
	for i, row := range t.Rows {
		var line []cell
		for j, c := range row {
			if c.Estimate == nil {
				line = append(line, cell{text: visible(c.Text)})
				continue
			}
			e := *c.Estimate
			out := cell{value: dash}
			if e.Value != nil {
				out.value, out.interval = printers[j].Print(e)
				if out.doubt = doubted(t, row, t.Columns[j].Doubt); out.doubt {
					out.value, guesses = "("+out.value+")", true
				}
			}
			if e.Why != "" {
				out.foot = g.footnote(visible(e.Why))
			}
			if r := rests(e); !counts[j] && (shared == nil || shared[i] != r) {
				out.n = "n=" + r
			}
			line = append(line, out)
		}
		if shared != nil {
			line = slices.Insert(line, g.leads(), cell{value: shared[i]})
		}
		g.rows = append(g.rows, line)
	}
	if guesses {
		g.notes = append(g.notes, "In parentheses: its uncertainty is above 100 %, so it is no more than a guess.")
	}
	if shared != nil {
		g.cols = slices.Insert(g.cols, g.leads(), col{title: "n", numeric: true, lead: true, help: "cases that the row's values rest on, unless a cell says otherwise"})
	}
	return g
}

// doubted says whether the column of a row that holds another one's uncertainty is
// above 100 %.
func doubted(t results.Table, row []results.Cell, column string) bool {
	j := slices.IndexFunc(t.Columns, func(c results.Column) bool { return column != "" && c.Name == column })
	return j >= 0 && row[j].Estimate != nil && row[j].Estimate.Value != nil && *row[j].Estimate.Value > 100
}

// same is the cell that a column has in every row; false: rows differ.
func (g *grid) same(j int) (cell, bool) {
	for _, row := range g.rows {
		if row[j] != g.rows[0][j] {
			return cell{}, false
		}
	}
	return g.rows[0][j], true
}

// leads is how many columns name the row.
func (g *grid) leads() int {
	n := slices.IndexFunc(g.cols, func(c col) bool { return !c.lead })
	if n < 0 {
		return len(g.cols)
	}
	return n
}

func (g *grid) footnote(why string) int {
	for i, f := range g.feet {
		if f == why {
			return i + 1
		}
	}
	g.feet = append(g.feet, why)
	return len(g.feet)
}

// rests is how many cases an estimate rests on, and of how many; in how many clusters, where
// these are fewer.
func rests(e results.Estimate) string {
	n := fmt.Sprint(e.N)
	if left := e.Undefined + e.Invalid; left > 0 {
		n = fmt.Sprintf("%d/%d", e.N, e.N+left)
	}
	if e.Clusters > 0 && e.Clusters < e.N {
		n += fmt.Sprintf(" in %d", e.Clusters)
	}
	return n
}

// sharedN is the n of each row that most of its values have, mere counts apart;
// cells that differ, or have no value, say so themselves. nil: most cells would.
func sharedN(t results.Table, counts []bool) []string {
	var out []string
	agree, all, most := 0, 0, 0
	for _, row := range t.Rows {
		of, n, cells := map[string]int{}, "", 0
		known := slices.ContainsFunc(row, func(c results.Cell) bool { return c.Estimate != nil && c.Estimate.Value != nil })
		for j, c := range row {
			if c.Estimate == nil || counts[j] || known && c.Estimate.Value == nil {
				continue
			}
			cells++
			r := rests(*c.Estimate)
			if of[r]++; of[r] > of[n] {
				n = r
			}
		}
		agree, all, most = agree+of[n], all+cells, max(most, cells)
		out = append(out, n)
	}
	if most < 2 || 2*agree <= all {
		return nil
	}
	return out
}

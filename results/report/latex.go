package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/results"
)

// LaTeX writes a table to paste into a paper, with booktabs rules, a caption and the
// label tab:NAME. Intervals stand under their values; what is clearly the best of its
// column is bold.
func LaTeX(w io.Writer, t results.Table, m Meta) error {
	check([]results.Section{{Tables: []results.Table{t}}})
	g := newGrid(t, m)
	out := latexTable{Name: t.Name, Caption: strings.TrimPrefix(g.title, mark), Feet: g.feet, Notes: g.notes}
	if m.Synthetic() {
		out.Marked = strings.TrimSuffix(mark, " · ")
	}
	if g.caption != "" {
		out.Caption += ". " + g.caption
	}
	n := -1 // the column of n that newGrid adds
	if len(g.cols) > len(t.Columns) {
		n = g.leads() - 1
	}
	for j, c := range g.cols {
		out.Columns = append(out.Columns, latexColumn{Title: c.title, Unit: c.unit, Numeric: c.numeric, Lead: c.lead})
		of := j
		if n >= 0 && j > n {
			of--
		}
		for i := range g.rows {
			if j == 0 {
				out.Rows = append(out.Rows, nil)
			}
			c := g.rows[i][j]
			out.Rows[i] = append(out.Rows[i], latexCell{Value: c.text + c.value, Under: strings.TrimSpace(c.interval + " " + c.n), Foot: c.foot, Bold: j != n && t.Rows[i][of].Estimate != nil && t.Rows[i][of].Estimate.Best})
		}
	}
	for j := range out.Columns { // one n of a whole column stands above it
		of := map[string]bool{}
		for _, row := range g.rows {
			if row[j].value != dash {
				of[row[j].n] = true
			}
		}
		if each := slices.Collect(maps.Keys(of)); len(each) == 1 && each[0] != "" && len(g.rows) > 1 {
			out.Columns[j].Unit = strings.TrimSpace(out.Columns[j].Unit + " " + each[0])
			for i, row := range g.rows {
				out.Rows[i][j].Under = row[j].interval
			}
		}
	}
	if n >= 0 {
		if c, same := g.same(n); same && len(g.rows) > 1 { // said once
			out.Caption += fmt.Sprintf(" (n = %s unless a cell says otherwise)", c.value)
			out.Columns = slices.Delete(out.Columns, n, n+1)
			for i := range out.Rows {
				out.Rows[i] = slices.Delete(out.Rows[i], n, n+1)
			}
		}
	}
	return writeLaTeX(w, out)
}

// Tables are those of sections and of the methods, behind what the report begins with.
func Tables(sections []results.Section, m Meta) []results.Table {
	var out []results.Table
	if a := MainResults(sections); a != nil {
		out = append(out, a.Table)
	}
	for _, s := range sections {
		out = append(out, s.Tables...)
	}
	return append(out, section(m.Run, true, sections...).Tables...)
}

// Columns is a table with the columns that name its rows and those that are named, in
// their order. The error names what there is.
func Columns(t results.Table, names []string) (results.Table, error) {
	var keep []int
	for j := range t.Columns {
		if t.Numeric(j) {
			break
		}
		keep = append(keep, j)
	}
	var have []string
	for _, c := range t.Columns[len(keep):] {
		have = append(have, c.Name)
	}
	for _, name := range names {
		j := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == name })
		if j < 0 {
			return t, fmt.Errorf("table %s has no column %s; it has %s", t.Name, name, strings.Join(have, ", "))
		}
		if !slices.Contains(keep, j) {
			keep = append(keep, j)
		}
	}
	pick := t
	pick.Columns, pick.Rows = nil, make([][]results.Cell, len(t.Rows))
	for _, j := range keep {
		pick.Columns = append(pick.Columns, t.Columns[j])
		for i, row := range t.Rows {
			pick.Rows[i] = append(pick.Rows[i], row[j])
		}
	}
	return pick, nil
}

// latexMethods writes the methods as paragraphs.
func latexMethods(w io.Writer, m Meta, sections ...results.Section) error {
	var b strings.Builder
	for i, par := range paragraphs(m.Run, sections...) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(escapeLaTeX(par) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

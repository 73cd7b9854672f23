package score

import (
	"slices"
	"strings"

	"assay/results"
)

// Metric is a column of a table.
type Metric struct {
	results.Column
	Of Kind
	// Text, instead of Of, says something in words when the row's estimates are there.
	Text func(r Row) string
}

// Table is declared: which rows, and which metrics of each.
type Table struct {
	Name, Title string
	Keys        []string              // names of the texts of a row, after the model
	Rows        func(all Group) []Row // of one model
	Columns     []Metric
	Notes       []string
}

// OneRow is a single row: all cells.
func OneRow(all Group) []Row { return []Row{{Group: all}} }

// ByKey is a row for each value of the first key, as the arm.
func ByKey(all Group) []Row {
	var out []Row
	for _, name := range all.Distinct(0) {
		out = append(out, Row{Group: all.In(Keys{name}), Text: []string{name}})
	}
	return out
}

// ByStratum is a row for each value of the first key and each stratum of a kind.
func ByStratum(kind int) func(Group) []Row {
	return func(all Group) []Row {
		var out []Row
		for _, r := range ByKey(all) {
			for i, name := range all.run.strata[kind] {
				out = append(out, Row{Group: r.Stratum(kind, i), Text: append(slices.Clone(r.Text), name)})
			}
		}
		return out
	}
}

// Own is what the row itself brings along.
func Own() Kind { return Direct(func(r Row) *results.Estimate { return r.Own.Of(r) }) }

// lay lays out the rows of one model; their estimates are filled later.
func (t Table) lay(all Group) [][]results.Cell {
	var out [][]results.Cell
	for _, r := range t.Rows(all) {
		cells := []results.Cell{{Text: all.Name}}
		for _, s := range r.Text {
			cells = append(cells, results.Cell{Text: s})
		}
		for _, c := range t.Columns {
			if c.Of != nil {
				cells = append(cells, results.Cell{Estimate: c.Of.Of(r)})
				continue
			}
			at := len(cells)
			cells = append(cells, results.Cell{})
			all.After(func() { cells[at].Text = c.Text(r) })
		}
		out = append(out, cells)
	}
	return out
}

// Table is a declared table with the rows of every model.
func (r *Run) Table(name string) results.Table {
	i := slices.IndexFunc(r.Design.Tables, func(t Table) bool { return t.Name == name })
	if i < 0 {
		panic("score: internal error: no table " + name)
	}
	d := r.Design.Tables[i]
	out := results.Table{Name: d.Name, Title: d.Title, Notes: d.Notes, Columns: []results.Column{{Name: "model", Title: "Model"}}}
	for _, k := range d.Keys {
		out.Columns = append(out.Columns, results.Column{Name: k, Title: strings.ToUpper(k[:1]) + k[1:]})
	}
	for _, c := range d.Columns {
		out.Columns = append(out.Columns, c.Column)
	}
	for _, m := range r.Models {
		out.Rows = append(out.Rows, m.rows[i]...)
	}
	correct(out)
	return out
}

// FindEstimate is the estimate of a column in the first row that begins with texts; nil:
// there is no such row.
func FindEstimate(t results.Table, column string, texts ...string) *results.Estimate {
	at := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == column })
	for _, row := range t.Rows {
		same := true
		for i, s := range texts {
			same = same && row[i].Text == s
		}
		if same && at >= 0 {
			return row[at].Estimate
		}
	}
	return nil
}

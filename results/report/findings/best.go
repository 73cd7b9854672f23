package findings

import (
	"slices"

	"assay/results"
)

// wide says whether an estimate has an interval that says something.
func wide(e results.Estimate) bool { return e.Low != nil && *e.Low < *e.High }

// apart says whether two values differ clearly: both have intervals, which do not overlap.
func apart(a, b results.Estimate) bool {
	if !wide(a) || !wide(b) {
		return false
	}
	return *a.Low > *b.High || *a.High < *b.Low
}

func rowsOf(t results.Table) []int {
	var all []int
	for i := range t.Rows {
		all = append(all, i)
	}
	return all
}

// leading is the one of rows with the best value of column j; -1: none has a value, or the
// column does not rank. Of equal ones it is the first.
func leading(t results.Table, j int, rows []int) int {
	lead := -1
	for _, i := range rows {
		e := t.Rows[i][j].Estimate
		if e == nil || e.Value == nil || t.Columns[j].Better == "" {
			continue
		}
		if lead < 0 || t.Columns[j].Better == results.Higher && *e.Value > *t.Rows[lead][j].Estimate.Value ||
			t.Columns[j].Better == results.Lower && *e.Value < *t.Rows[lead][j].Estimate.Value {
			lead = i
		}
	}
	return lead
}

// Clear are the rows of column j that are clearly the best of those like them: rows that
// differ in the first text alone, the model's name, are compared. Where one of them has no
// value, those that have are.
func Clear(t results.Table, j int) []int {
	if t.Columns[j].Better == "" {
		return nil
	}
	var out []int
	for _, rows := range alike(t) {
		lead := leading(t, j, rows)
		if lead < 0 {
			continue
		}
		others := 0
		if !slices.ContainsFunc(rows, func(k int) bool {
			e := t.Rows[k][j].Estimate
			if k == lead || e == nil || e.Value == nil {
				return false
			}
			others++
			return !apart(*t.Rows[lead][j].Estimate, *e)
		}) && others > 0 {
			out = append(out, lead)
		}
	}
	return out
}

// alike are the rows that have the texts behind the first column in common, in order of
// the first of each. One pass: a table of what every item did has a row an item.
func alike(t results.Table) [][]int {
	texts := 1
	for texts < len(t.Columns) && !t.Numeric(texts) {
		texts++
	}
	var all [][]int
	at := map[string]int{}
	for i, row := range t.Rows {
		kind := ""
		for j := 1; j < texts; j++ {
			kind += "\x00" + row[j].Text
		}
		k, known := at[kind]
		if !known {
			k = len(all)
			at[kind] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

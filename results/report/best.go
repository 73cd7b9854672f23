package report

import (
	"assay/results"
	"assay/results/stats"
)

// pair is how two models differ on the items that both answered.
type pair struct {
	difference results.Estimate // of the first less the second
	holm       float64
}

// clear says whether the difference is one, by the test.
func (p pair) clear() bool { return p.holm <= results.Sure }

// pairsOf are the pairs of a measure of a study in a row of its first table, by the two models, either
// of them first.
func pairsOf(sections []results.Section, study, measure, row string) map[[2]string]pair {
	out := map[[2]string]pair{}
	for _, s := range sections {
		for _, t := range s.Tables {
			if t.Name != results.PairsOf(study) {
				continue
			}
			at := map[string]int{}
			for j, c := range t.Columns {
				at[c.Name] = j
			}
			text := func(cells []results.Cell, name string) string { return cells[at[name]].Text }
			for _, cells := range t.Rows {
				gap, holm := cells[at[results.PairDifference]].Estimate, cells[at[results.PairHolm]].Estimate
				if text(cells, results.PairMeasure) != measure || text(cells, results.PairRow) != row || text(cells, results.PairOtherRow) != row || gap.Value == nil || holm.Value == nil {
					continue
				}
				a, b := cells[0].Text, text(cells, results.PairOther)
				back := results.Estimate{N: gap.N, Clusters: gap.Clusters}
				minus := func(v *float64) *float64 {
					if v == nil {
						return nil
					}
					x := 0 - *v
					return &x
				}
				back.Value, back.Low, back.High = minus(gap.Value), minus(gap.High), minus(gap.Low)
				out[[2]string{a, b}] = pair{*gap, *holm.Value}
				out[[2]string{b, a}] = pair{back, *holm.Value}
			}
		}
	}
	return out
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
		if lead < 0 {
			lead = i
			continue
		}
		best := *t.Rows[lead][j].Estimate.Value
		if !stats.Same(*e.Value, best) && (*e.Value > best) == (t.Columns[j].Better == results.Higher) {
			lead = i
		}
	}
	return lead
}

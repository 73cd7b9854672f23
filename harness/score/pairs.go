package score

import (
	"slices"

	"assay/results"
	"assay/results/stats"
)

// Compared is a measure that models are compared by: a leaf of scores in 0 to 1 that is Fixed.
type Compared struct {
	// Column is what the measure is called where it stands in the study's first table.
	Column string
	Leaf   string
	// Rows are the groups of a model that are compared with those of the same texts of other
	// models, and with its own others; at most one text each.
	Rows func(all Group) []Row
	// Apart compares no two rows of one model.
	Apart bool
}

// answered is what a model scored on each item of a row: the mean over judges and repeats.
type answered struct {
	measure, model, row string
	items               map[string]float64
}

// answer takes down what the pairs of a design need of a model, while its columns are there.
func (m *Model) answer() {
	for _, c := range m.run.Design.Pairs {
		for _, r := range c.Rows(m.All()) {
			one := answered{c.Column, m.Name, "", map[string]float64{}}
			if len(r.Text) > 0 {
				one.row = r.Text[0]
			}
			hits, known, _ := r.votes(c.Leaf)
			for i, n := range known {
				if n > 0 {
					one.items[m.ids[i]] = hits[i] / n
				}
			}
			m.answers = append(m.answers, one)
		}
	}
}

// Pairs compares every two models, and every two rows of a model, on the items that both
// answered (metrics.md section 0).
func (r *Run) Pairs() results.Table {
	percent := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "%", Digits: 2, Help: help}
	}
	t := results.Table{Name: results.PairsOf(r.Design.Rules.Study), Title: "Every two models on the items that both answered",
		Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: results.PairOther, Title: "Other"}, {Name: results.PairMeasure, Title: "Measure"}, {Name: results.PairRow, Title: "Row"}, {Name: results.PairOtherRow, Title: "Other's row"},
			percent("value", "Value", "of the model, on the items that both answered"), percent("value_other", "Other's value", "of the other, on the same items"),
			{Name: results.PairDifference, Title: "Difference", Unit: "points", Digits: 2, Help: "value less the other's; n is the items that both answered, each with the mean over its judges and repeats"},
			{Name: columnP, Title: "p", Digits: 4, Help: TestHelp}, {Name: results.PairHolm, Title: "Holm p", Digits: 4, Help: holmHelp}},
		Notes: []string{"Which of two is better is asked here: intervals of two models may overlap where their difference is clear, as both met the same items."}}
	for _, c := range r.Design.Pairs {
		var all []answered
		for _, m := range r.Models {
			all = append(all, slices.DeleteFunc(slices.Clone(m.answers), func(a answered) bool { return a.measure != c.Column })...)
		}
		for i, a := range all {
			for _, b := range all[i+1:] {
				if a.model == b.model && (c.Apart || a.row == b.row) || a.model != b.model && a.row != b.row {
					continue
				}
				t.Rows = append(t.Rows, r.pair(a, b))
			}
		}
	}
	correct(t)
	r.markBest(t)
	return t
}

// markBest marks what is clearly the best of a measure's column: the model that leads every other
// in the same row by a difference that is clear.
func (r *Run) markBest(pairs results.Table) {
	for i, d := range r.Design.Tables {
		for j, c := range d.Columns {
			if len(d.Keys) > 1 || c.Better == "" || !slices.ContainsFunc(r.Design.Pairs, func(p Compared) bool { return p.Column == c.Name }) {
				continue
			}
			type cell struct {
				model, row string
				e          *results.Estimate
			}
			var all []cell
			for _, m := range r.Models {
				for _, row := range m.rows[i] {
					x := cell{m.Name, "", row[1+len(d.Keys)+j].Estimate}
					if len(d.Keys) == 1 {
						x.row = row[1].Text
					}
					if x.e != nil && x.e.Value != nil {
						all = append(all, x)
					}
				}
			}
			for _, x := range all {
				others, led := 0, 0
				for _, y := range all {
					if y.row != x.row || y.model == x.model {
						continue
					}
					others++
					for _, p := range pairs.Rows {
						gap, holm := p[len(p)-3].Estimate, p[len(p)-1].Estimate
						if p[2].Text != c.Name || p[3].Text != x.row || p[4].Text != x.row || holm.Value == nil || *holm.Value > results.Sure {
							continue
						}
						lead := 0.
						switch {
						case p[0].Text == x.model && p[1].Text == y.model:
							lead = *gap.Value
						case p[1].Text == x.model && p[0].Text == y.model:
							lead = -*gap.Value
						}
						if c.Better == results.Lower {
							lead = -lead
						}
						if lead > 0 {
							led++
						}
					}
				}
				x.e.Best = others > 0 && led == others
			}
		}
	}
}

// pair is a row of the table of pairs; its last cell is yet empty.
func (r *Run) pair(a, b answered) []results.Cell {
	var ids []string
	for id := range a.items {
		if _, both := b.items[id]; both {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	x := stats.Paired{Cluster: stats.ClustersOf(len(ids), func(i int) string { return r.items[ids[i]].cluster })}
	for _, id := range ids {
		x.A, x.B = append(x.A, b.items[id]), append(x.B, a.items[id]) // the first less the second
	}
	d := x.Difference(true, stats.Bootstrap{})
	estimate := func(v *float64, scale float64) *results.Estimate {
		e := &results.Estimate{N: d.N, Clusters: d.Clusters, Why: "no item was answered by both"}
		if v != nil {
			by := scale * *v
			e.Value, e.Why = &by, ""
		}
		return e
	}
	mean := func(v []float64) *results.Estimate {
		if m, ok := stats.Mean(v); ok {
			return estimate(&m, 100)
		}
		return estimate(nil, 1)
	}
	gap := estimate(d.Value, 100)
	if gap.Value != nil {
		if gap.Why = string(d.Why); d.Low != nil {
			low, high := 100**d.Low, 100**d.High
			gap.Low, gap.High = &low, &high
		}
	}
	cells := []results.Cell{{Text: a.model}, {Text: b.model}, {Text: a.measure}, {Text: a.row}, {Text: b.row}}
	for _, e := range []*results.Estimate{mean(x.B), mean(x.A), gap, estimate(d.P, 1), estimate(nil, 1)} {
		cells = append(cells, results.Cell{Estimate: e})
	}
	return cells
}

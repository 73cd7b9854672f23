package cot

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// figures are those that there is something to draw for.
func figures(make ...func() (results.Figure, bool)) []results.Figure {
	var out []results.Figure
	for _, f := range make {
		if fig, ok := f(); ok {
			out = append(out, fig)
		}
	}
	return out
}

// told is an estimate in words: "75.00 %"; "undefined".
func told(e *results.Estimate, unit string, digits int) string {
	if e == nil || e.Value == nil {
		return "undefined"
	}
	return strings.TrimSpace(stats.Fixed(*e.Value, digits) + " " + unit)
}

// costFigure is accuracy against latency, one point per model and arm.
func (r *run) costFigure() (results.Figure, bool) {
	return r.scatter(results.Figure{Name: "cot-latency-accuracy", Title: "Accuracy against latency",
		Caption: "One point per model and arm: accuracy of the final answer over the median time T of an answer. A line joins the two arms of a model.",
		X:       results.Axis{Title: "Latency T, median", Unit: "s", Log: true}}, "latency_median", 3)
}

// energyFigure is accuracy against joules.
func (r *run) energyFigure() (results.Figure, bool) {
	return r.scatter(results.Figure{Name: "cot-energy-accuracy", Title: "Accuracy against energy",
		Caption: "One point per model and arm: accuracy of the final answer over the gross energy of an answer, mean. A line joins the two arms of a model.",
		X:       results.Axis{Title: "Energy per answer", Unit: "J", Log: true}}, "joules", 2)
}

// scatter is accuracy over a measure of an arm, with so many decimals in words.
func (r *run) scatter(f results.Figure, column string, digits int) (results.Figure, bool) {
	f.Kind, f.Y = results.FigureScatter, study.PercentAxis("Accuracy")
	accuracies := r.Table(tableAccuracy)
	var words []string
	any := false
	for _, m := range r.Models {
		s := results.Series{Name: m.Name}
		var arms []string
		for _, a := range study.Collected(m.Extra).List {
			at, y := positive(a.Estimate(column)), score.FindEstimate(accuracies, "accuracy", m.Name, a.Arm)
			s.Points = append(s.Points, results.Point{Label: a.Arm, X: at, Y: y})
			arms = append(arms, fmt.Sprintf("%s %s at %s", a.Arm, told(y, "%", 1), told(at, f.X.Unit, digits)))
			any = any || at.Value != nil && y.Value != nil
		}
		f.Series = append(f.Series, s)
		words = append(words, m.Name+": "+strings.Join(arms, ", "))
	}
	f.Alt = "Scatter of accuracy. " + strings.Join(words, "; ") + "."
	return f, any
}

// positive is an estimate that a logarithmic scale can show; a time that is not
// above zero is left to the tables.
func positive(e *results.Estimate) *results.Estimate {
	if e.Value == nil || *e.Value > 0 && (e.Low == nil || *e.Low > 0) {
		return e
	}
	return &results.Estimate{N: e.N, Why: "not above 0"}
}

// ratioFigure is the distribution of T_cot / T_direct.
func (r *run) ratioFigure() (results.Figure, bool) {
	f := results.Figure{Name: "cot-latency-ratio", Kind: results.FigureDistribution, Title: "How much longer reasoning takes",
		Caption: "T of the step-by-step arm over T of the answer-only arm, item by item.",
		X:       results.Axis{Title: "T cot / T direct", Log: true, Marks: []results.Mark{{At: 1, Text: "as long"}}}}
	var words []string
	any := false
	t := r.Table(tableEfficiency)
	for _, m := range r.Models {
		q, n := ratiosOf(m), score.FindEstimate(t, "latency_ratio_median", m.Name).N
		f.Series = append(f.Series, results.Series{Name: m.Name, Quantiles: q, N: n})
		if len(q) == 0 {
			words = append(words, m.Name+": no item is timed in both arms")
			continue
		}
		any = true
		at := func(p int) string { return stats.Fixed(q[p*(len(q)-1)/100], 2) }
		words = append(words, fmt.Sprintf("%s: median %s, middle half from %s to %s (n = %d)", m.Name, at(50), at(25), at(75), n))
	}
	f.Alt = "Distribution of the ratio of times. " + strings.Join(words, "; ") + "."
	return f, any
}

// ratiosOf is 101 quantiles of a model's ratios of times that are above zero; nil:
// there are none.
func ratiosOf(m *score.Model) []float64 {
	return m.Once("ratios", func() any {
		var v, out []float64
		for _, o := range unchanged(m).Kept(leafRatios) {
			if o.Value > 0 {
				v = append(v, o.Value)
			}
		}
		slices.Sort(v)
		for i := 0; i <= 100 && len(v) > 0; i++ {
			q, _ := stats.SortedQuantile(v, float64(i)/100)
			out = append(out, q)
		}
		return out
	}).([]float64)
}

// taskFigure is accuracy by task as a heat table.
func (r *run) taskFigure() (results.Figure, bool) {
	return r.heat(results.Figure{Name: "cot-task-accuracy", Title: "Accuracy by task",
		Caption: "Percent of correct final answers; the table has intervals and counts.", Z: study.PercentAxis("Accuracy")}, r.Table(tableTasks), "accuracy", 2)
}

// pathFigure is C by task as a heat table.
func (r *run) pathFigure() (results.Figure, bool) {
	return r.heat(results.Figure{Name: "cot-task-consistency", Title: "Consistency by task",
		Caption: "C, the mean similarity of an answer's order of steps to the reference path of its task; the table has intervals and counts.", Z: study.PercentAxis("C")},
		r.Table(tableConsistency), "c", 1)
}

// heat is a column of a table by task, a row for each of the texts before the task.
func (r *run) heat(f results.Figure, t results.Table, column string, task int) (results.Figure, bool) {
	f.Kind, f.X = results.FigureHeat, results.Axis{Title: "Task"}
	var words []string
	var rows [][]string
	for _, row := range t.Rows {
		var head []string
		for _, c := range row[:task] {
			head = append(head, c.Text)
		}
		if len(rows) == 0 || !slices.Equal(rows[len(rows)-1], head) {
			rows = append(rows, head)
		}
	}
	any := false
	for _, head := range rows {
		name := strings.Join(head, ", ")
		s := results.Series{Name: name}
		var low, high *results.Estimate
		var lowTask, highTask string
		for _, of := range r.Strata(strataTasks) {
			e := score.FindEstimate(t, column, append(slices.Clone(head), of)...)
			s.Points = append(s.Points, results.Point{Label: of, Y: e})
			if e.Value == nil {
				continue
			}
			any = true
			if low == nil || *e.Value < *low.Value {
				low, lowTask = e, of
			}
			if high == nil || *e.Value > *high.Value {
				high, highTask = e, of
			}
		}
		f.Series = append(f.Series, s)
		if low != nil {
			words = append(words, fmt.Sprintf("%s: from %s (%s) to %s (%s)", name, told(low, "%", 1), lowTask, told(high, "%", 1), highTask))
		}
	}
	f.Alt = fmt.Sprintf("Heat table of %d rows and %d tasks. %s.", len(rows), len(r.Strata(strataTasks)), strings.Join(words, "; "))
	return f, any
}

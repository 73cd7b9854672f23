package cot

import (
	"fmt"
	"math"
	"strings"

	"assay/harness/metric"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// figures are those that there is something to draw for.
func (r *run) figures(make ...func() (results.Figure, bool)) []results.Figure {
	var out []results.Figure
	for _, f := range make {
		if fig, ok := f(); ok {
			out = append(out, fig)
		}
	}
	return out
}

func percentAxis(title string) results.Axis {
	low, high := 0.0, 100.0
	return results.Axis{Title: title, Unit: "%", Low: &low, High: &high}
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
		X:       results.Axis{Title: "Latency T, median", Unit: "s", Log: true}}, func(a *arm) *results.Estimate { return a.Times.Latency[0] }, 3)
}

// energyFigure is accuracy against joules.
func (r *run) energyFigure() (results.Figure, bool) {
	return r.scatter(results.Figure{Name: "cot-energy-accuracy", Title: "Accuracy against energy",
		Caption: "One point per model and arm: accuracy of the final answer over the gross energy of an answer, mean. A line joins the two arms of a model.",
		X:       results.Axis{Title: "Energy per answer", Unit: "J", Log: true}}, func(a *arm) *results.Estimate { return a.costs.Joules }, 2)
}

// scatter is accuracy over what x says of an arm, with so many decimals in words.
func (r *run) scatter(f results.Figure, x func(*arm) *results.Estimate, digits int) (results.Figure, bool) {
	f.Kind, f.Y = results.FigureScatter, percentAxis("Accuracy")
	var words []string
	any := false
	for _, m := range r.models {
		s := results.Series{Name: m.name}
		var arms []string
		for _, a := range m.arms {
			if x(a) == nil {
				continue
			}
			at, y := positive(x(a)), a.scores.accuracy
			s.Points = append(s.Points, results.Point{Label: a.Arm, X: at, Y: y})
			arms = append(arms, fmt.Sprintf("%s %s at %s", a.Arm, told(y, "%", 1), told(at, f.X.Unit, digits)))
			any = any || at.Value != nil && y.Value != nil
		}
		f.Series = append(f.Series, s)
		words = append(words, m.name+": "+strings.Join(arms, ", "))
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
	for _, m := range r.models {
		q := m.ratioQuantiles
		f.Series = append(f.Series, results.Series{Name: m.name, Quantiles: q, N: m.nPaired.N})
		if len(q) == 0 {
			words = append(words, m.name+": no item is timed in both arms")
			continue
		}
		any = true
		at := func(p int) string { return stats.Fixed(q[p*(len(q)-1)/100], 2) }
		words = append(words, fmt.Sprintf("%s: median %s, middle half from %s to %s (n = %d)", m.name, at(50), at(25), at(75), m.nPaired.N))
	}
	f.Alt = "Distribution of the ratio of times. " + strings.Join(words, "; ") + "."
	return f, any
}

// quantiles are 101 quantiles of observations that are above zero, as a ratio of
// times is; nil: there are none. Their order is that of study.Quantiles.
func quantiles(obs []metric.Observation) []float64 {
	var v []float64
	for _, o := range obs {
		if o.Value > 0 {
			v = append(v, o.Value)
		}
	}
	if len(v) == 0 {
		return nil
	}
	out := make([]float64, 101)
	for i := range out {
		out[i], _ = stats.SortedQuantile(v, float64(i)/100)
	}
	return out
}

// grade is one usable verdict on an answer to an item with a task.
type grade struct {
	item        int32
	task, judge int16
	right       bool
}

// taskGrades collects accuracy by task of one arm.
type taskGrades struct {
	list   []grade
	counts []metric.Count // by task
	scores []*results.Estimate
}

func (g *taskGrades) grade(item, task, judge int, right bool) {
	if task >= 0 && task < math.MaxInt16 {
		g.list = append(g.list, grade{int32(item), int16(task), int16(judge), right})
	}
}

func (g *taskGrades) note(task int, judged bool) {
	if task < 0 || task >= math.MaxInt16 {
		return
	}
	for len(g.counts) <= task {
		g.counts = append(g.counts, metric.Count{})
	}
	g.counts[task].Note(judged, true)
}

// scoreTasks adds accuracy by task and arm to the model's sample: as accuracy
// overall, over the items of a task.
func (m *model) scoreTasks() {
	tasks := len(m.run.tasks)
	for _, a := range m.arms {
		judges, list := len(a.accuracy), a.tasks.list
		num, den := make([]float64, tasks*judges), make([]float64, tasks*judges)
		scores := m.sample.Weights(tasks, func(w []int32, out []float64) {
			clear(num)
			clear(den)
			for _, g := range list {
				at, n := int(g.task)*judges+int(g.judge), float64(w[g.item])
				den[at] += n
				if g.right {
					num[at] += n
				}
			}
			for t := range out {
				v, ok := rate(num[t*judges:(t+1)*judges], den[t*judges:(t+1)*judges])
				if !ok {
					v = math.NaN()
				}
				out[t] = v
			}
		})
		for t, e := range scores {
			var n metric.Count
			if t < len(a.tasks.counts) {
				n = a.tasks.counts[t]
			}
			a.tasks.scores = append(a.tasks.scores, n.Of(e, "no usable verdict"))
		}
		a.tasks.list = nil // a run has many models
	}
}

// taskTable is accuracy by model, arm and task.
func (r *run) taskTable() results.Table {
	t := results.Table{Name: "cot-tasks", Title: "Accuracy by task", Columns: []results.Column{
		study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("task", "Task"),
		study.PercentColumn("accuracy", "Accuracy", "correct / usable verdicts; mean over judges"),
	}}
	for _, m := range r.models {
		for _, a := range m.arms {
			for k, task := range r.tasks {
				t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), study.Text(a.Arm), study.Text(task), study.Value(a.tasks.scores[k])})
			}
		}
	}
	return t
}

// taskFigure is accuracy by task as a heat table.
func (r *run) taskFigure() (results.Figure, bool) {
	f := results.Figure{Name: "cot-task-accuracy", Kind: results.FigureHeat, Title: "Accuracy by task",
		Caption: "Percent of correct final answers; the table has intervals and counts.", X: results.Axis{Title: "Task"}, Z: percentAxis("Accuracy")}
	var rows []heatRow
	for _, m := range r.models {
		for _, a := range m.arms {
			rows = append(rows, heatRow{m.name + ", " + a.Arm, a.tasks.scores})
		}
	}
	return r.heat(f, rows)
}

// pathFigure is C by task as a heat table.
func (r *run) pathFigure() (results.Figure, bool) {
	f := results.Figure{Name: "cot-task-consistency", Kind: results.FigureHeat, Title: "Consistency by task",
		Caption: "C, the mean similarity of an answer's order of steps to the reference path of its task; the table has intervals and counts.", X: results.Axis{Title: "Task"}, Z: percentAxis("C")}
	var rows []heatRow
	for _, m := range r.models {
		rows = append(rows, heatRow{m.name, m.scores.perTask})
	}
	return r.heat(f, rows)
}

type heatRow struct {
	name   string
	byTask []*results.Estimate
}

func (r *run) heat(f results.Figure, rows []heatRow) (results.Figure, bool) {
	var words []string
	any := false
	for _, row := range rows {
		s := results.Series{Name: row.name}
		var low, high *results.Estimate
		var lowTask, highTask string
		for k, e := range row.byTask {
			s.Points = append(s.Points, results.Point{Label: r.tasks[k], Y: e})
			if e.Value == nil {
				continue
			}
			any = true
			if low == nil || *e.Value < *low.Value {
				low, lowTask = e, r.tasks[k]
			}
			if high == nil || *e.Value > *high.Value {
				high, highTask = e, r.tasks[k]
			}
		}
		f.Series = append(f.Series, s)
		if low != nil {
			words = append(words, fmt.Sprintf("%s: from %s (%s) to %s (%s)", row.name, told(low, "%", 1), lowTask, told(high, "%", 1), highTask))
		}
	}
	f.Alt = fmt.Sprintf("Heat table of %d rows and %d tasks. %s.", len(rows), len(r.tasks), strings.Join(words, "; "))
	return f, any
}

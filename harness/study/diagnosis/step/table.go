package step

import (
	"strings"

	"assay/harness/metric"
	"assay/harness/study"
	"assay/results"
)

const (
	leafWrong = "not factual "    // with the kind of steps
	leafTyped = "share of errors" // with the score of a type

	allSteps  = "all"
	critSteps = "critical"
)

// Leaves are what is added up of the scores.
func Leaves() []metric.Leaf {
	var list []metric.Leaf
	for _, n := range []string{count, wrong, critical, critWrong, unjudged} {
		list = append(list, metric.Leaf{Score: n})
	}
	share := func(name, num, den string) {
		list = append(list, metric.Leaf{Name: name, Score: num, Over: &metric.Term{Score: den}, Why: "no explanation has a usable verdict on its steps"})
	}
	share(leafWrong+allSteps, wrong, count)
	share(leafWrong+critSteps, critWrong, critical)
	for _, t := range Types() {
		share(leafTyped+typed+t, typed+t, wrong)
		share(leafTyped+critTyped+t, critTyped+t, critWrong)
	}
	return list
}

// rows are all answers and right and wrong ones (a key of cells), of all steps and
// critical ones.
func rows(of func(all metric.Group) metric.Group) func(metric.Group) []metric.Row {
	return func(all metric.Group) []metric.Row {
		var out []metric.Row
		for _, outcome := range []string{"", "right", "wrong"} {
			g := of(all).In(metric.Keys{"", "", outcome})
			for _, steps := range []string{allSteps, critSteps} {
				answers := outcome
				if outcome == "" {
					answers = "all"
				}
				out = append(out, metric.Row{Group: g, Text: []string{answers, steps}, Data: steps})
			}
		}
		return out
	}
}

// bySteps is a kind that differs for rows of all steps and of critical ones.
func bySteps(of func(steps string) metric.Kind) metric.Kind {
	return metric.Direct(func(r metric.Row) *results.Estimate { return of(r.Data.(string)).Of(r) })
}

// Table is the errors of the steps of a group's answers, whose third key says whether
// they are right.
func Table(name string, of func(all metric.Group) metric.Group) metric.Table {
	t := metric.Table{Name: name, Title: "Errors of steps", Keys: []string{"answers", "steps"}, Rows: rows(of), Columns: []metric.Metric{
		{Column: study.CountColumn("judged", "Judged", "steps with a verdict, of all judges"), Of: bySteps(func(s string) metric.Kind {
			return metric.Total(map[string]string{allSteps: count, critSteps: critical}[s])
		})},
		{Column: study.CountColumn("unjudged", "Left out", "steps that verdicts leave out, critical or not"), Of: metric.Total(unjudged)},
		{Column: study.PercentColumn("wrong", "Not factual", "steps that are not factual / steps judged"), Of: bySteps(func(s string) metric.Kind { return metric.Percent(leafWrong + s) })},
	}}
	for _, kind := range Types() {
		t.Columns = append(t.Columns, metric.Metric{Column: study.PercentColumn(kind, strings.ReplaceAll(kind, "_", " "), "steps that are not factual and carry this type / steps that are not factual; types may sum to more than 100 %"),
			Of: bySteps(func(s string) metric.Kind {
				return metric.Percent(leafTyped + map[string]string{allSteps: typed, critSteps: critTyped}[s] + kind)
			})})
	}
	return t
}

// Means are taken over groups of models, as bench.yaml names them: open and
// closed ones, medical ones, small and large ones.

package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
)

// band is a range of parameters up to most.
type band struct {
	name string
	most float64
}

// bands go upwards; a model is in the first whose end it does not pass.
func bands() []band {
	return []band{{"up to 10 billion parameters", 10e9}, {"10 to 100 billion parameters", 100e9}, {"over 100 billion parameters", 1e18}}
}

// parameters are those of a model: as bench.yaml says, else as its server does; false:
// nobody says.
func parameters(man results.Manifest, model string) (float64, bool) {
	if asked, ok := man.Asked(model); ok && asked.Parameters != nil {
		return *asked.Parameters, true
	}
	return parseSize(man.Models[model].Parameters)
}

// parseSize reads a number of parameters as servers write it: "4.3B", "751.63M".
func parseSize(s string) (float64, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	scale := 1.0
	for suffix, x := range map[string]float64{"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, scale = strings.TrimSpace(rest), x
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || v > 1e15 {
		return 0, false
	}
	return v * scale, true
}

// groups are a model's: those of bench.yaml, and the band of its parameters.
func groups(man results.Manifest, model string) []string {
	asked, _ := man.Asked(model)
	out := slices.Clone(asked.Groups)
	if n, ok := parameters(man, model); ok {
		for _, b := range bands() {
			if n <= b.most {
				return append(out, b.name)
			}
		}
	}
	return out
}

// Keep is a table's name where means over groups are taken of it; "": bench.yaml names
// neither group nor parameters of any model.
func Keep(man results.Manifest, table string) string {
	for _, asked := range man.ModelSettings {
		if len(asked.Groups) > 0 || asked.Parameters != nil {
			return table
		}
	}
	return ""
}

// Section are means over groups of models of a study's first table, whose first keys
// columns name a row, and whose replicates models kept where an interval is to be had; false:
// bench.yaml names neither group nor parameters of any model.
func Section(name string, man results.Manifest, computed []*score.Model, main results.Table, keys int) (results.Section, bool) {
	var models, all []string
	said := false
	for _, row := range main.Rows {
		model := row[0].Text
		if slices.Contains(models, model) {
			continue
		}
		models = append(models, model)
		asked, _ := man.Asked(model)
		said = said || len(asked.Groups) > 0 || asked.Parameters != nil
		for _, g := range asked.Groups {
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
		}
	}
	if !said {
		return results.Section{}, false
	}
	for _, b := range bands() {
		if slices.ContainsFunc(models, func(m string) bool { return slices.Contains(groups(man, m), b.name) }) {
			all = append(all, b.name)
		}
	}
	who := results.Table{Name: name + "-models", Title: "Models and their groups", Columns: []results.Column{TextColumn("model", "Model"), TextColumn("groups", "Groups"),
		{Name: "parameters", Title: "Parameters", Unit: "billion", Digits: 3, Significant: true, Help: "as bench.yaml says, else as the server does"}}}
	for _, m := range models {
		asked, _ := man.Asked(m)
		p := &results.Estimate{Why: "neither bench.yaml nor the server says"}
		if n, ok := parameters(man, m); ok {
			n /= 1e9
			p = &results.Estimate{Value: &n, N: 1}
		}
		list := strings.Join(asked.Groups, ", ")
		if list == "" {
			list = "none"
		}
		who.Rows = append(who.Rows, []results.Cell{Text(m), Text(list), Value(p)})
	}
	t := results.Table{Name: name + "-groups", Title: "Means over groups of models", Columns: []results.Column{TextColumn("group", "Group")}}
	t.Columns = append(t.Columns, main.Columns[1:keys]...)
	t.Columns = append(t.Columns, TextColumn("of_models", "Over models"))
	t.Columns = append(t.Columns, main.Columns[keys:]...)
	t.Notes = []string{"Every model counts the same; n is the models that have the value. A model may be in several groups. Intervals are of these models, with other items: items are drawn for all models of a group at once. None stands where models were asked about different items."}
	for _, g := range all {
		var seen [][]string
		for _, row := range main.Rows {
			var key []string
			for _, c := range row[1:keys] {
				key = append(key, c.Text)
			}
			if slices.ContainsFunc(seen, func(k []string) bool { return slices.Equal(k, key) }) {
				continue
			}
			seen = append(seen, key)
			t.Rows = append(t.Rows, cohortOver(g, key, main, computed, func(model string) bool { return slices.Contains(groups(man, model), g) })...)
		}
	}
	return results.Section{Name: t.Name, Title: "Groups of models", Tables: []results.Table{who, t}, Main: []string{t.Name},
		Intro: fmt.Sprintf("What do %s have in common?", results.Count(len(all), "group of models", "groups of models"))}, true
}

// cohortOver are a group's mean and standard deviation of each number, in the rows of a key; none
// where no model of the group has such a row.
func cohortOver(group string, key []string, main results.Table, computed []*score.Model, in func(model string) bool) [][]results.Cell {
	values, draws := make([][]float64, len(main.Columns)), make([][]drawn, len(main.Columns))
	models := 0
	for _, row := range main.Rows {
		if !in(row[0].Text) || !slices.EqualFunc(row[1:1+len(key)], key, func(c results.Cell, s string) bool { return c.Text == s }) {
			continue
		}
		models++
		for i, c := range row {
			if c.Estimate != nil && c.Estimate.Value != nil {
				values[i], draws[i] = append(values[i], *c.Estimate.Value), append(draws[i], of(computed, row[0].Text, c.Estimate))
			}
		}
	}
	if models == 0 {
		return nil
	}
	var out [][]results.Cell
	for _, x := range []struct {
		name string
		of   func([]float64) (float64, bool)
		why  string
	}{{"mean", stats.Mean, "no model of the group has it"}, {"SD", stats.SD, "fewer than two models of the group have it"}} {
		cells := []results.Cell{Text(group)}
		for _, k := range key {
			cells = append(cells, Text(k))
		}
		cells = append(cells, Text(x.name))
		for i, v := range values[1+len(key):] {
			e := &results.Estimate{N: len(v), Undefined: models - len(v), Why: x.why}
			if m, ok := x.of(v); ok {
				e.Value, e.Why = &m, ""
				switch drawn := draws[1+len(key)+i]; {
				case x.name != "mean":
				case len(drawn) == 1: // the model's own
					e.Low, e.High = drawn[0].low, drawn[0].high
				default:
					e.Low, e.High = interval(drawn)
				}
			}
			cells = append(cells, Value(e))
		}
		out = append(out, cells)
	}
	return out
}

// drawn is what a model's number is in each draw of items.
type drawn struct {
	items     uint64 // score.Model's
	values    []float64
	clusters  int
	low, high *float64
}

func of(computed []*score.Model, model string, e *results.Estimate) drawn {
	for _, m := range computed {
		if m.Name == model {
			return drawn{m.Items, m.Sample.Replicate(e), e.Clusters, e.Low, e.High}
		}
	}
	return drawn{}
}

// interval is the percentile interval of the mean of several models' numbers, draw by draw:
// of those draws where all have it. nil: not all were drawn for together, or all draws are alike.
func interval(models []drawn) (low, high *float64) {
	n, clusters := len(models[0].values), models[0].clusters
	for _, m := range models {
		clusters = min(clusters, m.clusters)
		if m.items != models[0].items {
			return nil, nil
		}
		n = min(n, len(m.values)) // the first draws of two runs are the same ones
	}
	var means []float64
	for i := range n {
		var total float64
		for _, m := range models {
			total += m.values[i]
		}
		if !math.IsNaN(total) {
			means = append(means, total/float64(len(models)))
		}
	}
	if clusters < 2 {
		return nil, nil
	}
	tail := stats.TailOf(clusters)
	a, ok := stats.Quantile(means, tail)
	b, _ := stats.Quantile(means, 1-tail)
	if !ok || stats.Same(a, b) {
		return nil, nil
	}
	return &a, &b
}

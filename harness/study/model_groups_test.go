package study

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
)

// TestSection: group means of the paper's table 1 by hand: proprietary models against open ones.
func TestSection(t *testing.T) {
	known := func(v float64) results.Cell { return results.Cell{Estimate: &results.Estimate{Value: &v, N: 100}} }
	none := results.Cell{Estimate: &results.Estimate{Why: "no answer flipped"}}
	main := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "arm"}, {Name: "ca"}, {Name: "cf", Digits: 2}}}
	seventy := 70e9
	man := results.Manifest{ModelSettings: map[string]results.ModelSetting{}, Models: map[string]backends.Identity{"MedGemma-4b-it": {Parameters: "4.3B"}}}
	for _, m := range []struct {
		name   string
		groups []string
		ca     results.Cell
		cf     float64
	}{{"Pro", []string{"closed"}, known(50.7), 40}, {"Flash", []string{"closed"}, known(23.5), 36}, {"Flash-Lite", []string{"closed"}, known(2.4), 32},
		{"MedGemma-4b-it", []string{"open", "medical"}, known(1), 30}, {"LlamaV-o1", []string{"open"}, none, 20}, {"alone", nil, known(99), 99}} {
		man.ModelSettings[m.name] = results.ModelSetting{Groups: m.groups}
		main.Rows = append(main.Rows, []results.Cell{{Text: m.name}, {Text: "structured"}, m.ca, known(m.cf)})
	}
	man.ModelSettings["LlamaV-o1"] = results.ModelSetting{Groups: []string{"open"}, Parameters: &seventy}
	s, ok := Section("faithfulness", man, nil, main, 2)
	if !ok || len(s.Tables) != 2 || s.Tables[1].Columns[4].Digits != 2 {
		t.Fatalf("%v, %+v", ok, s)
	}
	var got []string
	for _, row := range s.Tables[1].Rows {
		line := row[0].Text + "|" + row[1].Text + "|" + row[2].Text
		for _, c := range row[3:] {
			if c.Estimate.Value == nil {
				line += " -(" + c.Estimate.Why + ")"
				continue
			}
			line += " " + formatted(*c.Estimate.Value) + " of " + string(rune('0'+c.Estimate.N))
		}
		got = append(got, line)
	}
	want := []string{
		"closed|structured|mean 25.533 of 3 36 of 3", "closed|structured|SD 24.214 of 3 4 of 3",
		"open|structured|mean 1 of 1 25 of 2", "open|structured|SD -(fewer than two models of the group have it) 7.071 of 2",
		"medical|structured|mean 1 of 1 30 of 1", "medical|structured|SD -(fewer than two models of the group have it) -(fewer than two models of the group have it)",
		"up to 10 billion parameters|structured|mean 1 of 1 30 of 1", "up to 10 billion parameters|structured|SD -(fewer than two models of the group have it) -(fewer than two models of the group have it)",
		"10 to 100 billion parameters|structured|mean -(no model of the group has it) 20 of 1", "10 to 100 billion parameters|structured|SD -(fewer than two models of the group have it) -(fewer than two models of the group have it)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if row := s.Tables[0].Rows[3]; row[1].Text != "open, medical" || *row[2].Estimate.Value != 4.3 {
		t.Errorf("%v", row)
	}
	if _, ok := Section("cot", results.Manifest{Models: man.Models}, nil, main, 2); ok {
		t.Error("nobody asked for groups")
	}
}

// TestIntervalsOfGroups: items are drawn once for all models of a group. The interval of two that
// answer alike is each one's own; of two of which exactly one is right about each item there is nothing
// to vary; that of any is the interval of the items' means over models.
func TestIntervalsOfGroups(t *testing.T) {
	const seed, draws, items = 5, 500, 40
	man := results.Manifest{ModelSettings: map[string]results.ModelSetting{}}
	main := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "accuracy"}, {Name: "rare"}}}
	var models []*score.Model
	right := map[string][]float64{}
	add := func(name, groups string, n int, digest uint64, right1 func(i int) float64) {
		man.ModelSettings[name] = results.ModelSetting{Groups: strings.Fields(groups)}
		m := &score.Model{Name: name, Sample: &score.PairSample{}, Items: digest}
		f := m.Sample.Fraction()
		for i := range n {
			m.Sample.Item()
			m.Sample.Add(f.Num, i, right1(i))
			m.Sample.Add(f.Den, i, 1)
			right[name] = append(right[name], right1(i))
		}
		e := m.Sample.Sums(f.Percent)
		// What exists only where the first item is drawn.
		rare := m.Sample.Several(1, func(_ []float64, w []uint8, out []float64) {
			if out[0] = math.NaN(); w[0] > 0 {
				out[0] = 7
			}
		})[0]
		m.Sample.Keep(e)
		m.Sample.Keep(rare)
		m.Sample.Run(seed, draws)
		models = append(models, m)
		main.Rows = append(main.Rows, []results.Cell{{Text: name}, {Estimate: e}, {Estimate: rare}})
	}
	third := func(i int) float64 { return float64(i % 3 / 2) }
	add("a", "alike opposite any apart", items, 1, third)
	add("b", "alike", items, 1, third)
	add("c", "opposite any", items, 1, func(i int) float64 { return 1 - third(i) })
	add("d", "any", items, 1, func(i int) float64 { return float64(i % 7 / 3) })
	add("e", "apart", items, 2, third)
	if Keep(man, "main") != "main" || Keep(results.Manifest{ModelSettings: map[string]results.ModelSetting{"a": {}}}, "main") != "" {
		t.Error("kept is what no group asks for, or not what one does")
	}
	s, ok := Section("cot", man, models, main, 1)
	if !ok {
		t.Fatal("no section")
	}
	of := map[string]*results.Estimate{}
	for _, row := range s.Tables[1].Rows {
		of[row[0].Text+" "+row[1].Text] = row[2].Estimate
		if e := row[3].Estimate; row[1].Text == "mean" && (e.Low != nil || *e.Value != 7) {
			t.Errorf("%s, where it exists: %+v", row[0].Text, e)
		}
	}
	same := func(what string, e *results.Estimate, low, high float64) {
		t.Helper()
		if e == nil || e.Low == nil || math.Abs(*e.Low-low) > 1e-9 || math.Abs(*e.High-high) > 1e-9 {
			t.Errorf("%s: %+v, want %v to %v", what, e, low, high)
		}
	}
	own := main.Rows[0][1].Estimate
	if *own.High-*own.Low < 10 {
		t.Fatalf("%v to %v", *own.Low, *own.High)
	}
	same("alike", of["alike mean"], *own.Low, *own.High)
	if e := of["opposite mean"]; *e.Value != 50 || e.Low != nil {
		t.Errorf("opposite: %+v", e)
	}
	each := func(i int) float64 { return 100 * (right["a"][i] + right["c"][i] + right["d"][i]) / 3 }
	want := stats.Bootstrap{Seed: seed, B: draws, Alpha: 0.05}.Stat(items, func(idx []int) (float64, bool) {
		total := 0.0
		for _, i := range idx {
			total += each(i)
		}
		return total / items, true
	})
	same("any", of["any mean"], *want.Low, *want.High)
	if e := of["apart mean"]; e == nil || e.Low != nil || e.Value == nil {
		t.Errorf("models that were asked about different items: %+v", e)
	}
	if e := of["alike SD"]; e == nil || e.Low != nil {
		t.Errorf("SD: %+v", e)
	}
}

func formatted(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

func TestParse(t *testing.T) {
	for s, want := range map[string]float64{"4.3B": 4.3e9, "751.63M": 751.63e6, "7b": 7e9, "1.5 T": 1.5e12, "8030261312": 8030261312, "": 0, "B": 0, "-3B": 0, "NaN": 0, "InfB": 0, "0": 0} {
		if got, ok := parseSize(s); got != want || ok != (want != 0) {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
}

package cohort

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"assay/backends"
	"assay/results"
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
	s, ok := Section("faithfulness", man, main, 2)
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
	if _, ok := Section("cot", results.Manifest{Models: man.Models}, main, 2); ok {
		t.Error("nobody asked for groups")
	}
}

func formatted(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

func TestParse(t *testing.T) {
	for s, want := range map[string]float64{"4.3B": 4.3e9, "751.63M": 751.63e6, "7b": 7e9, "1.5 T": 1.5e12, "8030261312": 8030261312, "": 0, "B": 0, "-3B": 0, "NaN": 0, "InfB": 0, "0": 0} {
		if got, ok := Parse(s); got != want || ok != (want != 0) {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
}

package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

func bare(v float64, n int) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &v, N: n}}
}

func findingsNone(why string) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Why: why}}
}

func word(s string) results.Cell { return results.Cell{Text: s} }

// findingsFixture is two studies: x ranks by accuracy and has two arms with prices, y has shares
// that are lower the better.
func findingsFixture() []results.Section {
	percent := func(name string, better results.Better) results.Column {
		return results.Column{Name: name, Title: name, Unit: "%", Digits: 2, Better: better}
	}
	joules := results.Column{Name: "joules", Title: "Energy", Unit: "J", Digits: 4, Significant: true, Per: "answers", Better: results.Lower}
	return []results.Section{
		{Study: "x", Name: "x", Title: "Study X", Tables: []results.Table{{Name: "x-main", Columns: []results.Column{{Name: "model", Title: "Model"}, percent("accuracy", results.Higher)}, Rows: [][]results.Cell{
			{word("b"), est(50, 36, 64, 48)}, {word("a"), est(90, 80, 97, 48)}, {word("c"), est(85, 73, 94, 48)}}}},
			Headline: []results.Headline{{Table: "x-main", Column: "accuracy", Title: "Accuracy", Main: true, Drawn: true}, {Table: "x-cost", Column: "joules", Row: []string{"long"}, Price: "Accuracy"},
				{Table: "x-cost", Column: "nothing"}, {Table: "no-table", Column: "accuracy"}}},
		{Study: "x", Name: "x-cost", Title: "Cost", Tables: []results.Table{{Name: "x-cost", Columns: []results.Column{{Name: "model"}, {Name: "arm"}, joules}, Rows: [][]results.Cell{
			{word("a"), word("short"), est(1, 0.9, 1.1, 48)}, {word("a"), word("long"), est(12.3, 11.3, 13.3, 48)}, {word("b"), word("long"), est(3, 2.5, 3.5, 48)}}}}},
		{Study: "y", Name: "y", Title: "Study Y", Tables: []results.Table{{Name: "y-main", Columns: []results.Column{{Name: "model"}, {Name: "arm"}, percent("silent", results.Lower), percent("empty", "")}, Rows: [][]results.Cell{
			{word("a"), word("one"), est(60, 50, 70, 120), findingsNone("none")}, {word("a"), word("two"), bare(0, 30), findingsNone("none")}, {word("d"), word("one"), est(10, 5, 16, 120), findingsNone("none")}, {word("d"), word("two"), est(20, 10, 35, 30), findingsNone("none")}}}},
			Headline: []results.Headline{{Table: "y-main", Column: "silent", Main: true}, {Table: "y-main", Column: "empty"}}},
		{Study: "x", Name: "x-pairs", Tables: []results.Table{pairs("x", "accuracy", []results.Cell{word("b"), word("a"), word(""), est(-40, -55, -20, 48), chance(.001)},
			[]results.Cell{word("a"), word("c"), word(""), est(5, -3, 12, 48), chance(.31)})}},
		{Study: "y", Name: "y-pairs", Tables: []results.Table{pairs("y", "silent", []results.Cell{word("a"), word("d"), word("one"), est(50, 40, 60, 48), chance(.0001)})}},
		{Name: "machine", Title: "Devices"},
	}
}

func TestOf(t *testing.T) {
	a := MainResults(findingsFixture())
	var names, rows []string
	for _, c := range a.Table.Columns {
		names = append(names, c.Name+"="+c.Title)
	}
	if want := []string{"model=Model", "x_main_accuracy=x: Accuracy", "x_cost_joules_long=x: Energy", "y_main_silent_one=y: silent, one", "y_main_silent_two=y: silent, two"}; !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	for _, r := range a.Table.Rows {
		s := r[0].Text
		for _, c := range r[1:] {
			if c.Estimate.Value == nil {
				s += " -"
				if c.Estimate.Why == "" {
					t.Error("no value, and no reason")
				}
			} else {
				s += " +"
			}
		}
		rows = append(rows, s)
	}
	// The best first; who has no such value last.
	if want := []string{"a + + + +", "c + - - -", "b + + - -", "d - - + +"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	want := []string{
		"x, accuracy: a has 90 % (95 % CI 80 to 97, n = 48), the highest, but not clearly. Paired differences from the others: c +5 points (95 % CI -3 to +12, Holm p = 0.31). It takes 12.3 kJ per 1,000 answers.",
		"y, silent, one: d has 10.0 % (95 % CI 5.0 to 16.0, n = 120), clearly the lowest of 2 (paired differences, Holm p at most 0.05).",
		"y, silent, two: a has 0 % (n = 30, no interval), the lowest; no test compares it with d.",
	}
	if !slices.Equal(a.Says, want) {
		t.Errorf("says\n%s\nwant\n%s", strings.Join(a.Says, "\n"), strings.Join(want, "\n"))
	}
	if want := []headlineGroup{{"Study X", 2}, {"Study Y", 2}}; !slices.Equal(a.Groups, want) {
		t.Errorf("groups %v, want %v", a.Groups, want)
	}
	if a.Figure == nil || len(a.Figure.Series) != 1 || len(a.Figure.Series[0].Points) != 3 || a.Figure.Series[0].Points[0].Label != "a" || !strings.Contains(a.Figure.Alt, "a 90 (80 to 97), c 85") {
		t.Errorf("figure %+v", a.Figure)
	}
	if MainResults([]results.Section{{Name: "machine"}}) != nil {
		t.Error("an answer of nothing")
	}
}

var findingsSays = regexp.MustCompile(`^x, accuracy: (\w+) has (\S+) % \((?:95 % CI (\S+) to (\S+), )?n = (\d+)(, no interval)?\)(?:, (clearly )?the (highest|lowest)(?: together with ((?:[a-e](?:, | and )?)+))?(?: of \d+)?)?(?:[.,;] ?.*)?$`)

// TestHeadlineFollowsItsCells: the sentence on a column has its best value, with the interval
// and n of that cell, and names the models that have the same.
func TestHeadlineFollowsItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		better := rapid.SampledFrom([]results.Better{results.Higher, results.Lower}).Draw(t, "better")
		table := results.Table{Name: "x-main", Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "accuracy", Title: "accuracy", Unit: "%", Digits: 2, Better: better}}}
		for i := range rapid.IntRange(1, 5).Draw(t, "models") {
			v := float64(rapid.IntRange(0, 4).Draw(t, "value")) * 25
			e := &results.Estimate{Value: &v, N: rapid.IntRange(1, 99).Draw(t, "n")}
			if rapid.IntRange(0, 3).Draw(t, "interval") > 0 {
				e.Low, e.High = new(max(0, v-float64(rapid.IntRange(0, 20).Draw(t, "down")))), new(min(100, v+float64(rapid.IntRange(0, 20).Draw(t, "up"))))
			}
			table.Rows = append(table.Rows, []results.Cell{word(string(rune('a' + i))), {Estimate: e}})
		}
		a := MainResults([]results.Section{{Study: "x", Name: "x", Title: "X", Tables: []results.Table{table}, Headline: []results.Headline{{Table: "x-main", Column: "accuracy", Main: true}}}})
		if len(a.Says) != 1 {
			t.Fatalf("%q", a.Says)
		}
		said := a.Says[0]
		m := findingsSays.FindStringSubmatch(said)
		if m == nil {
			t.Fatalf("no sentence of a best model: %s", said)
		}
		at := slices.IndexFunc(table.Rows, func(row []results.Cell) bool { return row[0].Text == m[1] })
		e := table.Rows[at][1].Estimate
		v, low, high := results.EstimateWords("%", *e, false)
		if m[2] != v || m[3] != low || m[4] != high || m[5] != fmt.Sprint(e.N) || (m[6] != "") != (e.Low == nil) {
			t.Fatalf("%s\nits cell has %s, %s to %s, n = %d", said, v, low, high, e.N)
		}
		var tied []string
		for i, row := range table.Rows {
			switch o := *row[1].Estimate.Value; {
			case i == at:
			case o == *e.Value:
				tied = append(tied, row[0].Text)
			case (o > *e.Value) == (better == results.Higher):
				t.Fatalf("%s\n%s has %v", said, row[0].Text, o)
			}
		}
		word := map[results.Better]string{results.Higher: "highest", results.Lower: "lowest"}[better]
		if m[8] != word && len(table.Rows) > 1 || strings.NewReplacer(" and ", "", ", ", "").Replace(m[9]) != strings.Join(tied, "") || m[7] != "" && len(tied) > 0 {
			t.Fatalf("%s\nwant the %s, with %q", said, word, tied)
		}
	})
}

// TestPooledMachinesAreSaid: a report begins with no energy of several machines as if it were
// of one. Shares depend on no machine.
func TestPooledMachinesAreSaid(t *testing.T) {
	secs := findingsFixture()
	for _, table := range []*results.Table{&secs[0].Tables[0], &secs[1].Tables[0]} {
		table.Columns = append(table.Columns, results.Column{Name: results.PooledOver})
		for i, row := range table.Rows {
			over := ""
			if row[0].Text == "a" {
				over = "2 hosts"
			}
			table.Rows[i] = append(slices.Clone(row), word(over))
		}
	}
	if n := MainResults(secs).Table.Notes; !slices.Equal(n, []string{"a, of 2 hosts together: Energy. The tables of hosts have each apart."}) {
		t.Errorf("%q", n)
	}
	if n := MainResults(findingsFixture()).Table.Notes; n != nil {
		t.Errorf("nothing is pooled: %q", n)
	}
}

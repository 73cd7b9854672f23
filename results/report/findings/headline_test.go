package findings

import (
	"slices"
	"strings"
	"testing"

	"assay/results"
)

func est(v, low, high float64, n int) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &v, Low: &low, High: &high, N: n}}
}

func none(why string) results.Cell { return results.Cell{Estimate: &results.Estimate{Why: why}} }

func word(s string) results.Cell { return results.Cell{Text: s} }

// fixture is two studies: x ranks by accuracy and has two arms with prices, y has shares
// that are lower the better.
func fixture() []results.Section {
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
			{word("a"), word("one"), est(60, 50, 70, 120), none("none")}, {word("a"), word("two"), est(0, 0, 0, 30), none("none")}, {word("d"), word("one"), est(10, 5, 16, 120), none("none")}, {word("d"), word("two"), est(20, 10, 35, 30), none("none")}}}},
			Headline: []results.Headline{{Table: "y-main", Column: "silent", Main: true}, {Table: "y-main", Column: "empty"}}},
		{Name: "machine", Title: "Devices"},
	}
}

func TestOf(t *testing.T) {
	a := Main(fixture())
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
		"x, accuracy: a has 90 % (95 % interval 80 to 97, n = 48), the highest, but not clearly: its interval overlaps that of c (85 %). It takes 12.3 kJ per 1,000 answers.",
		"y, silent, one: d has 10.0 % (95 % interval 5.0 to 16.0, n = 120), clearly the lowest of 2.",
		"y, silent, two: a has 0 % (all 30 alike, so there is no interval), the lowest; beside it d (20 %), and no intervals that could tell them apart.",
	}
	if !slices.Equal(a.Says, want) {
		t.Errorf("says\n%s\nwant\n%s", strings.Join(a.Says, "\n"), strings.Join(want, "\n"))
	}
	if want := []HeadlineGroup{{"Study X", 2}, {"Study Y", 2}}; !slices.Equal(a.Groups, want) {
		t.Errorf("groups %v, want %v", a.Groups, want)
	}
	if a.Figure == nil || len(a.Figure.Series) != 1 || len(a.Figure.Series[0].Points) != 3 || a.Figure.Series[0].Points[0].Label != "a" || !strings.Contains(a.Figure.Alt, "a 90 (80 to 97), c 85") {
		t.Errorf("figure %+v", a.Figure)
	}
	if Main([]results.Section{{Name: "machine"}}) != nil {
		t.Error("an answer of nothing")
	}
}

// TestPooledMachinesAreSaid: a report begins with no energy of several machines as if it were
// of one. Shares depend on no machine.
func TestPooledMachinesAreSaid(t *testing.T) {
	secs := fixture()
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
	if n := Main(secs).Table.Notes; !slices.Equal(n, []string{"a, of 2 hosts together: Energy. The tables of hosts have each apart."}) {
		t.Errorf("%q", n)
	}
	if n := Main(fixture()).Table.Notes; n != nil {
		t.Errorf("nothing is pooled: %q", n)
	}
}

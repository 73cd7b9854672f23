package findings

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

func estimate(v, low, high float64) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &v, Low: &low, High: &high, N: 10}}
}

func table(better results.Better, names []string, cells ...results.Cell) results.Table {
	t := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "arm"}, {Name: "x", Better: better}}}
	for i, c := range cells {
		t.Rows = append(t.Rows, []results.Cell{{Text: names[i][:1]}, {Text: names[i][1:]}, c})
	}
	return t
}

func TestClear(t *testing.T) {
	one := 95.
	none := results.Cell{Estimate: &results.Estimate{Why: "none"}}
	bare := results.Cell{Estimate: &results.Estimate{Value: &one, N: 1}}
	names := []string{"a", "b", "c"}
	for _, c := range []struct {
		name  string
		table results.Table
		lead  int
		clear []int
	}{
		{"apart", table(results.Higher, names, estimate(50, 40, 60), estimate(80, 70, 90), estimate(30, 20, 40)), 1, []int{1}},
		{"lower", table(results.Lower, names, estimate(50, 41, 60), estimate(80, 70, 90), estimate(30, 20, 40)), 2, []int{2}},
		{"touching is overlapping", table(results.Higher, names, estimate(50, 40, 70), estimate(80, 70, 90), estimate(30, 20, 40)), 1, nil},
		{"overlap with one", table(results.Higher, names, estimate(50, 40, 60), estimate(80, 70, 90), estimate(75, 65, 85)), 1, nil},
		{"a tie", table(results.Higher, names, estimate(80, 70, 90), estimate(80, 70, 90), estimate(30, 20, 40)), 0, nil},
		{"a column that does not rank", table("", names, estimate(50, 40, 60), estimate(80, 70, 90), estimate(30, 20, 40)), -1, nil},
		{"without an interval", table(results.Higher, names, bare, estimate(60, 50, 70), none), 0, nil},
		{"without width", table(results.Lower, names, estimate(0, 0, 0), estimate(80, 70, 90), none), 0, nil},
		{"alone", table(results.Higher, names, estimate(50, 40, 60), none, none), 0, nil},
		{"one without a value", table(results.Higher, names, estimate(50, 40, 60), estimate(80, 70, 90), none), 1, []int{1}},
		{"arms apart", table(results.Higher, []string{"ax", "bx", "ay", "by"}, estimate(50, 40, 60), estimate(80, 70, 90), estimate(95, 92, 99), estimate(85, 80, 91)), 2, []int{1, 2}},
	} {
		if lead, clear := leading(c.table, 2, rowsOf(c.table)), Clear(c.table, 2); lead != c.lead || !slices.Equal(clear, c.clear) {
			t.Errorf("%s: leading %d, clear %v; want %d, %v", c.name, lead, clear, c.lead, c.clear)
		}
	}
}

// A row is clearly the best where nobody's interval reaches its own, and nowhere else.
func TestClearIsBeyondTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cells []results.Cell
		var names []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			v := rapid.Float64Range(0, 100).Draw(t, "v")
			cells = append(cells, estimate(v, v-rapid.Float64Range(0, 30).Draw(t, "below"), v+rapid.Float64Range(0, 30).Draw(t, "above")))
			names = append(names, string(rune('a'+len(names))))
		}
		tab := table(results.Higher, names, cells...)
		clear := Clear(tab, 2)
		for i, a := range cells {
			beyond := len(cells) > 1
			for k, b := range cells {
				beyond = beyond && (k == i || *a.Estimate.Low > *b.Estimate.High && wide(*a.Estimate) && wide(*b.Estimate))
			}
			if slices.Contains(clear, i) != beyond {
				t.Fatalf("row %d: clear %v, beyond the others %v", i, clear, beyond)
			}
		}
	})
}

// BenchmarkClear is a table with a row for each of 10,000 items and 20 models.
func BenchmarkClear(b *testing.B) {
	t := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "item"}, {Name: "x", Better: results.Higher}}}
	for i := range 10_000 {
		for m := range 20 {
			v := float64(m)
			low, high := v-.1, v+.1
			t.Rows = append(t.Rows, []results.Cell{{Text: strconv.Itoa(m)}, {Text: strconv.Itoa(i)}, {Estimate: &results.Estimate{Value: &v, Low: &low, High: &high, N: 1}}})
		}
	}
	for b.Loop() {
		if got := Clear(t, 2); len(got) != 10_000 {
			b.Fatalf("%d clear rows", len(got))
		}
	}
	b.ReportMetric(float64(len(t.Rows)), "rows")
}

package report

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

func findingsTable(better results.Better, names []string, cells ...results.Cell) results.Table {
	t := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "arm"}, {Name: "x", Better: better}}}
	for i, c := range cells {
		t.Rows = append(t.Rows, []results.Cell{{Text: names[i][:1]}, {Text: names[i][1:]}, c})
	}
	return t
}

// pairs is a study's table of pairs of a measure, without rows of several models.
func pairs(study, measure string, rows ...[]results.Cell) results.Table {
	t := results.Table{Name: results.PairsOf(study), Columns: []results.Column{{Name: "model"}, {Name: results.PairOther}, {Name: results.PairMeasure}, {Name: results.PairRow},
		{Name: results.PairOtherRow}, {Name: results.PairDifference, Unit: "points"}, {Name: results.PairHolm}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, append([]results.Cell{r[0], r[1], {Text: measure}, r[2], r[2]}, r[3:]...))
	}
	return t
}

func chance(p float64) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &p, N: 48}}
}

// TestBestSentenceFollowsPairs: of generated models and differences, the sentence calls one
// clearly the best exactly where every paired test says so, whatever the intervals do, and names
// with their difference those it does not lead.
func TestBestSentenceFollowsPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		better := rapid.SampledFrom([]results.Better{results.Higher, results.Lower}).Draw(t, "better")
		n := rapid.IntRange(1, 4).Draw(t, "models")
		var names []string
		var cells, values = []results.Cell{}, []float64{}
		for i := range n {
			v := float64(rapid.IntRange(0, 6).Draw(t, "v"))
			names = append(names, string(rune('a'+i)))
			values = append(values, v)
			cells = append(cells, est(10*v, max(0, 10*v-rapid.Float64Range(1, 40).Draw(t, "below")), 10*v+rapid.Float64Range(1, 40).Draw(t, "above"), 48))
		}
		best := 0
		for i, v := range values {
			if better == results.Higher && v > values[best] || better == results.Lower && v < values[best] {
				best = i
			}
		}
		var rows [][]results.Cell
		clear, level := true, false
		var near []string
		for i := range n {
			for k := range i {
				p := rapid.SampledFrom([]float64{.001, .05, .0501, .7}).Draw(t, "p")
				d := 10 * (values[k] - values[i])
				rows = append(rows, []results.Cell{word(names[k]), word(names[i]), word(""), est(d, d-5, d+5, 48), chance(p)})
				if i != best && k != best {
					continue
				}
				other := i + k - best
				switch {
				case values[i] == values[k]:
					clear, level = false, true
				case p > .05:
					clear, near = false, append(near, names[other])
				}
			}
		}
		secs := []results.Section{{Name: "s", Tables: []results.Table{pairs("s", "x", rows...)}}}
		c := column{Headline: results.Headline{Column: "x"}, Column: results.Column{Name: "x", Title: "X", Unit: "%"}, study: "s", pairs: pairsOf(secs, "s", "x", "")}
		c.Better = better
		tab := findingsTable(better, names, cells...)
		tab.Columns[2].Unit = "%"
		found, _ := bestOf(tab, 2, c, nil)
		got := said("best", found)
		for _, s := range []string{got, said("short", found)} {
			if is := strings.Contains(s, " clearly the "); is != (clear && n > 1) {
				t.Fatalf("%s\nclear %v, %v", s, clear, values)
			}
			if level != strings.Contains(s, " together with ") {
				t.Fatalf("%s\nshared %v", s, level)
			}
			for _, other := range near {
				if !level && !strings.Contains(s, other) {
					t.Fatalf("%s\ndoes not name %s", s, other)
				}
			}
		}
		for _, other := range near {
			if !level && !strings.Contains(got, fmt.Sprintf("%s %s", other, findingsGap(c.pairs[[2]string{names[best], other}]))) {
				t.Fatalf("%s\ndoes not name %s with its difference", got, other)
			}
		}
	})
}

// TestRoundingRanksNobody: models whose values differ by what rounding leaves share the best one, in the order of
// their names, and none leads by a difference of rounding.
func TestRoundingRanksNobody(t *testing.T) {
	for n := 1; n <= 48; n++ {
		sum := 0.
		for range n {
			sum += 63.6
		}
		a, b := 63.6, sum/float64(n)
		s := []results.Section{{Study: "x", Name: "x", Title: "X", Tables: []results.Table{{Name: "x-main", Columns: []results.Column{{Name: "model"}, {Name: "accuracy", Title: "Accuracy", Unit: "%", Digits: 2, Better: results.Higher}},
			Rows: [][]results.Cell{{word("b"), bare(max(a, b), n)}, {word("a"), bare(min(a, b), n)}}}},
			Headline: []results.Headline{{Table: "x-main", Column: "accuracy", Title: "Accuracy", Main: true}}},
			{Study: "x", Name: "x-pairs", Tables: []results.Table{pairs("x", "accuracy", []results.Cell{word("b"), word("a"), word(""), bare(max(a, b)-min(a, b), n), chance(.001)})}}}
		found := MainResults(s)
		if first := found.Table.Rows[0][0].Text; first != "a" || !strings.Contains(found.Says[0], "the highest together with") {
			t.Errorf("%d times 63.6: %s first; %s", n, first, found.Says[0])
		}
		if leads(results.Higher, pair{results.Estimate{Value: new(max(a, b) - min(a, b) + 1e-15)}, .001}) {
			t.Errorf("%d: a difference of rounding leads", n)
		}
	}
}

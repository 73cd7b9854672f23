package score

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"assay/results"
)

// TestPairsByHand: three models on twelve items, of which one misses two. Every number of the
// table of pairs is worked out by hand, and the model that leads is the best by either order.
func TestPairsByHand(t *testing.T) {
	scores := map[string]string{ // 1: right, -: not answered
		"a": "111111111111",
		"b": "--0000000000",
		"c": "111100000011",
	}
	for _, better := range []results.Better{results.Higher, results.Lower} {
		r := &Run{Design: Design{Rules: Rules{Study: "toy"}, Pairs: []Compared{{Column: "x", Leaf: "x"}},
			Tables: []Table{{Columns: []Metric{{Column: results.Column{Name: "x", Better: better}}}}}}, items: map[string]known{}}
		cells := map[string]*results.Estimate{}
		for _, name := range []string{"a", "b", "c"} {
			one, right := answered{"x", name, "", map[string]float64{}}, 0.
			for i, s := range scores[name] {
				id := fmt.Sprintf("item%02d", i)
				r.items[id] = known{}
				if s != '-' {
					one.items[id] = float64(s - '0')
					right += one.items[id]
				}
			}
			value := 100 * right / float64(len(one.items))
			cells[name] = &results.Estimate{Value: &value}
			r.Models = append(r.Models, &Model{Name: name, answers: []answered{one}, rows: [][][]results.Cell{{{{Text: name}, {Estimate: cells[name]}}}}})
		}
		// The value of each on the items of both, their difference, the chance that all that differ
		// do so to one side, or to the other, counted half (2^-10; 2^-6; of 4 to 0, 2^-4), and Holm's.
		want := [][]float64{
			{100, 0, 100, 1. / 1024, 3. / 1024},
			{100, 50, 50, 1. / 64, 2. / 64},
			{0, 40, -40, 1. / 16, 1. / 16},
		}
		got := r.Pairs()
		for i, names := range []string{"ab", "ac", "bc"} {
			row := got.Rows[i]
			if row[0].Text+row[1].Text != names {
				t.Fatalf("row %d is %s and %s, want %s", i, row[0].Text, row[1].Text, names)
			}
			var of []float64
			for _, c := range row[5:] {
				of = append(of, *c.Estimate.Value)
			}
			if !slices.EqualFunc(of, want[i], func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }) {
				t.Errorf("%s: %v, want %v", names, of, want[i])
			}
		}
		best := map[results.Better]string{results.Higher: "a"}[better]
		for name, e := range cells {
			if e.Best != (name == best) {
				t.Errorf("%s is better: best is %v of %s", better, e.Best, name)
			}
		}
	}
}

// TestBestNeedsHolm: of models that lead by 5 items to 0 one alone is clearly better (p = 1/32);
// of three such pairs none is (3/32).
func TestBestNeedsHolm(t *testing.T) {
	for _, others := range []int{1, 2} {
		for _, better := range []results.Better{results.Higher, results.Lower} {
			r := &Run{Design: Design{Rules: Rules{Study: "toy"}, Pairs: []Compared{{Column: "x", Leaf: "x"}},
				Tables: []Table{{Columns: []Metric{{Column: results.Column{Name: "x", Better: better}}}}}}, items: map[string]known{}}
			var cells []*results.Estimate
			for m := range 1 + others {
				one := answered{"x", fmt.Sprint(m), "", map[string]float64{}}
				leads := (m == 0) == (better == results.Higher)
				for i := range 10 {
					id := fmt.Sprint(i)
					r.items[id] = known{}
					if one.items[id] = 1; i < 5 && !leads {
						one.items[id] = 0
					}
				}
				value := 50.
				if leads {
					value = 100
				}
				cells = append(cells, &results.Estimate{Value: &value})
				r.Models = append(r.Models, &Model{Name: one.model, answers: []answered{one}, rows: [][][]results.Cell{{{{Text: one.model}, {Estimate: cells[m]}}}}})
			}
			r.Pairs()
			for m, e := range cells {
				if e.Best != (m == 0 && others == 1) {
					t.Errorf("%s is better, %d others: best is %v of model %d", better, others, e.Best, m)
				}
			}
		}
	}
}

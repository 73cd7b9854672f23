package study

import (
	"assay/harness/score"
	"assay/perturb"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
)

// The published sweeps fit delta = slope times the doublings.
func TestDoublings(t *testing.T) {
	b, err := os.ReadFile("faithfulness/testdata/tables_faithfulness.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Cases []struct {
			ID    string
			Value json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	sweeps := 0
	for _, c := range f.Cases {
		if c.ID != "FA_SWEEP_T" {
			continue
		}
		sweeps++
		type fit struct{ Slope, Delta float64 }
		var v struct {
			Levels []float64
			Flip   fit
			CFnf   fit `json:"CF_nf"`
			CAnf   fit `json:"CA_nf"`
		}
		if err := json.Unmarshal(c.Value, &v); err != nil {
			t.Fatal(err)
		}
		for _, e := range []fit{v.Flip, v.CFnf, v.CAnf} {
			if got := e.Slope * doublings(v.Levels); math.Abs(got-e.Delta) > 1e-12 || e.Slope == 0 {
				t.Errorf("slope %v: delta %v, published %v", e.Slope, got, e.Delta)
			}
		}
	}
	if sweeps != 1 {
		t.Errorf("%d published sweeps", sweeps)
	}
}

func TestCourse(t *testing.T) {
	for want, v := range map[string][]float64{"rising": {1, math.NaN(), 1, 2}, "falling": {3, 2}, "flat": {63.6, 63.6 - 1e-14, 63.6}, "not monotone": {1, 2, 1}, "": {math.NaN(), 1}} {
		if got := course(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// The unswept condition is a level where the sweep has its default; levels go upwards, and
// cells of other arms and conditions without a parameter are of no sweep.
func TestSweepsOf(t *testing.T) {
	four := 4.
	known := map[string]perturb.Condition{
		"X-":            {Name: "X-", Family: "X", Sign: -1},
		"X-@px=16":      {Name: "X-@px=16", Family: "X", Sign: -1, Param: "px", Level: 16, Usual: &four},
		"X-@px=1":       {Name: "X-@px=1", Family: "X", Sign: -1, Param: "px", Level: 1, Usual: &four},
		"X-@opacity=.5": {Name: "X-@opacity=.5", Family: "X", Sign: -1, Param: "opacity", Level: .5},
		"X+":            {Name: "X+", Family: "X", Sign: +1},
		"Y":             {Name: "Y", Family: "Y"},
	}
	var all score.Group
	for _, arm := range []string{"a", "b"} {
		for _, name := range []string{"baseline", "X+", "X-", "X-@px=16", "X-@px=1", "X-@opacity=.5", "Y"} {
			if arm == "b" && name == "X-" {
				continue
			}
			all.Cells = append(all.Cells, &score.Cell{Keys: score.Keys{arm, name}})
		}
	}
	var got []string
	for _, w := range SweepsOf(all, func(k score.Keys) (perturb.Condition, bool) {
		c, ok := known[k[1]]
		return c, ok
	}) {
		var cells []string
		for _, c := range w.Cells {
			cells = append(cells, c.Keys[1])
		}
		got = append(got, fmt.Sprint(w.text(), w.levels, cells))
	}
	want := []string{
		"[a X- opacity] [0.5] [X-@opacity=.5]", "[a X- px] [1 4 16] [X-@px=1 X- X-@px=16]",
		"[b X- opacity] [0.5] [X-@opacity=.5]", "[b X- px] [1 16] [X-@px=1 X-@px=16]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
)

// TestPairsAreThoseOfTheKeys: joining two tables in Key order gives each trial that both
// have once, in its cell and under its item, whatever one of them lacks, and whatever the
// model is called in B.
func TestPairsAreThoseOfTheKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b"})
		key := rapid.Custom(func(t *rapid.T) results.Key {
			return results.Key{Study: "s", Model: rapid.SampledFrom([]string{"l", "m", "n"}).Draw(t, "model"), Item: rapid.SampledFrom([]string{"1", "10", "2"}).Draw(t, "item"), Arm: name.Draw(t, "arm"), Condition: name.Draw(t, "condition"), Repeat: rapid.IntRange(0, 2).Draw(t, "repeat")}
		})
		table := func(label string) (Table, map[results.Key]int) {
			keys := rapid.SliceOfNDistinct(key, 0, 30, func(k results.Key) results.Key { return k }).Draw(t, label)
			slices.SortFunc(keys, results.Key.Compare)
			var kept memory
			at := map[results.Key]int{}
			for i, k := range keys {
				kept, at[k] = append(kept, trial{key: k}), i
			}
			return Table{N: len(kept), Trials: kept}, at
		}
		a, _ := table("a")
		b, at := table("b")
		other := rapid.SampledFrom([]string{"l", "m", "n", "o"}).Draw(t, "other")
		want := map[string]bool{}
		for i := range a.N {
			k := a.Trials.Key(i)
			if k.Model != "m" {
				continue
			}
			of := k
			of.Model = other
			if j, ok := at[of]; ok {
				want[fmt.Sprint(k.Arm, k.Condition, k.Item, i, j)] = true
			}
		}
		cells, n := paired(a, b, "m", other)
		got := 0
		for _, c := range cells {
			for i, it := range c.items {
				if i > 0 && c.items[i-1].id >= it.id {
					t.Fatalf("items are not in order: %+v", c)
				}
				for _, p := range it.pairs {
					if got++; !want[fmt.Sprint(c.arm, c.condition, it.id, p[0], p[1])] {
						t.Fatalf("%+v is no pair", p)
					}
				}
			}
		}
		if got != len(want) || n != got {
			t.Fatalf("%d pairs, said to be %d, want %d", got, n, len(want))
		}
		if m := a.models(); !slices.IsSorted(m) || len(slices.Compact(slices.Clone(m))) != len(m) {
			t.Fatalf("models %v", m)
		}
	})
}

// TestRowsOfSeveralModels: rows come by study, model, arm and condition; repeats are
// averaged first; a trial without a number is left out of that score alone; what only one
// run has is counted. Intervals are those of resampled items.
func TestRowsOfSeveralModels(t *testing.T) {
	cols := []score.Column{{Name: score.Name{Name: "accuracy", Unit: "1", Better: score.Higher}}, {Name: score.Name{Name: "tokens", Unit: "tokens", Better: score.Lower}}}
	table := func(shift float64, skip string) Table {
		var kept memory
		for _, m := range []string{"m", "n"} {
			for i := range 9 {
				for r := range 2 {
					if m+fmt.Sprint(i) == skip {
						continue
					}
					v := []float64{float64((i + r) % 2), 10 + shift*float64(i*i%7)}
					if shift == 0 && i == 4 && r == 1 || shift != 0 && i == 5 && r == 0 {
						v[1] = math.NaN()
					}
					kept = append(kept, trial{results.Key{Study: "s", Model: m, Item: fmt.Sprint("i", i), Arm: "a", Condition: "c", Repeat: r}, v})
				}
			}
		}
		return Table{Columns: cols, N: len(kept), Trials: kept}
	}
	a := &Run{Path: "a", Studies: map[string]Table{"s": table(0, "")}, Caches: map[string][]string{}}
	b := &Run{Path: "b", Studies: map[string]Table{"s": table(1.3, "n0"), "t": {N: 1, Trials: memory{{key: results.Key{Study: "t"}}}}}, Caches: map[string][]string{}}
	told := 0
	c, err := Runs(t.Context(), a, b, Choice{Moved: 2, Tell: func(done, of int) {
		if told++; of != 2 || done != told-1 {
			t.Errorf("%d of %d", done, of)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Pairs != 34 || c.OnlyA != 2 || c.OnlyB != 1 || len(c.Rows) != 4 || told != 2 {
		t.Fatalf("%+v", c)
	}
	for i, r := range c.Rows {
		items := 9 - i/2 // n has one less
		if r.Model != []string{"m", "m", "n", "n"}[i] || r.Score != []string{"accuracy", "tokens"}[i%2] || r.Items != items {
			t.Errorf("row %d: %+v", i, r)
		}
		var d []float64
		for k := 9 - items; k < 9; k++ {
			d = append(d, float64(i%2)*1.3*float64(k*k%7))
		}
		want := stats.Bootstrap{Seed: 1, B: 2000, Alpha: 0.05}.Ratio(d, slices.Repeat([]float64{1}, len(d)))
		pairs := [][2]*float64{{want.Value, r.Diff.Value}, {want.Low, r.Diff.Low}, {want.High, r.Diff.High}}
		if i%2 == 0 { // accuracies that are alike in both: a difference of 0 has a width, too
			pairs = pairs[:1]
			if !(*r.Diff.Low < 0 && *r.Diff.High == -*r.Diff.Low) {
				t.Errorf("row %d: %v [%v, %v]", i, *r.Diff.Value, *r.Diff.Low, *r.Diff.High)
			}
		}
		for _, pair := range pairs {
			if math.Abs(*pair[0]-*pair[1]) > 1e-12 {
				t.Errorf("row %d: %v, want %v", i, *pair[1], *pair[0])
			}
		}
		up := 0
		for _, v := range d {
			if v > 0 {
				up++
			}
		}
		if r.Up != up || r.Down != 0 || i%2 == 0 && r.A != r.B || r.Changed && len(r.Moved) != 2 {
			t.Errorf("row %d: %d up, %d down, %v, %v, %+v", i, r.Up, r.Down, r.A, r.B, r.Moved)
		}
		moved, other := Items(a, b, r)
		if len(moved) != up || other != r.Model || up > 0 && (r.Changed && moved[0] != r.Moved[0] || math.Abs(moved[0].B-moved[0].A-1.3*4) > 1e-12) {
			t.Errorf("row %d: items %+v of %s", i, moved, other)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Runs(stopped, a, b, Choice{}); !errors.Is(err, context.Canceled) {
		t.Errorf("one that is stopped ends with %v", err)
	}
	if c.Rows[1].Changed != true {
		t.Errorf("%+v", c.Rows[1])
	}
}

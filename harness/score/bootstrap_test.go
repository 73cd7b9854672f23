package score

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/results/stats"
)

// TestDrawsByHand: replicates follow each other as draws of single items do, and every
// column's sum is that of its items one by one in order, to the bit.
func TestDrawsByHand(t *testing.T) {
	kinds := []*rapid.Generator[float64]{
		rapid.SampledFrom([]float64{0, 1}),
		rapid.Map(rapid.IntRange(-9, 20), func(v int) float64 { return float64(v) / 8 }),
		rapid.SampledFrom([]float64{-1 << 52, 1 << 52}),
		rapid.Float64Range(-1e6, 1e6),
		rapid.Just(0.1),
	}
	rapid.Check(t, func(t *rapid.T) {
		n, seed := rapid.IntRange(1, 300).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		var columns [][]float64
		for range rapid.IntRange(1, 12).Draw(t, "columns") {
			columns = append(columns, rapid.SliceOfN(rapid.SampledFrom(kinds).Draw(t, "kind"), n, n).Draw(t, "column"))
		}
		columns = append(columns, columns[0]) // one that is there twice
		d, rng := newDraws(columns, n, seed), stats.SplitMix64(seed)
		for range 130 { // more than two blocks
			d.Next()
			times := make([]uint8, n)
			for range times {
				times[rng.Index(n)]++
			}
			if !slices.Equal(d.Counts(), times) {
				t.Fatalf("drawn %v, want %v", d.Counts(), times)
			}
			sums := make([]float64, len(columns))
			d.Sum(sums)
			for c, column := range columns {
				var want float64
				for i, v := range column {
					want += float64(times[i]) * v
				}
				if sums[c] != want {
					t.Fatalf("column %d %v drawn %v: %v, want %v", c, column, times, sums[c], want)
				}
			}
		}
	})
}

// TestTails: the ends of intervals, of many scores at once, are those of their replicates in order.
func TestTails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.IntRange(1, 400).Draw(t, "replicates")
		rng := stats.SplitMix64(rapid.Uint64().Draw(t, "seed"))
		// As any numbers, few different ones, all the same, and rarely there.
		of := []func() float64{
			func() float64 { return float64(rng.Index(1e9))/1e9 - 0.5 },
			func() float64 { return []float64{-1, 0, 0.5, 1}[rng.Index(4)] },
			func() float64 { return 1. / 3 },
			func() float64 { return []float64{math.NaN(), math.NaN(), float64(rng.Index(7))}[rng.Index(3)] },
			func() float64 { return math.NaN() },
		}
		tails := tailsOf(len(of), rapid.IntRange(b, 500).Draw(t, "at most"))
		all, values := make([][]float64, len(of)), make([]float64, len(of))
		for range b {
			for i := range of {
				if values[i] = of[i](); !math.IsNaN(values[i]) {
					all[i] = append(all[i], values[i])
				}
			}
			tails.Add(values)
		}
		for i, v := range all {
			low, _ := stats.Quantile(v, 0.025)
			high, _ := stats.Quantile(v, 0.975)
			if a, b, ok := tails.Ends(i, .025); a != low || b != high || ok != (len(v) > 0) {
				t.Fatalf("score %d: %v, %v, %v; want %v, %v of %d", i, a, b, ok, low, high, len(v))
			}
		}
	})
}

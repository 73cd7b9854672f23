package metric

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/results/stats"
)

// TestSumsOfADraw: every column's sum is that of its items one by one in order, to the
// bit, however often one is drawn.
func TestSumsOfADraw(t *testing.T) {
	kinds := []*rapid.Generator[float64]{
		rapid.SampledFrom([]float64{0, 1}),
		rapid.Map(rapid.IntRange(-3, 12), func(v int) float64 { return float64(v) }),
		rapid.Map(rapid.IntRange(-1<<20, 1<<20), func(v int) float64 { return float64(v) }),
		rapid.Float64Range(-1e6, 1e6),
		rapid.Just(2.0),
		rapid.Just(0.1),
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		s := &Sample{}
		for range n {
			s.Item()
		}
		for c := range rapid.IntRange(1, 12).Draw(t, "columns") {
			s.Column()
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			for i := range n {
				s.Add(c, i, kind.Draw(t, "v"))
			}
		}
		for range width + 1 { // more than are added up together
			c := s.Column()
			for i := range n {
				s.Add(c, i, math.Sin(float64(i+c)))
			}
		}
		d := s.draws(rapid.Uint64().Draw(t, "seed"))
		for left := n; left > 0; { // items are drawn n times in all
			times := rapid.IntRange(1, left).Draw(t, "times")
			d.drawn[rapid.IntRange(0, n-1).Draw(t, "item")] += uint8(times)
			left -= times
		}
		d.spread()
		sums := make([]float64, len(s.columns))
		d.sum(sums)
		for c, column := range s.columns {
			var want float64
			for i, v := range column {
				want += float64(d.drawn[i]) * v
			}
			if sums[c] != want {
				t.Fatalf("column %d %v drawn %v: %v, want %v", c, column, d.drawn[:n], sums[c], want)
			}
		}
	})
}

// TestDrawsAreThoseOfIndex: replicates follow each other as draws of single items do.
func TestDrawsAreThoseOfIndex(t *testing.T) {
	s := &Sample{}
	const n = 333
	for range n {
		s.Item()
	}
	s.Weights(1, func([]int32, []float64) {})
	d, rng := s.draws(7), stats.SplitMix64(7)
	for range 5 {
		d.next()
		want := make([]int32, n)
		for range n {
			want[rng.Index(n)]++
		}
		if !slices.Equal(d.counts, want) {
			t.Fatalf("%v, want %v", d.counts, want)
		}
	}
}

// TestEnds: the ends of an interval are those of sorted replicates.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 0.5, 1})), 1, 300).Draw(t, "replicates")
		low, _ := stats.Quantile(v, 0.025)
		high, _ := stats.Quantile(v, 0.975)
		if a, b := ends(v); a != low || b != high {
			t.Fatalf("%v, %v; want %v, %v", a, b, low, high)
		}
	})
}

// BenchmarkReplicate is one draw of a model's scores in a store of a million trials:
// 6,666 items with counts, times and energies, and quantiles of 36,000 answers.
//
//	go test -run '^$' -bench Replicate ./harness/metric
func BenchmarkReplicate(b *testing.B) {
	const items, replicates = 6666, 200
	for _, kind := range []struct {
		name                  string
		counts, real, answers int
	}{{"counts", 250, 0, 0}, {"numbers", 0, 24, 0}, {"quantiles", 0, 0, 36_000}, {"all", 250, 24, 36_000}} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				rng := stats.SplitMix64(1)
				s := &Sample{}
				for range items {
					s.Item()
				}
				for c := range kind.counts + kind.real {
					s.Column()
					for i := range items {
						v := float64(rng.Index(2))
						if c >= kind.counts {
							v *= float64(rng.Index(1e9)) / 1e9
						}
						s.Add(c, i, v)
					}
					s.Sums(func(v []float64) (float64, bool) { return v[c], true })
				}
				if kind.answers > 0 {
					for range 5 {
						obs := make([]Observation, kind.answers)
						for i := range obs {
							obs[i] = Observation{i % items, math.Sqrt(float64(rng.Index(1e9)))}
						}
						s.Quantiles(obs, 0.5, 0.95)
					}
				}
				b.StartTimer()
				s.Run(1, replicates)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/replicates, "ns/replicate")
			b.ReportMetric(0, "ns/op")
		})
	}
}

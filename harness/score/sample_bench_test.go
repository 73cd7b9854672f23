package score

import (
	"math"
	"testing"

	"assay/results/stats"
)

// BenchmarkReplicate is one draw of a model's scores in a store of a million trials:
// 6,666 items with counts, times and energies, and quantiles of 36,000 answers.
//
//	go test -run '^$' -bench Replicate ./harness/score
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
				s := &PairSample{}
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

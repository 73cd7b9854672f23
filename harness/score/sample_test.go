package score

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
	"assay/results/stats"
)

func equal(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) <= 1e-12*max(1, math.Abs(*b)))
}

// TestSampleIsTheBootstrap: many scores at once are what stats.Bootstrap gives
// each of them alone.
func TestSampleIsTheBootstrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		num, den := make([]float64, n), make([]float64, n)
		var obs []Observation
		s := &PairSample{}
		a := s.Column()
		s.Item()
		b := s.Column() // columns and items in any order
		for range n - 1 {
			s.Item()
		}
		for i := range n {
			num[i] = float64(rapid.IntRange(0, 5).Draw(t, "num"))
			den[i] = float64(rapid.IntRange(0, 2).Draw(t, "den"))
			s.Add(a, i, num[i])
			s.Add(b, i, den[i])
			for range rapid.IntRange(1, 3).Draw(t, "observations") {
				obs = append(obs, Observation{i, float64(rapid.IntRange(0, 9).Draw(t, "value"))})
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		boot := stats.Bootstrap{Seed: seed, B: 60, Alpha: 0.05}
		ratio := s.Sums(func(v []float64) (float64, bool) {
			if v[b] == 0 {
				return 0, false
			}
			return v[a] / v[b], true
		})
		mean := s.Sums(func(v []float64) (float64, bool) { return v[a] / float64(n), true })
		byItem := append([]Observation(nil), obs...)
		quantiles := s.Quantiles(obs, 0.5, 0.95)
		s.Run(seed, 60)

		check := func(what string, got *results.Estimate, want stats.Estimate) {
			if !equal(got.Value, want.Value) || !equal(got.Low, want.Low) || !equal(got.High, want.High) {
				t.Fatalf("%s: %+v, want %+v", what, got, want)
			}
			if (got.Low == nil) != (got.Why != "") {
				t.Fatalf("%s: value %v but why %q", what, got.Value, got.Why)
			}
		}
		check("ratio", ratio, boot.Ratio(num, den))
		check("mean", mean, boot.Ratio(num, slices.Repeat([]float64{1}, n)))
		for i, q := range []float64{0.5, 0.95} {
			replicate := false
			check("quantile", quantiles[i], boot.Stat(n, func(idx []int) (float64, bool) {
				defer func() { replicate = true }()
				var v []float64
				for _, at := range idx {
					for _, o := range byItem {
						if o.Item == at {
							v = append(v, o.Value)
						}
					}
				}
				if !replicate || len(v) == 0 {
					return stats.Quantile(v, q)
				}
				slices.Sort(v)
				at := min(max(float64(len(v)+1)*q, 1), float64(len(v))) // from 1
				low := int(at)
				high := min(low+1, len(v))
				return v[low-1] + (at-float64(low))*(v[high-1]-v[low-1]), true
			}))
		}
	})
}

func TestSampleOfNothing(t *testing.T) {
	s := &PairSample{}
	c := s.Column()
	e := s.Sums(func(v []float64) (float64, bool) { return 0, v[c] != 0 })
	q := s.Quantiles(nil, 0.5)
	s.Run(1, 100)
	for _, e := range []*results.Estimate{e, q[0]} {
		if e.Value != nil || e.Low != nil || e.Why == "" {
			t.Errorf("estimate of nothing: %+v", e)
		}
	}
}

func TestReplicates(t *testing.T) {
	for n, want := range map[int]int{0: 10_000, 1079: 10_000, 5000: 10_000, 10_000: 5000, 1_000_000: 1000} {
		if got := Replicates(n); got != want {
			t.Errorf("%d items: %d replicates, want %d", n, got, want)
		}
	}
}

func BenchmarkSample1079(b *testing.B) {
	for b.Loop() {
		s := &PairSample{}
		for range 1079 {
			s.Item()
		}
		for c := range 30 {
			s.Column()
			for i := range 1079 {
				s.Add(c, i, float64((i+c)%2))
			}
		}
		for c := range 15 {
			s.Sums(func(v []float64) (float64, bool) { return v[2*c] / v[2*c+1], true })
		}
		s.Run(1, 10_000)
	}
}

// TestRepeatedValuesHaveNoInterval: of 1 to 48 items of equal ratios none has an interval, and a difference of
// rounding is 0.
func TestRepeatedValuesHaveNoInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 48).Draw(t, "n")
		v := rapid.Float64Range(0.1, 1000).Draw(t, "v") / 3
		s := &PairSample{}
		one, other := s.Fraction(), s.Fraction()
		for i := range n {
			s.Item()
			for range rapid.IntRange(1, 9).Draw(t, "answers") {
				s.Add(one.Num, i, v)
				s.Add(one.Den, i, 1)
			}
			s.Add(other.Num, i, v)
			s.Add(other.Den, i, 1)
		}
		value := s.Sums(one.Percent)
		less := s.Sums(func(sums []float64) (float64, bool) {
			a, _ := one.Percent(sums)
			b, ok := other.Percent(sums)
			return (a - b) / 100, ok
		})
		s.Run(3, 200)
		if value.Low != nil || value.Why == "" || math.Abs(*value.Value-100*v) > 1e-9*v {
			t.Fatalf("%d times %v: %+v", n, v, value)
		}
		if v < 30 && (*less.Value != 0 || less.Low != nil) {
			t.Fatalf("%d times %v less itself: %v, %+v", n, v, *less.Value, less)
		}
	})
}

package stats

import (
	"slices"
	"testing"
)

func TestGoldenBCa(t *testing.T) {
	for _, c := range readGolden[struct {
		ID, Stat string
		X        []float64
		Indices  [][]int
		Out      struct {
			Estimate float64
			Low      *float64 `json:"lo_type7"`
			High     *float64 `json:"hi_type7"`
		}
	}](t, "bca.json") {
		stat := func(idx []int) float64 {
			var v []float64
			for _, i := range idx {
				v = append(v, c.X[i])
			}
			m, _ := Mean(v)
			if c.Stat == "median" {
				m, _ = Median(v)
			}
			return m
		}
		var reps, out []float64
		for _, row := range c.Indices {
			reps = append(reps, stat(row))
		}
		for i := range c.X {
			if len(c.X) > 1 {
				idx := upTo(len(c.X))
				out = append(out, stat(append(idx[:i], idx[i+1:]...)))
			}
		}
		low, high, why := bca(c.Out.Estimate, reps, out, 0.05)
		same(t, c.ID+": low", low, why, c.Out.Low)
		same(t, c.ID+": high", high, why, c.Out.High)
	}
}

// TestAccelerated: the bootstrap with a BCa interval is BCa of the bootstrap's own
// replicates.
func TestAccelerated(t *testing.T) {
	x := []float64{1, 2, 4, 8, 16, 32, 64}
	mean := func(idx []int) (float64, bool) {
		var s float64
		for _, i := range idx {
			s += x[i]
		}
		return s / float64(len(idx)), true
	}
	b := Bootstrap{Seed: 3, B: 500, Alpha: 0.05}
	e := b.Accelerated(len(x), mean)
	rng := SplitMix64(3)
	var reps, out []float64
	for range 500 {
		var s float64
		for range x {
			s += x[rng.Index(len(x))]
		}
		reps = append(reps, s/7)
	}
	for i := range x {
		out = append(out, (127-x[i])/6)
	}
	low, high, why := bca(127./7, reps, out, 0.05)
	if why != "" || !near(*e.Low, low, 1e-12) || !near(*e.High, high, 1e-12) {
		t.Errorf("%v to %v, want %v to %v %q", *e.Low, *e.High, low, high, why)
	}
	plain := b.Stat(len(x), mean)
	if *plain.Low >= low || *plain.High >= high {
		t.Errorf("of a skewed sample the interval %v to %v is not above the percentile one, %v to %v", low, high, *plain.Low, *plain.High)
	}
}

// TestClustered: what is drawn whole varies as much as fewer cases do.
func TestClustered(t *testing.T) {
	f := func(idx []int) (float64, bool) {
		var s float64
		for _, i := range idx {
			s += float64(i)
		}
		return s / float64(len(idx)), len(idx) > 0
	}
	g := Clustered([][]int{{0, 1}, {2}, {}}, f)
	if v, ok := g([]int{0, 0, 1}); !ok || v != 4./5 {
		t.Errorf("got %v", v)
	}
	if _, ok := g([]int{2}); ok {
		t.Error("an empty cluster has a mean")
	}
}

// TestCrossed draws items first, then raters, and counts what does not exist.
func TestCrossed(t *testing.T) {
	rng := SplitMix64(5)
	n := 0
	e := Bootstrap{Seed: 5, B: 200, Alpha: 0.05}.Crossed(3, 2, func(items, raters []int) (float64, bool) {
		if n++; n > 1 { // after the value itself
			for k, i := range slices.Concat(items, raters) {
				of := 3
				if k >= len(items) {
					of = 2
				}
				if want := rng.Index(of); i != want {
					t.Fatalf("draw %d of replicate %d is %d, want %d", k, n, i, want)
				}
			}
		}
		return float64(items[0]), raters[0] != raters[1]
	})
	if e.Used+e.Dropped != 200 || e.Dropped < 70 || e.Dropped > 130 {
		t.Errorf("%d replicates used, %d dropped: half of the draws of two raters hold one alone", e.Used, e.Dropped)
	}
}

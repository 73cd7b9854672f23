package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestGoldenKendall(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		X, Y []float64
		Out  struct {
			C, D    int
			Tau     *float64 `json:"tau_b"`
			P       *float64 `json:"p_auto"`
			PExact  *float64 `json:"p_exact"`
			Defined bool
		}
	}](t, "kendall.json") {
		got, why := Kendall(c.X, c.Y)
		if (why == "") != c.Out.Defined {
			t.Errorf("%s: %q, want defined %v", c.ID, why, c.Out.Defined)
			continue
		}
		if why != "" {
			continue
		}
		if got.Concordant != c.Out.C || got.Discordant != c.Out.D || !near(got.Value, *c.Out.Tau, 1e-9) {
			t.Errorf("%s: tau %v (%d, %d), want %v (%d, %d)", c.ID, got.Value, got.Concordant, got.Discordant, *c.Out.Tau, c.Out.C, c.Out.D)
		}
		if c.Out.P != nil && math.Abs(got.P-*c.Out.P) > 1e-8**c.Out.P {
			t.Errorf("%s: p %v, want %v", c.ID, got.P, *c.Out.P)
		}
		if got.Exact && (c.Out.PExact == nil || !near(got.P, *c.Out.PExact, 1e-8)) {
			t.Errorf("%s: exact p %v", c.ID, got.P)
		}
		all := make([]int, len(c.X))
		for i := range all {
			all[i] = i
		}
		if fast, ok := TauOf(c.X, c.Y)(all); !ok || !near(fast, *c.Out.Tau, 1e-9) {
			t.Errorf("%s: fast tau %v, want %v", c.ID, fast, *c.Out.Tau)
		}
	}
}

// TestTauOfResamples compares with counting every pair of a resample.
func TestTauOfResamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		level := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 4), func(i int) float64 { return float64(i) }), n, n)
		x, y := level.Draw(t, "x"), level.Draw(t, "y")
		f := TauOf(x, y)
		for range 3 {
			idx := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 12).Draw(t, "idx")
			got, ok := f(idx)
			want, defined := slowTau(x, y, idx)
			if ok != defined || ok && !near(got, want, 1e-9) {
				t.Fatalf("got %v %v, want %v %v", got, ok, want, defined)
			}
		}
	})
}

func TestGoldenKappa(t *testing.T) {
	for _, c := range readGolden[struct {
		ID     string
		A, B   []int
		Labels []int
		Table  []int `json:"table_ff_ft_tf_tt"`
		Out    struct {
			Plain     *float64 `json:"kappa_none"`
			Linear    *float64 `json:"kappa_linear"`
			Quadratic *float64 `json:"kappa_quadratic"`
		}
	}](t, "kappa.json") {
		labels := c.Labels
		if labels == nil {
			labels = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(c.A), c.B...))))
		}
		table := make([][]int, max(len(labels), 2))
		for i := range table {
			table[i] = make([]int, len(table))
		}
		for i := range c.A {
			table[slices.Index(labels, c.A[i])][slices.Index(labels, c.B[i])]++
		}
		if c.Table != nil {
			table = [][]int{c.Table[:2], c.Table[2:]}
		}
		for w, want := range map[Weights]*float64{Plain: c.Out.Plain, Linear: c.Out.Linear, Quadratic: c.Out.Quadratic} {
			if want == nil && c.Table != nil {
				continue
			}
			got, why := Kappa(table, w)
			if (why == "") != (want != nil) || want != nil && !near(got, *want, 1e-9) {
				t.Errorf("%s, weights %d: got %v %q", c.ID, w, got, why)
			}
		}
	}
	if _, why := Kappa([][]int{{0, 0}, {0, 5}}, Plain); why != NoDisagree {
		t.Errorf("one label only: %q", why)
	}
	if _, why := Kappa(nil, Plain); why != NoCases {
		t.Errorf("no table: %q", why)
	}
}

func TestGoldenFit(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		X, Y []float64
		Out  struct {
			Slope, Intercept, R, P, StdErr *float64
		}
	}](t, "linreg.json") {
		got, why := fit(c.X, c.Y)
		if (why == "") != (c.Out.Slope != nil) {
			t.Errorf("%s: %q", c.ID, why)
			continue
		}
		if why != "" {
			continue
		}
		for name, v := range map[string][2]float64{"slope": {got.Slope, *c.Out.Slope}, "intercept": {got.Intercept, *c.Out.Intercept}, "r": {got.R, *c.Out.R}, "stderr": {got.StdErr, *c.Out.StdErr}} {
			if math.Abs(v[0]-v[1]) > 1e-9*math.Abs(v[1])+1e-12 {
				t.Errorf("%s: %s %v, want %v", c.ID, name, v[0], v[1])
			}
		}
		// A perfect fit has p = 0; the reference gives 1e-20.
		if math.Abs(got.P-*c.Out.P) > 1e-8**c.Out.P+1e-19 {
			t.Errorf("%s: p %v, want %v", c.ID, got.P, *c.Out.P)
		}
	}
	if _, why := fit([]float64{2, 2}, []float64{1, 3}); why != Constant {
		t.Errorf("constant x: %q", why)
	}
}

// BenchmarkTau is the interval of a judge's agreement, B = 10 000: at n = 66 and 1000
// cases, on one core, of a scale of five grades and of a consensus without ties.
//
//	go test -run '^$' -bench BenchmarkTau -cpu 1 ./results/stats
func BenchmarkTau(b *testing.B) {
	for _, n := range []int{66, 1000} {
		for name, levels := range map[string]int{"grades": 5, "untied": 1 << 40} {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				var x, y []float64
				rng := SplitMix64(1)
				for range n {
					x, y = append(x, float64(rng.Index(levels))), append(y, float64(rng.Index(1<<40)))
				}
				for b.Loop() {
					Bootstrap95(1, 10_000).Stat(n, TauOf(x, y))
				}
			})
		}
	}
}

// The values of the published sweeps, and what has no slope.
func TestPerDoubling(t *testing.T) {
	thickness := []float64{1, 2, 4, 8, 16, 32}
	if v, ok := PerDoubling(thickness, []float64{0.229, 0.231, 0.23, 0.233, 0.232, 0.235}); !ok || !near(v, 0.0010285714285714256, 1e-9) {
		t.Errorf("%v, %v", v, ok)
	}
	if v, ok := PerDoubling([]float64{.2, .4, .6, .8}, []float64{.27, .29, .32, .345}); !ok || !near(v, 0.03679957249319394, 1e-9) {
		t.Errorf("%v, %v", v, ok)
	}
	nan := math.NaN()
	if v, ok := PerDoubling([]float64{1, 2, 4}, []float64{1, nan, 5}); !ok || v != 2 {
		t.Errorf("%v, %v", v, ok)
	}
	for _, c := range [][2][]float64{{{1, 2}, {nan, 1}}, {{0, 2}, {1, 1}}, {{2, 2}, {1, 2}}, {nil, nil}} {
		if v, ok := PerDoubling(c[0], c[1]); ok {
			t.Errorf("slope of %v: %v", c, v)
		}
	}
}

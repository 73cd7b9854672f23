package stats

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

type bootstrapCase struct {
	ID    string
	Seed  uint64
	B, N  int
	Alpha float64
	Data  struct {
		Stat       string
		V, Flip, S []float64
		X, X2, Y   []float64
	}
	Out struct {
		Estimate  *float64
		Undefined int `json:"undefined_resamples"`
		Used      int
		Lo, Hi    float64
		First     []float64 `json:"first_values"`
		FNV       string    `json:"index_fnv1a"`
		FirstRow  []int     `json:"index_first_row"`
	}
	Indices [][]int
}

// statOf is the statistic of a golden case over the indices of a resample.
func statOf(t *testing.T, c bootstrapCase) func(idx []int) (float64, bool) {
	d := c.Data
	switch d.Stat {
	case "mean":
		return func(idx []int) (float64, bool) {
			var s float64
			for _, i := range idx {
				s += d.V[i]
			}
			return s / float64(len(idx)), len(idx) > 0
		}
	case "mean of (s-1)/4 where flip==1":
		return func(idx []int) (float64, bool) {
			var s, n float64
			for _, i := range idx {
				if d.Flip[i] == 1 {
					s, n = s+(d.S[i]-1)/4, n+1
				}
			}
			return s / n, n > 0
		}
	case "tau_b":
		return TauOf(d.X, d.Y)
	case "tau_b(x,y)-tau_b(x2,y)":
		first, second := TauOf(d.X, d.Y), TauOf(d.X2, d.Y)
		return func(idx []int) (float64, bool) {
			a, ok := first(idx)
			b, ok2 := second(idx)
			return a - b, ok && ok2
		}
	}
	t.Fatalf("%s: the test does not know the statistic %q", c.ID, d.Stat)
	return nil
}

// slowTau is Kendall's tau-b by counting every pair.
func slowTau(x, y []float64, idx []int) (float64, bool) {
	var cd, nx, ny int
	for a, i := range idx {
		for _, j := range idx[:a] {
			sx, sy := cmp.Compare(x[i], x[j]), cmp.Compare(y[i], y[j])
			cd, nx, ny = cd+sx*sy, nx+sx*sx, ny+sy*sy
		}
	}
	return float64(cd) / math.Sqrt(float64(nx)*float64(ny)), nx > 0 && ny > 0
}

func TestGoldenBootstrap(t *testing.T) {
	for _, c := range readGolden[bootstrapCase](t, "bootstrap.json") {
		t.Run(c.ID, func(t *testing.T) {
			rng, h := SplitMix64(c.Seed), fnv.New64a()
			var row []byte
			for b := range c.B {
				row = row[:0]
				for i := range c.N {
					at := rng.Index(c.N)
					row = binary.LittleEndian.AppendUint32(row, uint32(at))
					if b == 0 && i < len(c.Out.FirstRow) && at != c.Out.FirstRow[i] {
						t.Fatalf("first row: index %d is %d, want %d", i, at, c.Out.FirstRow[i])
					}
					if c.Indices != nil && at != c.Indices[b][i] {
						t.Fatalf("row %d, index %d is %d, want %d", b, i, at, c.Indices[b][i])
					}
				}
				h.Write(row)
			}
			if got := fmt.Sprintf("%016x", h.Sum64()); got != c.Out.FNV {
				t.Errorf("indices hash to %s, want %s", got, c.Out.FNV)
			}
			boot := Bootstrap{Seed: c.Seed, B: c.B, Alpha: c.Alpha, Plain: true}
			f := statOf(t, c)
			var values []float64
			check(t, c, boot.Stat(c.N, func(idx []int) (float64, bool) {
				v, ok := f(idx)
				if len(values) <= len(c.Out.First) {
					values = append(values, v)
				}
				return v, ok
			}))
			for i, want := range c.Out.First {
				if !near(values[i+1], want, 1e-9) {
					t.Errorf("replicate %d is %v, want %v", i, values[i+1], want)
				}
			}
			switch c.Data.Stat {
			case "mean":
				check(t, c, boot.Ratio(c.Data.V, slices.Repeat([]float64{1}, c.N)))
			case "mean of (s-1)/4 where flip==1":
				num := make([]float64, c.N)
				for i := range num {
					num[i] = (c.Data.S[i] - 1) / 4 * c.Data.Flip[i]
				}
				check(t, c, boot.Ratio(num, c.Data.Flip))
			}
		})
	}
}

func check(t *testing.T, c bootstrapCase, got Estimate) {
	t.Helper()
	if got.Value == nil || got.Low == nil || got.High == nil || got.Why != "" {
		t.Fatalf("undefined: %s", got.Why)
	}
	if !near(*got.Value, *c.Out.Estimate, 1e-9) || !near(*got.Low, c.Out.Lo, 1e-9) || !near(*got.High, c.Out.Hi, 1e-9) {
		t.Errorf("got %v [%v, %v], want %v [%v, %v]", *got.Value, *got.Low, *got.High, *c.Out.Estimate, c.Out.Lo, c.Out.Hi)
	}
	if got.Used != c.Out.Used || got.Dropped != c.Out.Undefined || got.N != c.N {
		t.Errorf("n %d, %d used, %d dropped, want %d, %d, %d", got.N, got.Used, got.Dropped, c.N, c.Out.Used, c.Out.Undefined)
	}
}

func TestGoldenGeneratorAndQuantiles(t *testing.T) {
	b, err := os.ReadFile("testdata/bootstrap.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		First    []string `json:"splitmix64_seed1_first6"`
		Examples []struct {
			V      []float64
			Q, Out float64
		} `json:"quantile_examples"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	rng := SplitMix64(1)
	for i, want := range f.First {
		if got := strconv.FormatUint(rng.Next(), 10); got != want {
			t.Errorf("draw %d is %s, want %s", i, got, want)
		}
	}
	for _, e := range f.Examples {
		if got, ok := Quantile(e.V, e.Q/100); !ok || !near(got, e.Out, 1e-12) {
			t.Errorf("quantile %v of %v is %v, want %v", e.Q, e.V, got, e.Out)
		}
	}
	if len(f.First) != 6 || len(f.Examples) == 0 {
		t.Error("the reference file lacks draws or quantiles")
	}
}

func TestBootstrapUndefined(t *testing.T) {
	b := Bootstrap{Seed: 3, B: 200, Alpha: 0.05}
	if e := b.Ratio(nil, nil); e.Value != nil || e.Low != nil || e.Why != NoCases {
		t.Errorf("mean of nothing: %+v", e)
	}
	if e := b.Ratio([]float64{1, 2}, []float64{0, 0}); e.Value != nil || e.Why != ZeroDivisor {
		t.Errorf("ratio over 0: %+v", e)
	}
	// One item of three carries the denominator: (2/3)^3 of the resamples miss it.
	e := b.Ratio([]float64{1, 0, 0}, []float64{1, 0, 0})
	if e.Value == nil || e.Low != nil || e.Why != Constant || e.Dropped < 30 || e.Dropped > 90 || e.Used+e.Dropped != 200 {
		t.Errorf("partly undefined: %+v", e)
	}
	calls := 0
	e = b.Stat(2, func([]int) (float64, bool) { calls++; return 4, calls == 1 })
	if e.Value == nil || *e.Value != 4 || e.Low != nil || e.Why != NoReplicates || e.Dropped != 200 {
		t.Errorf("no defined replicate: %+v", e)
	}
}

// TestFastPathsAgree: Sums gives what Stat gives, whatever the number of columns.
func TestFastPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		k := rapid.IntRange(1, 4).Draw(t, "k")
		cols := make([][]float64, k)
		for j := range cols {
			for range n {
				cols[j] = append(cols[j], float64(rapid.IntRange(0, 3).Draw(t, "x")))
			}
		}
		f := func(s []float64) (float64, bool) {
			if s[k-1] == 0 {
				return 0, false
			}
			return s[0] / s[k-1], true
		}
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), B: 50, Alpha: 0.1}
		fast := b.Sums(cols, f)
		slow := b.Stat(n, func(idx []int) (float64, bool) {
			s := make([]float64, k)
			for _, i := range idx {
				for j := range cols {
					s[j] += cols[j][i]
				}
			}
			return f(s)
		})
		same := func(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
		if !same(fast.Value, slow.Value) || !same(fast.Low, slow.Low) || !same(fast.High, slow.High) || fast.Used != slow.Used {
			t.Fatalf("fast %+v, slow %+v", fast, slow)
		}
	})
}

// TestPaired: the same draw serves both sides, so that a constant difference
// is constant, and has no interval.
func TestPaired(t *testing.T) {
	v := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	mean := func(add float64) func([]int) (float64, bool) {
		return func(idx []int) (float64, bool) {
			var s float64
			for _, i := range idx {
				s += v[i] + add
			}
			return s / float64(len(idx)), true
		}
	}
	e := Bootstrap95(5, 10_000).Paired(len(v), mean(2), mean(0))
	if !near(*e.Value, 2, 1e-12) || e.Low != nil || e.Why != Constant || e.Used != 10_000 {
		t.Errorf("paired difference %+v", e)
	}
	if v[0] != 3 {
		t.Error("the data changed")
	}
}

func BenchmarkF1Of1079(b *testing.B) {
	cols := make([][]float64, 4)
	for j := range cols {
		cols[j] = make([]float64, 1079)
		for i := range cols[j] {
			cols[j][i] = float64((i + j) % 3)
		}
	}
	for b.Loop() {
		Bootstrap95(1, 10_000).Sums(cols, func(s []float64) (float64, bool) {
			p, r := s[0]/s[1], s[2]/s[3]
			return 2 * p * r / (p + r), true
		})
	}
}

// TestRepeatedValues: 1 to 48 equal values, in clusters of any sizes, have no interval and no difference, whatever
// rounding leaves of sums in another order.
func TestRepeatedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 48).Draw(t, "n")
		v := rapid.Float64Range(1e-3, 1e3).Draw(t, "v") / 7
		shift := float64(rapid.IntRange(0, 3).Draw(t, "shift")) / 3
		sums, cases := make([]float64, n), make([]float64, n)
		p := Paired{Cluster: make([]int, n)}
		for i := range n {
			cases[i] = float64(rapid.IntRange(1, 19).Draw(t, "cases"))
			for range int(cases[i]) {
				sums[i] += v
			}
			a := rapid.Float64Range(-10, 10).Draw(t, "a")
			p.A, p.B, p.Cluster[i] = append(p.A, a), append(p.B, a+shift), i
		}
		b := Bootstrap{Seed: 1, B: 100, Alpha: 0.05}
		if e := b.Ratio(sums, cases); !near(*e.Value, v, 1e-9) || e.Low != nil || e.Why == "" {
			t.Fatalf("%d times %v: %+v", n, v, e)
		}
		d := p.Difference(false, b)
		if d.Low != nil || d.Why == "" || shift == 0 && *d.Value != 0 {
			t.Fatalf("a difference of %v everywhere: %v, %+v", shift, *d.Value, d)
		}
		// A share that is the same in each cluster, on both sides, in another order of adding up.
		share := rapid.Float64Range(0.01, 0.99).Draw(t, "share")
		one, other := make([]float64, n), make([]float64, n)
		for i := range n {
			one[i] = share * cases[i]
			for range int(cases[i]) {
				other[i] += share
			}
		}
		x, y := ShareOf(one, cases), ShareOf(other, cases)
		low, high, ok := x.Less(y, true)
		if ok != (n > 1) || ok && (!near(low, -high, 1e-9) || !near(high, math.Hypot(*x.High-share, share-*y.Low), 1e-9)) {
			t.Fatalf("%d shares of %v less themselves: [%v, %v] %v", n, share, low, high, ok)
		}
	})
}

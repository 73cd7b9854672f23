package stats

import (
	"encoding/json"
	"flag"
	"math"
	"math/big"
	"os"
	"runtime/debug"
	"testing"

	"pgregory.net/rapid"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

// readGolden reads a file of reference values and refuses an empty one.
func readGolden[T any](t *testing.T, name string) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []T }
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return f.Cases
}

func near(got, want, tol float64) bool {
	return math.Abs(got-want) <= tol*math.Abs(want)+1e-15
}

func TestGoldenWilson(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		K, N int
		Out  struct {
			Wilson95, Wilson90 []*float64
		}
	}](t, "wilson.json") {
		for _, w := range []struct {
			want []*float64
			z    float64
		}{{c.Out.Wilson95, z95}, {c.Out.Wilson90, 1.6448536269514722}} {
			if w.want == nil {
				continue
			}
			if w.want[0] == nil {
				if s := ShareOf([]float64{float64(c.K)}, []float64{float64(c.N)}); s.Low != nil {
					t.Errorf("%s: got [%v, %v], want undefined", c.ID, *s.Low, *s.High)
				}
				continue
			}
			lo, hi := wilson(float64(c.K)/float64(c.N), float64(c.N), w.z)
			if !near(lo, *w.want[0], 1e-9) || !near(hi, *w.want[1], 1e-9) {
				t.Errorf("%s: got [%v, %v], want [%v, %v]", c.ID, lo, hi, *w.want[0], *w.want[1])
			}
		}
	}
}

func show(v *float64) any {
	if v == nil {
		return "undefined"
	}
	return *v
}

// TestSharesOfTwentyPictures: twenty pictures with ten questions each, right or wrong
// together, are about as much as twenty answers; Student's t makes it a little less.
func TestSharesOfTwentyPictures(t *testing.T) {
	var sums, answers []float64
	for i := range 20 {
		sums, answers = append(sums, 10*float64(i%2)), append(answers, 10)
	}
	s := ShareOf(sums, answers)
	if low, high := Fixed(100**s.Low, 1), Fixed(100**s.High, 1); low != "28.4" || high != "71.6" || s.N != 200 || s.Clusters != 20 {
		t.Errorf("[%s, %s] of %g answers in %d clusters, want [28.4, 71.6] of 200 in 20", low, high, s.N, s.Clusters)
	}
}

func TestGoldenPercent(t *testing.T) {
	for _, c := range readGolden[struct {
		ID          string
		Num, Den, D int
		Digits      int
		Out         string
	}](t, "percent_format.json") {
		if got, ok := Percent(float64(c.Num), float64(c.Den), c.Digits); !ok || got != c.Out {
			t.Errorf("%s: got %q, want %q", c.ID, got, c.Out)
		}
	}
	if got, ok := Percent(1, 0, 2); ok {
		t.Errorf("1/0 printed as %q", got)
	}
}

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0.00421449, 4, "0.004214"}, {12.345, 4, "12.35"}, {1234.6, 4, "1235"}, {123456, 4, "123500"},
		{9.9996, 4, "10.00"}, {0.99996, 4, "1.000"}, {0, 4, "0.000"}, {-2.5, 1, "-2"}, {math.Copysign(0, -1), 2, "0.0"},
		{7, 1, "7"}, {0.05, 1, "0.05"}, {99.5, 2, "100"}, {1e-9, 3, "0.00000000100"},
	} {
		if got := Significant(c.v, c.digits); got != c.want {
			t.Errorf("Significant(%v, %d) = %q, want %q", c.v, c.digits, got, c.want)
		}
	}
	if got := Fixed(-0.001, 2); got != "0.00" {
		t.Errorf("Fixed(-0.001, 2) = %q", got)
	}
	if got := Fixed(-0.006, 2); got != "-0.01" {
		t.Errorf("Fixed(-0.006, 2) = %q", got)
	}
}

func TestSummaries(t *testing.T) {
	if m, ok := Mean([]float64{1, 2, 6}); !ok || m != 3 {
		t.Errorf("mean %v %v", m, ok)
	}
	if m, ok := Mean([]float64{1e16, 1, -1e16}); !ok || m != 1.0/3 {
		t.Errorf("mean of cancelling values %v %v", m, ok)
	}
	if s, ok := SD([]float64{2, 4, 4, 4, 5, 5, 7, 9}); !ok || !near(s, 2.138089935299395, 1e-12) {
		t.Errorf("sd %v %v", s, ok)
	}
	if m, ok := Median([]float64{5, 1, 4, 2}); !ok || m != 3 {
		t.Errorf("median %v %v", m, ok)
	}
	if _, ok := Mean(nil); ok {
		t.Error("mean of nothing exists")
	}
	if _, ok := Median(nil); ok {
		t.Error("median of nothing exists")
	}
	if _, ok := SD([]float64{3}); ok {
		t.Error("sd of one value exists")
	}
}

// mcNemar is the exact two-sided p of McNemar's test, in whole numbers, of pairs that only the
// first and only the second side got right.
func mcNemar(b, c int) float64 {
	n, k := b+c, min(b, c)
	total := new(big.Int)
	for i := 0; i <= k; i++ {
		total.Add(total, new(big.Int).Binomial(int64(n), int64(i)))
	}
	r := new(big.Rat).SetFrac(total.Lsh(total, 1), new(big.Int).Lsh(big.NewInt(1), uint(n)))
	f, _ := r.Float64()
	return min(1, f)
}

func TestQuantileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40).Draw(t, "v")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")
		lo, _ := Quantile(v, p)
		hi, _ := Quantile(v, q)
		first, _ := Quantile(v, 0)
		last, _ := Quantile(v, 1)
		if lo > hi+1e-9 || lo < first || hi > last {
			t.Fatalf("quantiles %v at %v, %v at %v, range [%v, %v]", lo, p, hi, q, first, last)
		}
	})
}

func TestSignificantReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e9, 1e9).Draw(t, "v")
		d := rapid.IntRange(1, 9).Draw(t, "digits")
		var back float64
		if err := json.Unmarshal([]byte(Significant(v, d)), &back); err != nil {
			t.Fatal(err)
		}
		if math.Abs(back-v) > math.Abs(v)*0.5000001*math.Pow(10, float64(1-d)) {
			t.Fatalf("Significant(%v, %d) = %v", v, d, back)
		}
	})
}

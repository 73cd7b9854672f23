package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// summed are the sums and numbers of answers of clusters.
func summed(clusters [][]float64) (sums, answers []float64) {
	for _, c := range clusters {
		sums, answers = append(sums, sum(c)), append(answers, float64(len(c)))
	}
	return sums, answers
}

func TestGoldenShares(t *testing.T) {
	for _, c := range readGolden[struct {
		ID       string
		Clusters [][]float64
		Out      struct {
			P, Low, High *float64
			N            float64
			Clusters     int
			Eff          *float64 `json:"n_eff"`
		}
	}](t, "clusters_wilson.json") {
		s := ShareOf(summed(c.Clusters))
		if s.Clusters != c.Out.Clusters || s.N != c.Out.N {
			t.Errorf("%s: %g answers of %d clusters, want %g of %d", c.ID, s.N, s.Clusters, c.Out.N, c.Out.Clusters)
		}
		for _, x := range []struct {
			name      string
			got, want *float64
		}{{"p", s.P, c.Out.P}, {"n_eff", s.NEff, c.Out.Eff}, {"low", s.Low, c.Out.Low}, {"high", s.High, c.Out.High}} {
			if (x.got == nil) != (x.want == nil) || x.got != nil && math.Abs(*x.got-*x.want) > 1e-9*max(1e-3, math.Abs(*x.want)) {
				t.Errorf("%s: %s is %v, want %v", c.ID, x.name, show(x.got), show(x.want))
			}
		}
	}
}

func TestGoldenDifferencesOfShares(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		A, B [][]float64
		Out  struct{ Difference, Low, High *float64 }
	}](t, "clusters_mover.json") {
		a, b := ShareOf(summed(c.A)), ShareOf(summed(c.B))
		low, high, ok := a.Less(b, true)
		if c.Out.Low == nil {
			if ok {
				t.Errorf("%s: there is an interval, want none", c.ID)
			}
			continue
		}
		// Absolute: an end beside 0 carries the error of the reference's own t quantile (2e-11).
		if !ok || math.Abs(low-*c.Out.Low) > 1e-9 || math.Abs(high-*c.Out.High) > 1e-9 {
			t.Errorf("%s: [%v, %v] %v, want [%v, %v]", c.ID, low, high, ok, *c.Out.Low, *c.Out.High)
		}
	}
}

func TestGoldenSignFlips(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		A, B [][]float64
		Out  struct{ P float64 }
	}](t, "clusters_flips.json") {
		var d []float64
		for i := range c.A {
			d = append(d, sum(c.A[i])-sum(c.B[i]))
		}
		if p := SignFlips(d); !near(p, c.Out.P, 1e-8) {
			t.Errorf("%s: p = %v, want %v", c.ID, p, c.Out.P)
		}
	}
}

func TestGoldenTails(t *testing.T) {
	for _, c := range readGolden[struct {
		ID       string
		Clusters int
		Out      float64
	}](t, "clusters_levels.json") {
		// Far out the quantile's own error counts more: 1e-70 is no share of replicates.
		if got := TailOf(c.Clusters); !near(got, c.Out, 1e-6) {
			t.Errorf("%d clusters: %v, want %v", c.Clusters, got, c.Out)
		}
	}
}

// TestSignFlipsOfItemsAreMcNemar: where every cluster is one item the test is McNemar's with
// the middle p.
func TestSignFlipsOfItemsAreMcNemar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		up, down := rapid.IntRange(0, 30).Draw(t, "up"), rapid.IntRange(0, 30).Draw(t, "down")
		var d []float64
		for range up {
			d = append(d, 1)
		}
		for range down {
			d = append(d, -1)
		}
		want := 1.
		if up+down > 0 {
			// McNemar's p counts ties whole; the chance of a tie is that of the count seen, on both sides.
			ln := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
			tie := math.Exp(ln(up+down) - ln(up) - ln(down) - float64(up+down)*math.Ln2)
			if want = mcNemar(up, down) - tie; up == down {
				want = 1 - tie/2
			}
		}
		if got := SignFlips(d); !near(got, want, 1e-9) {
			t.Fatalf("%d up, %d down: %v, want %v", up, down, got, want)
		}
	})
}

// TestDrawnFlipsAreNearExact: differences of no common part are drawn for, and come near
// what all choices of signs say.
func TestDrawnFlipsAreNearExact(t *testing.T) {
	d := []float64{.31, -.17, .92, .44, -.28, .73, .1234567, .65, -.37, .81, .29, -.11, .52, .17, -.61, .38, .07, -.44}
	far, more := math.Abs(sum(d)), 0.0
	for bits := range 1 << len(d) {
		s := 0.0
		for i, x := range d {
			if bits>>i&1 == 1 {
				x = -x
			}
			s += x
		}
		switch {
		case math.Abs(math.Abs(s)-far) < 1e-9:
			more += .5
		case math.Abs(s) > far:
			more++
		}
	}
	want := more / float64(int(1)<<len(d))
	if got := SignFlips(d); math.Abs(got-want) > 4*math.Sqrt(want/flips) {
		t.Errorf("p = %v, want %v", got, want)
	}
}

// TestSharesOfSingleAnswersAreWilson: shares of one answer a cluster are Wilson's own, and
// a cluster without an answer is none.
func TestSharesOfSingleAnswersAreWilson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 60).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		sums, answers := make([]float64, n+2), make([]float64, n+2)
		for i := range n {
			answers[i] = 1
			if i < k {
				sums[i] = 1
			}
		}
		s := ShareOf(sums, answers)
		// Var has the divisor K-1, so that n_eff is K-1 inside of (0, 1).
		eff := float64(n - 1)
		if k == 0 || k == n {
			eff = float64(n)
		}
		low, high := wilson(float64(k)/float64(n), eff, z95)
		if s.Clusters != n || !near(*s.Low, low, 1e-9) || !near(*s.High, high, 1e-9) {
			t.Fatalf("%d of %d: [%v, %v], want [%v, %v]", k, n, *s.Low, *s.High, low, high)
		}
	})
}

// TestAllRight: answers that are all right in a few clusters are worth as many answers as
// there are clusters.
func TestAllRight(t *testing.T) {
	s := ShareOf([]float64{5, 5, 5, 5}, []float64{5, 5, 5, 5})
	if low, high := wilson(1, 4, StudentQuantile(.975, 3)); *s.NEff != 4 || *s.Low != low || *s.High != high {
		t.Errorf("n_eff %v, [%v, %v], want 4, [%v, %v]", *s.NEff, *s.Low, *s.High, low, high)
	}
}

// TestDrawnTiesCountHalf: differences that are alike tie however they are counted.
func TestDrawnTiesCountHalf(t *testing.T) {
	var whole, odd []float64
	for i := range 20 {
		x := 1.
		if i < 6 {
			x = -1
		}
		x *= float64(1 + i%2)
		whole, odd = append(whole, x), append(odd, x*math.Sqrt2)
	}
	want := SignFlips(whole)
	if got := SignFlips(odd); math.Abs(got-want) > 4*math.Sqrt(want/flips) {
		t.Errorf("p = %v, want %v", got, want)
	}
}

// TestJudgesOfTheSameAnswers: two judges who say the same of the same answers are worth one;
// over answers of their own, as those of two strata, they are worth twice as many.
func TestJudgesOfTheSameAnswers(t *testing.T) {
	one := ShareOf([]float64{1, 0, 1, 1, 0}, []float64{1, 1, 1, 1, 1})
	if got := MeanShare([]Share{one, one}, true); got.N != 5 || *got.NEff != *one.NEff || *got.Low != *one.Low || *got.High != *one.High {
		t.Errorf("of the same answers: %g, [%v, %v], want 5, [%v, %v]", got.N, *got.Low, *got.High, *one.Low, *one.High)
	}
	// A judge without a verdict on the first cluster leaves the answers of the other as they are, in either order.
	fewer := ShareOf([]float64{0, 1, 0, 1, 1}, []float64{0, 1, 1, 1, 1})
	for _, of := range [][]Share{{one, fewer}, {fewer, one}} {
		if got := MeanShare(of, true); got.N != 5 || got.Clusters != 5 {
			t.Errorf("over two judges of whom one lacks a verdict: n = %v in %v clusters, want 5 in 5", got.N, got.Clusters)
		}
	}
	if got := MeanShare([]Share{one, one}, false); got.N != 10 || got.Clusters != 5 {
		t.Errorf("of answers of their own: %g of %d clusters, want 10 of 5", got.N, got.Clusters)
	}
}

// TestScoresBetweenAreWorthMore: scores near one half spread less than those of 0 and 1 with the
// same mean, and their interval is narrower.
func TestScoresBetweenAreWorthMore(t *testing.T) {
	ones := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	between, whole := ShareOf([]float64{.4, .6, .4, .6, .4, .6, .4, .6}, ones), ShareOf([]float64{0, 1, 0, 1, 0, 1, 0, 1}, ones)
	if *between.NEff <= 8 || *whole.NEff > 8 || *between.High-*between.Low >= *whole.High-*whole.Low {
		t.Errorf("between: %g answers, [%g, %g]; whole: %g, [%g, %g]", *between.NEff, *between.Low, *between.High, *whole.NEff, *whole.Low, *whole.High)
	}
}

// TestManyClusters: a hundred thousand items, and clusters, are tested in a moment, and alike.
func TestManyClusters(t *testing.T) {
	const n = 100_000
	var items, clusters []float64
	for i := range n {
		x := 1.
		if i%2 == 0 || i < 1000 {
			x = -1
		}
		items, clusters = append(items, x), append(clusters, x*float64(1+i/2%5))
	}
	// 500 more on one side: z = 1000 / sqrt(n).
	want := 2 * normalBelow(-1000/math.Sqrt(n))
	if got := SignFlips(items); math.Abs(got-want) > 1e-4 {
		t.Errorf("items: p = %v, want about %v", got, want)
	}
	var total, squares float64
	for _, x := range clusters {
		total, squares = total+x, squares+x*x
	}
	if got, want := SignFlips(clusters), 2*normalBelow(-math.Abs(total)/math.Sqrt(squares)); math.Abs(got-want) > 4*math.Sqrt(want/flips) {
		t.Errorf("clusters: p = %v, want about %v", got, want)
	}
}

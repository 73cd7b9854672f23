package stats

import (
	"math"
	"slices"
	"testing"
)

// TestPairedPower: against the exact sum over all tables of 40 items, of the mid-p.
func TestPairedPower(t *testing.T) {
	const n, difference, discordant = 40, 0.2, 0.4
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(a - b - c)
	}
	var want float64
	for of := range n + 1 {
		for more := range of + 1 {
			d := slices.Repeat([]float64{1}, of)
			for i := range of - more {
				d[i] = -1
			}
			if SignFlips(d) <= 0.05 {
				want += choose(n, of) * math.Pow(discordant, float64(of)) * math.Pow(1-discordant, float64(n-of)) *
					choose(of, more) * math.Pow(0.75, float64(more)) * math.Pow(0.25, float64(of-more))
			}
		}
	}
	got, ok := Simulation{Seed: 1, Rounds: 4000}.PairedPower(n, Effect{difference, discordant, nil, 0})
	if se := math.Sqrt(want * (1 - want) / 4000); !ok || math.Abs(got-want) > 4*se {
		t.Errorf("power %v, exactly %v", got, want)
	}
	if _, ok := (Simulation{Seed: 1, Rounds: 1}).PairedPower(10, Effect{0.5, 0.4, nil, 0}); ok {
		t.Error("a difference larger than the discordant share has a power")
	}
}

// TestItemsFor: at the number found the power is reached, and at nine tenths of it
// not; a difference of 10 points at 30 % discordant pairs takes about 237 items
// (Connor 1987: (1.96 sqrt(.3) + .8416 sqrt(.3 - .01))^2 / .1^2, without correction).
func TestItemsFor(t *testing.T) {
	s := Simulation{Seed: 2, Rounds: 1000}
	n, ok := s.ItemsFor(Effect{0.1, 0.3, nil, 0}, 0.8, 100_000)
	if !ok || n < 225 || n > 275 {
		t.Errorf("%d items", n)
	}
	check := Simulation{Seed: 9, Rounds: 4000}
	if p, _ := check.PairedPower(n, Effect{0.1, 0.3, nil, 0}); p < 0.77 || p > 0.85 {
		t.Errorf("at %d items the power is %v", n, p)
	}
	if _, ok := s.ItemsFor(Effect{0.1, 0.3, nil, 0}, 0.8, 50); ok {
		t.Error("50 items are enough")
	}
}

// TestPowerOverImages: of m questions of each image whose differences correlate by r, 1 + (m-1) r
// times as many are needed; without an effect the test finds one as often as it says.
func TestPowerOverImages(t *testing.T) {
	s := Simulation{Seed: 4, Rounds: 2000}
	alone, _ := s.ItemsFor(Effect{0.1, 0.3, nil, 0}, 0.8, 100_000)
	for _, r := range []float64{0, 0.1, 0.3} {
		n, ok := s.ItemsFor(Effect{0.1, 0.3, []int{10}, r}, 0.8, 100_000)
		if want := float64(alone) * (1 + 9*r); !ok || math.Abs(float64(n)/want-1) > 0.12 {
			t.Errorf("correlation %v: %d items, want about %.0f", r, n, want)
		}
	}
	// Of clusters of unequal sizes it is 1 + (sum of squared sizes / items - 1) r.
	n, ok := s.ItemsFor(Effect{0.1, 0.3, []int{1, 1, 1, 17}, 0.2}, 0.8, 100_000)
	if want := float64(alone) * (1 + (292.0/20-1)*0.2); !ok || math.Abs(float64(n)/want-1) > 0.15 {
		t.Errorf("clusters of 1 and 17: %d items, want about %.0f", n, want)
	}
	for _, n := range []int{120, 4000} {
		if p, _ := s.PairedPower(n, Effect{0, 0.3, []int{10}, 0.2}); p > 0.065 {
			t.Errorf("%d items without a difference: found in %v", n, p)
		}
	}
}

// TestLabelWidth: without a judge that tells anything it is Student's interval of the
// labels; with one, n and N that share the variance.
func TestLabelWidth(t *testing.T) {
	s := Simulation{Seed: 3, Rounds: 300}
	classical := 2 * StudentQuantile(0.975, 99) * 0.5 / 10
	if w, ok := s.LabelWidth(100, 900, 0.5, 0); !ok || math.Abs(w/classical-1) > 0.02 {
		t.Errorf("a judge who knows nothing: %v, labels alone %v", w, classical)
	}
	want := classical * math.Sqrt(1-0.81*0.9) // 1 - r^2 N/(N+n)
	if w, ok := s.LabelWidth(100, 900, 0.5, 0.9); !ok || math.Abs(w/want-1) > 0.03 {
		t.Errorf("a good judge: %v, want %v", w, want)
	}
	n, ok := s.LabelsFor(0.1, 1000, 0.5, 0.9, 1000)
	if w, _ := s.LabelWidth(n, 1000-n, 0.5, 0.9); !ok || w > 0.1 || w < 0.096 {
		t.Errorf("%d labels: width %v", n, w)
	}
}

func TestGoldenGateBounds(t *testing.T) {
	for _, c := range readGolden[struct {
		ID                         string
		N, Parse, Schema, Evidence int
		Out                        struct {
			Upper95 map[string][]float64
		}
	}](t, "gates.json") {
		for name, k := range map[string]int{"parse": c.Parse, "schema": c.Schema, "evidence": c.Evidence} {
			want := c.Out.Upper95[name]
			_, high := wilson(float64(k)/float64(c.N), float64(c.N), z95)
			if got := BinomialUpper(k, c.N); !near(got, want[0], 1e-9) || !near(high, want[1], 1e-9) {
				t.Errorf("%s, %s: %v and %v, want %v", c.ID, name, got, high, want)
			}
		}
	}
}

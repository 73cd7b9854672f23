package stats

import (
	"fmt"
	"math"
	"os"
	"testing"
)

// rounds of a coverage study: all of them with ASSAY_SLOW=1, few of them always.
func rounds(all, few int) int {
	if os.Getenv("ASSAY_SLOW") != "" {
		return all
	}
	return few
}

// covered counts how often intervals hold a truth.
type covered struct {
	n, held int
	width   float64
}

func (c *covered) add(low, high *float64, truth float64) {
	c.n++
	if low != nil && *low <= truth && truth <= *high {
		c.held++
	}
	if low != nil {
		c.width += *high - *low
	}
}

// share is how often, in per cent, with its Monte-Carlo standard error.
func (c covered) share() (p, se float64) {
	p = float64(c.held) / float64(c.n)
	return 100 * p, 100 * math.Sqrt(p*(1-p)/float64(c.n))
}

// check fails where the truth is held less or more often than an interval of 95 % that
// covers 93 to 97 % lets expect, by four standard errors of so many rounds.
func (c covered) check(t *testing.T, what string) {
	t.Helper()
	p, se := c.share()
	mark := ""
	if p < 93 || p > 97 {
		mark = "  outside of 93 to 97 %"
	}
	t.Logf("%s: %.1f %% (+/- %.1f) of %d, mean width %.4f%s", what, p, se, c.n, c.width/float64(c.n), mark)
	slack := 400 * math.Sqrt(0.05*0.95/float64(c.n))
	if p < 93-slack || p > min(100, 97+slack) {
		t.Errorf("%s: the truth is held in %.1f %% of %d", what, p, c.n)
	}
}

// TestCoverageOfCorrectedMeans: the interval of a corrected mean in simulated
// populations of 1,000 cases, by the judge's correlation with people and the number
// of labels, and how much narrower it is than that of the labels alone. The figures of
// docs/people.md at their N:
//
//	ASSAY_SLOW=1 go test -v -run TestCoverage ./results/stats
func TestCoverageOfCorrectedMeans(t *testing.T) {
	const population = 1000
	n := rounds(1000, 150)
	for _, r := range []float64{0, 0.5, 0.9} {
		for _, labels := range []int{30, 100, 300} {
			rng := SplitMix64(uint64(1 + labels + int(1000*r)))
			var ppi, alone covered
			for range n {
				s := judgedPopulation(&rng, labels, population-labels, 1, r)
				for i := range s.Judged { // a judge who scores higher than people
					s.Judged[i] += 0.7
				}
				for i := range s.Unlabelled {
					s.Unlabelled[i] += 0.7
				}
				c := Correct([]Stratum{s}, CrossFitted)
				ppi.add(c.Low, c.High, 0)
				c = Correct([]Stratum{s}, FixedWeight(0))
				alone.add(c.Low, c.High, 0)
			}
			ppi.check(t, fmt.Sprintf("PPI++, r = %g, %d labels", r, labels))
			alone.check(t, fmt.Sprintf("  people alone, %d labels", labels))
			ratio := ppi.width / alone.width
			t.Logf("  width to that of people alone: %.3f", ratio)
			switch {
			case r == 0 && math.Abs(ratio-1) > 0.02:
				t.Errorf("r = 0, %d labels: intervals are %.3f as wide as those of people alone", labels, ratio)
			case r == 0.9 && ratio > 0.8:
				t.Errorf("r = .9, %d labels: intervals are %.3f as wide as those of people alone", labels, ratio)
			}
		}
	}
}

// phantomPanel draws cases of grades 1 to 5 that raters see with noise, and a judge.
func phantomPanel(rng *SplitMix64, cases int) (Ratings, []Rating) {
	noise := []float64{0.2, 0.35, 0.5, 0.3} // chance to be off by one
	r := make(Ratings, len(noise))
	var judged []Rating
	see := func(truth int, chance float64) Rating {
		if rng.Binomial(1, chance) == 1 {
			truth += 2*rng.Index(2) - 1
		}
		return Rating{float64(min(5, max(1, truth))), true}
	}
	for range cases {
		truth := 1 + rng.Index(5)
		for i, chance := range noise {
			r[i] = append(r[i], see(truth, chance))
		}
		judged = append(judged, see(truth, 0.4))
	}
	return r, judged
}

// TestCoverageOfAgreement: intervals of tau-b, kappa and alpha in panels of phantom
// raters with known noise and a phantom judge with known errors, 100 cases each. The
// truth is that of a panel of 200,000 cases. B is 1,000.
func TestCoverageOfAgreement(t *testing.T) {
	const cases = 100
	rng := SplitMix64(99)
	measure := func(r Ratings, judged []Rating) (tau, kappa func([]int) (float64, bool), alpha func([]int) (float64, bool)) {
		z, _ := r.Standard()
		x, y, _ := Both(judged, z.Consensus(nil))
		table := make([][]int, 5)
		for i := range table {
			table[i] = make([]int, 5)
		}
		p := NewPanel(r, 5)
		all, of := upTo(len(r)), p.Alpha(Ordinal)
		return TauOf(x, y), func(idx []int) (float64, bool) {
				for _, row := range table {
					clear(row)
				}
				for _, i := range idx {
					table[int(r[0][i].Value)-1][int(judged[i].Value)-1]++
				}
				k, why := Kappa(table, Quadratic)
				return k, why == ""
			}, func(idx []int) (float64, bool) {
				v, why := of(idx, all)
				return v, why == ""
			}
	}
	large := rounds(200_000, 50_000)
	tau, kappa, alpha := measure(phantomPanel(&rng, large))
	var truth [3]float64
	for i, f := range []func([]int) (float64, bool){tau, kappa, alpha} {
		truth[i], _ = f(upTo(large))
	}
	var got [3]covered
	for range rounds(2000, 60) {
		tau, kappa, alpha := measure(phantomPanel(&rng, cases))
		b := Bootstrap{Seed: rng.Next(), B: 1000, Alpha: 0.05}
		for i, f := range []func([]int) (float64, bool){tau, kappa, alpha} {
			e := b.Stat(cases, f)
			got[i].add(e.Low, e.High, truth[i])
		}
	}
	for i, name := range []string{"tau-b", "kappa", "alpha"} {
		got[i].check(t, fmt.Sprintf("%s (%.3f)", name, truth[i]))
	}
}

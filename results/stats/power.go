package stats

import "math"

// Normal draws from the standard normal distribution.
func (s *SplitMix64) Normal() float64 {
	for {
		// 53 bits; 0 has no quantile.
		if u := float64(s.Next()>>11) / (1 << 53); u > 0 {
			return normalQuantile(u)
		}
	}
}

// Binomial draws how many of n trials succeed with chance p.
func (s *SplitMix64) Binomial(n int, p float64) int {
	below := uint64(math.Min(p*(1<<63)*2, math.MaxUint64))
	k := 0
	for range n {
		if s.Next() < below {
			k++
		}
	}
	return k
}

// Simulation is how often something is simulated, and from which seed.
type Simulation struct {
	Seed   uint64
	Rounds int
}

// Effect is a difference of shares (0..1) between two answers to each item.
type Effect struct {
	Difference, Discordant float64 // the latter: the share of items that are right on one side only
	Sizes                  []int   // of clusters (items that share an image), drawn from these; none: every item is one
	Correlation            float64 // of the differences of a cluster's items, 0..1
}

// PairedPower is the simulated chance that the test by sign flips of clusters at 5 % finds an
// effect on n items. It is false where the difference is larger than the discordant share.
func (s Simulation) PairedPower(n int, e Effect) (power float64, ok bool) {
	e.Difference = math.Abs(e.Difference)
	if e.Difference > e.Discordant || e.Discordant > 1 {
		return 0, false
	}
	rng := SplitMix64(s.Seed)
	chance := func() float64 { return float64(rng.Next()>>11) / (1 << 53) }
	draw := func() float64 {
		switch u := chance(); {
		case u < (e.Discordant+e.Difference)/2:
			return 1
		case u < e.Discordant:
			return -1
		}
		return 0
	}
	size := func() int {
		switch len(e.Sizes) {
		case 0:
			return 1
		case 1:
			return e.Sizes[0]
		}
		return e.Sizes[rng.Index(len(e.Sizes))]
	}
	// Two items that share their cluster's draw with this chance each correlate by its square.
	shared := math.Sqrt(e.Correlation)
	found := 0
	for range s.Rounds {
		var d []float64
		for left := n; left > 0; {
			items := min(size(), left)
			left -= items
			var of, all float64
			if items > 1 {
				of = draw()
			}
			for range items {
				if items > 1 && chance() < shared {
					all += of
				} else {
					all += draw()
				}
			}
			if all != 0 {
				d = append(d, all)
			}
		}
		if differs(d) {
			found++
		}
	}
	return float64(found) / float64(s.Rounds), true
}

// differs says whether SignFlips is at most 0.05: where many clusters differ, by its normal
// limit.
func differs(d []float64) bool {
	const many = 200
	if len(d) <= many {
		return SignFlips(d) <= 0.05
	}
	var squares float64
	for _, x := range d {
		squares += x * x
	}
	return math.Abs(sum(d)) >= z95*math.Sqrt(squares)
}

// ItemsFor is the least number of items, up to most, at which PairedPower reaches a
// power, within 2 %; false: it does not up to there.
func (s Simulation) ItemsFor(e Effect, power float64, most int) (int, bool) {
	return least(most, func(n int) bool {
		p, ok := s.PairedPower(n, e)
		return ok && p >= power
	})
}

// LabelWidth is the mean width of the 95 % CI of a corrected mean in simulated
// populations: n labelled cases, judged others, labels of a standard deviation, and a
// judge who correlates with them by r.
func (s Simulation) LabelWidth(n, judged int, sd, r float64) (float64, bool) {
	rng := SplitMix64(s.Seed)
	var width float64
	for range s.Rounds {
		c := Correct([]Stratum{judgedPopulation(&rng, n, judged, sd, r)}, CrossFitted)
		if c.Low == nil {
			return 0, false
		}
		width += *c.High - *c.Low
	}
	return width / float64(s.Rounds), true
}

// LabelsFor is the least number of labels, up to most, at which LabelWidth falls to a
// width, within 2 %; false: it does not up to there.
func (s Simulation) LabelsFor(width float64, judged int, sd, r float64, most int) (int, bool) {
	return least(most, func(n int) bool {
		w, ok := s.LabelWidth(n, max(judged-n, 0), sd, r)
		return ok && w <= width
	})
}

// AloneFor is the least number of labels, up to most, whose mean alone has an interval
// of a width, labels having a standard deviation.
func AloneFor(width, sd float64, most int) (int, bool) {
	return least(most, func(n int) bool {
		return 2*StudentQuantile(0.975, float64(n-1))*sd/math.Sqrt(float64(n)) <= width
	})
}

// judgedPopulation draws labels, normal about 0 with a standard deviation, and a
// judge's scores that correlate with them by r, of n labelled and some other cases.
func judgedPopulation(rng *SplitMix64, n, others int, sd, r float64) Stratum {
	s := Stratum{Share: 1}
	draw := func() (y, f float64) {
		a, b := rng.Normal(), rng.Normal()
		return sd * a, sd * (r*a + math.Sqrt(1-r*r)*b)
	}
	for range n {
		y, f := draw()
		s.Labels, s.Judged = append(s.Labels, y), append(s.Judged, f)
	}
	for range others {
		_, f := draw()
		s.Unlabelled = append(s.Unlabelled, f)
	}
	return s
}

// least is the smallest n in 4..most of which enough holds, searched as if it held
// from there on, to within 2 %.
func least(most int, enough func(int) bool) (int, bool) {
	low, high := 3, 4
	for !enough(high) {
		if high >= most {
			return 0, false
		}
		low, high = high, min(2*high, most)
	}
	for high-low > max(1, high/50) {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// BinomialUpper is the upper end of the 95 % percentile bootstrap interval of k
// successes in n > 0 trials with ever more replicates: the 97.5 % quantile of
// Binomial(n, k/n), over n.
func BinomialUpper(k, n int) float64 {
	p := float64(k) / float64(n)
	if k == 0 || k == n {
		return p
	}
	ln, _ := math.Lgamma(float64(n + 1))
	var below float64
	for i := range n + 1 {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		below += math.Exp(ln - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		if below >= 0.975 {
			return float64(i) / float64(n)
		}
	}
	return 1
}

// Prevalence corrects the share of cases that a judge calls positive for what he
// gets wrong.

package agree

import (
	"math"

	"assay/results/stats"
)

// Reasons of an estimate that does not exist.
const (
	noJudged      stats.Undefined = stats.NoUnlabelled
	uninformative stats.Undefined = "sensitivity + specificity = 1: the judge carries no information"
	noSensitivity stats.Undefined = "no labelled case is positive"
	noSpecificity stats.Undefined = "no labelled case is negative"
)

// prevalenceEstimate is the share of positive cases, from a judge who errs (Rogan and Gladen
// 1978); fields are nil where they do not exist.
type prevalenceEstimate struct {
	Unclipped *float64
	Value     *float64 // in [0, 1]
	Low, High *float64 // 95 %, by the profile likelihood
	Why       stats.Undefined
}

// roganGladen corrects the share p that a judge calls positive for his sensitivity se
// and specificity sp.
func roganGladen(p, se, sp float64) (unclipped float64, why stats.Undefined) {
	if math.Abs(se+sp-1) < 1e-12 {
		return 0, uninformative
	}
	return (p + sp - 1) / (se + sp - 1), ""
}

// prevalenceCounts are what a judge said of binary cases: how many of Judged, which have no
// label, he called positive; and of those labelled positive and negative, how many
// he called so.
type prevalenceCounts struct {
	Judged, Positive int
	Yes, TrueYes     int
	No, TrueNo       int
}

// judgedCase is a binary case that a judge has seen.
type judgedCase struct {
	Called  bool  // positive, by the judge
	Label   *bool // by people; nil: it has none
	Cluster int   // of cases that are not independent of each other, from 0
}

// estimatePrevalence is Rogan's and Gladen's estimate with an interval over clusters.
func estimatePrevalence(cases []judgedCase) prevalenceEstimate {
	var c prevalenceCounts
	labelled := map[int]bool{}
	count := func(all, called *int, is bool) {
		*all++
		if is {
			*called++
		}
	}
	for _, x := range cases {
		switch {
		case x.Label == nil:
			count(&c.Judged, &c.Positive, x.Called)
		case *x.Label:
			count(&c.Yes, &c.TrueYes, x.Called)
		default:
			count(&c.No, &c.TrueNo, !x.Called)
		}
		if x.Label != nil {
			labelled[x.Cluster] = true
		}
	}
	return c.estimate(c.inflation(cases), len(labelled))
}

// inflation is how much larger the variance of the estimate is over clusters than if every
// case was one of its own; at least 1.
func (c prevalenceCounts) inflation(cases []judgedCase) float64 {
	share := func(k, n int) float64 { return float64(k) / float64(max(n, 1)) }
	p, se, sp := share(c.Positive, c.Judged), share(c.TrueYes, c.Yes), share(c.TrueNo, c.No)
	pi := 0.0
	if raw, why := roganGladen(p, se, sp); why == "" {
		pi = min(1, max(0, raw))
	}
	is := func(x bool) float64 { return map[bool]float64{true: 1}[x] }
	var alone, together float64
	clusters := map[int]int{}
	var moves []float64
	for _, x := range cases {
		var m float64
		switch {
		case x.Label == nil:
			m = (is(x.Called) - p) / float64(c.Judged)
		case *x.Label:
			m = -pi * (is(x.Called) - se) / float64(c.Yes)
		default:
			m = (1 - pi) * (is(!x.Called) - sp) / float64(c.No)
		}
		alone += m * m
		if _, ok := clusters[x.Cluster]; !ok {
			clusters[x.Cluster] = len(moves)
			moves = append(moves, 0)
		}
		moves[clusters[x.Cluster]] += m
	}
	for _, m := range moves {
		together += m * m
	}
	n, k := float64(len(cases)), float64(len(moves))
	switch {
	case n == k || k < 2:
		return 1
	case alone < 1e-12:
		return n / k // nothing says that a cluster is worth more than one case
	}
	return max(1, k/(k-1)*together/(n/(n-1)*alone))
}

// estimate is Rogan's and Gladen's.
func (c prevalenceCounts) estimate(inflation float64, labelled int) prevalenceEstimate {
	switch {
	case c.Judged == 0:
		return prevalenceEstimate{Why: noJudged}
	case c.Yes == 0:
		return prevalenceEstimate{Why: noSensitivity}
	case c.No == 0:
		return prevalenceEstimate{Why: noSpecificity}
	}
	share := func(k, n int) float64 { return float64(k) / float64(n) }
	p, se, sp := share(c.Positive, c.Judged), share(c.TrueYes, c.Yes), share(c.TrueNo, c.No)
	var out prevalenceEstimate
	raw, why := roganGladen(p, se, sp)
	if why != "" {
		return prevalenceEstimate{Why: why}
	}
	clipped := min(1, max(0, raw))
	out.Unclipped, out.Value = &raw, &clipped
	low, high := c.interval(clipped, inflation, labelled)
	out.Low, out.High = &low, &high
	return out
}

// interval is the least and the greatest prevalence that a likelihood ratio test does not
// reject, of those in [0, 1]. Its limit is the square of Student's quantile with
// labelled clusters - 2 degrees of freedom, two shares being known from the labels alone,
// times what clusters inflate the variance by (Rao and Scott 1981). A judge
// who tells nothing leaves nearly all of [0, 1]. value lies between the ends.
func (c prevalenceCounts) interval(value, inflation float64, labelled int) (low, high float64) {
	const steps = 200
	at := func(i int) float64 { return float64(i) / steps }
	t := stats.StudentQuantile(0.975, float64(max(1, labelled-2)))
	best := c.likelihood(value)
	for i := range steps + 1 {
		best = max(best, c.likelihood(at(i)))
	}
	holds := func(share float64) bool { return 2*(best-c.likelihood(share)) <= t*t*inflation }
	edge := func(out, in float64) float64 {
		for range 40 {
			if m := (out + in) / 2; holds(m) {
				in = m
			} else {
				out = m
			}
		}
		return in
	}
	first, last := 0, steps
	for at(first) < value && !holds(at(first)) {
		first++
	}
	for at(last) > value && !holds(at(last)) {
		last--
	}
	low, high = min(value, at(first)), max(value, at(last))
	if first > 0 {
		low = edge(at(first-1), low)
	}
	if last < steps {
		high = edge(at(last+1), high)
	}
	return low, high
}

// likelihood is the logarithm of the greatest likelihood of the counts at a prevalence
// pi: over sensitivity a and one less specificity b, with pi a + (1-pi) b of the cases
// called positive.
func (c prevalenceCounts) likelihood(pi float64) float64 {
	falseYes := c.No - c.TrueNo
	low, high := -1.0, 1.0 // Lagrange's multiplier
	shares := func(m float64) (p, a, b float64) {
		return tilted(c.Positive, c.Judged, m), tilted(c.TrueYes, c.Yes, -m*pi), tilted(falseYes, c.No, -m*(1-pi))
	}
	over := func(m float64) bool {
		p, a, b := shares(m)
		return p > pi*a+(1-pi)*b
	}
	for !over(low) && low > -1e15 {
		low *= 8
	}
	for over(high) && high < 1e15 {
		high *= 8
	}
	for range 60 {
		if m := (low + high) / 2; over(m) {
			low = m
		} else {
			high = m
		}
	}
	_, a, b := shares((low + high) / 2)
	return logLikelihood(c.Positive, c.Judged, pi*a+(1-pi)*b) + logLikelihood(c.TrueYes, c.Yes, a) + logLikelihood(falseYes, c.No, b)
}

// tilted is the share x in [0, 1] with the greatest k log x + (n-k) log(1-x) - t x.
func tilted(k, n int, t float64) float64 {
	x, all := float64(k), float64(n)
	root := math.Sqrt((all+t)*(all+t) - 4*t*x)
	if all+t <= 0 {
		return (all + t - root) / (2 * t)
	}
	return 2 * x / (all + t + root)
}

// logLikelihood is that of k cases of n, each with the chance x.
func logLikelihood(k, n int, x float64) (l float64) {
	if k > 0 {
		l = float64(k) * math.Log(x)
	}
	if k < n {
		l += float64(n-k) * math.Log1p(-x)
	}
	return l
}

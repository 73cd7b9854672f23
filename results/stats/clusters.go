package stats

import (
	"math"
	"slices"
)

// OneCluster is why a share has no interval: nothing says how much clusters differ.
const OneCluster Undefined = "all answers are of one cluster"

// Share is a proportion over clusters of answers with its interval; a nil field does
// not exist.
type Share struct {
	P         *float64
	Low, High *float64
	N         float64   // answers
	NEff      *float64  // answers that are worth as much, were each a cluster of its own; at most N
	Clusters  int       // that hold an answer
	Why       Undefined // why P or the interval is nil; "": both are there

	moves   []float64 // by cluster, what it moves P by: (s - P n) / N
	answers []float64 // by cluster
	between bool      // scores lie between 0 and 1
}

// ShareOf is the proportion of answers that hold, pooled over clusters: sums[i] is the sum
// of the scores, each in [0, 1], of the answers[i] >= 0 answers of cluster i. Its interval is
// Wilson's on the effective number of answers (metrics.md section 0): at most all of them where
// scores are 0 or 1. Scores between spread less than that, and are worth more.
func ShareOf(sums, answers []float64) Share {
	k, n := sum(sums), sum(answers)
	if n == 0 {
		return Share{Why: NoCases}
	}
	p := k / n
	moves := make([]float64, len(sums))
	for i, s := range sums {
		moves[i] = (s - p*answers[i]) / n
	}
	const hair = 1e-9
	between := slices.ContainsFunc(sums, func(s float64) bool { return math.Abs(s-math.Round(s)) > hair })
	return shareMoved(p, moves, answers, between)
}

// MeanShare is the unweighted mean of shares of the same clusters, in the same order. same
// says that they are of the same answers, as judged by several judges; else each is of answers
// of its own.
func MeanShare(of []Share, same bool) Share {
	if len(of) == 0 {
		return Share{Why: NoCases}
	}
	if len(of) == 1 {
		return of[0]
	}
	between := false
	p, moves, answers := 0.0, make([]float64, len(of[0].moves)), make([]float64, len(of[0].moves))
	for _, s := range of {
		p += *s.P / float64(len(of))
		between = between || s.between
		for i, m := range s.moves {
			moves[i] += m / float64(len(of))
			if same {
				answers[i] = max(answers[i], s.answers[i])
			} else {
				answers[i] += s.answers[i]
			}
		}
	}
	return shareMoved(p, moves, answers, between)
}

// shareMoved is a share of which is known what each cluster moves it by; moves sum to 0.
// between says that scores lie between 0 and 1.
func shareMoved(p float64, moves, answers []float64, between bool) Share {
	if p < -rounding || p > 1+rounding {
		panic("stats: internal error: a share outside of 0 to 1")
	}
	if p < rounding {
		p = 0
	}
	if p > 1-rounding {
		p = 1
	}
	s := Share{P: &p, moves: moves, answers: answers, between: between}
	single := true
	var squares []float64
	for i, n := range answers {
		if n > 0 {
			s.Clusters++
			s.N += n
			single = single && n == 1
			squares = append(squares, moves[i]*moves[i])
		}
	}
	switch s.Clusters {
	case 0:
		return Share{Why: NoCases}
	case 1:
		s.Why = OneCluster
		return s
	}
	clusters := float64(s.Clusters)
	variance, eff, z := clusters/(clusters-1)*sum(squares), s.N, z95
	switch {
	case p == 0 || p == 1:
		eff = clusters
	case variance > rounding*rounding:
		if eff = p * (1 - p) / variance; !between {
			eff = min(s.N, eff)
		}
	}
	if !single || between {
		z = StudentQuantile(0.975, clusters-1)
	}
	low, high := wilson(p, eff, z)
	s.NEff, s.Low, s.High = &eff, &low, &high
	return s
}

// Less is the interval of the difference a - b of two shares by MOVER (Zou and Donner 2008)
// over their own intervals. paired says that they are of the same clusters, in the same
// order: what moves both at once then counts. False: one of them has no interval.
func (a Share) Less(b Share, paired bool) (low, high float64, ok bool) {
	if a.Low == nil || b.Low == nil {
		return 0, 0, false
	}
	r := 0.0
	if paired {
		var uv, uu, vv float64
		for i, u := range a.moves {
			v := b.moves[i]
			uv, uu, vv = uv+u*v, uu+u*u, vv+v*v
		}
		if uu > rounding*rounding && vv > rounding*rounding {
			r = min(1, max(-1, uv/math.Sqrt(uu*vv)))
		}
	}
	d := *a.P - *b.P
	end := func(x, y float64) float64 { return math.Sqrt(max(0, x*x+y*y-2*r*x*y)) }
	return d - end(*a.P-*a.Low, *b.High-*b.P), d + end(*a.High-*a.P, *b.P-*b.Low), true
}

// TailOf is the share of replicates below the lower end of a 95 % percentile interval, and
// above the upper one, of so many clusters >= 2: with few of them replicates vary too little
// (Hesterberg 2015, section 5.3).
func TailOf(clusters int) float64 { return tailOf(clusters, 0.05) }

func tailOf(clusters int, alpha float64) float64 {
	k := float64(clusters)
	return normalBelow(-math.Sqrt(k/(k-1)) * StudentQuantile(1-alpha/2, k-1))
}

const (
	mostParts = 12      // differences that are whole numbers of a twelfth or more are summed exactly
	mostSteps = 1 << 30 // and the sums of so many clusters take no more additions
	flips     = 100_000
	// Above so many clusters the normal limit is nearer than draws are.
	mostFlipped = 10_000
)

// SignFlips is the mid-p of a test of paired differences, summed by cluster: how often the
// sum lies as far from 0 as it does where the sign of each cluster is drawn, ties counted
// half. It is exact where differences are whole numbers, halves or other parts, or few; else
// of 100,000 draws, and the normal limit above 10,000 clusters that differ. Without a difference it is 1.
func SignFlips(d []float64) float64 {
	const hair = 1e-9
	var differ []float64
	for _, x := range d {
		if math.Abs(x) > hair {
			differ = append(differ, math.Abs(x))
		}
	}
	if len(differ) == 0 {
		return 1
	}
	far := math.Abs(sum(d))
	if slices.Max(differ)-slices.Min(differ) < hair {
		return binomialFlips(len(differ), int(math.Round(far/differ[0])))
	}
	if len(differ) > mostFlipped {
		squares := 0.0
		for _, x := range differ {
			squares += x * x
		}
		return 2 * normalBelow(-far/math.Sqrt(squares))
	}
	if parts, ok := wholeParts(differ); ok {
		return exactFlips(parts, far/differ[0]*float64(parts[0]))
	}
	return drawnFlips(differ, far)
}

// wholeParts are numbers as whole multiples of what divides them all; false: there is no
// such part, or sums would spread too far.
func wholeParts(v []float64) ([]int, bool) {
	for parts := 1.; parts <= mostParts; parts++ {
		out, total := make([]int, len(v)), 0.0
		if slices.ContainsFunc(v, func(x float64) bool { return math.Abs(x*parts-math.Round(x*parts)) > 1e-9 }) {
			continue
		}
		for i, x := range v {
			out[i] = int(math.Round(x * parts))
			total += x * parts
		}
		return out, total*float64(len(v)) <= mostSteps
	}
	return nil, false
}

// exactFlips is the test over all choices of signs of whole numbers, by convolution.
func exactFlips(v []int, far float64) float64 {
	total := 0
	for _, x := range v {
		total += x
	}
	// now[s] is the chance that the numbers with a positive sign sum to s.
	now, reach := make([]float64, total+1), 0
	now[0] = 1
	for _, x := range v {
		for s := reach + x; s >= 0; s-- {
			p := 0.0
			if s <= reach {
				p = now[s]
			}
			if s >= x {
				p += now[s-x]
			}
			now[s] = p / 2
		}
		reach += x
	}
	var p []float64
	for s, c := range now {
		switch at := math.Abs(float64(2*s - total)); {
		case math.Abs(at-far) < 0.5:
			p = append(p, c/2)
		case at > far:
			p = append(p, c)
		}
	}
	return min(1, sum(p))
}

// binomialFlips is the chance that n signs sum farther from 0 than far does, ties half.
func binomialFlips(n, far int) float64 {
	ln, _ := math.Lgamma(float64(n + 1))
	var p []float64
	for up := range n + 1 {
		at := max(2*up-n, n-2*up)
		if at < far {
			continue
		}
		a, _ := math.Lgamma(float64(up + 1))
		b, _ := math.Lgamma(float64(n - up + 1))
		c := math.Exp(ln - a - b - float64(n)*math.Ln2)
		if at == far {
			c /= 2
		}
		p = append(p, c)
	}
	return min(1, sum(p))
}

// drawnFlips is the test over drawn signs, of which those seen are one draw more; of few
// numbers all choices are tried.
func drawnFlips(v []float64, far float64) float64 {
	slices.Sort(v) // the order of clusters makes no difference
	// Eight numbers at a time: their sums under all 256 choices of signs.
	var tables [][256]float64
	for from := 0; from < len(v); from += 8 {
		var t [256]float64
		for bits := range t {
			for i, x := range v[from:min(from+8, len(v))] {
				if bits>>i&1 == 1 {
					x = -x
				}
				t[bits] += x
			}
		}
		tables = append(tables, t)
	}
	rng, slack := SplitMix64(1), 1e-9*sum(v)
	count, draws, all := 0.5, flips, flips+1.
	few := len(v) <= 16
	if few {
		count, draws, all = 0, 1<<len(v), float64(int(1)<<len(v))
	}
	for n := range draws {
		s, word := 0.0, uint64(n)
		for i := range tables {
			if !few && i%8 == 0 {
				word = rng.Next()
			}
			s += tables[i][word>>(8*(i%8))&255]
		}
		switch s = math.Abs(s); {
		case math.Abs(s-far) <= slack:
			count += 0.5
		case s > far:
			count++
		}
	}
	return count / all
}

// Paired is two scores of the same cases, and the cluster of each, from 0.
type Paired struct {
	A, B    []float64
	Cluster []int
}

// Difference is the mean of B - A over the cases. A nil field does not exist.
type Difference struct {
	Value     *float64
	Low, High *float64
	P         *float64 // SignFlips
	N         int      // cases
	Clusters  int
	Why       Undefined // why there is no interval
}

// Shares says whether all scores lie in 0 to 1, as those that a share is the mean of.
func (p Paired) Shares() bool {
	out := func(x float64) bool { return x < 0 || x > 1 }
	return !slices.ContainsFunc(p.A, out) && !slices.ContainsFunc(p.B, out)
}

// Difference compares the two. The interval of a difference of shares is MOVER's; any other
// is that of b's replicates.
func (p Paired) Difference(share bool, b Bootstrap) Difference {
	d := Difference{N: len(p.A)}
	if d.N == 0 {
		d.Why = NoCases
		return d
	}
	k := slices.Max(p.Cluster) + 1
	sumA, sumB, less, cases := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for i, c := range p.Cluster {
		sumA[c] += p.A[i]
		sumB[c] += p.B[i]
		less[c] += p.B[i] - p.A[i]
		cases[c]++
	}
	value, chance := Settled(sum(less)/float64(d.N)), SignFlips(less)
	d.Value, d.P = &value, &chance
	for _, n := range cases {
		if n > 0 {
			d.Clusters++
		}
	}
	if share {
		x, y := ShareOf(sumB, cases), ShareOf(sumA, cases)
		if low, high, ok := x.Less(y, true); ok {
			low, high = Settled(low), Settled(high)
			d.Low, d.High = &low, &high
		} else {
			d.Why = x.Why
		}
		return d
	}
	e := b.Ratio(less, cases)
	d.Low, d.High, d.Why = e.Low, e.High, e.Why
	return d
}

// ClustersOf numbers the clusters of cases by their names, from 0; a case without a name is
// a cluster of its own.
func ClustersOf(n int, name func(i int) string) []int {
	out, at, next := make([]int, n), map[string]int{}, 0
	for i := range out {
		c := name(i)
		k, known := at[c]
		if c == "" || !known {
			k = next
			next++
		}
		if c != "" {
			at[c] = k
		}
		out[i] = k
	}
	return out
}

package stats

import (
	"math"
	"slices"
	"strconv"
)

// Reasons of a correction that does not exist.
const (
	noLabels     Undefined = "no labels"
	NoUnlabelled Undefined = "no judged cases without a label"
	flatJudge    Undefined = "the judge's scores of the labelled cases are all equal"
	tooFewSpread Undefined = "fewer than two cases where a variance is needed"
)

// Stratum is what is known of one part of a population of cases: labels and a judge's
// scores of those that were drawn to be labelled, and his scores of the others.
type Stratum struct {
	Share      float64   // of the population; all of a population's sum to 1
	Labels     []float64 // by people
	Judged     []float64 // of the same cases, by the judge
	Unlabelled []float64 // of the other cases, by the judge
	// LabelOf and OtherOf are the cluster of each labelled and of each other case, from 0, over
	// all strata; nil: each is a cluster of its own.
	LabelOf, OtherOf []int
}

// Corrected is a mean over a population, estimated from a judge's scores and labels of
// some cases (PPI++, Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453). Fields are
// nil where they do not exist.
type Corrected struct {
	Value, SE *float64
	Low, High *float64 // 95 %, Student's t with labelled clusters - strata degrees of freedom
	Lambda    []float64
	Labels    int
	Judged    int // without a label
	Why       Undefined
}

// Weighing is how much of a judge's scores enters a corrected mean: in [0, 1], 0 none.
type Weighing func(s Stratum) (byLabel []float64, why Undefined)

// Fixed weighs all alike.
func FixedWeight(lambda float64) Weighing {
	return func(s Stratum) ([]float64, Undefined) { return repeated(lambda, len(s.Labels)), "" }
}

// folds a cross-fitted lambda has at most.
const folds = 10

// CrossFitted weighs each labelled case by the best lambda of the folds that its cluster is
// not in, so that no label chooses its own weight. A fold whose others tell nothing
// leaves the judge out.
func CrossFitted(s Stratum) ([]float64, Undefined) {
	if _, why := bestLambda(s, func(int) bool { return true }); why != "" {
		return nil, why
	}
	of := ClustersOf(len(s.Labels), func(i int) string {
		if s.LabelOf == nil {
			return ""
		}
		return strconv.Itoa(s.LabelOf[i])
	})
	k := min(folds, slices.Max(of)+1)
	out := make([]float64, len(s.Labels))
	for fold := range k {
		l, why := bestLambda(s, func(i int) bool { return of[i]%k != fold })
		if why != "" {
			l = 0
		}
		for i := range out {
			if of[i]%k == fold {
				out[i] = l
			}
		}
	}
	return out, ""
}

func repeated(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// bestLambda is Cov(y, f) / ((1 + n/N) Var f) of the labelled cases in use, in [0, 1];
// n is all labels.
func bestLambda(s Stratum, use func(int) bool) (float64, Undefined) {
	var y, f []float64
	for i := range s.Labels {
		if use(i) {
			y, f = append(y, s.Labels[i]), append(f, s.Judged[i])
		}
	}
	switch {
	case len(s.Labels) == 0:
		return 0, noLabels
	case len(s.Unlabelled) == 0:
		return 0, NoUnlabelled
	case len(y) < 2:
		return 0, tooFewSpread
	case Same(slices.Min(f), slices.Max(f)):
		return 0, flatJudge
	}
	my, _ := Mean(y)
	mf, _ := Mean(f)
	var c, v []float64
	for i := range y {
		c, v = append(c, (y[i]-my)*(f[i]-mf)), append(v, (f[i]-mf)*(f[i]-mf))
	}
	n, other := float64(len(s.Labels)), float64(len(s.Unlabelled))
	return min(1, max(0, sum(c)/((1+n/other)*sum(v)))), ""
}

// Correct is the mean over strata: theta = lambda mean(f_u) + mean(y - lambda f_l),
// with Var = lambda^2 Var(f_u)/N + Var(y - lambda f_l)/n, n labelled cases and N
// others, combined by shares; cases of a cluster add up before they are squared.
func Correct(strata []Stratum, weigh Weighing) Corrected {
	var out Corrected
	var value float64
	var moves []float64 // by cluster, what it moves the value by
	var labelled []int
	spread := true
	moved := func(of []int, i int, by float64) {
		if of == nil {
			moves = append(moves, by)
		} else {
			moves[of[i]] += by
		}
	}
	for _, s := range strata {
		if len(s.Labels) != len(s.Judged) {
			panic("stats: internal error: labels without a judge's score")
		}
		out.Labels += len(s.Labels)
		out.Judged += len(s.Unlabelled)
		for _, c := range slices.Concat(s.LabelOf, s.OtherOf) {
			moves = append(moves, make([]float64, max(0, c+1-len(moves)))...)
		}
		labelled = append(labelled, s.LabelOf...)
	}
	clusters := distinct(labelled)
	for _, s := range strata {
		if len(s.Labels) == 0 {
			out.Why = noLabels
			return out
		}
		by, why := weigh(s)
		if why != "" {
			out.Why = why
			return out
		}
		lambda, _ := Mean(by)
		out.Lambda = append(out.Lambda, lambda)
		if lambda > 0 && len(s.Unlabelled) == 0 {
			out.Why = NoUnlabelled
			return out
		}
		// About the others' mean, so that weights which differ move no case apart.
		var middle float64
		if lambda > 0 {
			middle, _ = Mean(s.Unlabelled)
		}
		rest := make([]float64, len(s.Labels))
		for i, y := range s.Labels {
			rest[i] = y - by[i]*(s.Judged[i]-middle)
		}
		m, _ := Mean(rest)
		value += s.Share * m
		few, ok := fewClusters(s.LabelOf, len(rest))
		spread = spread && ok
		for i, y := range rest {
			moved(s.LabelOf, i, s.Share*few*(y-m)/float64(len(rest)))
		}
		if s.LabelOf == nil {
			clusters += len(s.Labels)
		}
		if lambda > 0 {
			few, ok := fewClusters(s.OtherOf, len(s.Unlabelled))
			spread = spread && ok
			for i, f := range s.Unlabelled {
				moved(s.OtherOf, i, s.Share*few*lambda*(f-middle)/float64(len(s.Unlabelled)))
			}
		}
	}
	if len(strata) == 0 {
		out.Why = noLabels
		return out
	}
	out.Value = &value
	for i, m := range moves {
		moves[i] = m * m
	}
	switch se, df := math.Sqrt(sum(moves)), clusters-len(strata); {
	case !spread || df <= 0:
		out.Why = tooFewSpread
	case se < rounding:
		out.Why = Constant
	default:
		half := StudentQuantile(0.975, float64(df)) * se
		low, high := value-half, value+half
		out.SE, out.Low, out.High = &se, &low, &high
	}
	return out
}

// distinct is how many clusters are among some.
func distinct(of []int) int {
	of = slices.Clone(of)
	slices.Sort(of)
	return len(slices.Compact(of))
}

// fewClusters is what the deviations of n cases are stretched by because their mean is known
// from them alone; false: they are of one cluster.
func fewClusters(of []int, n int) (float64, bool) {
	k := n
	if of != nil {
		k = distinct(of)
	}
	if k < 2 {
		return 0, false
	}
	return math.Sqrt(float64(k) / float64(k-1)), true
}

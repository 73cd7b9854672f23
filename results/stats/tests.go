package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Holm adjusts p-values so that the chance of any false rejection stays below the
// level (Holm 1979); nil ones are not among the tests. The order is that of p.
func Holm(p []*float64) []*float64 {
	return adjust(p, func(p []float64) {
		most := 0.0
		for i := range p {
			most = max(most, min(1, float64(len(p)-i)*p[i]))
			p[i] = most
		}
	})
}

// BenjaminiHochberg adjusts p-values so that the expected share of false rejections
// among all stays below the level (Benjamini and Hochberg 1995); nil ones are not
// among the tests.
func BenjaminiHochberg(p []*float64) []*float64 {
	return adjust(p, func(p []float64) {
		least := 1.0
		for i := len(p) - 1; i >= 0; i-- {
			least = min(least, p[i]*float64(len(p))/float64(i+1))
			p[i] = least
		}
	})
}

func adjust(p []*float64, ascending func([]float64)) []*float64 {
	var order []int
	for i, v := range p {
		if v != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case *p[a] < *p[b]:
			return -1
		case *p[a] > *p[b]:
			return 1
		}
		return 0
	})
	sorted := make([]float64, len(order))
	for k, i := range order {
		sorted[k] = *p[i]
	}
	ascending(sorted)
	out := make([]*float64, len(p))
	for k, i := range order {
		out[i] = &sorted[k]
	}
	return out
}

// Equivalence is two one-sided t tests of whether a mean lies between two bounds
// (Schuirmann 1987). Fields are nil where they do not exist.
type Equivalence struct {
	N         int
	Mean, SD  *float64
	P         *float64 // the larger of the two
	PLow      *float64 // of a mean at or below the lower bound
	PHigh     *float64 // of a mean at or above the upper one
	Low, High *float64 // the 90 % interval, which lies within the bounds where P < 0.05
	Why       Undefined
}

// Linearized are numbers, one for each cluster that holds a case, whose mean is that of all cases
// and whose variance over their number is its variance over clusters (metrics.md section 0).
func Linearized(sums, cases []float64) []float64 {
	mean, all, k := sum(sums)/sum(cases), sum(cases), 0.0
	for _, n := range cases {
		if n > 0 {
			k++
		}
	}
	var out []float64
	for i, n := range cases {
		if n > 0 {
			out = append(out, mean+(sums[i]-mean*n)*k/all)
		}
	}
	return out
}

// TOST tests the mean of differences d of pairs against bounds low < high.
func TOST(d []float64, low, high float64) Equivalence {
	e := Equivalence{N: len(d)}
	m, ok := Mean(d)
	if !ok {
		e.Why = NoCases
		return e
	}
	e.Mean = &m
	sd, ok := SD(d)
	if !ok {
		e.Why = OneCase
		return e
	}
	if Same(slices.Min(d), slices.Max(d)) {
		sd = 0
	}
	e.SD = &sd
	if sd < rounding {
		e.Why = Constant
		return e
	}
	df := float64(len(d) - 1)
	se := sd / math.Sqrt(float64(len(d)))
	pLow, pHigh := student(df).Survival((m-low)/se), student(df).Survival((high-m)/se)
	p := max(pLow, pHigh)
	half := StudentQuantile(0.95, df) * se
	l, h := m-half, m+half
	e.PLow, e.PHigh, e.P, e.Low, e.High = &pLow, &pHigh, &p, &l, &h
	return e
}

// student is Student's t with df > 0 degrees of freedom.
func student(df float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: df} }

// StudentQuantile is the q-quantile, q in (0, 1), of Student's t with df > 0 degrees
// of freedom.
func StudentQuantile(q, df float64) float64 { return student(df).Quantile(q) }

// normalBelow is the standard normal distribution function.
func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// normalQuantile is its inverse, of q in (0, 1).
func normalQuantile(q float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*q) }

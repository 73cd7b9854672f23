// Package stats computes the statistics that reports print.
//
//  1. Summaries of a sample: Mean, SD, Median, Quantile.
//  2. Intervals: percentile bootstrap over clusters (Bootstrap), Wilson for proportions
//     over clusters of answers and MOVER for their differences (ShareOf).
//  3. Tests of paired differences: sign flips of clusters (SignFlips).
//  4. Agreement and trend: Kendall's tau-b, Cohen's kappa, straight lines.
//  5. Printing of percentages and of significant digits.
//
// A quantity that does not exist is absent with a reason; no function returns
// NaN for finite input. Given the same seed, every result is the same on every
// machine.
package stats

import (
	"math"
	"slices"
	"strconv"
)

// Undefined is why a quantity does not exist, in words for a footnote.
type Undefined string

const (
	NoCases      Undefined = "no cases"                     // an empty sample
	OneCase      Undefined = "fewer than two cases"         // a spread needs two
	ZeroDivisor  Undefined = "the denominator is 0"         // a ratio of sums
	NoReplicates Undefined = "undefined in every resample"  // an interval
	notDefined   Undefined = "undefined for these cases"    // a statistic that says no more
	Constant     Undefined = "all values are equal"         // a correlation
	NoDisagree   Undefined = "chance agreement is complete" // a kappa
)

// Mean is the arithmetic mean; false: NoCases.
func Mean(v []float64) (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	return sum(v) / float64(len(v)), true
}

// sum adds with Neumaier's compensation, so that a sum does not depend on the
// order of its terms beyond the last bit.
func sum(v []float64) float64 {
	var s, c float64
	for _, x := range v {
		t := s + x
		if math.Abs(s) >= math.Abs(x) {
			c += (s - t) + x
		} else {
			c += (x - t) + s
		}
		s = t
	}
	return s + c
}

// SD is the sample standard deviation (divisor n-1); false: OneCase.
func SD(v []float64) (float64, bool) {
	if len(v) < 2 {
		return 0, false
	}
	m, _ := Mean(v)
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = (x - m) * (x - m)
	}
	return math.Sqrt(sum(d) / float64(len(v)-1)), true
}

// Median is the middle value, or the mean of the two middle ones; false: NoCases.
func Median(v []float64) (float64, bool) { return Quantile(v, 0.5) }

// Quantile is the q-quantile, q in 0..1, by linear interpolation between order
// statistics (Hyndman and Fan's type 7). v need not be sorted and is not
// changed; false: NoCases. It panics when q is out of range.
func Quantile(v []float64, q float64) (float64, bool) {
	s := slices.Clone(v)
	slices.Sort(s)
	return SortedQuantile(s, q)
}

// SortedQuantile is Quantile of values in ascending order.
func SortedQuantile(s []float64, q float64) (float64, bool) {
	if !(q >= 0 && q <= 1) {
		panic("stats: internal error: a quantile outside 0..1")
	}
	if len(s) == 0 {
		return 0, false
	}
	return RankedQuantile(len(s), q, func(rank int) float64 { return s[rank] }), true
}

// RankedQuantile is Quantile of n > 0 values, which of tells by their rank, from 0; q is
// in 0..1.
func RankedQuantile(n int, q float64, of func(rank int) float64) float64 {
	at := q * float64(n-1)
	i := int(at)
	if i >= n-1 {
		return of(n - 1)
	}
	a, b, t := of(i), of(i+1), at-float64(i)
	// Interpolating from the nearer end keeps the result inside [a, b].
	if t < 0.5 {
		return a + (b-a)*t
	}
	return b - (b-a)*(1-t)
}

// z95 is the normal quantile of a two-sided 95 % CI.
const z95 = 1.959963984540054

// wilson is the score interval of a share p of n > 0, which need not be whole, with normal
// quantile z (Wilson 1927).
func wilson(p, n, z float64) (low, high float64) {
	zz := z * z
	mid := (p + zz/(2*n)) / (1 + zz/n)
	half := z / (1 + zz/n) * math.Sqrt(p*(1-p)/n+zz/(4*n*n))
	low, high = mid-half, mid+half
	// The ends are exact where rounding would leave them a hair off.
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// Percent prints 100*num/den with the given number of decimals, rounding the
// exact binary value half to even (metrics.md section 0); false: ZeroDivisor.
func Percent(num, den float64, decimals int) (string, bool) {
	if den == 0 {
		return "", false
	}
	return Fixed(100*num/den, decimals), true
}

// Fixed prints v with the given number of decimals and never as "-0".
func Fixed(v float64, decimals int) string {
	return unsigned(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Significant prints v with the given number of significant digits, at least
// one, without an exponent: 0.004214, 12.35, 1235, 123500.
func Significant(v float64, digits int) string {
	if digits < 1 {
		panic("stats: internal error: fewer than one significant digit")
	}
	if v == 0 {
		return strconv.FormatFloat(0, 'f', digits-1, 64)
	}
	// 'e' rounds to the digits; its exponent then says how many are decimals.
	e := strconv.FormatFloat(v, 'e', digits-1, 64)
	r, err := strconv.ParseFloat(e, 64)
	if err != nil {
		panic("stats: internal error: " + err.Error())
	}
	exp, err := strconv.Atoi(e[len(e)-expLen(e):])
	if err != nil {
		panic("stats: internal error: " + err.Error())
	}
	return unsigned(strconv.FormatFloat(r, 'f', max(0, digits-1-exp), 64))
}

// expLen is the length of the signed exponent at the end of a number in 'e' form.
func expLen(e string) int {
	for i := len(e) - 1; ; i-- {
		if e[i] == 'e' {
			return len(e) - i - 1
		}
	}
}

// unsigned drops the sign of a zero.
func unsigned(s string) string {
	if s == "" || s[0] != '-' {
		return s
	}
	for _, c := range s[1:] {
		if c != '0' && c != '.' {
			return s
		}
	}
	return s[1:]
}

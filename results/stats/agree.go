package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Tau is Kendall's tau-b of two ratings of the same cases (Kendall 1945).
type Tau struct {
	Value      float64 // in [-1, 1]
	P          float64 // two-sided
	Exact      bool    // P is exact: no ties, and few cases or an extreme order
	Concordant int     // pairs of cases
	Discordant int
}

// Kendall compares x and y, which have the same length. "": the tau exists;
// else NoCases, OneCase, or Constant when all of x or all of y are equal.
//
// P is exact where no values are tied and n <= 33 or at most one pair is out of
// order; else normal with the tie-corrected variance.
func Kendall(x, y []float64) (Tau, Undefined) {
	n := len(x)
	if len(y) != n {
		panic("stats: internal error: ratings of different cases")
	}
	switch n {
	case 0:
		return Tau{}, NoCases
	case 1:
		return Tau{}, OneCase
	}
	var t Tau
	once := make([]int32, n)
	for i := range once {
		once[i] = 1
	}
	t.Concordant, t.Discordant, _, _ = newPairs(x, y).count(once)
	pairs := n * (n - 1) / 2
	tx, ty := tiesOf(x), tiesOf(y)
	if tx.pairs == pairs || ty.pairs == pairs {
		return Tau{}, Constant
	}
	cd := float64(t.Concordant - t.Discordant)
	t.Value = clamp(cd / math.Sqrt(float64(pairs-tx.pairs)) / math.Sqrt(float64(pairs-ty.pairs)))
	out := min(t.Discordant, pairs-t.Discordant)
	if tx.pairs == 0 && ty.pairs == 0 && (n <= 33 || out <= 1) {
		t.Exact, t.P = true, kendallExact(n, out)
		return t, ""
	}
	m := float64(n) * float64(n-1)
	v := (m*float64(2*n+5)-tx.x1-ty.x1)/18 + 2*float64(tx.pairs)*float64(ty.pairs)/m
	if n > 2 {
		v += tx.x0 * ty.x0 / (9 * m * float64(n-2))
	}
	t.P = math.Erfc(math.Abs(cd) / math.Sqrt(v) / math.Sqrt2)
	return t, ""
}

func clamp(v float64) float64 { return max(-1, min(1, v)) }

// ties are sums over the groups of t equal values.
type ties struct {
	pairs  int     // t(t-1)/2
	x0, x1 float64 // t(t-1)(t-2), t(t-1)(2t+5)
}

func tiesOf(v []float64) ties {
	s := slices.Clone(v)
	slices.Sort(s)
	var out ties
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		t := float64(j - i)
		out.pairs += (j - i) * (j - i - 1) / 2
		out.x0 += t * (t - 1) * (t - 2)
		out.x1 += t * (t - 1) * (2*t + 5)
		i = j
	}
	return out
}

// kendallExact is the two-sided probability of at most out discordant pairs (or
// as few concordant ones) among all orders of n cases, from Mahonian numbers.
func kendallExact(n, out int) float64 {
	if 4*out == n*(n-1) || n <= 2 {
		return 1
	}
	// ways[k] is the share of the orders of j cases that have k inversions.
	ways := make([]float64, out+1)
	ways[0] = 1
	for j := 2; j <= n; j++ {
		var window float64
		next := make([]float64, out+1)
		for k := range next {
			window += ways[k]
			if k >= j {
				window -= ways[k-j]
			}
			next[k] = window / float64(j)
		}
		ways = next
	}
	return min(1, 2*sum(ways))
}

// Weights of disagreements in Cohen's kappa.
type Weights int

const (
	Plain     Weights = iota // every disagreement weighs the same
	Linear                   // by the distance of the labels in their list
	Quadratic                // by its square
)

// Kappa is Cohen's kappa of a square table of counts, table[i][j] being the
// cases that the first rater gave label i and the second label j. "": it exists;
// else NoCases, or NoDisagree when chance alone would always agree.
func Kappa(table [][]int, w Weights) (float64, Undefined) {
	k := len(table)
	rows, cols, n := make([]float64, k), make([]float64, k), 0.0
	for i, r := range table {
		if len(r) != k {
			panic("stats: internal error: a table of agreement that is not square")
		}
		for j, c := range r {
			rows[i] += float64(c)
			cols[j] += float64(c)
			n += float64(c)
		}
	}
	if n == 0 {
		return 0, NoCases
	}
	var seen, chance float64
	for i := range k {
		for j := range k {
			d := math.Abs(float64(i - j))
			switch {
			case w == Plain && d > 0:
				d = 1
			case w == Quadratic:
				d *= d
			}
			seen += d * float64(table[i][j])
			chance += d * rows[i] * cols[j] / n
		}
	}
	if chance == 0 {
		return 0, NoDisagree
	}
	return 1 - seen/chance, ""
}

// line is an ordinary least squares fit y = Intercept + Slope*x.
type line struct {
	Slope, Intercept float64
	R                float64 // correlation; 0 when y is constant
	P                float64 // two-sided, of slope 0; 0 for two different points
	StdErr           float64 // of Slope
}

// fit fits a line to points, x and y having the same length. "": it exists; else
// NoCases, OneCase, or Constant when all x are equal.
func fit(x, y []float64) (line, Undefined) {
	n := len(x)
	if len(y) != n {
		panic("stats: internal error: points without a coordinate")
	}
	switch n {
	case 0:
		return line{}, NoCases
	case 1:
		return line{}, OneCase
	}
	mx, _ := Mean(x)
	my, _ := Mean(y)
	var a, b, c []float64
	for i := range x {
		a = append(a, (x[i]-mx)*(x[i]-mx))
		b = append(b, (x[i]-mx)*(y[i]-my))
		c = append(c, (y[i]-my)*(y[i]-my))
	}
	sxx, sxy, syy := sum(a), sum(b), sum(c)
	if sxx == 0 {
		return line{}, Constant
	}
	l := line{Slope: sxy / sxx}
	l.Intercept = my - l.Slope*mx
	if syy > 0 {
		l.R = clamp(sxy / math.Sqrt(sxx) / math.Sqrt(syy))
	}
	df := float64(n - 2)
	if df == 0 {
		if syy == 0 {
			l.P = 1
		}
		return l, ""
	}
	rest := max(0, 1-l.R*l.R)
	l.StdErr = math.Sqrt(rest * syy / sxx / df)
	// Student's t^2 = df r^2 / (1 - r^2), so that df/(df+t^2) = 1 - r^2.
	l.P = mathext.RegIncBeta(df/2, 0.5, rest)
	return l, ""
}

// PerDoubling is the change of values per doubling of a parameter: the slope of a
// straight line over log2 of its levels. Levels whose value is NaN are left out; false:
// fewer than two are left, or one is not above 0.
func PerDoubling(levels, values []float64) (float64, bool) {
	var x, y []float64
	for i, l := range levels {
		if math.IsNaN(values[i]) {
			continue
		}
		if l <= 0 {
			return 0, false
		}
		x, y = append(x, math.Log2(l)), append(y, values[i])
	}
	fit, why := fit(x, y)
	return fit.Slope, why == ""
}

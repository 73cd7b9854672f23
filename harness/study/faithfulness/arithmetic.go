package faithfulness

import (
	"math"

	"assay/results/stats"
)

// This file is the arithmetic of tables and nothing else.

// doublings are those between the first and the last level of a parameter.
func doublings(levels []float64) float64 {
	return math.Log2(levels[len(levels)-1]) - math.Log2(levels[0])
}

// course says in a word how values go along the levels, NaN left out.
func course(values []float64) string {
	up, down := false, false
	last := math.NaN()
	n := 0
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if !math.IsNaN(last) && !stats.Same(v, last) {
			up, down = up || v > last, down || v < last
		}
		last = v
		n++
	}
	switch {
	case n < 2:
		return ""
	case up && down:
		return "not monotone"
	case up:
		return "rising"
	case down:
		return "falling"
	}
	return "flat"
}

// account is how the replies of a judge fared: each counts at the first stage
// that it failed.
type account struct{ N, Parse, Schema, Evidence, Abstained int }

// coverage is Cov, the share of replies with a verdict, and Val, that among the
// replies that did not abstain; false: there are none of those.
func (a account) coverage() (cov, val float64, covOK, valOK bool) {
	bad := float64(a.Parse + a.Schema + a.Evidence)
	n, abstained := float64(a.N), float64(a.Abstained)
	if covOK = n > 0; covOK {
		cov = (n - abstained - bad) / n
	}
	if valOK = n > abstained; valOK {
		val = 1 - bad/(n-abstained)
	}
	return cov, val, covOK, valOK
}

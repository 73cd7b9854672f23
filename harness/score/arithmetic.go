package score

// This file is the arithmetic of metrics.md sections 1 and 2 and nothing else: its
// functions take numbers and give a number, or false where it does not exist.

// OverJudges is a mean over judges of each one's own, scale times hits / known; a
// judge without anything known is left out. False: no judge has anything.
func OverJudges(hits, known []float64, scale float64) (float64, bool) {
	var total float64
	judges := 0
	for j := range hits {
		if known[j] != 0 {
			total += scale * hits[j] / known[j]
			judges++
		}
	}
	if judges == 0 {
		return 0, false
	}
	return total / float64(judges), true
}

// FixedN is the mean in per cent where all n trials count for every judge: what is
// not known counts as 0. extra is added to the hits: 0, or what is not known, for
// the bound where all of it is right.
func FixedN(hits []float64, n, extra float64) (float64, bool) {
	if n == 0 || len(hits) == 0 {
		return 0, false
	}
	k := extra
	for _, h := range hits {
		k += h
	}
	return 100 * k / (n * float64(len(hits))), true
}

// bothOf is the share, in per cent, of n trials on which a first and a second hold: the
// share of the first, hits of n, times the mean over judges of the share of the second
// among those that a judge says anything of. least and most are what it is if none or
// all of the others hold. ok is false without a trial, or without a judge that says
// anything; the bounds exist where there is a trial and a judge.
func bothOf(n, hits float64, second, known []float64) (value, least, most float64, ok, bounded bool) {
	if n == 0 || len(second) == 0 {
		return 0, 0, 0, false, false
	}
	if hits == 0 {
		return 0, 0, 0, true, true
	}
	for j := range second {
		least += 100 * second[j] / n / float64(len(second))
		most += 100 * (second[j] + hits - known[j]) / n / float64(len(second))
	}
	share, ok := OverJudges(second, known, 100)
	return hits / n * share, least, most, ok, true
}

// Harmonic is 2pr/(p+r); false: both are 0.
func Harmonic(p, r float64) (float64, bool) {
	if p+r == 0 {
		return 0, false
	}
	return 2 * p * r / (p + r), true
}

// majority says whether more than half of what is known of an item is a hit; false:
// nothing is, or as much against as for.
func majority(hits, known float64) (hit, decided bool) {
	return 2*hits > known, known > 0 && 2*hits != known
}

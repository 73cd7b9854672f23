package score

import (
	"assay/results"
	"assay/results/stats"
)

// Fraction is two columns of a sample: what is added up, and over how much.
type Fraction struct{ Num, Den int }

// Fraction adds one.
func (s *PairSample) Fraction() Fraction { return Fraction{s.Column(), s.Column()} }

// Share is a fraction of scores in 0 to 1, in per cent, with Wilson's interval over clusters.
func (s *PairSample) Share(f Fraction) *results.Estimate {
	e := s.Sums(f.Percent)
	s.by(e, share(func(c clusters) (stats.Share, bool) {
		sums, answers := c.zeros(), c.zeros()
		c.sum(f.Num, sums)
		c.sum(f.Den, answers)
		share := stats.ShareOf(sums, answers)
		return share, share.P != nil
	}).times(100), nil)
	return s.Rests(e, nil, f.Den)
}

// Percent is the fraction's value in percent; false: it has no divisor.
func (f Fraction) Percent(sums []float64) (float64, bool) {
	if sums[f.Den] == 0 {
		return 0, false
	}
	return 100 * sums[f.Num] / sums[f.Den], true
}

package metric

// Fraction is two columns of a sample: what is added up, and over how much.
type Fraction struct{ Num, Den int }

// Fraction adds one.
func (s *Sample) Fraction() Fraction { return Fraction{s.Column(), s.Column()} }

// Percent is the fraction's value in percent; false: it has no divisor.
func (f Fraction) Percent(sums []float64) (float64, bool) {
	if sums[f.Den] == 0 {
		return 0, false
	}
	return 100 * sums[f.Num] / sums[f.Den], true
}

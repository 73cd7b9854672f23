package faithfulness

// This file is the arithmetic of tables and nothing else.

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

package rated

import "assay/results"

// Tally is what became of judgments.
type Tally struct {
	N                                  int // judgments that came to an end
	Parse, Schema, Evidence, Abstained int
	Open                               int // not made, or the judge gave no reply
}

// Add counts a judgment.
func (t *Tally) Add(s results.Status) {
	switch s {
	case results.StatusClean, results.StatusRepaired:
	case results.StatusParse:
		t.Parse++
	case results.StatusSchema:
		t.Schema++
	case results.StatusEvidence:
		t.Evidence++
	case results.StatusAbstained:
		t.Abstained++
	default:
		t.Open++
		return
	}
	t.N++
}

// Join adds the counts of another.
func (t *Tally) Join(o Tally) {
	t.N, t.Parse, t.Schema, t.Evidence = t.N+o.N, t.Parse+o.Parse, t.Schema+o.Schema, t.Evidence+o.Evidence
	t.Abstained, t.Open = t.Abstained+o.Abstained, t.Open+o.Open
}

// Invalid are the replies without a verdict, but for those that abstain.
func (t Tally) Invalid() int { return t.Parse + t.Schema + t.Evidence }

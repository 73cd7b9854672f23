package agree

import (
	"assay/results"
	"assay/results/stats"
)

// tally is what became of judgments.
type tally struct {
	N                                  int // judgments that came to an end
	Parse, Schema, Evidence, Abstained int
	Open                               int // not made, or the judge gave no reply
}

func (t *tally) add(s results.Status) {
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

func (t *tally) join(o tally) {
	t.N, t.Parse, t.Schema, t.Evidence = t.N+o.N, t.Parse+o.Parse, t.Schema+o.Schema, t.Evidence+o.Evidence
	t.Abstained, t.Open = t.Abstained+o.Abstained, t.Open+o.Open
}

func (t tally) invalid() int { return t.Parse + t.Schema + t.Evidence }

// gate is a rate that must not be above a limit.
type gate struct {
	name  string
	limit float64
	k, n  int
}

// gates are those of metrics.md section 2.5: a judge's verdicts and its false alarms
// under sham, positive of n.
func (t tally) gates(sham [2]int) []gate {
	return []gate{
		{"parse", 0, t.Parse, t.N}, {"schema", 0.01, t.Schema, t.N}, {"evidence", 0.01, t.Evidence, t.N},
		{"invalid", 0.02, t.invalid(), t.N}, {"abstain", 0.02, t.Abstained, t.N}, {"sham", 0.05, sham[0], sham[1]},
	}
}

// policy is what of a rate is compared with a gate's limit.
type policy struct {
	name  string
	bound func(k, n int) float64
}

func policies() []policy {
	return []policy{
		{"point", func(k, n int) float64 { return float64(k) / float64(n) }},
		{"bootstrap_upper", stats.BinomialUpper},
		{"wilson_upper", func(k, n int) float64 { _, high, _ := stats.Wilson(k, n, stats.Z95); return high }},
	}
}

// outcome of gates.
type outcome int

const (
	undecided outcome = iota
	passed
	failed
)

// judge says whether the gate is passed under a policy. A limit of 0 is judged on the
// count, because no upper bound is 0.
func (g gate) judge(p policy) outcome {
	switch {
	case g.n == 0:
		return undecided
	case g.limit == 0 && g.k == 0, g.limit > 0 && p.bound(g.k, g.n) <= g.limit:
		return passed
	}
	return failed
}

// through says whether all gates are passed, and names those that are not, or those
// without data where none fails.
func through(list []gate, p policy) (outcome, []string) {
	by := map[outcome][]string{}
	for _, g := range list {
		o := g.judge(p)
		by[o] = append(by[o], g.name)
	}
	switch {
	case len(by[failed]) > 0:
		return failed, by[failed]
	case len(by[undecided]) > 0:
		return undecided, by[undecided]
	}
	return passed, nil
}

// candidate is a judge that may be selected.
type candidate struct {
	name     string
	tau      *float64 // macro, on the part to choose by
	out      outcome
	open     []string // gates that it fails, or that are undecided
	coverage float64  // usable / asked
	alarms   float64  // under sham; 2: not known
}

// tie is how near the best macro tau another counts as as good.
const tie = 0.02

// choose selects a judge under one policy: the best macro tau of those that fail no
// gate; of those within tie of it the one with the most usable verdicts, then the
// fewest false alarms, then the higher tau. nil: there is none.
func choose(list []candidate) *candidate {
	var best *candidate
	for i := range list {
		if c := &list[i]; c.out != failed && c.tau != nil && (best == nil || *c.tau > *best.tau) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	top := *best.tau
	for i := range list {
		c := &list[i]
		if c.out == failed || c.tau == nil || *c.tau < top-tie {
			continue
		}
		switch {
		case c.coverage != best.coverage:
			if c.coverage > best.coverage {
				best = c
			}
		case c.alarms != best.alarms:
			if c.alarms < best.alarms {
				best = c
			}
		case *c.tau > *best.tau:
			best = c
		}
	}
	return best
}

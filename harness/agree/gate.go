package agree

import (
	"fmt"
	"strings"

	"assay/harness/agree/rated"
	"assay/results/stats"
)

// gate is a rate that must not be above a limit.
type gate struct {
	name  string
	limit float64
	k, n  int
}

// gatesOf are those of metrics.md section 2.5: a judge's verdicts and its false alarms
// under sham, positive of n.
func gatesOf(t rated.Tally, sham [2]int) []gate {
	return []gate{
		{"parse", 0, t.Parse, t.N}, {"schema", 0.01, t.Schema, t.N}, {"evidence", 0.01, t.Evidence, t.N},
		{"invalid", 0.02, t.Invalid(), t.N}, {"abstain", 0.02, t.Abstained, t.N}, {"sham", 0.05, sham[0], sham[1]},
	}
}

// policy is what of a rate is compared with a gate's limit.
type policy struct {
	Name  string
	bound func(k, n int) float64
}

// policies are all of them.
func policies() []policy {
	return []policy{
		{"point", func(k, n int) float64 { return float64(k) / float64(n) }},
		{"bootstrap_upper", stats.BinomialUpper},
		{"wilson_upper", func(k, n int) float64 { _, high, _ := stats.Wilson(k, n, stats.Z95); return high }},
	}
}

// outcome is that of gates.
type outcome int

// What becomes of a gate.
const (
	Undecided outcome = iota // it has no data
	Passed
	Failed
)

// judge says whether the gate is passed under a policy. A limit of 0 is judged on the
// count, because no upper bound is 0.
func (g gate) judge(p policy) outcome {
	switch {
	case g.n == 0:
		return Undecided
	case g.limit == 0 && g.k == 0, g.limit > 0 && p.bound(g.k, g.n) <= g.limit:
		return Passed
	}
	return Failed
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
	case len(by[Failed]) > 0:
		return Failed, by[Failed]
	case len(by[Undecided]) > 0:
		return Undecided, by[Undecided]
	}
	return Passed, nil
}

// candidate is a judge that may be selected.
type candidate struct {
	Name     string
	Tau      *float64 // macro, on the part to choose by
	Outcome  outcome
	Open     []string // gates that it fails, or that are undecided
	Coverage float64  // usable / asked
	Alarms   float64  // under sham; 2: not known
}

// tie is how near the best macro tau another counts as as good.
const tie = 0.02

// choose selects a judge under one policy: the best macro tau of those that fail no
// gate; of those within tie of it the one with the most usable verdicts, then the
// fewest false alarms, then the higher tau. nil: there is none.
func choose(list []candidate) *candidate {
	var best *candidate
	for i := range list {
		if c := &list[i]; c.Outcome != Failed && c.Tau != nil && (best == nil || *c.Tau > *best.Tau) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	top := *best.Tau
	for i := range list {
		c := &list[i]
		if c.Outcome == Failed || c.Tau == nil || *c.Tau < top-tie {
			continue
		}
		switch {
		case c.Coverage != best.Coverage:
			if c.Coverage > best.Coverage {
				best = c
			}
		case c.Alarms != best.Alarms:
			if c.Alarms < best.Alarms {
				best = c
			}
		case *c.Tau > *best.Tau:
			best = c
		}
	}
	return best
}

// outcomeWords say an outcome.
func outcomeWords(o outcome, which []string) string {
	switch o {
	case Passed:
		return "pass"
	case Failed:
		return "fail: " + strings.Join(which, ", ")
	}
	return "undecided: " + strings.Join(which, ", ")
}

// reasonOf says in words why a judge was selected, or none was.
func reasonOf(list []candidate, best *candidate) string {
	var parts, near []string
	for i := range list {
		c := &list[i]
		switch {
		case c.Outcome == Failed:
			parts = append(parts, c.Name+" fails "+strings.Join(c.Open, ", "))
		case c.Tau == nil:
			parts = append(parts, c.Name+" has no macro tau on dev")
		case best != nil && c.Name != best.Name && *c.Tau >= *best.Tau-tie:
			near = append(near, c.Name)
		}
	}
	var out []string
	if best != nil {
		say := "the best macro tau of those that fail no gate"
		for i := range list {
			if c := &list[i]; c.Outcome != Failed && c.Tau != nil && *c.Tau > *best.Tau {
				say = fmt.Sprintf("within %g of the best macro tau, and more of its verdicts are of use, or fewer false alarms", tie)
			}
		}
		out = append(out, say)
		if len(near) > 0 {
			out = append(out, fmt.Sprintf("no more than %g behind: %s", tie, strings.Join(near, ", ")))
		}
		if best.Outcome == Undecided {
			out = append(out, "its gates are undecided: "+strings.Join(best.Open, ", ")+" has no data")
		}
	}
	return strings.Join(append(out, parts...), "; ")
}

// Package gate says which judges may be used, and selects one: rates that must not be
// above a limit (metrics.md section 2.5).
package gate

import (
	"fmt"
	"strings"

	"assay/results"
	"assay/results/stats"
)

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

// Gate is a rate that must not be above a limit.
type Gate struct {
	name  string
	limit float64
	k, n  int
}

// Gates are those of metrics.md section 2.5: a judge's verdicts and its false alarms
// under sham, positive of n.
func (t Tally) Gates(sham [2]int) []Gate {
	return []Gate{
		{"parse", 0, t.Parse, t.N}, {"schema", 0.01, t.Schema, t.N}, {"evidence", 0.01, t.Evidence, t.N},
		{"invalid", 0.02, t.Invalid(), t.N}, {"abstain", 0.02, t.Abstained, t.N}, {"sham", 0.05, sham[0], sham[1]},
	}
}

// Policy is what of a rate is compared with a gate's limit.
type Policy struct {
	Name  string
	bound func(k, n int) float64
}

// Policies are all of them.
func Policies() []Policy {
	return []Policy{
		{"point", func(k, n int) float64 { return float64(k) / float64(n) }},
		{"bootstrap_upper", stats.BinomialUpper},
		{"wilson_upper", func(k, n int) float64 { _, high, _ := stats.Wilson(k, n, stats.Z95); return high }},
	}
}

// Outcome is that of gates.
type Outcome int

// What becomes of a gate.
const (
	Undecided Outcome = iota // it has no data
	Passed
	Failed
)

// judge says whether the gate is passed under a policy. A limit of 0 is judged on the
// count, because no upper bound is 0.
func (g Gate) judge(p Policy) Outcome {
	switch {
	case g.n == 0:
		return Undecided
	case g.limit == 0 && g.k == 0, g.limit > 0 && p.bound(g.k, g.n) <= g.limit:
		return Passed
	}
	return Failed
}

// Through says whether all gates are passed, and names those that are not, or those
// without data where none fails.
func Through(list []Gate, p Policy) (Outcome, []string) {
	by := map[Outcome][]string{}
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

// Candidate is a judge that may be selected.
type Candidate struct {
	Name     string
	Tau      *float64 // macro, on the part to choose by
	Outcome  Outcome
	Open     []string // gates that it fails, or that are undecided
	Coverage float64  // usable / asked
	Alarms   float64  // under sham; 2: not known
}

// tie is how near the best macro tau another counts as as good.
const tie = 0.02

// Choose selects a judge under one policy: the best macro tau of those that fail no
// gate; of those within tie of it the one with the most usable verdicts, then the
// fewest false alarms, then the higher tau. nil: there is none.
func Choose(list []Candidate) *Candidate {
	var best *Candidate
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

// Words say an outcome.
func Words(o Outcome, which []string) string {
	switch o {
	case Passed:
		return "pass"
	case Failed:
		return "fail: " + strings.Join(which, ", ")
	}
	return "undecided: " + strings.Join(which, ", ")
}

// Reason says in words why a judge was selected, or none was.
func Reason(list []Candidate, best *Candidate) string {
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

package agree

import (
	"fmt"
	"slices"
	"strings"

	"assay/results/stats"
)

// gate is a rate that must not be above a limit.
type gate struct {
	name  string
	limit float64
	rate
}

// rate is of how many answers something holds, by cluster.
type rate struct{ hits, answers []float64 }

// rateOf takes it from tallies; clusters without an answer are left out.
func rateOf(list []tally, of func(tally) (hits, answers int)) rate {
	var r rate
	for _, t := range list {
		if k, n := of(t); n > 0 {
			r.hits, r.answers = append(r.hits, float64(k)), append(r.answers, float64(n))
		}
	}
	return r
}

// counts are k hits of n answers; n may be 0.
func (r rate) counts() (k, n int) {
	for i := range r.hits {
		k, n = k+int(r.hits[i]), n+int(r.answers[i])
	}
	return k, n
}

// gatesOf are those of metrics.md section 2.5: a judge's verdicts and its false alarms
// under sham.
func gatesOf(list []tally) []gate {
	of := func(name string, limit float64, hits func(tally) int) gate {
		return gate{name, limit, rateOf(list, func(t tally) (int, int) { return hits(t), t.N })}
	}
	return []gate{
		of("parse", 0, func(t tally) int { return t.Parse }), of("schema", 0.01, func(t tally) int { return t.Schema }),
		of("evidence", 0.01, func(t tally) int { return t.Evidence }), of("invalid", 0.02, tally.Invalid),
		of("abstain", 0.02, func(t tally) int { return t.Abstained }),
		{"sham", 0.05, rateOf(list, func(t tally) (int, int) { return t.Alarms, t.Shams })},
	}
}

// policy is what of a rate is compared with a gate's limit; false: there is no bound.
type policy struct {
	Name  string
	bound func(rate) (float64, bool)
}

// policies are all of them; bounds are of the rate over clusters, by replicates of b.
func policies(b stats.Bootstrap) []policy {
	return []policy{
		{"point", func(r rate) (float64, bool) {
			k, n := r.counts()
			return float64(k) / float64(n), true
		}},
		{"bootstrap_upper", func(r rate) (float64, bool) {
			if slices.Max(r.answers) == 1 {
				return stats.BinomialUpper(r.counts()), true
			}
			e := b.Ratio(r.hits, r.answers)
			if e.High == nil { // where clusters are alike, so are replicates
				return *e.Value, e.Why == stats.Constant
			}
			return *e.High, true
		}},
		{"wilson_upper", func(r rate) (float64, bool) {
			s := stats.ShareOf(r.hits, r.answers)
			if s.High == nil {
				return 0, false
			}
			return *s.High, true
		}},
	}
}

// outcome is that of gates.
type outcome int

// What becomes of a gate.
const (
	undecided outcome = iota // it has no data, or no bound
	passed
	failed
)

// judge says whether the gate is passed under a policy. A limit of 0 is judged on the
// count, because no upper bound is 0.
func (g gate) judge(p policy) outcome {
	k, n := g.counts()
	if n == 0 {
		return undecided
	}
	bound, ok := float64(k), true
	if g.limit > 0 {
		bound, ok = p.bound(g.rate)
	}
	switch {
	case !ok:
		return undecided
	case bound <= g.limit:
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
		if c := &list[i]; c.Outcome != failed && c.Tau != nil && (best == nil || *c.Tau > *best.Tau) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	top := *best.Tau
	for i := range list {
		c := &list[i]
		if c.Outcome == failed || c.Tau == nil || *c.Tau < top-tie {
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
	case passed:
		return "pass"
	case failed:
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
		case c.Outcome == failed:
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
			if c := &list[i]; c.Outcome != failed && c.Tau != nil && *c.Tau > *best.Tau {
				say = fmt.Sprintf("within %g of the best macro tau, and more of its verdicts are of use, or fewer false alarms", tie)
			}
		}
		out = append(out, say)
		if len(near) > 0 {
			out = append(out, fmt.Sprintf("no more than %g behind: %s", tie, strings.Join(near, ", ")))
		}
		if best.Outcome == undecided {
			out = append(out, "its gates are undecided: "+strings.Join(best.Open, ", ")+" has no data, or only one cluster of it")
		}
	}
	return strings.Join(append(out, parts...), "; ")
}

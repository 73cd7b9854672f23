package agree

import (
	"maps"
	"slices"

	"assay/results"
)

// tally is what became of judgments.
type tally struct {
	N                                  int // judgments that came to an end
	Parse, Schema, Evidence, Abstained int
	Open                               int // not made, or the judge gave no reply
	Alarms, Shams                      int // sham answers with a grade on the axis of alarms: those that are one, and all
}

// tallies are those of one judge, by what is drawn together (set.Cluster).
type tallies map[string]*tally

// Of is the tally of a cluster.
func (t tallies) Of(cluster string) *tally {
	if t[cluster] == nil {
		t[cluster] = &tally{}
	}
	return t[cluster]
}

// All are the tallies in the order of their clusters' names.
func (t tallies) All() []tally {
	var out []tally
	for _, c := range slices.Sorted(maps.Keys(t)) {
		out = append(out, *t[c])
	}
	return out
}

// Join adds the counts of others.
func (t tallies) Join(o tallies) {
	for c, x := range o {
		t.Of(c).join(*x)
	}
}

// Add counts a judgment.
func (t *tally) Add(s results.Status) {
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
	t.Abstained, t.Open, t.Alarms, t.Shams = t.Abstained+o.Abstained, t.Open+o.Open, t.Alarms+o.Alarms, t.Shams+o.Shams
}

// Invalid are the replies without a verdict, but for those that abstain.
func (t tally) Invalid() int { return t.Parse + t.Schema + t.Evidence }

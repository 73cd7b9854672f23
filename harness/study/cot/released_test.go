package cot

import (
	"math"
	"strings"
	"testing"

	"assay/results"
)

// TestReleasedTables: L and C_path by the paper and as the authors' code has them, of
// one store.
func TestReleasedTables(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Diagnosis", "Diagnosis", "Diagnosis", "Diagnosis", "Diagnosis"}, []int{2})
	for _, m := range []made{
		{item: 0, arm: "direct", seconds: 1}, {item: 0, arm: "cot", seconds: 4},
		{item: 0, arm: "cot", repeat: 2, seconds: 100}, // no twin
		{item: 1, arm: "direct", seconds: 1, flags: []results.Flag{results.FlagTruncated}}, {item: 1, arm: "cot", seconds: 1000},
		{item: 2, arm: "direct", seconds: 3}, {item: 2, arm: "cot", failure: "server"},
		{item: 3, arm: "cot"}, {item: 4, arm: "cot"},
	} {
		m.model = "m"
		if m.arm == "cot" {
			// O twice, and three that are like each other.
			m.said = map[string]string{"order j": []string{order(0, 0, 0, 1), order(0, 0, 0, 1), "PARSE", order(1, 2, 3, 4), order(1, 2, 0, 3)}[m.item]}
			if m.repeat == 2 {
				m.said["order j"] = order(1, 2, 3, 0)
			}
		}
		b.put(m)
	}
	for rules, want := range map[string]struct {
		l         float64
		n         int
		path      float64
		reference string
	}{
		"paper": {4, 1, 100 * (1./3 + 1./3 + 2./3 + 3./4 + 1) / 5, "MFO"},
		// 4 + 100 + 1000 over 1 + 3: each arm's own.
		"released": {1104. / 4, 5, 100 * (1 + 1 + 0 + 1./4 + 1./3) / 5, "O"},
	} {
		b.store.Under(rules)
		s := b.summarize(map[string][]string{rubricOrder: {"j"}})
		for _, table := range []string{"cot-main", "cot-efficiency"} {
			if e := s.row(table, "m")("latency_ratio").Estimate; e.Value == nil || math.Abs(*e.Value-want.l) > 1e-9 || e.N != want.n {
				t.Errorf("%s: L in %s is %+v, want %v of %d", rules, table, e, want.l, want.n)
			}
		}
		if e := s.row("cot-main", "m")("c_path").Estimate; e.Value == nil || math.Abs(*e.Value-want.path) > 1e-9 {
			t.Errorf("%s: C_path is %v, want %v", rules, *e.Value, want.path)
		}
		if got := s.row("cot-consistency", "m", "Diagnosis")("reference").Text; got != want.reference {
			t.Errorf("%s: reference %q, want %q", rules, got, want.reference)
		}
		if says := strings.Contains(string(s.raw), "the path that occurs most often"); says != (rules == "released") {
			t.Errorf("%s: the reference is said to be the most frequent: %v", rules, says)
		}
	}
}

package cot

import (
	"math"
	"testing"

	"assay/results"
)

// The two arms of a pair are of one item and one repeat, and both have a time.
func TestPairs(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Diagnosis", "Diagnosis"}, []int{2})
	for _, m := range []made{
		{item: 0, arm: "direct", seconds: 1}, {item: 0, arm: "cot", seconds: 4},
		{item: 0, arm: "direct", repeat: 1, seconds: 2}, {item: 0, arm: "cot", repeat: 1, seconds: 5},
		{item: 0, arm: "cot", repeat: 2, seconds: 100}, // no twin
		{item: 1, arm: "direct", seconds: 1, flags: []results.Flag{results.FlagTruncated}}, {item: 1, arm: "cot", seconds: 1000},
		{item: 1, arm: "direct", repeat: 1, seconds: 3}, {item: 1, arm: "cot", repeat: 1, failure: "server"},
	} {
		m.model = "m"
		b.put(m)
	}
	s := b.summarize(map[string][]string{})
	row := s.row("cot-efficiency", "m")
	if e := row("latency_ratio").Estimate; e.Value == nil || math.Abs(*e.Value-3) > 1e-12 || e.N != 2 || e.Invalid == 0 {
		t.Errorf("L is %+v, want 9/3 of 2 pairs", e)
	}
	if e := row("latency_ratio_median").Estimate; e.Value == nil || math.Abs(*e.Value-3.25) > 1e-12 {
		t.Errorf("median of 4 and 2.5: %+v", e)
	}
}

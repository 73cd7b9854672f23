package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Counted from the whole plan, parts have the trials that planning each of them gives.
func TestPartsAreThoseOfShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		p := made(t, req, Filter{})
		n := rapid.IntRange(1, 9).Draw(t, "parts")
		for _, m := range req.Models {
			var want []int
			for i := range n {
				trials := 0
				for _, b := range made(t, req, Filter{Models: []string{m}, Shard: Shard{i + 1, n}}).Blocks {
					trials += len(b.Trials)
				}
				want = append(want, trials)
			}
			if got := p.Parts(req.Seed, m, n); !slices.Equal(got, want) {
				t.Fatalf("%s in %d parts: counted %v, planned %v", m, n, got, want)
			}
		}
	})
}

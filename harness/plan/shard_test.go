package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

// Shards are equal parts of a plan, and together all of it; what a trial needs is in its
// own; all of them know the same items, in one order.
func TestShardsArePartsOfThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		f := drawnFilter(t, req)
		whole := made(t, req, f)
		of := rapid.IntRange(1, 6).Draw(t, "of")
		found := map[results.Key]int{}
		for part := range of {
			f.Shard = Shard{Part: part + 1, Of: of}
			p := made(t, req, f)
			for _, sel := range p.Studies {
				i := slices.IndexFunc(whole.Studies, func(s Selection) bool { return s.Study == sel.Study })
				if !slices.Equal(sel.Known, whole.Studies[i].Items) {
					t.Fatalf("shard %v knows %d items of study %s, the plan %d", f.Shard, len(sel.Known), sel.Study, len(whole.Studies[i].Items))
				}
				if n := len(sel.Known) / of; len(sel.Items) < n || len(sel.Items) > n+1 {
					t.Fatalf("shard %v has %d of %d items", f.Shard, len(sel.Items), len(sel.Known))
				}
			}
			here := map[results.Key]bool{}
			for _, k := range keys(p) {
				found[k]++
				here[k] = true
			}
			for _, b := range p.Blocks {
				for _, tr := range b.Trials {
					for _, k := range tr.Needs() {
						if !here[k] {
							t.Fatalf("shard %v has %s and not %s, which it needs", f.Shard, tr.Key.Name(), k.Name())
						}
					}
				}
			}
		}
		for _, k := range keys(whole) {
			if found[k] != 1 {
				t.Fatalf("trial %s is in %d of %d shards", k.Name(), found[k], of)
			}
			delete(found, k)
		}
		if len(found) > 0 {
			t.Fatalf("shards have %d trials that the plan does not", len(found))
		}
	})
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("2/8"); err != nil || s != (Shard{2, 8}) || s.Store("/a/b.sqlite") != "/a/b-2of8.sqlite" {
		t.Errorf("%v, %v, %s", s, err, s.Store("/a/b.sqlite"))
	}
	for _, bad := range []string{"", "2", "0/8", "9/8", "2/8/3", "a/b", "-1/2", "1/0"} {
		if s, err := ParseShard(bad); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
}

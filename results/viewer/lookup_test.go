package viewer

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"assay/results"
	"assay/results/store"
)

// TestCourseIsOfStoresInOrder: requests beside each other end in another order than they began
// in; a merged store is in the order of keys, and its course would be that of names.
func TestCourseIsOfStoresInOrder(t *testing.T) {
	begin := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	const n = 40
	for _, c := range []struct {
		name string
		at   func(i int) int // seconds
		want bool
	}{
		{"one after the other", func(i int) int { return i }, true},
		{"eight in flight", func(i int) int { return i ^ 7 }, true},
		{"all at once", func(int) int { return 0 }, true},
		{"by names", func(i int) int { return i * 17 % n }, false},
		{"two machines, one after the other", func(i int) int { return i / 2 * 2 % 20 * 2 }, false},
	} {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			a := results.Attempt{Started: begin.Add(time.Duration(c.at(i)) * time.Second), Output: &results.Output{Answer: "x"}}
			if err := st.PutTrial(t.Context(), results.Trial{Key: results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("%02d", i), Arm: "a", Condition: "baseline"}, Attempts: []results.Attempt{a}}); err != nil {
				t.Fatal(err)
			}
		}
		course, err := course(t.Context(), st, 120)
		if err != nil || (len(course) > 0) != c.want {
			t.Errorf("%s: a course of %d points, %v", c.name, len(course), err)
		}
		recent, err := recent(t.Context(), st, 30)
		if err != nil || len(recent) != 30 || ordered(recent) != c.want {
			t.Errorf("%s: %d recent ones, %v", c.name, len(recent), err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

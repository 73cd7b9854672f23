package run

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/perturb"
	"assay/results"
)

// A load sweep: one level after the other, each with as many requests in flight as it
// says; all are new to the caches, warmed up once, and none is flagged for those beside
// it. What time alone would show of caches is not said under a load.
func TestLevelsOfALoadRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{takes: func(call) time.Duration { return time.Second }}, newMemory()
		s.reply = func(c call) (*backends.Response, error) {
			state := backends.CacheCold
			if c.req.Messages[0].Text == "question i07 direct" {
				state = backends.CacheTimed
			}
			return says(c, state), nil
		}
		b := planned("s", "a", items(8, picture(8, 8, 1)), direct())
		one := b.Trials
		b.Trials = nil
		for i, c := range perturb.Loads([]int{1, 2, 4}) {
			for _, tr := range one {
				tr.Key.Condition, tr.Condition = c.Name, &perturb.Loads([]int{1, 2, 4})[i]
				b.Trials = append(b.Trials, tr)
			}
		}
		sum := must(t, job(s, m, b).set("s", func(s *Settings) { s.Timed, s.Cache = true, "cold" }))
		if sum.Done != 24 || sum.Invalid != 0 || sum.Repeated != 0 {
			t.Errorf("%+v", sum)
		}
		// What is on the wire while each trial begins and ends.
		at := map[time.Time]int{}
		warm := 0
		var starts []time.Time
		for _, c := range s.calls {
			if c.warm() {
				warm++
				continue
			}
			at[c.at]++
			if !slices.Contains(starts, c.at) {
				starts = append(starts, c.at)
			}
		}
		var together []int
		for _, a := range starts {
			together = append(together, at[a])
		}
		if want := []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4}; !slices.Equal(together, want) || warm != 1 {
			t.Errorf("begun together: %v, want %v; %d warm-ups", together, want, warm)
		}
		nonces := map[backends.Nonce]bool{}
		for k, tr := range m.trials {
			last, _ := tr.Last()
			nonces[last.Cache.Nonces[0]] = true
			state := backends.CacheCold
			if k.Item == "i07" {
				state = backends.CacheUnverified
			}
			if slices.Contains(last.Flags, results.FlagConcurrent) || last.Cache.State != state {
				t.Errorf("%s: %v, %+v", k.Name(), last.Flags, last.Cache)
			}
		}
		if len(nonces) != 24 {
			t.Errorf("%d nonces", len(nonces))
		}
	})
}

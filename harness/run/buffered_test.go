package run

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/results"
)

// TestAProxyThatBuffersProvesNothing: behind it TTFT is unknown, trials are not cold by
// their time, and the run says once what to switch off. One read that holds many
// chunks among others that do not takes one TTFT away.
func TestAProxyThatBuffersProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		chunks func(c call) int
		state  backends.CacheState // of the first trial
		known  bool                // its TTFT
		warned bool
	}{
		"streams": {func(call) int { return 1 }, backends.CacheCold, true, false},
		"buffers": {func(c call) int {
			return map[bool]int{true: 30, false: 4}[c.req.Sampling.MaxTokens > warmTokens]
		}, backends.CacheUnverified, false, true},
		"buffers, short answers": {func(call) int { return 4 }, backends.CacheUnverified, true, true},
		"one busy moment": {func(c call) int {
			return map[bool]int{true: 30, false: 1}[c.req.Sampling.MaxTokens > warmTokens]
		}, backends.CacheUnverified, false, false},
		"a calibration in part": {func(c call) int { return map[bool]int{true: 4, false: 1}[c.n == 2] }, backends.CacheCold, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{}, newMemory()
			clocked(s, true)
			s.chunks = c.chunks
			b := planned("s", "a", items(2), direct())
			sum := must(t, job(s, m, b).set("s", timed))
			a, _ := m.trials[b.Trials[0].Key].Last()
			if a.Cache.State != c.state {
				t.Errorf("%s: %+v, want %s", name, a.Cache, c.state)
			}
			if _, ok := a.Turns[0].Trace.TTFT(); ok != c.known || slices.Contains(a.Flags, results.FlagBuffered) == c.known {
				t.Errorf("%s: TTFT known %t, flags %v", name, ok, a.Flags)
			}
			if len(a.Invalid()) != 0 || sum.Repeated != 0 {
				t.Errorf("%s: its time is taken again: %+v", name, sum)
			}
			said := strings.Contains(strings.Join(sum.Warnings, " "), "proxy_buffering off")
			if said != c.warned || c.warned && (len(sum.Warnings) != 1 || !strings.Contains(a.Cache.Reason, "proxy_buffering off") && c.known) {
				t.Errorf("%s: warnings %q, reason %q", name, sum.Warnings, a.Cache.Reason)
			}
		})
	}
}

package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

func TestWhatATimeSaysOfTheCaches(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	n := func(i int) *int { return &i }
	cal := func(a, b, r float64) *results.Calibration {
		return &results.Calibration{Fresh: []time.Duration{ms(a), ms(b)}, Repeat: ms(r), PromptTokens: n(100)}
	}
	more := func(c *results.Calibration, fresh float64) *results.Calibration {
		c.Fresh = append(c.Fresh, ms(fresh))
		return c
	}
	for _, c := range []struct {
		cal    *results.Calibration
		x      float64
		tokens *int
		want   backends.CacheState
		why    string
	}{
		{cal(800, 810, 40), 790, n(100), backends.CacheCold, ""},
		{cal(800, 810, 40), 1500, n(300), backends.CacheCold, ""},
		{cal(800, 810, 40), 601, nil, backends.CacheCold, ""},
		{cal(800, 810, 40), 599, nil, backends.CacheUnverified, "too fast for a fresh request and too slow"},
		{cal(800, 810, 40), 400, nil, backends.CacheHit, ""},
		{cal(800, 810, 40), 45, n(100), backends.CacheHit, ""},
		{cal(800, 810, 40), 301, n(50), backends.CacheCold, ""}, // half the prompt
		{cal(800, 810, 40), 199, n(50), backends.CacheHit, ""},
		{cal(810, 2000, 40), 790, n(100), backends.CacheCold, ""}, // somebody disturbed the second
		{cal(800, 810, 800), 780, n(100), backends.CacheCold, ""}, // nothing is cached
		{cal(800, 810, 900), 400, n(100), backends.CacheUnverified, "faster than a fresh"},
		{cal(800, 810, 500), 790, n(100), backends.CacheUnverified, "barely faster"},
		{cal(800, 500, 40), 790, n(100), backends.CacheUnverified, "a request with a new nonce was not as slow"},
		{more(cal(800, 1700, 95), 100), 790, n(100), backends.CacheUnverified, "a request with a new nonce was not as slow"}, // a disturbed second hid it
		{more(cal(800, 1700, 30), 110), 105, n(100), backends.CacheCold, ""},                                                 // the machine was busy before
		{cal(800, 810, 0), 790, n(100), backends.CacheUnverified, "before the model was loaded"},
	} {
		got := timedState(c.cal, ms(c.x), c.tokens)
		if got.State != c.want || (got.Reason == "") != (c.why == "") || !strings.Contains(got.Reason, c.why) || !strings.Contains(got.Value, fmt.Sprintf("%.1f ms; calibrated: fresh", c.x)) {
			t.Errorf("%v of %+v: %+v, want %s %q", c.x, c.cal, got, c.want, c.why)
		}
	}
}

// A count of reused tokens says more than a time; those of the template say nothing.
func TestACountSaysMoreThanATime(t *testing.T) {
	n := func(i int) *int { return &i }
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	w := &warmth{Calibration: &results.Calibration{Fresh: []time.Duration{ms(800), ms(810)}, Repeat: ms(40), PromptTokens: n(1000)}}
	load := time.Duration(0)
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, 0)
	rec.Chunks([]timing.Chunk{{At: ms(790), Runes: 1, Answer: true}}, timing.StampsUser)
	for _, c := range []struct {
		warm   *warmth
		reused *int
		want   backends.CacheState
	}{
		{w, nil, backends.CacheCold}, {w, n(0), backends.CacheCold}, {w, n(20), backends.CacheCold}, {w, n(900), backends.CacheHit},
		{nil, n(0), backends.CacheUnverified}, {nil, n(900), backends.CacheHit},
	} {
		var got results.Cache
		noteCache(&got, c.warm, results.Turn{Trace: rec.Trace(), Server: backends.Timings{Load: &load}, Usage: backends.Usage{PromptTokens: n(1000), CachedTokens: c.reused}}, backends.Cache{State: backends.CacheTimed})
		if got.State != c.want || (got.Field == "cached_tokens") != (c.want == backends.CacheHit) {
			t.Errorf("calibrated %t, %v reused: %+v, want %s", c.warm != nil, c.reused, got.Cache, c.want)
		}
	}
}

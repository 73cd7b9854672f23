package study

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
)

// rows of one model and arm: what the store gives for a timed study.
func timedRows() []results.Row {
	d := time.Second
	cold := results.Row{Latency: &d, Attempts: 1, CachePolicy: results.PolicyCold, CacheState: backends.CacheCold, CacheNote: "timings.cache_n"}
	healed := cold // a hit, then cold
	healed.Attempts, healed.Invalid = 2, [][]results.Flag{{results.FlagCacheHit}}
	hopeless := cold // three hits
	hopeless.Attempts, hopeless.CacheState, hopeless.Flags = 3, backends.CacheHit, []results.Flag{results.FlagCacheHit, results.FlagSamplerGap}
	hopeless.Invalid = [][]results.Flag{{results.FlagCacheHit}, {results.FlagCacheHit, results.FlagThrottled}, {results.FlagCacheHit}}
	unknown := cold
	unknown.CacheState, unknown.CacheNote = backends.CacheUnverified, "the reply has no usage"
	failed := results.Row{Failed: true, Kind: "stalled", Attempts: 2, CachePolicy: results.PolicyCold, Invalid: [][]results.Flag{{results.FlagLoadInside}}}
	old := results.Row{Latency: &d, Attempts: 1, Flags: []results.Flag{results.FlagTruncated}} // from before there were states
	return []results.Row{cold, healed, hopeless, unknown, failed, old}
}

func TestValidityIsCountedByReason(t *testing.T) {
	a := NewAccount(&Basis{}, "m", "x")
	for i, r := range timedRows() {
		a.Add(i, r, nil, nil, nil)
	}
	var got []string
	tab := AnswersTable("s", []*Account{a})
	for i, c := range tab.Rows[0] {
		text := c.Text
		if c.Estimate != nil {
			text = fmt.Sprint(*c.Estimate.Value)
		}
		got = append(got, tab.Columns[i].Name+"="+text)
	}
	want := []string{"model=m", "arm=x", "trials=6", "answers=5", "failures=1", "failure_kinds=stalled 1", "truncated=1", "retried=3", "valid=3", "left_out=truncated 1, cache hit 1",
		"repeated=4", "repeated_why=load inside 1, cache hit 3, throttled 1", "cold=2", "unverified=1", "hit=1",
		"cache_proof=cold: timings.cache_n; unverified: the reply has no usage; hit: timings.cache_n; 1 not timed"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := a.known(latency); n != 3 || len(a.items) != 6 {
		t.Errorf("%d of %d have a time", n, len(a.items))
	}
	b := NewAccount(&Basis{}, "m", "y")
	b.Add(0, timedRows()[3], nil, nil, nil)
	c := NewAccount(&Basis{}, "warm", "y")
	w := timedRows()[0]
	w.CachePolicy = results.PolicyWarm
	c.Add(0, w, nil, nil, nil)
	elsewhere := NewAccount(&Basis{}, "imported", "y")
	elsewhere.Add(0, results.Row{Attempts: 1}, nil, nil, nil)
	elsewhere.Add(1, results.Row{Failed: true, Kind: "imported", Attempts: 1}, nil, nil, nil) // which has no time to have
	notes := []string{
		"m: caches were to be cold, 2 proven cold (timings.cache_n), 2 unverified (the reply has no usage), 1 answered with a cache (timings.cache_n), 3 hits done again, 1 not timed: the server may have reused a cache.",
		"warm: caches were left as they were (cache: warm), 1 proven cold (timings.cache_n).",
		"none: no answers.", "imported: 1 without times.",
	}
	if got := cacheNotes([]*Account{a, b, c, NewAccount(&Basis{}, "none", "x"), elsewhere}); !slices.Equal(got, notes) {
		t.Errorf("%q", got)
	}
	if got := a.Warnings(nil, nil); !slices.ContainsFunc(got, func(w results.Warning) bool {
		return w.Text == "m, arm x: cache state unverified for 1 of 5 answers (the reply has no usage)."
	}) {
		t.Errorf("%v", got)
	}
}

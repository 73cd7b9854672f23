package study

import (
	"slices"
	"testing"
	"time"

	"assay/harness/score"
	"assay/results"
)

func TestSeconds(t *testing.T) {
	d := 1500 * time.Millisecond
	for _, c := range []struct {
		row results.Row
		ok  bool
	}{
		{results.Row{Latency: &d}, true},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagSamplerGap, results.FlagNoChange}}, true},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagCacheHit}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagTruncated}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagLoadInside}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagConcurrent}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagSamplerGap, results.FlagClockJump}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagThrottled}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagOtherProcess}}, false},
		{results.Row{Latency: &d, Failed: true}, false},
		{results.Row{}, false},
	} {
		if s, ok := score.Seconds(&c.row); ok != c.ok || ok && s != 1.5 {
			t.Errorf("%+v: %v, %v", c.row, s, ok)
		}
	}
}

func TestWarnings(t *testing.T) {
	a := NewAccount(&Basis{}, "m", "x")
	a.Trials, a.Failed, a.Failures = 120, 20, map[string]int{"stalled": 5, "loading": 15}
	a.Flags[results.FlagConcurrent], a.Flags[results.FlagLoadInside], a.Flags[results.FlagCacheHit] = 3, 2, 1
	a.Statuses["r"] = []map[results.Status]int{{results.StatusClean: 90, results.StatusRepaired: 5, results.StatusParse: 5}, {results.StatusClean: 94, results.StatusParse: 6}}
	a.Unread = 90
	var got []string
	var doubts []results.Doubt
	for _, w := range a.Warnings([]string{"r", "none"}, map[string][]string{"r": {"good", "bad"}}) {
		got, doubts = append(got, w.Text), append(doubts, w.Doubt)
	}
	want := []string{
		"m, arm x: 20 of 120 trials failed and are left out (loading 15, stalled 5).",
		"m, arm x: 90 of 100 answers could not be read as an answer to the question; they count as wrong.",
		"m, arm x: 2 of 100 answers have no valid time because the model was loaded meanwhile.",
		"m, arm x: 3 of 100 answers have no valid time because another request was in flight.",
		"m, arm x: 1 of 100 answers have no valid time because the server reused a cache.",
		"m, arm x: judge bad has a usable r verdict for 94.00 % of the answers only (94 of 100).",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if want := []results.Doubt{{Of: results.DoubtAnswers, Share: 20. / 120}, {Of: results.DoubtUnread, Share: .9}, {Of: results.DoubtTimes, Share: .02}, {Of: results.DoubtTimes, Share: .03}, {Of: results.DoubtTimes, Share: .01}, {Of: results.DoubtJudges, Share: .06}}; !slices.Equal(doubts, want) {
		t.Errorf("%v", doubts)
	}
	if w := NewAccount(&Basis{}, "m", "x").Warnings([]string{"r"}, nil); w != nil {
		t.Errorf("%v", w)
	}
}

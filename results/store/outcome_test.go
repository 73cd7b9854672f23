package store

import (
	"path/filepath"
	"testing"
	"time"

	"assay/results"
)

// TestOutcomesOfEqualFlags: trials of which some words are the same have outcomes of
// their own.
func TestOutcomesOfEqualFlags(t *testing.T) {
	s, err := Open(bg, filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	slow := []results.Flag{results.FlagThrottled}
	with := func(tr results.Trial, flags []results.Flag) results.Attempt {
		a := tr.Attempts[0]
		a.Flags = flags
		return a
	}
	lost := with(answered(key("1"), "yes", time.Second), slow)
	clean := with(answered(key("1"), "yes", time.Second), nil)
	cut := with(answered(key("1"), "yes", time.Second), []results.Flag{results.FlagTruncated})
	broken := with(failed(key("1"), "stalled"), slow)
	want := map[results.Key]results.Outcome{}
	for item, c := range map[string]struct {
		attempts []results.Attempt
		want     results.Outcome
	}{
		"lost":       {[]results.Attempt{lost}, results.Outcome{Attempts: 1, Invalids: 1, Invalid: true}},
		"lost again": {[]results.Attempt{lost}, results.Outcome{Attempts: 1, Invalids: 1, Invalid: true}},
		"then clean": {[]results.Attempt{lost, clean}, results.Outcome{Attempts: 2, Invalids: 1}},
		"then fails": {[]results.Attempt{lost, broken}, results.Outcome{Attempts: 2, Invalids: 1, Failed: true, Kind: "stalled"}},
		"cut":        {[]results.Attempt{cut}, results.Outcome{Attempts: 1, Invalids: 1, Invalid: true, Cut: true}},
		"twice":      {[]results.Attempt{lost, lost}, results.Outcome{Attempts: 2, Invalids: 2, Invalid: true}},
	} {
		want[key(item)] = c.want
		if err := s.PutTrial(bg, results.Trial{Key: key(item), Attempts: c.attempts}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for o, err := range s.OutcomesOf(bg, "cot", "m") {
		if err != nil {
			t.Fatal(err)
		}
		if o.Outcome != want[o.Key] {
			t.Errorf("%s: %+v, want %+v", o.Key.Item, o.Outcome, want[o.Key])
		}
		seen++
	}
	if seen != len(want) {
		t.Errorf("%d outcomes of %d", seen, len(want))
	}
}

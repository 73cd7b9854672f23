package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"assay/harness/run"
	"assay/results"
)

// TestARunOverStoredFailuresEndsAsTheFirstOneDid: also where nothing was left to do.
func TestARunOverStoredFailuresEndsAsTheFirstOneDid(t *testing.T) {
	for _, c := range []struct {
		sum   run.Summary
		tally map[results.Status]int
		says  string // "": exit code 0
	}{
		{run.Summary{Done: 3}, nil, ""},
		{run.Summary{Done: 2, Failed: 1}, nil, "with 1 failed trials and 0 judgments"},
		{run.Summary{Skipped: 3, FailedBefore: 1}, nil, "with 1 failed trials and 0 judgments"},
		{run.Summary{Skipped: 3, FailedBefore: 1, Failed: 2}, nil, "with 3 failed trials"},
		{run.Summary{Skipped: 3}, map[results.Status]int{results.StatusAbstained: 2, results.StatusClean: 1}, ""},
		{run.Summary{Skipped: 3}, map[results.Status]int{results.StatusRefused: 2}, "asks again for the 2 judgments whose request the judge's server refused"},
	} {
		err := streams{Err: io.Discard}.verdict(nil, c.sum, c.tally)
		var e *exitError
		if (err == nil) != (c.says == "") || err != nil && (!errors.As(err, &e) || e.Code != exitFailures || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.sum, err, c.says)
		}
	}
}

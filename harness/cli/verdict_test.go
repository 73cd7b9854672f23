package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"assay/harness/cli/command"
	"assay/harness/runner"
	"assay/results"
)

// TestARunOverStoredFailuresEndsAsTheFirstOneDid: also where nothing was left to do.
func TestARunOverStoredFailuresEndsAsTheFirstOneDid(t *testing.T) {
	for _, c := range []struct {
		sum   runner.Summary
		tally map[results.Status]int
		says  string // "": exit code 0
	}{
		{runner.Summary{Done: 3}, nil, ""},
		{runner.Summary{Done: 2, Failed: 1}, nil, "with 1 failed trials and 0 judgments"},
		{runner.Summary{Skipped: 3, FailedBefore: 1}, nil, "with 1 failed trials and 0 judgments"},
		{runner.Summary{Skipped: 3, FailedBefore: 1, Failed: 2}, nil, "with 3 failed trials"},
		{runner.Summary{Skipped: 3}, map[results.Status]int{results.StatusAbstained: 2, results.StatusClean: 1}, ""},
		{runner.Summary{Skipped: 3}, map[results.Status]int{results.StatusRefused: 2}, "asks again for the 2 judgments whose request the judge's server refused"},
	} {
		err := streams{command.Streams{Err: io.Discard}}.verdict(nil, c.sum, c.tally)
		var e *command.Error
		if (err == nil) != (c.says == "") || err != nil && (!errors.As(err, &e) || e.Code != command.ExitFailures || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.sum, err, c.says)
		}
	}
}

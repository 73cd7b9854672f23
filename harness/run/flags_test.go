package run

import (
	"slices"
	"testing"

	"assay/backends"
	"assay/results"
)

// TestOddFiguresAreFlagged: they take no time away.
func TestOddFiguresAreFlagged(t *testing.T) {
	for n, want := range []bool{false, true} {
		f := flags(&backends.Response{Odd: make(backends.Odds, n)}, Settings{})
		if slices.Contains(f, results.FlagOddFigures) != want || len(f) != n || results.FlagOddFigures.Disqualifies() {
			t.Errorf("%d odd figures: %v", n, f)
		}
	}
}

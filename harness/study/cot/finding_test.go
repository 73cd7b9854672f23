package cot

import (
	"testing"

	"assay/results"
)

// TestWay: the exact test decides, and the interval as it is printed where there
// is none; numbers that are printed alike get the same words.
func TestWay(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		tested           bool
		p                float64
		more             int
		want             string
	}{
		{10, 2, 18, true, 0.03, 5, "raises"},
		{10, 2, 18, true, 0.05, 5, "raises"},
		{10, 2, 18, true, 0.08, 5, "does not clearly change"},
		{10, 0, 18, true, 0.08, 5, "does not clearly change"},
		{10, 1e-14, 18, true, 0.08, 5, "does not clearly change"},
		{10, 2, 18, false, 1, 0, "raises"},
		{10, 0.004, 18, false, 1, 0, "does not clearly change"},
		{10, 0.006, 18, false, 1, 0, "raises"},
		{-10, -18, -1e-14, false, 1, 0, "does not clearly change"},
		{-10, -18, -2, true, 0.01, -5, "lowers"},
		{-10, -18, 0, true, 0.01, -5, "lowers"},
		{-10, -18, -2, true, 0.01, 5, "does not clearly change"}, // judges' means and majorities disagree
		{10, -2, 22, true, 0.3, 5, "does not clearly change"},
		{0, 0, 0, true, 0.01, 5, "does not clearly change"},
	} {
		if got := way(&results.Estimate{Value: &c.value, Low: &c.low, High: &c.high}, c.tested, c.p, c.more); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

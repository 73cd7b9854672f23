package cot

import (
	"testing"

	"assay/results"
)

// A finding is no surer than its interval and its test together.
func TestWay(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		tested           bool
		p                float64
		want             string
	}{
		{10, 2, 18, true, 0.03, "raises"},
		{10, 2, 18, true, 0.08, "may raise"},
		{10, 2, 18, false, 1, "raises"},
		{-10, -18, -2, true, 0.01, "lowers"},
		{-10, -18, 0, true, 0.01, "may lower"},
		{10, -2, 22, true, 0.3, "does not clearly change"},
		{0, 0, 0, true, 0.01, "does not clearly change"},
	} {
		if got := way(&results.Estimate{Value: &c.value, Low: &c.low, High: &c.high}, c.tested, c.p); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

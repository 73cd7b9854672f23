package study

import (
	"strings"
	"testing"

	"assay/results"
)

// TestContrast: the test decides, and the interval as it is printed where there is none;
// numbers that are printed alike get the same words, and words say where the two differ.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		tested           bool
		p                float64
		more             float64
		want             int
		says             string
	}{
		{10, 2, 18, true, 0.03, 5, 1, ""},
		{10, 2, 18, true, 0.05, 5, 1, ""},
		{10, 2, 18, true, 0.08, 5, 0, "excludes 0"},
		{10, 0, 18, true, 0.08, 5, 0, ""},
		{10, 1e-14, 18, true, 0.08, 5, 0, ""},
		{10, 2, 18, false, 1, 0, 1, ""},
		{10, 0.004, 18, false, 1, 0, 0, ""},
		{10, 0.006, 18, false, 1, 0, 1, ""},
		{-10, -18, -1e-14, false, 1, 0, 0, ""},
		{-10, -18, -2, true, 0.01, -5, -1, ""},
		{-10, -18, 0, true, 0.01, -5, -1, "includes 0"},
		{-10, -18, -2, true, 0.01, 5, 0, "excludes 0"}, // judges' means and majorities disagree
		{10, 2, 18, true, 0.01, 0, 1, ""},              // means differ where majorities do not
		{10, -2, 22, true, 0.3, 5, 0, ""},
		{0, 0, 0, true, 0.01, 5, 0, ""},
	} {
		x := Contrast{Difference: &results.Estimate{Value: &c.value, Low: &c.low, High: &c.high, N: 96}, More: c.more, Of: "answers"}
		n := "n = 96 answers"
		if c.tested {
			x.P, n = &results.Estimate{Value: &c.p, N: 48}, "n = 48 items (96 answers), p = "
		}
		says := x.Words()
		if got := x.Way(); got != c.want || strings.Contains(says, "the test decides") != (c.says != "") || !strings.Contains(says, c.says) || !strings.Contains(says, n) {
			t.Errorf("%+v: %d, %s", c, got, says)
		}
	}
	none := Contrast{Difference: &results.Estimate{Value: new(float64)}}
	if none.Known() || (Contrast{}).Known() {
		t.Error("a difference without interval and test is known")
	}
	none.P = &results.Estimate{Value: new(1.), N: 1}
	if s := none.Words(); !none.Known() || s != "0 points, no interval, n = 1 item (0 ), p = 1.0" {
		t.Errorf("%q", s)
	}
}

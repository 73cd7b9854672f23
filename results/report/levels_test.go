package report

import (
	"bytes"
	"strings"
	"testing"

	"assay/results"
)

// A dose-response has its levels as ticks.
func TestLevelsAreTicks(t *testing.T) {
	number := func(v float64) *results.Estimate { return &results.Estimate{Value: &v, N: 5} }
	f := results.Figure{Name: "dose", Kind: results.FigureLines, Title: "Dose", Alt: "text", X: results.Axis{Title: "thickness", Unit: "px", Log: true}, Y: results.Axis{Title: "Flips", Unit: "%"}}
	s := results.Series{Name: "m"}
	for _, level := range []float64{3, 13, 47} {
		s.Points = append(s.Points, results.Point{X: number(level), Y: number(level / 2)})
	}
	f.Series = []results.Series{s, s}
	var b bytes.Buffer
	if err := svg(&b, f, figureLook{Width: narrow}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">3<", ">13<", ">47<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no tick %s in %s", want, b.String())
		}
	}
}

// Figure draws results.Figure in one quiet style.
//
//  1. checkFigure refuses figures that our own code must never make.
//  2. layout.go measures names, wraps the legend and sets up axes; kinds.go draws
//     what is particular to a kind.
//  3. The same drawing goes to SVG (for the page, where classes take the colours
//     of the theme, and for files, where colours are written out) and PDF (svg.go, pdf.go).
//
// Text in a figure is drawn as given: the caller makes it visible first. Nothing
// depends on the time or the machine: the same figure gives the same bytes.

package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/results"
)

// Widths of a drawing, in points. Text has the same size in both.
const (
	pageWidth = 480 // a page, 169 mm
	narrow    = 246 // a phone or a column of a paper, 87 mm
)

// figureLook is how a figure is drawn.
type figureLook struct {
	Width float64   // points: pageWidth or narrow
	Page  bool      // SVG only: colours are classes of the page's style, and no words are drawn that stand beside it
	Mark  string    // drawn above: "SYNTHETIC"; "": nothing
	Made  time.Time // the PDF's date; the zero time is 1970
}

// svg writes the figure. The element is hidden from assistive software: the
// caller gives it a name and a text beside.
func svg(w io.Writer, f results.Figure, look figureLook) error {
	c := newSVG(vg.Length(look.Width), height(f, look), look.Page)
	paint(draw.New(c), f, look)
	_, err := c.writeTo(w)
	return err
}

// pdf writes the figure as one page with its fonts embedded.
func pdf(w io.Writer, f results.Figure, look figureLook) error {
	c := newPDF(vg.Length(look.Width), height(f, look), look.Made, f.Title)
	paint(draw.New(c), f, look)
	return c.doc.Output(w)
}

// empty says whether there is nothing to draw.
func empty(f results.Figure) bool {
	for _, s := range f.Series {
		if len(s.Quantiles) > 0 || len(s.Samples) > 0 || slices.ContainsFunc(s.Points, func(p results.Point) bool { return drawn(f.Kind, p) }) {
			return false
		}
	}
	return true
}

// drawn says whether a point has what its kind needs.
func drawn(kind results.FigureKind, p results.Point) bool {
	has := func(e *results.Estimate) bool { return e != nil && e.Value != nil }
	switch kind {
	case results.FigureDots:
		return has(p.X)
	case results.FigureHeat:
		return has(p.Y)
	}
	return has(p.X) && has(p.Y)
}

// missing is how many points cannot be drawn, and how many there are.
func missing(f results.Figure) (missing, all int) {
	for _, s := range f.Series {
		for _, p := range s.Points {
			all++
			if !drawn(f.Kind, p) {
				missing++
			}
		}
	}
	return missing, all
}

// describeFigure says how to read a kind of figure.
func describeFigure(f results.Figure) string {
	intervals := slices.ContainsFunc(f.Series, func(s results.Series) bool {
		return slices.ContainsFunc(s.Points, func(p results.Point) bool {
			return p.X != nil && p.X.Low != nil || p.Y != nil && p.Y.Low != nil
		})
	})
	switch {
	case f.Kind == results.FigureDistribution:
		return "Dot: median. Thick bar: the middle half. Thin bar: from the 5th to the 95th percentile. Hairline: all."
	case f.Kind == results.FigureHeat || f.Kind == results.FigureTime || !intervals:
		return ""
	}
	return "Bars: 95 % CI."
}

// checkFigure panics on figures that our own code must never make: an unknown kind, a
// missing title or text, a number that is none or does not fit its scale.
func checkFigure(f results.Figure) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			panic("report: internal error: figure " + f.Name + ": " + fmt.Sprintf(format, args...))
		}
	}
	must(f.Title != "" && f.Alt != "", "no title or no alternative text")
	kinds := []results.FigureKind{results.FigureScatter, results.FigureDistribution, results.FigureDots, results.FigureHeat, results.FigureLines, results.FigureTime}
	must(slices.Contains(kinds, f.Kind), "kind %q", f.Kind)
	must(f.X.Title != "" || f.Kind == results.FigureHeat, "the X axis has no title")
	must(f.Y.Title != "" || f.Kind == results.FigureDistribution || f.Kind == results.FigureDots || f.Kind == results.FigureHeat, "the Y axis has no title")
	must(f.Z.Title != "" || f.Kind != results.FigureHeat, "the colour has no title")
	number := func(a results.Axis, v float64) {
		must(!math.IsNaN(v) && !math.IsInf(v, 0), "not a number")
		must(!a.Log || v > 0, "%v on a logarithmic scale", v)
	}
	estimate := func(a results.Axis, e *results.Estimate) {
		if e == nil {
			return
		}
		must(e.Value != nil || e.Why != "", "undefined without a reason")
		must((e.Low == nil) == (e.High == nil) && (e.Value != nil || e.Low == nil), "half an interval, or one without a value")
		for _, v := range []*float64{e.Value, e.Low, e.High} {
			if v != nil {
				number(a, *v)
			}
		}
	}
	y := f.Y
	if f.Kind == results.FigureHeat {
		y = f.Z
	}
	for _, a := range []results.Axis{f.X, y} {
		must(a.Low == nil || a.High == nil || *a.Low < *a.High, "an axis ends before it starts")
		for _, v := range []*float64{a.Low, a.High} {
			if v != nil {
				number(a, *v)
			}
		}
		for _, m := range a.Marks {
			number(a, m.At)
		}
	}
	for _, s := range f.Series {
		for _, p := range s.Points {
			estimate(f.X, p.X)
			estimate(y, p.Y)
		}
		must(len(s.Quantiles) != 1, "one quantile")
		must(slices.IsSorted(s.Quantiles), "quantiles that fall")
		for _, v := range s.Quantiles {
			number(f.X, v)
		}
		for i, v := range s.Samples {
			number(f.X, v[0])
			number(f.Y, v[1])
			must(i == 0 || s.Samples[i-1][0] <= v[0], "samples out of order")
		}
	}
	for _, s := range f.Spans {
		number(f.X, s.From)
		number(f.X, s.To)
		must(s.From <= s.To, "a span ends before it starts")
	}
}

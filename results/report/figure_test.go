package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/results"
)

func figurePtr(v float64) *float64 { return &v }

func figureEst(v, low, high float64) *results.Estimate {
	return &results.Estimate{Value: &v, Low: &low, High: &high, N: 48}
}

func plain(v float64) *results.Estimate { return &results.Estimate{Value: &v, N: 48} }

func quantiles(median, spread float64) []float64 {
	var q []float64
	for i := range 101 {
		q = append(q, median*math.Pow(spread, float64(i-50)/50))
	}
	return q
}

// examples are one figure of each kind, as studies make them, and hard ones.
func examples() []results.Figure {
	percent := func(title string) results.Axis {
		return results.Axis{Title: title, Unit: "%", Low: figurePtr(0), High: figurePtr(100)}
	}
	models := []string{"honest", "silent-sycophant", "a-model-with-a-rather-long-name:7b-instruct-q4_K_M", "blind"}
	scatter := results.Figure{Name: "latency-accuracy", Kind: results.FigureScatter, Title: "Accuracy against latency", Alt: "text",
		X: results.Axis{Title: "Latency T, median", Unit: "s", Log: true}, Y: percent("Accuracy")}
	dist := results.Figure{Name: "ratio", Kind: results.FigureDistribution, Title: "How much longer reasoning takes", Alt: "text",
		X: results.Axis{Title: "T_cot / T_direct, per item", Log: true, Marks: []results.Mark{{At: 1, Text: "as long"}}}}
	dots := results.Figure{Name: "tasks", Kind: results.FigureDots, Title: "By task", Alt: "text", X: percent("C_path")}
	conditions := []string{"sham", "TB-LA+", "TB-LA-", "VB-BB+", "VB-BB-", "VO-BB", "VO-GRID@8x8:r3c5", "VB-BB-@thickness_px=8"}
	heat := results.Figure{Name: "conditions", Kind: results.FigureHeat, Title: "Flips", Alt: "text", X: results.Axis{Title: "Condition"}, Z: results.Axis{Title: "Answers changed", Unit: "%", Low: figurePtr(0), High: figurePtr(100)}}
	change := results.Figure{Name: "change", Kind: results.FigureHeat, Title: "Change", Alt: "text", X: results.Axis{Title: ""}, Z: results.Axis{Title: "Change of accuracy", Unit: "points", Diverging: true}}
	dose := results.Figure{Name: "dose", Kind: results.FigureLines, Title: "Dose and response", Alt: "text",
		X: results.Axis{Title: "Thickness of the box", Unit: "px", Log: true}, Y: percent("Answers that follow the cue")}
	power := results.Figure{Name: "power", Kind: results.FigureTime, Title: "Power of a block", Alt: "text",
		X: results.Axis{Title: "Time since the block began", Unit: "s"}, Y: results.Axis{Title: "Power", Unit: "W", Low: figurePtr(0)}}
	for i, m := range models {
		f := float64(i)
		scatter.Series = append(scatter.Series, results.Series{Name: m, Points: []results.Point{
			{Label: "direct", X: figureEst(0.02+0.01*f, 0.015+0.01*f, 0.026+0.01*f), Y: figureEst(50+8*f, 41+8*f, 60+8*f)},
			{Label: "cot", X: figureEst(0.09+0.05*f, 0.07+0.05*f, 0.12+0.05*f), Y: figureEst(58+9*f, 49+9*f, 70+8*f)}}})
		dist.Series = append(dist.Series, results.Series{Name: m, N: 48, Quantiles: quantiles(1.5+f, 1.6)})
		var own results.Series
		for k, task := range []string{"Diagnosis", "Referring Recognition", "Counting", "Examination Type"} {
			p := results.Point{Label: task, X: figureEst(60+5*f-4*float64(k), 50+5*f, 75+5*f)}
			if i == 1 && k == 2 {
				p.X = &results.Estimate{Why: "no usable verdict"}
			}
			own.Points = append(own.Points, p)
		}
		own.Name = m
		dots.Series = append(dots.Series, own)
		h, ch := results.Series{Name: m}, results.Series{Name: m}
		for k, c := range conditions {
			p := results.Point{Label: c, Y: plain(math.Mod(f*37+float64(k)*23, 101))}
			if i == 2 && k == 3 {
				p.Y = &results.Estimate{Why: "no trials"}
			}
			h.Points = append(h.Points, p)
			if k < 5 {
				ch.Points = append(ch.Points, results.Point{Label: c, Y: plain(math.Mod(f*37+float64(k)*23, 61) - 30)})
			}
		}
		heat.Series = append(heat.Series, h)
		change.Series = append(change.Series, ch)
		l := results.Series{Name: m}
		for k := range 6 {
			x := math.Pow(2, float64(k))
			y := 10 + 12*float64(k)*(f+1)/3
			l.Points = append(l.Points, results.Point{X: plain(x), Y: figureEst(y, y-8, min(y+9, 100))})
		}
		dose.Series = append(dose.Series, l)
	}
	many := results.Figure{Name: "many", Kind: results.FigureHeat, Title: "Many", Alt: "text", Y: results.Axis{Title: "Model"}, X: results.Axis{Title: "Task"}, Z: percent("Accuracy")}
	for i := range 9 {
		var own results.Series
		own.Name = fmt.Sprintf("model-%d:7b-instruct", i)
		for k, task := range []string{"Modality", "Diagnosis", "Referring Recognition", "Counting", "Examination Type", "Lesion", "Organ", "Severity", "Image Quality", "Action", "Cause", "Function", "Symptom"} {
			own.Points = append(own.Points, results.Point{Label: task, Y: plain(float64((i*37 + k*11) % 101))})
		}
		many.Series = append(many.Series, own)
	}
	var s results.Series
	for i := range 4000 {
		t := float64(i) * 0.05
		w := 70.0
		if math.Mod(t, 20) > 4 {
			w = 280 + 25*math.Sin(t*7)
		}
		s.Samples = append(s.Samples, [2]float64{t, w})
	}
	s.Name = "GPU 0"
	power.Series = []results.Series{s}
	for t := 4.0; t < 200; t += 20 {
		power.Spans = append(power.Spans, results.Span{From: t, To: t + 16})
	}
	empty := results.Figure{Name: "empty", Kind: results.FigureScatter, Title: "Nothing", Alt: "text", X: results.Axis{Title: "Latency", Unit: "s", Log: true}, Y: percent("Accuracy")}
	hostile := scatter
	hostile.Name, hostile.Series = "hostile", []results.Series{{Name: "<script>alert(1)</script> & \" ' 模型 \U0001F600", Points: scatter.Series[0].Points}, {Name: strings.Repeat("long ", 90), Points: scatter.Series[1].Points}}
	three := scatter
	three.Name, three.X.Title, three.Y.Title = "three", strings.Repeat("a long title ", 30), strings.Repeat("a long title ", 30)
	three.X.Marks, three.Y.Marks = []results.Mark{{At: 0.5, Text: strings.Repeat("mark ", 60)}}, []results.Mark{{At: 50, Text: strings.Repeat("mark ", 60)}}
	three.Series = nil
	for i := range 3 {
		three.Series = append(three.Series, results.Series{Name: "m", Points: []results.Point{{Label: fmt.Sprint("arm number ", i), X: figureEst(0.1+0.2*float64(i), 0.05, 0.6), Y: figureEst(100, 90, 100)}}})
	}
	return []results.Figure{three, scatter, dist, dots, heat, change, dose, power, many, empty, hostile}
}

func looks() []figureLook {
	return []figureLook{{Width: pageWidth, Mark: "SYNTHETIC"}, {Width: narrow}, {Width: pageWidth, Page: true}, {Width: narrow, Page: true}}
}

// TestDrawings draws every kind in every format twice: the bytes are equal, well
// formed, and hold neither a time nor a style attribute. ASSAY_FIGURES names a
// folder to look at them.
func TestDrawings(t *testing.T) {
	keep := os.Getenv("ASSAY_FIGURES")
	for _, f := range examples() {
		checkFigure(f)
		for i, look := range looks() {
			look.Made = time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC)
			for format, render := range map[string]func(io.Writer, results.Figure, figureLook) error{"svg": svg, "pdf": pdf} {
				if look.Page && format != "svg" {
					continue
				}
				var a, b bytes.Buffer
				if err := render(&a, f, look); err != nil {
					t.Fatalf("%s: %v", f.Name, err)
				}
				if err := render(&b, f, look); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Errorf("%s as %s: other bytes the second time (%v)", f.Name, format, err)
				}
				if keep != "" {
					if err := os.WriteFile(filepath.Join(keep, fmt.Sprintf("%s-%d.%s", f.Name, i, format)), a.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				switch format {
				case "svg":
					checkSVG(t, f, look, a.String())
				case "pdf":
					checkPDF(t, f, a.Bytes())
				}
			}
		}
	}
}

func checkSVG(t *testing.T, f results.Figure, look figureLook, s string) {
	t.Helper()
	if strings.Contains(s, "style=") || strings.Contains(s, "<script") || strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("%s: a style attribute, a script or a number that is none", f.Name)
	}
	if look.Page != strings.Contains(s, "class=") {
		t.Errorf("%s: classes stand on the page, colours in files", f.Name)
	}
	dec := xml.NewDecoder(strings.NewReader(s))
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: not XML: %v", f.Name, err)
		}
		if el, ok := tok.(xml.StartElement); ok && el.Name.Local == "text" {
			var x, length float64
			turned := false
			for _, a := range el.Attr {
				switch a.Name.Local {
				case "x":
					fmt.Sscan(a.Value, &x)
				case "textLength":
					fmt.Sscan(a.Value, &length)
				case "transform":
					turned = true
				}
			}
			if turned { // upright: its height is what must fit
				continue
			}
			if x < -0.5 || x+length > look.Width+0.5 {
				t.Errorf("%s at %v: words from %v to %v stand outside", f.Name, look.Width, x, x+length)
			}
		}
	}
}

func checkPDF(t *testing.T, f results.Figure, b []byte) {
	t.Helper()
	if !bytes.HasPrefix(b, []byte("%PDF-")) || !bytes.Contains(b, []byte("%%EOF")) {
		t.Fatalf("%s: not a PDF", f.Name)
	}
	for _, key := range []string{"/CreationDate", "/ModDate"} {
		at := bytes.Index(b, []byte(key))
		if at < 0 || !bytes.Contains(b[at:min(at+60, len(b))], []byte("20260302010000")) {
			t.Errorf("%s: %s is not the run's", f.Name, key)
		}
	}
	if len(b) > 120_000 {
		t.Errorf("%s: %d bytes: the fonts are whole", f.Name, len(b))
	}
}

// TestTicks: never fewer than two, inside the axis, rising, told apart by their
// words.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		low := rapid.Float64Range(1e-6, 1e6).Draw(t, "low")
		high := low * rapid.Float64Range(1.05, 1e4).Draw(t, "times")
		if !log && rapid.Bool().Draw(t, "negative") {
			low, high = -high, low
		}
		most := rapid.IntRange(2, 9).Draw(t, "most")
		got := ticks{log: log, most: most}.Ticks(low, high)
		if len(got) < 2 || len(got) > 4*most+1 {
			t.Fatalf("%d ticks from %v to %v: %v", len(got), low, high, got)
		}
		for i, k := range got {
			room := (high - low) * 1e-6
			if k.Value < low-room || k.Value > high+room {
				t.Fatalf("%v lies outside %v to %v", k.Value, low, high)
			}
			if i > 0 && (k.Value <= got[i-1].Value || k.Label == got[i-1].Label) {
				t.Fatalf("%v after %v", k, got[i-1])
			}
		}
	})
}

// TestAxesOfValuesThatAreAlmostEqual: sums of the same parts in another order differ
// in their last bits, and an axis between two such values has ends and numbers, too.
func TestAxesOfValuesThatAreAlmostEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		low := rapid.Float64Range(1e-12, 1e12).Draw(t, "low")
		high := low
		for range rapid.IntRange(0, 9).Draw(t, "bits") {
			high = math.Nextafter(high, math.Inf(1))
		}
		if rapid.Bool().Draw(t, "apart") {
			high = low * (1 + math.Pow(10, -rapid.Float64Range(0, 16).Draw(t, "by")))
		}
		axis := results.Axis{Title: "Energy", Log: log}
		switch {
		case log:
		case rapid.Bool().Draw(t, "negative"):
			low, high = -high, -low
		case rapid.Bool().Draw(t, "ended"):
			axis.Low = &low
		}
		e := extent{low, high}
		e.end(axis, 0.05)
		most := rapid.IntRange(2, 9).Draw(t, "most")
		got := ticks{log: log, most: most}.Ticks(e.low, e.high)
		if len(got) < 2 || len(got) > 4*most+1 || !(e.low <= low && e.high >= high) {
			t.Fatalf("%v to %v: axis %v, %d ticks", low, high, e, len(got))
		}
		for i, k := range got {
			if i > 0 && (k.Value <= got[i-1].Value || k.Label == got[i-1].Label) {
				t.Fatalf("%v after %v, of %v to %v", k, got[i-1], low, high)
			}
		}
	})
}

// TestInksCanBeRead: words and dots on paper, numbers on every colour of a cell.
func TestInksCanBeRead(t *testing.T) {
	paper := inkPaper()
	for _, c := range []ink{inkText(), inkSoft(), inkWarn()} {
		if r := contrast(c, paper); r < 4.5 {
			t.Errorf("%s has %.2f:1 on paper", c.name, r)
		}
	}
	for i := range seriesInks {
		if r := contrast(seriesInk(i), paper); r < 4.5 {
			t.Errorf("series %d has %.2f:1 on paper", i, r)
		}
		for k := range i {
			if seriesInk(i) == seriesInk(k) {
				t.Errorf("series %d and %d look alike", i, k)
			}
		}
	}
	for x := -1.0; x <= 1; x += 0.01 {
		for _, diverging := range []bool{true, false} {
			if cell, on := heat(x, diverging); contrast(cell, on) < 4.5 {
				t.Errorf("at %.2f (diverging %v) numbers have %.2f:1", x, diverging, contrast(cell, on))
			}
		}
	}
	if r := contrast(rgb("", 0xffffff), rgb("", 0)); r != 21 {
		t.Errorf("black on white is %v", r)
	}
}

// TestCheckRefuses: what our own code must never make.
func TestCheckRefuses(t *testing.T) {
	nan := math.NaN()
	for what, spoil := range map[string]func(*results.Figure){
		"no title":             func(f *results.Figure) { f.Title = "" },
		"no text":              func(f *results.Figure) { f.Alt = "" },
		"another kind":         func(f *results.Figure) { f.Kind = "pie" },
		"an axis without name": func(f *results.Figure) { f.X.Title = "" },
		"not a number":         func(f *results.Figure) { f.Series[0].Points[0].Y.Value = &nan },
		"zero on a log scale":  func(f *results.Figure) { f.Series[0].Points[0].X.Low = figurePtr(0) },
		"half an interval":     func(f *results.Figure) { f.Series[0].Points[0].X.Low = nil },
		"no reason":            func(f *results.Figure) { f.Series[0].Points[0].X = &results.Estimate{} },
		"a scale upside down":  func(f *results.Figure) { f.Y.Low, f.Y.High = figurePtr(3), figurePtr(3) },
		"one quantile":         func(f *results.Figure) { f.Series[0].Quantiles = []float64{1} },
		"falling quantiles":    func(f *results.Figure) { f.Series[0].Quantiles = []float64{2, 1} },
		"time runs back":       func(f *results.Figure) { f.Series[0].Samples = [][2]float64{{2, 1}, {1, 1}} },
		"a span upside down":   func(f *results.Figure) { f.Spans = []results.Span{{From: 2, To: 1}} },
	} {
		f := examples()[1]
		spoil(&f)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is not refused", what)
				}
			}()
			checkFigure(f)
		}()
	}
}

// TestMissing: what has no value is not drawn, and is counted.
func TestMissing(t *testing.T) {
	f := examples()[3] // dots, one of them undefined
	if missing, all := missing(f); missing != 1 || all != 16 || empty(f) {
		t.Errorf("%d of %d missing in %s", missing, all, f.Name)
	}
	if !empty(results.Figure{Kind: results.FigureDots, Series: []results.Series{{Points: []results.Point{{X: &results.Estimate{Why: "none"}}}}}}) {
		t.Error("a figure without values is not empty")
	}
}

// TestLabelsAreNeverCut: long names of series, labels, marks and axes stand there whole, on several lines where one
// does not hold them, at both widths.
func TestLabelsAreNeverCut(t *testing.T) {
	const long = "Llama-3.2-11B-Vision-Instruct-of-the-second-hospital:quantised-q4_K_M, answer after three examples at temperature 0.7"
	word := regexp.MustCompile(`[A-Za-z0-9]+`)
	text := regexp.MustCompile(`>([^<>]+)</text>`)
	for _, f := range examples() {
		axis := func(a results.Axis) results.Axis {
			if a.Title != "" {
				a.Title = "Axis of " + long
			}
			a.Marks = slices.Clone(a.Marks)
			for i := range a.Marks {
				a.Marks[i].Text = "Mark of " + long
			}
			return a
		}
		f.X, f.Y, f.Z = axis(f.X), axis(f.Y), axis(f.Z)
		if f.Kind == results.FigureLines {
			f.X.Marks = append(f.X.Marks, results.Mark{At: 2, Text: "Knee of " + long}, results.Mark{At: 2.1, Text: "Other knee of " + long})
		}
		f.Series = slices.Clone(f.Series)
		for i := range f.Series {
			f.Series[i].Name += " " + long
		}
		for _, width := range []float64{pageWidth, narrow} {
			var b bytes.Buffer
			if err := svg(&b, f, figureLook{Width: width}); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for _, m := range text.FindAllStringSubmatch(b.String(), -1) {
				said.WriteString(m[1])
			}
			if strings.Contains(said.String(), "…") {
				t.Errorf("%s at %v: a label is cut: %s", f.Name, width, regexp.MustCompile(`.{0,40}…`).FindString(said.String()))
			}
			for _, w := range word.FindAllString(long, -1) {
				if !strings.Contains(strings.ReplaceAll(said.String(), "\n", ""), w) && len(w) < 12 {
					t.Errorf("%s at %v: %q is not there", f.Name, width, w)
				}
			}
		}
	}
}

package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/results"
	"assay/results/stats"
)

const (
	lineHeight = vg.Length(13) // of a line of words
	symbolRoom = vg.Length(14) // of a legend's symbol
)

// rowed says whether a figure's rows are names.
func rowed(k results.FigureKind) bool {
	return k == results.FigureDistribution || k == results.FigureDots || k == results.FigureHeat
}

// labels are the points' labels in the order of first mention.
func labels(f results.Figure) []string {
	var out []string
	for _, s := range f.Series {
		for _, p := range s.Points {
			if !slices.Contains(out, p.Label) {
				out = append(out, p.Label)
			}
		}
	}
	return out
}

// entry is one name of the legend; label: it names a label, not a series.
type entry struct {
	name  string
	index int
	label bool
}

// legend is the lines of the legend.
func legend(f results.Figure, width vg.Length) [][]entry {
	var all []entry
	if len(f.Series) > 1 && (f.Kind == results.FigureScatter || f.Kind == results.FigureDots || f.Kind == results.FigureLines || f.Kind == results.FigureTime) {
		for i, s := range f.Series {
			all = append(all, entry{name: s.Name, index: i})
		}
	}
	if f.Kind == results.FigureScatter {
		if l := labels(f); len(l) == 2 {
			for i, name := range l {
				all = append(all, entry{name: name, index: i, label: true})
			}
		}
	}
	var lines [][]entry
	var used vg.Length
	for i, e := range all {
		e.name = fit(e.name, legendStyle(), width-symbolRoom)
		w := symbolRoom + legendStyle().Width(e.name) + 12
		if len(lines) == 0 || used+w > width+12 || e.label && !all[max(i-1, 0)].label {
			lines, used = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], e)
		used += w
	}
	return lines
}

func legendStyle() text.Style { return style(smallSize, inkText(), false, text.XLeft, text.YCenter) }

// mostLabel is how many lines a label may have. What is longer is cut: no name of a model is.
const mostLabel = 24

// fit breaks s into lines of a width.
func fit(s string, st text.Style, width vg.Length) string {
	return strings.Join(wrap(s, st, width, mostLabel), "\n")
}

// heightOf is the room of a label of one or several lines.
func heightOf(s string) vg.Length { return lineHeight + 10.5*vg.Length(strings.Count(s, "\n")) }

// breaks is what a name may be broken after.
const breaks = " -_/@:."

// wrap breaks s into at most n lines of a width, at spaces and after hyphens
// where it can; the last is cut.
func wrap(s string, st text.Style, width vg.Length, n int) []string {
	var lines []string
	for s != "" {
		if st.Width(s) <= width {
			return append(lines, s)
		}
		if len(lines) == n-1 {
			r := []rune(s)
			for len(r) > 1 && st.Width(string(r)+"…") > width {
				r = r[:len(r)-1]
			}
			return append(lines, string(r)+"…")
		}
		cut, last := 0, 0
		for at, r := range s {
			end := at + len(string(r))
			if st.Width(strings.TrimRight(s[:end], " ")) > width {
				break
			}
			last = end
			if strings.ContainsRune(breaks, r) {
				cut = end
			}
		}
		if cut == 0 {
			cut = max(last, len(string([]rune(s)[:1])))
		}
		lines, s = append(lines, strings.TrimRight(s[:cut], " ")), s[cut:]
	}
	return lines
}

// rows are the names of a figure's rows, each with its height.
func rows(f results.Figure, look figureLook) (names []string, each vg.Length) {
	st := style(textSize, inkText(), false, text.XRight, text.YCenter)
	room := vg.Length(look.Width) * 0.36
	most := 1
	add := func(name string, more ...string) {
		l := append(wrap(name, st, room, mostLabel), more...)
		most = max(most, len(l))
		names = append(names, strings.Join(l, "\n"))
	}
	switch f.Kind {
	case results.FigureDistribution:
		for _, s := range f.Series {
			add(s.Name)
		}
		each = 26
	case results.FigureHeat:
		for _, s := range f.Series {
			add(s.Name)
		}
		each = 22
	case results.FigureDots:
		for _, l := range labels(f) {
			add(l)
		}
		each = 12 + 8*vg.Length(len(f.Series))
	}
	return names, max(each, vg.Length(most)*10.5+4)
}

// mostLines is how many lines the name of a heat table's column may take.
const mostLines = 2

// mostUpright is how long a name that stands on its head may be.
const mostUpright = 600

// columns are a heat table's column names, broken to fit, and the height that
// they need; upright: they are too long, and stand on their heads.
func columns(f results.Figure, look figureLook) (names []string, room vg.Length, upright bool) {
	l := labels(f)
	st := style(smallSize, inkText(), false, text.XCenter, text.YTop)
	// The names of rows take a third at most.
	width := (vg.Length(look.Width)*0.62-10)/vg.Length(max(len(l), 1)) - 3
	lines := 0
	for _, name := range l {
		parts := wrap(name, st, width, mostLines+2)
		// A word that is broken is as bad as a line too many.
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(breaks, r) }) {
			upright = upright || st.Width(word) > width
		}
		upright = upright || len(parts) > mostLines
		lines = max(lines, len(parts))
		names = append(names, strings.Join(parts, "\n"))
	}
	if !upright {
		return names, vg.Length(lines) * 9.5, false
	}
	for i, name := range l {
		names[i] = strings.Join(wrap(name, st, mostUpright, 1), "")
		room = max(room, st.Width(names[i]))
	}
	return names, room + 2, true
}

// head is the height above the plot: mark, legend, title of the Y axis or scale
// of the colour.
func head(f results.Figure, look figureLook) vg.Length {
	var h vg.Length
	for _, row := range legend(f, vg.Length(look.Width)) {
		h += tall(row)
	}
	if look.Mark != "" {
		h += lineHeight
	}
	if f.Kind == results.FigureHeat {
		h += heightOf(scaleTitle(f, vg.Length(look.Width))) + 3
	} else if !rowed(f.Kind) {
		h += heightOf(titleOfY(f, vg.Length(look.Width))) + 3
	}
	for _, m := range f.X.Marks {
		h += heightOf(markText(m, vg.Length(look.Width)))
	}
	return h + 5
}

// tall is the height of a row of the legend.
func tall(row []entry) vg.Length {
	var n vg.Length
	for _, e := range row {
		n = max(n, heightOf(e.name))
	}
	return n
}

func titleOfY(f results.Figure, width vg.Length) string {
	return fit(axisTitle(f.Y), style(textSize, inkSoft(), false, text.XLeft, text.YTop), width)
}

func titleOfX(f results.Figure, look figureLook) string {
	return fit(axisTitle(f.X), style(textSize, inkSoft(), false, text.XCenter, text.YBottom), vg.Length(look.Width)*0.7)
}

// markText is what stands over a mark of the X axis, each mark above the one before it.
func markText(m results.Mark, width vg.Length) string {
	return fit(m.Text, style(smallSize, inkSoft(), false, text.XLeft, text.YBottom), width*0.45)
}

// turned is the heat table with rows and columns exchanged where its columns'
// names fit badly and fit better so.
func turned(f results.Figure, look figureLook) results.Figure {
	if f.Kind != results.FigureHeat {
		return f
	}
	other := f
	other.X, other.Y, other.Series = f.Y, f.X, nil
	for _, name := range labels(f) {
		s := results.Series{Name: name}
		for _, of := range f.Series {
			for _, p := range of.Points {
				if p.Label == name {
					s.Points = append(s.Points, results.Point{Label: of.Name, Y: p.Y})
				}
			}
		}
		other.Series = append(other.Series, s)
	}
	_, room, now := columns(f, look)
	_, less, then := columns(other, look)
	if now && (!then || less < room) {
		return other
	}
	return f
}

// height is how tall a figure is at its width.
func height(f results.Figure, look figureLook) vg.Length {
	f = turned(f, look)
	body := vg.Length(250)
	if look.Width < pageWidth {
		body = 215
	}
	body += heightOf(titleOfX(f, look)) - lineHeight
	if rowed(f.Kind) {
		names, each := rows(f, look)
		body = vg.Length(len(names))*each + 32 + heightOf(titleOfX(f, look)) - lineHeight
	}
	if f.Kind == results.FigureHeat {
		_, room, _ := columns(f, look)
		names, each := rows(f, look)
		body = vg.Length(len(names))*each + room + 12
		if f.X.Title != "" {
			body += heightOf(titleOfX(f, look))
		}
	}
	return head(f, look) + body
}

func axisTitle(a results.Axis) string {
	if a.Unit == "" || a.Title == "" {
		return a.Title + a.Unit
	}
	return a.Title + " (" + a.Unit + ")"
}

// paint draws the figure on a canvas of its height.
func paint(c draw.Canvas, f results.Figure, look figureLook) {
	f = turned(f, look)
	top := c.Max.Y
	if look.Mark != "" {
		c.FillText(style(smallSize, inkWarn(), true, text.XLeft, text.YTop), vg.Point{X: c.Min.X, Y: top}, look.Mark)
		top -= lineHeight
	}
	for _, row := range legend(f, c.Max.X-c.Min.X) {
		x, y := c.Min.X, top-tall(row)/2
		for _, e := range row {
			symbol(c, f.Kind, e, vg.Point{X: x + 5, Y: y})
			c.FillText(legendStyle(), vg.Point{X: x + symbolRoom, Y: y}, e.name)
			x += symbolRoom + legendStyle().Width(e.name) + 12
		}
		top -= tall(row)
	}
	switch {
	case f.Kind == results.FigureHeat:
		scale(c, f, vg.Point{X: c.Min.X, Y: top - 2})
	case !rowed(f.Kind):
		c.FillText(style(textSize, inkSoft(), false, text.XLeft, text.YTop), vg.Point{X: c.Min.X, Y: top - 2}, titleOfY(f, c.Max.X-c.Min.X))
	}
	c.Max.Y -= head(f, look)
	c.Max.X -= 2
	plotOf(f, look).Draw(c)
}

// symbol stands before a name of the legend.
func symbol(c draw.Canvas, kind results.FigureKind, e entry, at vg.Point) {
	switch {
	case e.label:
		p := circle(at, radius)
		c.SetColor(inkSoft())
		if e.index > 0 {
			c.Fill(p)
		}
		c.SetLineStyle(line(inkSoft(), thin))
		c.Stroke(p)
	case kind == results.FigureTime:
		c.StrokeLine2(line(seriesInk(e.index), 2), at.X-5, at.Y, at.X+5, at.Y)
	default:
		if kind == results.FigureLines {
			c.StrokeLine2(line(seriesInk(e.index), thin), at.X-6, at.Y, at.X+6, at.Y)
		}
		dot(c, e.index, at, false)
	}
}

// plotOf sets up the axes and what is drawn between them.
func plotOf(f results.Figure, look figureLook) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle = line(inkRule(), hair)
		a.Tick.LineStyle = line(inkRule(), hair)
		a.Tick.Length = 3
		a.Tick.Label.Font = style(textSize, inkText(), false, 0, 0).Font
		a.Tick.Label.Color = inkText()
		a.Label.TextStyle = style(textSize, inkSoft(), false, text.XCenter, text.YBottom)
		a.Padding = 4
	}
	p.X.Label.Text = titleOfX(f, look)
	p.X.Label.Padding = 2
	x, y := extents(f)
	set := func(a *plot.Axis, of results.Axis, e extent, room float64) {
		a.Min, a.Max = e.low, e.high
		if of.Log {
			a.Scale = plot.LogScale{}
		}
		a.Tick.Marker = ticks{log: of.Log, most: max(int(room), 2)}
	}
	set(&p.X, f.X, x, look.Width*0.7/55)
	if at := levels(f); len(at) > 1 && len(at) <= int(look.Width*0.7/30) {
		var marks plot.ConstantTicks
		for _, v := range at {
			marks = append(marks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)})
		}
		p.X.Tick.Marker = marks
	}
	if rowed(f.Kind) {
		names, _ := rows(f, look)
		p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
		p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		p.Y.Tick.Marker = places(names)
		p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	} else {
		set(&p.Y, f.Y, y, 6)
		p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	}
	if f.Kind == results.FigureHeat {
		names, _, upright := columns(f, look)
		p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
		p.X.Tick.Marker = places(names)
		p.X.Tick.Label.Font = style(smallSize, inkText(), false, 0, 0).Font
		if upright {
			p.X.Tick.Label.Rotation = math.Pi / 2
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XRight, text.YCenter
		}
		p.X.LineStyle.Width, p.X.Tick.Length, p.X.Padding, p.Y.Padding = 0, 0, 2, 0
	}
	p.Add(plotter{f, look})
	return p
}

// levels are the values of X at which a dose-response has points, in order.
func levels(f results.Figure) []float64 {
	var out []float64
	if f.Kind != results.FigureLines {
		return nil
	}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if drawn(f.Kind, p) && !slices.Contains(out, *p.X.Value) {
				out = append(out, *p.X.Value)
			}
		}
	}
	slices.Sort(out)
	return out
}

// places are the ticks of names, at 0, 1, 2, ...
func places(names []string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i, n := range names {
		out = append(out, plot.Tick{Value: float64(i), Label: n})
	}
	return out
}

// extent is where an axis begins and ends.
type extent struct{ low, high float64 }

func (e *extent) take(v float64) { e.low, e.high = min(e.low, v), max(e.high, v) }

// clip keeps a value on the axis.
func (e extent) clip(v float64) float64 { return min(max(v, e.low), e.high) }

// extents are the axes' ends: those given, else those of the values, with some
// room.
func extents(f results.Figure) (x, y extent) {
	x, y = extent{math.Inf(1), math.Inf(-1)}, extent{math.Inf(1), math.Inf(-1)}
	estimate := func(to *extent, e *results.Estimate) {
		if e == nil {
			return
		}
		for _, v := range []*float64{e.Value, e.Low, e.High} {
			if v != nil {
				to.take(*v)
			}
		}
	}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if drawn(f.Kind, p) {
				estimate(&x, p.X)
				estimate(&y, p.Y)
			}
		}
		for _, v := range s.Quantiles {
			x.take(v)
		}
		for _, v := range s.Samples {
			x.take(v[0])
			y.take(v[1])
		}
	}
	for _, s := range f.Spans {
		x.take(s.From)
		x.take(s.To)
	}
	room := 0.05
	if f.Kind == results.FigureTime {
		room = 0
	}
	x.end(f.X, room)
	y.end(f.Y, 0.05)
	return x, y
}

// apart is how far apart, as a share of them, values have to be to be told apart on
// an axis: sums that differ in their last bits alone are one value, and no axis has
// numbers to put between them.
const apart = 1e-9

// end gives an extent of values its ends on an axis, with room as a share of it.
func (e *extent) end(a results.Axis, room float64) {
	for _, m := range a.Marks {
		e.take(m.At)
	}
	if math.IsInf(e.low, 0) { // nothing is drawn
		e.low, e.high = 1, 10
	}
	same := e.high-e.low <= apart*max(math.Abs(e.low), math.Abs(e.high))
	switch {
	case a.Log && same:
		e.low, e.high = e.low/2, e.high*2
	case a.Log:
		k := math.Exp((math.Log(e.high) - math.Log(e.low)) * room)
		e.low, e.high = e.low/k, e.high*k
	case same:
		e.low, e.high = e.low-max(1, math.Abs(e.low)/10), e.high+max(1, math.Abs(e.high)/10)
	default:
		d := (e.high - e.low) * room
		if e.low >= 0 && e.low < d {
			e.low = d // not below zero
		}
		e.low, e.high = e.low-d, e.high+d
	}
	if a.Low != nil {
		e.low = *a.Low
	}
	if a.High != nil {
		e.high = *a.High
	}
	if e.high-e.low <= apart*max(math.Abs(e.low), math.Abs(e.high)) { // one end is given, and the values lie at it or beyond
		e.high = e.low + max(1, math.Abs(e.low)/10)
	}
}

// ticks are at most so many numbers that end in 1, 2 or 5.
type ticks struct {
	log  bool
	most int
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	if t.log {
		for _, of := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			var out []plot.Tick
			for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
				for _, m := range of {
					if v := m * math.Pow(10, e); v >= low && v <= high {
						out = append(out, plot.Tick{Value: v, Label: stats.Fixed(v, max(0, int(-e)))})
					}
				}
			}
			if len(out) >= 3 && len(out) <= t.most+1 {
				return out
			}
		}
	}
	// Equal steps lie close at one end of a logarithmic scale.
	least := 2
	if t.log {
		least = 3
	}
	for most := t.most; ; most++ {
		if out := even(low, high, most); len(out) >= least || most > 4*t.most {
			return out
		}
	}
}

// even is about so many numbers at equal steps.
func even(low, high float64, most int) []plot.Tick {
	raw := (high - low) / float64(most)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := power * 10
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			step = m * power
			break
		}
	}
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
	// A count, and no comparison of sums: so near to each other, low and high may be
	// too large for a step to change them.
	for i := range int(min(last-first+1, float64(3*most))) {
		v := (first + float64(i)) * step
		out = append(out, plot.Tick{Value: v, Label: stats.Fixed(v, digits)})
	}
	return out
}

package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/results"
	"assay/results/stats"
)

// plotter draws a figure between its axes.
type plotter struct {
	f    results.Figure
	look figureLook
}

// Plot implements plot.Plotter.
func (d plotter) Plot(c draw.Canvas, p *plot.Plot) {
	a := area{Canvas: c, x: extent{p.X.Min, p.X.Max}, y: extent{p.Y.Min, p.Y.Max}}
	a.toX, a.toY = p.Transforms(&a.Canvas)
	for _, s := range d.f.Spans {
		a.SetColor(inkBand())
		a.Fill(rectangle(a.px(s.From), c.Min.Y, a.px(s.To), c.Max.Y))
	}
	if d.f.Kind != results.FigureHeat {
		a.grid(p, rowed(d.f.Kind))
		a.marks(d.f, vg.Length(d.look.Width))
	}
	switch d.f.Kind {
	case results.FigureScatter:
		a.scatter(d.f)
	case results.FigureDistribution:
		a.distribution(d.f)
	case results.FigureDots:
		a.dots(d.f)
	case results.FigureHeat:
		a.heat(d.f)
	case results.FigureLines:
		a.lines(d.f)
	case results.FigureTime:
		a.time(d.f)
	}
}

// area is the room between the axes.
type area struct {
	draw.Canvas
	x, y     extent
	toX, toY func(float64) vg.Length
}

func (a *area) px(v float64) vg.Length { return a.toX(a.x.clip(v)) }
func (a *area) py(v float64) vg.Length { return a.toY(a.y.clip(v)) }

func (a *area) grid(p *plot.Plot, upright bool) {
	st := line(inkGrid(), hair)
	if upright {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			x := a.toX(t.Value)
			a.StrokeLine2(st, x, a.Min.Y, x, a.Max.Y)
		}
		return
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		y := a.toY(t.Value)
		a.StrokeLine2(st, a.Min.X, y, a.Max.X, y)
	}
}

func (a *area) marks(f results.Figure, width vg.Length) {
	st := line(inkRule(), 0.8)
	st.Dashes = []vg.Length{3, 2}
	top := a.Max.Y
	for _, m := range f.X.Marks {
		x, words := a.px(m.At), style(smallSize, inkSoft(), false, text.XLeft, text.YBottom)
		a.StrokeLine2(st, x, a.Min.Y, x, a.Max.Y)
		s := markText(m, width)
		at := vg.Point{X: min(max(x-words.Width(s)/2, a.Min.X), a.Max.X-words.Width(s)), Y: top}
		a.FillText(words, at, s)
		top += heightOf(s)
	}
	for _, m := range f.Y.Marks {
		y := a.py(m.At)
		a.StrokeLine2(st, a.Min.X, y, a.Max.X, y)
		words := style(smallSize, inkSoft(), false, text.XRight, text.YBottom)
		a.FillText(words, vg.Point{X: a.Max.X, Y: y + 3}, fit(m.Text, words, a.Max.X-a.Min.X))
	}
}

// interval draws an estimate's interval along one direction.
func (a *area) interval(st draw.LineStyle, e *results.Estimate, upright bool, across vg.Length) {
	if e == nil || e.Low == nil {
		return
	}
	if upright {
		a.StrokeLine2(st, across, a.py(*e.Low), across, a.py(*e.High))
	} else {
		a.StrokeLine2(st, a.px(*e.Low), across, a.px(*e.High), across)
	}
}

func (a *area) scatter(f results.Figure) {
	names := labels(f)
	order := func(label string) int {
		for i, n := range names {
			if n == label {
				return i
			}
		}
		return 0
	}
	var pts [][]vg.Point
	for i, s := range f.Series {
		var own []vg.Point
		for _, p := range s.Points {
			if drawn(f.Kind, p) {
				at := vg.Point{X: a.px(*p.X.Value), Y: a.py(*p.Y.Value)}
				a.interval(line(tint(i), 2), p.X, false, at.Y)
				a.interval(line(tint(i), 2), p.Y, true, at.X)
				own = append(own, at)
			}
		}
		pts = append(pts, own)
	}
	for i, own := range pts {
		if len(own) > 1 {
			a.StrokeLines(line(seriesInk(i), hair), own)
		}
	}
	for i, s := range f.Series {
		k := 0
		for _, p := range s.Points {
			if drawn(f.Kind, p) {
				dot(a.Canvas, i, pts[i][k], len(names) == 2 && order(p.Label) == 0)
				if len(names) > 2 {
					a.beside(pts[i][k], p.Label)
				}
				k++
			}
		}
	}
}

// beside writes a word beside a point, on the side that has room.
func (a *area) beside(at vg.Point, s string) {
	st := style(smallSize, inkText(), false, text.XLeft, text.YCenter)
	s = fit(s, st, (a.Max.X-a.Min.X)/2-6)
	at.X += 6
	if at.X+st.Width(s) > a.Max.X {
		at.X, st.XAlign = at.X-12, text.XRight
	}
	at.Y = min(at.Y+5, a.Max.Y)
	a.FillText(st, at, s)
}

// distribution draws a row of quantiles per series.
func (a *area) distribution(f results.Figure) {
	for i, s := range f.Series {
		y := a.toY(float64(i))
		if len(s.Quantiles) == 0 {
			a.FillText(style(smallSize, inkSoft(), false, text.XLeft, text.YCenter), vg.Point{X: a.Min.X + 3, Y: y}, "no values")
			continue
		}
		at := func(q float64) vg.Length {
			v, _ := stats.SortedQuantile(s.Quantiles, q)
			return a.px(v)
		}
		a.StrokeLine2(line(seriesInk(i), hair), at(0), y, at(1), y)
		a.StrokeLine2(line(tint(i), 3), at(.05), y, at(.95), y)
		a.StrokeLine2(line(tint(i), 9), at(.25), y, at(.75), y)
		dot(a.Canvas, i, vg.Point{X: at(.5), Y: y}, false)
	}
}

// dots draws a row per label, the series one below the other in it.
func (a *area) dots(f results.Figure) {
	names := labels(f)
	for r, name := range names {
		some := false
		for i, s := range f.Series {
			shift := (float64(i) - float64(len(f.Series)-1)/2) * 8
			y := a.toY(float64(r)) - vg.Length(shift)
			for _, p := range s.Points {
				if p.Label == name && drawn(f.Kind, p) {
					some = true
					a.interval(line(tint(i), 2.2), p.X, false, y)
					dot(a.Canvas, i, vg.Point{X: a.px(*p.X.Value), Y: y}, false)
				}
			}
		}
		if !some {
			a.FillText(style(smallSize, inkSoft(), false, text.XLeft, text.YCenter), vg.Point{X: a.Min.X + 3, Y: a.toY(float64(r))}, "no values")
		}
		if r > 0 {
			y := (a.toY(float64(r-1)) + a.toY(float64(r))) / 2
			a.StrokeLine2(line(inkGrid(), hair), a.Min.X, y, a.Max.X, y)
		}
	}
}

func (a *area) lines(f results.Figure) {
	for i, s := range f.Series {
		var pts []vg.Point
		// Points of several series at the same place stand beside each other.
		shift := vg.Length(float64(i)-float64(len(f.Series)-1)/2) * 2.5
		for _, p := range s.Points {
			if drawn(f.Kind, p) {
				at := vg.Point{X: a.px(*p.X.Value) + shift, Y: a.py(*p.Y.Value)}
				a.interval(line(tint(i), 2), p.Y, true, at.X)
				pts = append(pts, at)
			}
		}
		if len(pts) > 1 {
			a.StrokeLines(line(seriesInk(i), thin), pts)
		}
		for _, at := range pts {
			dot(a.Canvas, i, at, false)
		}
	}
}

// time draws samples, thinned to what can be seen: of each half point of width,
// the first, the least, the greatest and the last.
func (a *area) time(f results.Figure) {
	for i, s := range f.Series {
		var pts []vg.Point
		add := func(v [2]float64) {
			at := vg.Point{X: a.px(v[0]), Y: a.py(v[1])}
			if s.Step && len(pts) > 0 {
				pts = append(pts, vg.Point{X: at.X, Y: pts[len(pts)-1].Y})
			}
			pts = append(pts, at)
		}
		for from := 0; from < len(s.Samples); {
			column := math.Floor(float64(a.px(s.Samples[from][0])) * 2)
			to, low, high := from, from, from
			for ; to < len(s.Samples) && math.Floor(float64(a.px(s.Samples[to][0]))*2) == column; to++ {
				if s.Samples[to][1] < s.Samples[low][1] {
					low = to
				}
				if s.Samples[to][1] > s.Samples[high][1] {
					high = to
				}
			}
			last := -1
			for _, k := range []int{from, min(low, high), max(low, high), to - 1} {
				if k > last {
					add(s.Samples[k])
					last = k
				}
			}
			from = to
		}
		if len(pts) > 1 {
			a.StrokeLines(line(seriesInk(i), thin), pts)
		}
	}
	for _, s := range f.Spans {
		if w := a.px(s.To) - a.px(s.From); w > style(smallSize, inkSoft(), false, 0, 0).Width(s.Text) {
			a.FillText(style(smallSize, inkSoft(), false, text.XCenter, text.YTop), vg.Point{X: (a.px(s.From) + a.px(s.To)) / 2, Y: a.Max.Y - 1}, s.Text)
		}
	}
}

// shade is where a value lies on the colour's scale.
func shade(f results.Figure, e extent, v float64) float64 {
	if f.Z.Diverging {
		return v / max(math.Abs(e.low), math.Abs(e.high), 1e-300)
	}
	return (v - e.low) / (e.high - e.low)
}

// colours are the ends of the colour's scale: those given, else those of the
// values.
func colours(f results.Figure) extent {
	e := extent{math.Inf(1), math.Inf(-1)}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if drawn(f.Kind, p) {
				e.take(*p.Y.Value)
			}
		}
	}
	e.end(f.Z, 0)
	return e
}

// cellText is a value of a heat table, with decimals where the scale is short.
func cellText(e extent, v float64) string {
	digits := 0
	for d := e.high - e.low; d < 20 && digits < 3; d *= 10 {
		digits++
	}
	return stats.Fixed(v, digits)
}

func (a *area) heat(f results.Figure) {
	e := colours(f)
	names := labels(f)
	w, h := (a.toX(1)-a.toX(0))/2, (a.toY(0)-a.toY(1))/2
	// Numbers shrink to fit, and go where they could not be read.
	size := smallSize
	for size > 5 && style(size, inkText(), false, 0, 0).Width("-100") > 2*w-1 {
		size -= 0.5
	}
	for r, s := range f.Series {
		for col, name := range names {
			x, y := a.toX(float64(col)), a.toY(float64(r))
			box := rectangle(x-w+.6, y-h+.6, x+w-.6, y+h-.6)
			st, words := style(size, inkSoft(), false, text.XCenter, text.YCenter), "–"
			for _, p := range s.Points {
				if p.Label == name && drawn(f.Kind, p) {
					cell, on := heat(shade(f, e, *p.Y.Value), f.Z.Diverging)
					a.SetColor(cell)
					a.Fill(box)
					st.Color, words = on, cellText(e, *p.Y.Value)
				}
			}
			if words == "–" {
				a.SetLineStyle(line(inkGrid(), hair))
				a.Stroke(box)
			}
			if size > 5 {
				a.FillText(st, vg.Point{X: x, Y: y + .8}, words)
			}
		}
	}
}

// steps are how many colours a scale shows, each so wide.
const steps, each = 24, vg.Length(3)

func scaleEnds(f results.Figure) [2]string {
	e := colours(f)
	if !f.Z.Diverging {
		return [2]string{cellText(e, e.low), cellText(e, e.high)}
	}
	m := max(math.Abs(e.low), math.Abs(e.high))
	return [2]string{cellText(e, -m), cellText(e, m)}
}

// scaleTitle is what stands before the scale, in the room that it leaves.
func scaleTitle(f results.Figure, width vg.Length) string {
	soft, ends := style(smallSize, inkSoft(), false, text.XLeft, text.YTop), scaleEnds(f)
	return fit(axisTitle(f.Z)+":", soft, width-steps*each-soft.Width(ends[0]+ends[1])-20)
}

// scale draws a heat table's colours with their ends, on one line.
func scale(c draw.Canvas, f results.Figure, at vg.Point) {
	soft := style(smallSize, inkSoft(), false, text.XLeft, text.YTop)
	x := at.X
	put := func(s string) {
		c.FillText(soft, vg.Point{X: x, Y: at.Y}, s)
		x += soft.Width(s) + 5
	}
	ends := scaleEnds(f)
	put(scaleTitle(f, c.Max.X-c.Min.X))
	put(ends[0])
	for i := range steps {
		v := float64(i) / (steps - 1)
		if f.Z.Diverging {
			v = 2*v - 1
		}
		cell, _ := heat(v, f.Z.Diverging)
		c.SetColor(cell)
		c.Fill(rectangle(x, at.Y-9, x+each+.1, at.Y-1))
		x += each
	}
	x += 5
	put(ends[1])
}

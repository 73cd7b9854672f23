package report

import (
	"image/color"
	"math"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink is a colour with a name, which the page's style gives another value in
// the dark.
type ink struct {
	name string // "": the same everywhere
	color.NRGBA
}

func rgb(name string, v uint32) ink {
	return ink{name, color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}}
}

// Inks apart from those of series. They are the page's own, see page.css.
func inkText() ink  { return rgb("ink", 0x1b1f24) }
func inkSoft() ink  { return rgb("soft", 0x57606a) }
func inkGrid() ink  { return rgb("grid", 0xe4e8ec) }
func inkRule() ink  { return rgb("rule", 0x8b949e) }
func inkPaper() ink { return rgb("paper", 0xffffff) }
func inkWarn() ink  { return rgb("warn", 0x7a2e00) }
func inkBand() ink  { return rgb("band", 0xeef1f4) }

// seriesInks is how many colours there are before they repeat with other shapes.
const seriesInks = 8

// seriesInk is the colour of a series: each has 4.5:1 or more against paper, and
// neighbours differ in lightness too.
func seriesInk(i int) ink {
	values := [seriesInks]uint32{0x1b5fa8, 0xc24a12, 0x12805c, 0x7d3f98, 0x8a6500, 0xb8326b, 0x0f7285, 0x555e68}
	i %= seriesInks
	return rgb("c"+string(rune('1'+i)), values[i])
}

// tint is a series' colour for areas.
func tint(i int) ink {
	c := seriesInk(i)
	mix := func(v uint8) uint8 { return uint8(255 - (255-int(v))*30/100) }
	c.NRGBA = color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: 255}
	c.name = "t" + c.name[1:]
	return c
}

// heat is the colour of a cell whose value lies at x (0..1, or with diverging
// -1..1 around zero), the same in every theme, and the ink of text upon it.
func heat(x float64, diverging bool) (cell, on ink) {
	between := func(t float64, stops ...uint32) ink {
		t = min(max(t, 0), 1) * float64(len(stops)-1)
		i := min(int(t), len(stops)-2)
		t -= float64(i)
		a, b := rgb("", stops[i]), rgb("", stops[i+1])
		mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + t*(float64(b)-float64(a)))) }
		return ink{"", color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}}
	}
	switch {
	case !diverging:
		cell = between(x, 0xf3f7fb, 0xbcd6ea, 0x6aa5d0, 0x24699f, 0x0b2f5c)
	case x < 0:
		cell = between(-x, 0xf7f7f5, 0xf3c4a5, 0xd9743f, 0x8c2f06)
	default:
		cell = between(x, 0xf7f7f5, 0xb4d3e8, 0x4f93c4, 0x0b3f73)
	}
	on = rgb("", 0) // black: with a softer one some colours would bear neither
	if contrast(cell, rgb("", 0xffffff)) > contrast(cell, on) {
		on = rgb("", 0xffffff)
	}
	return cell, on
}

// contrast of two colours, 1..21 (WCAG 2.2, relative luminance).
func contrast(a, b ink) float64 {
	luminance := func(c ink) float64 {
		part := func(v uint8) float64 {
			s := float64(v) / 255
			if s <= 0.04045 {
				return s / 12.92
			}
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return 0.2126*part(c.R) + 0.7152*part(c.G) + 0.0722*part(c.B)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Sizes, in points.
const (
	textSize  = vg.Length(9)
	smallSize = vg.Length(8)
	hair      = vg.Length(0.5)
	thin      = vg.Length(1.1)
	radius    = vg.Length(3.2) // of a dot
)

func style(size vg.Length, c ink, bold bool, x text.XAlignment, y text.YAlignment) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: c, Font: f, XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

func line(c ink, w vg.Length) draw.LineStyle { return draw.LineStyle{Color: c, Width: w} }

// path is a closed one through points.
func path(pts ...vg.Point) vg.Path {
	var p vg.Path
	for i, pt := range pts {
		if i == 0 {
			p.Move(pt)
		} else {
			p.Line(pt)
		}
	}
	p.Close()
	return p
}

func rectangle(x0, y0, x1, y1 vg.Length) vg.Path {
	return path(vg.Point{X: x0, Y: y0}, vg.Point{X: x1, Y: y0}, vg.Point{X: x1, Y: y1}, vg.Point{X: x0, Y: y1})
}

// circle is made of curves, which every canvas can draw.
func circle(c vg.Point, r vg.Length) vg.Path {
	k := r * 0.5522847498
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: c.X + x, Y: c.Y + y} }
	var p vg.Path
	p.Move(at(r, 0))
	p.CubeTo(at(r, k), at(k, r), at(0, r))
	p.CubeTo(at(-k, r), at(-r, k), at(-r, 0))
	p.CubeTo(at(-r, -k), at(-k, -r), at(0, -r))
	p.CubeTo(at(k, -r), at(r, -k), at(r, 0))
	p.Close()
	return p
}

// shape is the outline of series i's dot.
func shape(i int, c vg.Point, r vg.Length) vg.Path {
	at := func(x, y float64) vg.Point { return vg.Point{X: c.X + vg.Length(x)*r, Y: c.Y + vg.Length(y)*r} }
	switch (i%seriesInks + i/seriesInks) % 6 {
	case 1:
		return path(at(-.88, -.88), at(.88, -.88), at(.88, .88), at(-.88, .88))
	case 2:
		return path(at(0, 1.25), at(1.1, -.8), at(-1.1, -.8))
	case 3:
		return path(at(0, 1.3), at(1.3, 0), at(0, -1.3), at(-1.3, 0))
	case 4:
		return path(at(0, -1.25), at(1.1, .8), at(-1.1, .8))
	case 5:
		return path(at(-.4, 1.15), at(.4, 1.15), at(.4, .4), at(1.15, .4), at(1.15, -.4), at(.4, -.4),
			at(.4, -1.15), at(-.4, -1.15), at(-.4, -.4), at(-1.15, -.4), at(-1.15, .4), at(-.4, .4))
	}
	return circle(c, r)
}

// dot draws series i's dot; hollow ones are filled with paper.
func dot(c draw.Canvas, i int, at vg.Point, hollow bool) {
	p := shape(i, at, radius)
	c.SetColor(seriesInk(i))
	if hollow {
		c.SetColor(inkPaper())
	}
	c.Fill(p)
	c.SetLineStyle(line(seriesInk(i), thin))
	c.Stroke(p)
}

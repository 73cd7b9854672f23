package eye

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
)

// Shapes is a picture of blobs, or of one letter, and what is true of it.
type Shapes struct {
	Image  *image.NRGBA
	Colour string // one of Colours
	Letter string // one of Letters; "": blobs are drawn
	Count  int    // of blobs, 1 to 4; 0: a letter is drawn
	Side   string // "left" or "right" where one blob is drawn, else ""
}

// Colours are those of blobs and letters.
func Colours() []string { return []string{"red", "green", "blue", "yellow"} }

// Letters are those that are drawn.
func Letters() []string { return []string{"A", "B", "C", "D"} }

// What can be asked of one picture of shapes.
const (
	Side   = "side"
	Count  = "count"
	Letter = "letter"
	Colour = "colour"
)

// Tasks are what can be asked of one picture of shapes.
func Tasks() []string { return []string{Side, Count, Letter, Colour} }

// Questions are the ways in which a task is asked.
func Questions(task string) []string {
	switch task {
	case Side:
		return []string{"Is the blob on the left or on the right?", "Which side is the blob on, left or right?",
			"On which side of the image is the blob? Answer left or right."}
	case Count:
		return []string{"How many blobs are in the image?", "Count the blobs.", "How many blobs can be seen? Answer with a number."}
	case Letter:
		return []string{"Which letter is drawn, A, B, C or D?", "What letter is this?", "Name the letter in the image."}
	}
	return []string{"What colour is it, red, green, blue or yellow?", "Name the colour.", "Which colour does the shape have?"}
}

// Draw draws a picture of width x height pixels on which the task can be asked. The same
// source gives the same picture.
func Draw(r *rand.Rand, task string, width, height int) Shapes {
	s := Shapes{Colour: Colours()[r.IntN(4)]}
	var ink []stroke
	if task == Letter || task == Colour && r.Float64() < 0.4 {
		s.Letter = Letters()[r.IntN(4)]
		ink = letter(r, s.Letter, float64(width), float64(height))
	} else {
		s.Count = 1
		if task != Side {
			s.Count = 1 + r.IntN(4)
		}
		ink = blobs(r, s.Count, float64(width), float64(height))
		if s.Count == 1 {
			s.Side = "right"
			if ink[0].points[0].x < float64(width)/2 {
				s.Side = "left"
			}
		}
	}
	s.Image = paint(r, ink, s.Colour, width, height)
	return s
}

// point is a place in pixels.
type point struct{ x, y float64 }

// stroke is a line through points with round ends: a blob where there is one point.
type stroke struct {
	points []point
	radius float64
	flat   float64 // a blob is wider than high by this factor
}

// covers reports whether the stroke covers a place.
func (s stroke) covers(at point) bool {
	for i := range max(len(s.points)-1, 1) {
		a := s.points[i]
		b := s.points[min(i+1, len(s.points)-1)]
		dx, dy := b.x-a.x, b.y-a.y
		t := 0.0
		if long := dx*dx + dy*dy; long > 0 {
			t = min(max(((at.x-a.x)*dx+(at.y-a.y)*dy)/long, 0), 1)
		}
		x, y := (at.x-a.x-t*dx)/s.flat, (at.y-a.y-t*dy)*s.flat
		if x*x+y*y <= s.radius*s.radius {
			return true
		}
	}
	return false
}

// blobs lie apart from each other; one alone keeps away from the middle.
func blobs(r *rand.Rand, n int, w, h float64) []stroke {
	var out []stroke
	side := min(w, h)
	for len(out) < n {
		radius := side * (0.07 + 0.06*r.Float64())
		at := point{radius*1.1 + (w-2.2*radius)*r.Float64(), radius*1.1 + (h-2.2*radius)*r.Float64()}
		if n == 1 && math.Abs(at.x-w/2) < 0.06*w {
			continue
		}
		near := func(o stroke) bool {
			return math.Hypot(at.x-o.points[0].x, at.y-o.points[0].y) < radius+o.radius+0.05*side
		}
		if slices.ContainsFunc(out, near) {
			continue
		}
		out = append(out, stroke{[]point{at}, radius, 0.9 + 0.2*r.Float64()})
	}
	return out
}

// letter is one in the middle, a little turned, of lines in a box from -1 to 1.
func letter(r *rand.Rand, which string, w, h float64) []stroke {
	arc := func(x, y, rx, ry float64, from, to int) (out []point) {
		for a := from; a <= to; a += 15 {
			sin, cos := math.Sincos(float64(a) * math.Pi / 180)
			out = append(out, point{x + rx*cos, y + ry*sin})
		}
		return out
	}
	through := func(parts ...[]point) []point { return slices.Concat(parts...) }
	lines := map[string][][]point{
		"A": {{{-0.7, 1}, {0, -1}, {0.7, 1}}, {{-0.38, 0.25}, {0.38, 0.25}}},
		"B": {{{-0.55, -1}, {-0.55, 1}}, through([]point{{-0.55, -1}}, arc(-0.1, -0.5, 0.6, 0.5, -90, 90), []point{{-0.55, 0}}),
			through([]point{{-0.55, 0}}, arc(-0.05, 0.5, 0.7, 0.5, -90, 90), []point{{-0.55, 1}})},
		"C": {arc(0.1, 0, 0.8, 1, 45, 315)},
		"D": {{{-0.6, -1}, {-0.6, 1}}, through([]point{{-0.6, -1}}, arc(-0.2, 0, 0.85, 1, -90, 90), []point{{-0.6, 1}})},
	}[which]
	side := min(w, h)
	high := side * (0.26 + 0.14*r.Float64())
	wide := high * (0.75 + 0.3*r.Float64())
	x, y := w/2+side*(0.16*r.Float64()-0.08), h/2+side*(0.16*r.Float64()-0.08)
	sin, cos := math.Sincos((r.Float64() - 0.5) * 24 * math.Pi / 180)
	radius := side * (0.025 + 0.025*r.Float64())
	var out []stroke
	for _, line := range lines {
		s := stroke{radius: radius, flat: 1}
		for _, p := range line {
			s.points = append(s.points, point{x + wide*p.x*cos - high*p.y*sin, y + wide*p.x*sin + high*p.y*cos})
		}
		out = append(out, s)
	}
	return out
}

// paint draws strokes on a dark ground, with noise; each pixel is four samples.
func paint(r *rand.Rand, ink []stroke, colour string, width, height int) *image.NRGBA {
	tints := map[string][3]float64{"red": {225, 50, 45}, "green": {50, 205, 70}, "blue": {60, 90, 235}, "yellow": {230, 215, 50}}[colour]
	for i := range tints {
		tints[i] += 14 * r.NormFloat64()
	}
	dark := 8 + 52*r.Float64()
	ground := [3]float64{dark, dark, dark + 15*r.Float64()}
	noise := 2 + 7*r.Float64()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			covered := 0.0
			for i := range 4 {
				at := point{float64(x) + 0.25 + 0.5*float64(i%2), float64(y) + 0.25 + 0.5*float64(i/2)}
				if slices.ContainsFunc(ink, func(s stroke) bool { return s.covers(at) }) {
					covered += 0.25
				}
			}
			var c [3]uint8
			for i := range c {
				c[i] = uint8(min(max(ground[i]+(tints[i]-ground[i])*covered+noise*r.NormFloat64(), 0), 255))
			}
			img.SetNRGBA(x, y, color.NRGBA{c[0], c[1], c[2], 255})
		}
	}
	return img
}

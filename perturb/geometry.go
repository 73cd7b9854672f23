package perturb

import (
	"image"
	"math"
)

// taken is a picture of w x h pixels, each of them taken from a place of p; black
// where that place lies outside.
func taken(p *Pixels, w, h int, from func(x, y int) image.Point) *Pixels {
	out, n := NewPixels(w, h, p.Channels), p.Channels
	for y := range h {
		for x := range w {
			if at := from(x, y); at.In(p.Bounds()) {
				copy(out.Pix[(y*w+x)*n:(y*w+x+1)*n], p.Pix[(at.Y*p.W+at.X)*n:])
			}
		}
	}
	return out
}

const flipUpDown = "up-down"

func flipped(p *Pixels, way string) *Pixels {
	return taken(p, p.W, p.H, func(x, y int) image.Point {
		if way == flipUpDown {
			return image.Pt(x, p.H-1-y)
		}
		return image.Pt(p.W-1-x, y)
	})
}

// patched is p with patches of one size in another order, as many a side as n or its pixels.
func patched(p *Pixels, n int, r *rng) *Pixels {
	across, down := min(n, p.W), min(n, p.H)
	w, h := p.W/across, p.H/down
	order := make([]int, across*down)
	for i := range order {
		order[i] = i
	}
	r.reorder(order)
	return taken(p, p.W, p.H, func(x, y int) image.Point {
		if x >= across*w || y >= down*h {
			return image.Pt(x, y)
		}
		patch := order[y/h*across+x/w]
		return image.Pt(patch%across*w+x%w, patch/across*h+y%h)
	})
}

// centred is what a crop keeps of w x h pixels; the odd pixel is lost at the right or
// the bottom.
func centred(w, h int, share float64) image.Rectangle {
	kept := image.Pt(max(1, int(math.Round(share*float64(w)))), max(1, int(math.Round(share*float64(h)))))
	at := image.Pt((w-kept.X)/2, (h-kept.Y)/2)
	return image.Rectangle{Min: at, Max: at.Add(kept)}
}

// steps of a shift, in pixels.
func shifted(o Op, w, h int) image.Point {
	return image.Pt(int(math.Round(o.value("right")*float64(w))), int(math.Round(o.value("down")*float64(h))))
}

// turn is a rotation about the centre of w x h pixels.
type turn struct {
	cos, sin float64
	w, h     int
	toW, toH int // the size that comes out: the same, but for a turn to the side
}

func turnOf(degrees float64, w, h int) turn {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	exact := func(v float64) float64 { return math.Round(v*1e15) / 1e15 } // right angles have no rest
	t := turn{cos: exact(cos), sin: exact(sin), w: w, h: h, toW: w, toH: h}
	if t.cos == 0 {
		t.toW, t.toH = h, w
	}
	return t
}

// box is the bounding box of where a box comes to lie.
func (t turn) box(b image.Rectangle) image.Rectangle {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, c := range []image.Point{b.Min, {b.Max.X, b.Min.Y}, {b.Min.X, b.Max.Y}, b.Max} {
		dx, dy := float64(c.X)-float64(t.w)/2, float64(c.Y)-float64(t.h)/2
		x := float64(t.cos*dx) + float64(t.sin*dy) + float64(t.toW)/2
		y := float64(t.cos*dy) - float64(t.sin*dx) + float64(t.toH)/2
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	return image.Rect(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Ceil(x1)), int(math.Ceil(y1)))
}

// picture is p turned, bilinear: a pixel is black whose middle comes from outside of p.
// At right angles middles come from middles, so pixels are moved as they are.
func (t turn) picture(p *Pixels) *Pixels {
	out, n := NewPixels(t.toW, t.toH, p.Channels), p.Channels
	for y := range out.H {
		dy := float64(y) + .5 - float64(t.toH)/2
		for x := range out.W {
			dx := float64(x) + .5 - float64(t.toW)/2
			sx := float64(t.cos*dx) - float64(t.sin*dy) + float64(t.w)/2
			sy := float64(t.cos*dy) + float64(t.sin*dx) + float64(t.h)/2
			if sx < 0 || sy < 0 || sx >= float64(t.w) || sy >= float64(t.h) {
				continue
			}
			left, top := math.Floor(sx-.5), math.Floor(sy-.5)
			a, b := sx-.5-left, sy-.5-top
			row0, row1 := max(int(top), 0)*p.W, min(int(top)+1, p.H-1)*p.W
			col0, col1 := max(int(left), 0), min(int(left)+1, p.W-1)
			for c := range n {
				at := func(i int) float64 { return float64(p.Pix[i*n+c]) }
				upper := float64(at(row0+col0)*(1-a)) + float64(at(row0+col1)*a)
				lower := float64(at(row1+col0)*(1-a)) + float64(at(row1+col1)*a)
				out.Pix[(y*out.W+x)*n+c] = level(float64(upper*(1-b)) + float64(lower*b))
			}
		}
	}
	return out
}

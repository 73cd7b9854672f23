package eye

import (
	"image"
	"math"
)

// Engine is how a server turns a picture file's pixels and a conversation into what the
// model gets. Engines differ by version, and so do right answers.
type Engine int

// Engines, by what was read in their source and seen on real ones.
const (
	// LlamaServer is llama.cpp's server since libmtmd sets limits in tokens (llama.cpp
	// 3f545bec), and Ollama that runs it (0.32): edges rounded to multiples of 28, corners kept,
	// black around what does not fit, [IMG_END] behind each picture.
	LlamaServer Engine = iota
	// Ollama09 is Ollama 0.9.6 with its own copy of llava.cpp: edges rounded up to multiples of
	// 14 within image_size, every picture resampled a little short of its last row and column,
	// and nothing behind it.
	Ollama09
)

// Engines are all of them.
func Engines() []Engine { return []Engine{LlamaServer, Ollama09} }

// String is the engine in words.
func (e Engine) String() string {
	if e == Ollama09 {
		return "llava.cpp of Ollama 0.9"
	}
	return "llama.cpp's libmtmd"
}

const (
	patch   = 14
	aligned = 28  // a token's side: 2 x 2 patches
	largest = 448 // image_size of the projector's file
)

// pixels is a picture as a model gets it: rows of red, green, blue.
type pixels struct {
	w, h int
	rgb  []uint8
}

// pixelsOf takes an image's colours as they are, without its alpha.
func pixelsOf(img image.Image) pixels {
	b := img.Bounds()
	p := pixels{b.Dx(), b.Dy(), make([]uint8, 0, 3*b.Dx()*b.Dy())}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			p.rgb = append(p.rgb, uint8(r>>8), uint8(g>>8), uint8(bl>>8))
		}
	}
	return p
}

// prepare brings a picture to a size that the model takes.
func (e Engine) prepare(p pixels) pixels {
	if e == Ollama09 {
		scale := min(1, min(float32(largest)/float32(p.w), float32(largest)/float32(p.h)))
		up := func(edge int) int { return (int(float32(edge)*scale) + patch - 1) / patch * patch }
		w, h := up(p.w), up(p.h)
		return p.bilinear(w, h, float32(p.w-1)/float32(w), float32(p.h-1)/float32(h))
	}
	w, h := target(p.w, p.h)
	if w == p.w && h == p.h {
		return p
	}
	scale := min(float32(w)/float32(p.w), float32(h)/float32(p.h))
	nw := min(int(math.Ceil(float64(float32(p.w)*scale))), w)
	nh := min(int(math.Ceil(float64(float32(p.h)*scale))), h)
	ratio := func(from, to int) float32 {
		if to < 2 {
			return 0
		}
		return float32(from-1) / float32(to-1)
	}
	in := p.bilinear(nw, nh, ratio(p.w, nw), ratio(p.h, nh))
	out := pixels{w, h, make([]uint8, 3*w*h)}
	x0, y0 := (w-nw)/2, (h-nh)/2
	for y := range nh {
		copy(out.rgb[3*((y0+y)*w+x0):], in.rgb[3*y*nw:3*(y+1)*nw])
	}
	return out
}

// target is llama-server's size of a picture: 8 to 1,024 tokens of 28 x 28 pixels.
func target(w, h int) (int, int) {
	const lo, hi = 8 * aligned * aligned, 1024 * aligned * aligned
	round := func(x float64) int { return max(int(math.Floor(x/aligned+0.5))*aligned, aligned) }
	tw, th := round(float64(w)), round(float64(h))
	area := float64(w) * float64(h)
	switch {
	case tw*th > hi:
		by := math.Sqrt(area / hi)
		down := func(x int) int { return max(int(math.Floor(float64(x)/by/aligned))*aligned, aligned) }
		return down(w), down(h)
	case tw*th < lo:
		by := math.Sqrt(lo / area)
		up := func(x int) int { return int(math.Ceil(float64(x)*by/aligned)) * aligned }
		return up(w), up(h)
	}
	return tw, th
}

// bilinear resamples without smoothing: pixel x is that at x times the ratio. Values are
// cut to whole numbers, not rounded.
func (p pixels) bilinear(w, h int, rx, ry float32) pixels {
	out := pixels{w, h, make([]uint8, 0, 3*w*h)}
	lerp := func(a, b, t float32) float32 { return a + (b-a)*t }
	for y := range h {
		py := ry * float32(y)
		y0 := min(int(py), p.h-1)
		y1, ty := min(y0+1, p.h-1), py-float32(y0)
		for x := range w {
			px := rx * float32(x)
			x0 := min(int(px), p.w-1)
			x1, tx := min(x0+1, p.w-1), px-float32(x0)
			at := func(x, y, c int) float32 { return float32(p.rgb[3*(y*p.w+x)+c]) }
			for c := range 3 {
				top := lerp(at(x0, y0, c), at(x1, y0, c), tx)
				bottom := lerp(at(x0, y1, c), at(x1, y1, c), tx)
				out.rgb = append(out.rgb, uint8(lerp(top, bottom, ty)))
			}
		}
	}
	return out
}

// Prepare is what the model gets of a picture: rows of red, green, blue.
func (e Engine) Prepare(img image.Image) (rgb []uint8, width, height int) {
	p := e.prepare(pixelsOf(img))
	return p.rgb, p.w, p.h
}

package perturb

import (
	"image"
	"image/color"
)

// Pixels is an 8 bit grey or RGB image without padding: what ops work on. It is
// an image.Image.
type Pixels struct {
	W, H     int
	Channels int     // 1 grey, 3 RGB
	Pix      []uint8 // row by row, W*H*Channels
}

// NewPixels makes a black image.
func NewPixels(w, h, channels int) *Pixels {
	return &Pixels{W: w, H: h, Channels: channels, Pix: make([]uint8, w*h*channels)}
}

// ColorModel is grey or RGBA.
func (p *Pixels) ColorModel() color.Model {
	if p.Channels == 1 {
		return color.GrayModel
	}
	return color.RGBAModel
}

// Bounds starts at 0,0.
func (p *Pixels) Bounds() image.Rectangle { return image.Rect(0, 0, p.W, p.H) }

// At is the colour of a pixel.
func (p *Pixels) At(x, y int) color.Color {
	i := (y*p.W + x) * p.Channels
	if p.Channels == 1 {
		return color.Gray{Y: p.Pix[i]}
	}
	return color.RGBA{R: p.Pix[i], G: p.Pix[i+1], B: p.Pix[i+2], A: 255}
}

func (p *Pixels) clone() *Pixels {
	c := *p
	c.Pix = append([]uint8(nil), p.Pix...)
	return &c
}

// rgb is a copy of p with three channels.
func (p *Pixels) rgb() *Pixels {
	if p.Channels == 3 {
		return p.clone()
	}
	out := NewPixels(p.W, p.H, 3)
	o := out.Pix
	for _, v := range p.Pix {
		o[0], o[1], o[2] = v, v, v
		o = o[3:]
	}
	return out
}

// PixelsOf converts any image to 8 bits. 16 bit samples keep their high byte
// (Window first to use the whole range); what is transparent is laid over white,
// as most servers do. The result may share memory with img.
func PixelsOf(img image.Image) *Pixels {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	switch m := img.(type) {
	case *Pixels:
		return m
	case *image.Gray:
		return &Pixels{W: w, H: h, Channels: 1, Pix: packed(m.Pix, m.Stride, w, h)}
	case *image.Gray16:
		out := NewPixels(w, h, 1)
		for y := range h {
			row := m.Pix[y*m.Stride:]
			for x := range w {
				out.Pix[y*w+x] = row[2*x]
			}
		}
		return out
	}
	out := NewPixels(w, h, 3)
	o := out.Pix
	switch m := img.(type) {
	case *image.NRGBA:
		if m.Opaque() {
			out.Pix = dropAlpha(m.Pix, m.Stride, w, h, 1)
			return out
		}
	case *image.RGBA:
		if m.Opaque() {
			out.Pix = dropAlpha(m.Pix, m.Stride, w, h, 1)
			return out
		}
	case *image.YCbCr:
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				yi, ci := m.YOffset(x, y), m.COffset(x, y)
				o[0], o[1], o[2] = color.YCbCrToRGB(m.Y[yi], m.Cb[ci], m.Cr[ci])
				o = o[3:]
			}
		}
		return out
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, a := img.At(x, y).RGBA() // premultiplied: white shows through by 0xffff-a
			o[0], o[1], o[2] = uint8((r+0xffff-a)>>8), uint8((g+0xffff-a)>>8), uint8((bl+0xffff-a)>>8)
			o = o[3:]
		}
	}
	return out
}

// window stretches a grey image between its own lowest and highest value to
// 0..255 (metrics.md 2.2); a constant image becomes 0. Colour images come back as
// they are: their levels carry meaning.
func window(img image.Image) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	switch m := img.(type) {
	case *image.Gray16:
		levels := make([]uint16, 0, w*h)
		for y := range h {
			row := m.Pix[y*m.Stride : y*m.Stride+2*w]
			for len(row) > 0 {
				levels = append(levels, uint16(row[0])<<8|uint16(row[1]))
				row = row[2:]
			}
		}
		return &Pixels{W: w, H: h, Channels: 1, Pix: minMax(levels)}
	case *image.Gray:
		return &Pixels{W: w, H: h, Channels: 1, Pix: minMax(packed(m.Pix, m.Stride, w, h))}
	case *Pixels:
		if m.Channels == 1 {
			return &Pixels{W: w, H: h, Channels: 1, Pix: minMax(m.Pix)}
		}
	}
	return img
}

// minMax maps levels to (v-min)/(max-min)*255 in float32, truncated.
func minMax[T uint8 | uint16 | int16](px []T) []uint8 {
	out := make([]uint8, len(px))
	if len(px) == 0 {
		return out
	}
	lo, hi := px[0], px[0]
	for _, v := range px {
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo == hi {
		return out
	}
	// One table entry per level that can occur: at most 65,536, far fewer than pixels.
	table := make([]uint8, int(hi)-int(lo)+1)
	span := float32(hi) - float32(lo)
	for i := range table {
		table[i] = uint8(float32((float32(i) / span)) * 255)
	}
	for i, v := range px {
		out[i] = table[int(v)-int(lo)]
	}
	return out
}

// padSquare centres img on a square of the given colour; the odd pixel goes to
// the right or the bottom.
func padSquare(img image.Image, colour [3]uint8) *Pixels {
	p := PixelsOf(img)
	side := max(p.W, p.H)
	if p.W == p.H {
		return p
	}
	if p.Channels == 1 && !isGrey(colour) {
		p = p.rgb()
	}
	out := NewPixels(side, side, p.Channels)
	fill(out, out.Bounds(), colour)
	x, y, n := (side-p.W)/2, (side-p.H)/2, p.W*p.Channels
	for r := range p.H {
		copy(out.Pix[((y+r)*side+x)*p.Channels:], p.Pix[r*n:(r+1)*n])
	}
	return out
}

func isGrey(c [3]uint8) bool { return c[0] == c[1] && c[1] == c[2] }

// fill paints a rectangle inside p.
func fill(p *Pixels, r image.Rectangle, colour [3]uint8) {
	if r.Empty() {
		return
	}
	n := p.Channels
	first := p.Pix[(r.Min.Y*p.W+r.Min.X)*n:][:r.Dx()*n]
	for i := 0; i < len(first); i += n {
		copy(first[i:i+n], colour[:n])
	}
	for y := r.Min.Y + 1; y < r.Max.Y; y++ {
		copy(p.Pix[(y*p.W+r.Min.X)*n:], first)
	}
}

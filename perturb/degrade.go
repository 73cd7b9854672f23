package perturb

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
)

// blur is a Gaussian of the given standard deviation in pixels, mirrored at the
// borders: three passes of a box whose ends count in part, so that the variance
// is exact and the cost does not grow with sigma (Gwosdek, Grewenig, Bruhn and
// Weickert 2011, "Theoretical foundations of Gaussian convolution by extended box
// filtering").
func blur(p *Pixels, sigma float64) *Pixels {
	const passes = 3
	v := sigma * sigma / passes
	radius := int(.5*math.Sqrt(12*v+1) - .5)
	r := float64(radius)
	end := (2*r + 1) * (r*(r+1) - 3*v) / (6 * (v - (r+1)*(r+1)))
	n := p.W * p.Channels
	a, b := make([]float32, len(p.Pix)), make([]float32, len(p.Pix))
	for i, x := range p.Pix {
		a[i] = float32(x)
	}
	// Of an axis no more than a few periods are summed: beyond, the mean is reached.
	for range passes {
		for y := range p.H {
			boxPass(b[y*n:(y+1)*n], a[y*n:(y+1)*n], p.W, p.Channels, radius, float32(end))
		}
		boxPass(a, b, p.H, n, radius, float32(end))
	}
	out := NewPixels(p.W, p.H, p.Channels)
	for i, x := range a {
		out.Pix[i] = uint8(min(max(x, 0), 255) + .5)
	}
	return out
}

// boxPass averages along the first axis of src, n x inner samples, over radius
// neighbours on both sides and the next one with weight end.
func boxPass(dst, src []float32, n, inner, radius int, end float32) {
	at := func(i int) []float32 {
		i = mirror(i, n)
		return src[i*inner : (i+1)*inner]
	}
	sum := make([]float64, inner) // float64: it runs over the whole axis
	for k := -radius; k <= radius; k++ {
		for j, v := range at(k) {
			sum[j] += float64(v)
		}
	}
	scale := 1 / (float64(2*radius+1) + float64(2*float64(end)))
	for i := range n {
		before, after := at(i-radius-1), at(i+radius+1)
		first := at(i - radius)
		o := dst[i*inner : (i+1)*inner]
		for j := range o {
			ends := float64(float64(end) * (float64(before[j]) + float64(after[j])))
			o[j] = float32(float64((sum[j] + ends) * scale))
			sum[j] += float64(after[j]) - float64(first[j])
		}
	}
}

// mirror folds an index into [0, n): d c b a | a b c d | d c b a.
func mirror(i, n int) int {
	i %= 2 * n
	if i < 0 {
		i += 2 * n
	}
	if i >= n {
		i = 2*n - 1 - i
	}
	return i
}

// noise adds the same bell-shaped noise to all channels of a pixel: grey stays grey.
func noise(p *Pixels, sigma float64, r *rng) *Pixels {
	out := NewPixels(p.W, p.H, p.Channels)
	scale := sigma / bellSD
	for i := 0; i < len(p.Pix); i += p.Channels {
		e := math.Round(float64(r.bell()) * scale)
		for c := i; c < i+p.Channels; c++ {
			out.Pix[c] = level(float64(p.Pix[c]) + e)
		}
	}
	return out
}

// mapped is p with every level changed alike.
func mapped(p *Pixels, to func(v float64) float64) *Pixels {
	var table [256]uint8
	for i := range table {
		table[i] = level(to(float64(i)))
	}
	out := NewPixels(p.W, p.H, p.Channels)
	for i, v := range p.Pix {
		out.Pix[i] = table[v]
	}
	return out
}

// between is a at part 0, b at 1, between them at what lies between and beyond b above.
// The two are of one size and form.
func between(a, b *Pixels, part float64) *Pixels {
	if part == 1 { // the usual cover: a tenth of the time
		return b
	}
	out := NewPixels(a.W, a.H, a.Channels)
	for i, v := range a.Pix {
		out.Pix[i] = level(float64(v) + float64(part*(float64(b.Pix[i])-float64(v))))
	}
	return out
}

// luma is p with the grey of each pixel in all of its channels.
func luma(p *Pixels) *Pixels {
	out := p.clone()
	for i := 0; i+2 < len(p.Pix) && p.Channels == 3; i += 3 {
		r, g, b := int(p.Pix[i]), int(p.Pix[i+1]), int(p.Pix[i+2])
		v := uint8((19595*r + 38470*g + 7471*b + 1<<15) >> 16) // .299, .587 and .114
		out.Pix[i], out.Pix[i+1], out.Pix[i+2] = v, v, v
	}
	return out
}

// swapped has red for blue and blue for red.
func swapped(p *Pixels) *Pixels {
	out := p.clone()
	for i := 0; i+2 < len(out.Pix) && p.Channels == 3; i += 3 {
		out.Pix[i], out.Pix[i+2] = out.Pix[i+2], out.Pix[i]
	}
	return out
}

// std is the standard library's image of the same pixels, which its encoders and
// scalers have fast paths for.
func (p *Pixels) std() image.Image {
	if p.Channels == 1 {
		return &image.Gray{Pix: p.Pix, Stride: p.W, Rect: p.Bounds()}
	}
	m := image.NewRGBA(p.Bounds())
	o := m.Pix
	for i := 0; i < len(p.Pix); i += 3 {
		o[0], o[1], o[2], o[3] = p.Pix[i], p.Pix[i+1], p.Pix[i+2], 255
		o = o[4:]
	}
	return m
}

func throughJPEG(p *Pixels, quality int) (*Pixels, error) {
	if p.W >= 1<<16 || p.H >= 1<<16 {
		return nil, fmt.Errorf("op jpeg: %dx%d: JPEG holds at most 65535 pixels a side", p.W, p.H)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p.std(), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("op jpeg: encode: %w", err)
	}
	m, err := jpeg.Decode(&b)
	if err != nil {
		return nil, fmt.Errorf("op jpeg: decode what was encoded: %w", err)
	}
	return PixelsOf(m), nil
}

// loseResolution scales down by factor and up again, Catmull-Rom both ways.
func loseResolution(p *Pixels, factor float64) *Pixels {
	small := func(n int) int { return max(1, int(math.Round(float64(n)/factor))) }
	return PixelsOf(resize(resize(p.std(), small(p.W), small(p.H)), p.W, p.H))
}

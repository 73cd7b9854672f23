package perturb

import (
	"encoding/binary"
	"image"
	"math"
	"slices"
)

// drawBox outlines a box, t pixels inwards and no further than its middle. It
// paints on p, or on a colour copy of it where the colour asks for one.
func drawBox(p *Pixels, box image.Rectangle, t int, colour [3]uint8) *Pixels {
	if p.Channels == 1 && !isGrey(colour) {
		p = p.rgb()
	}
	tx, ty := min(t, box.Dx()), min(t, box.Dy())
	fill(p, image.Rect(box.Min.X, box.Min.Y, box.Max.X, box.Min.Y+ty), colour)
	fill(p, image.Rect(box.Min.X, box.Max.Y-ty, box.Max.X, box.Max.Y), colour)
	fill(p, image.Rect(box.Min.X, box.Min.Y, box.Min.X+tx, box.Max.Y), colour)
	fill(p, image.Rect(box.Max.X-tx, box.Min.Y, box.Max.X, box.Max.Y), colour)
	return p
}

// filling is what can stand in place of a region.
type filling struct {
	name string
	over func(p *Pixels, a area, sigma float64, r *rng)
}

const (
	fillBlur  = "blur"
	fillWhite = "white" // of blank alone
)

// fillings are all of them, the usual one first.
func fillings() []filling {
	return []filling{
		{"black", func(p *Pixels, a area, _ float64, _ *rng) { fill(p, a.Rectangle, [3]uint8{}) }},
		{"mean", func(p *Pixels, a area, _ float64, _ *rng) {
			sum, _ := sums(p, a)
			count := a.pixels()
			var c [3]uint8
			for i := range c {
				c[i] = uint8((sum[i] + count/2) / count)
			}
			fill(p, a.Rectangle, c)
		}},
		{fillBlur, func(p *Pixels, a area, sigma float64, _ *rng) {
			crop := NewPixels(a.Dx(), a.Dy(), p.Channels)
			o := crop.Pix
			rows(p, a.Rectangle, func(row []uint8) { o = o[copy(o, row):] })
			o = blur(crop, sigma*float64(min(a.Dx(), a.Dy()))).Pix
			rows(p, a.Rectangle, func(row []uint8) { o = o[copy(row, o):] })
		}},
		{"noise", func(p *Pixels, a area, _ float64, r *rng) {
			n, count := p.Channels, a.pixels()
			sum, squares := sums(p, a)
			var scale [3]float64
			for i := range scale {
				variance := float64(count*squares[i]-sum[i]*sum[i]) / float64(count) / float64(count)
				scale[i] = math.Sqrt(variance) / bellSD
			}
			rows(p, a.Rectangle, func(row []uint8) {
				for i := 0; i < len(row); i += n {
					e := float64(r.bell())
					for c := range n {
						row[i+c] = level(float64(sum[c])/float64(count) + float64(e*scale[c]))
					}
				}
			})
		}},
	}
}

func fillNames() []string {
	var names []string
	for _, f := range fillings() {
		names = append(names, f.name)
	}
	return names
}

// occlude replaces an area of p.
func occlude(p *Pixels, a area, with string, sigma float64, r *rng) {
	all, before := fillings(), p
	if a.in != nil {
		before = p.clone()
	}
	all[max(0, slices.IndexFunc(all, func(f filling) bool { return f.name == with }))].over(p, a, sigma, r)
	if a.in != nil { // what is not of the area stays
		a.each(p, func(at int) { copy(before.Pix[at:at+p.Channels], p.Pix[at:]) })
		copy(p.Pix, before.Pix)
	}
}

// each calls f for each pixel of an area of p, with where it begins in p.Pix.
func (a area) each(p *Pixels, f func(at int)) {
	for i := range a.Dx() * a.Dy() {
		if a.has(i) {
			f(((a.Min.Y+i/a.Dx())*p.W + a.Min.X + i%a.Dx()) * p.Channels)
		}
	}
}

// silhouette is white where the area is, and else black.
func silhouette(a area, w, h int) *Pixels {
	p := NewPixels(w, h, 1)
	a.each(p, func(at int) { p.Pix[at] = 255 })
	return p
}

// rows calls f for each row of a box of p.
func rows(p *Pixels, box image.Rectangle, f func(row []uint8)) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		i := (y*p.W + box.Min.X) * p.Channels
		f(p.Pix[i : i+box.Dx()*p.Channels])
	}
}

// sums are those of an area's samples and of their squares, by channel.
func sums(p *Pixels, a area) (sum, squares [3]int) {
	a.each(p, func(at int) {
		for c, v := range p.Pix[at : at+p.Channels] {
			sum[c] += int(v)
			squares[c] += int(v) * int(v)
		}
	})
	return sum, squares
}

// level rounds to 0..255.
func level(v float64) uint8 { return uint8(min(max(v, 0), 255) + .5) }

// heatmap lays a colour over p, which becomes RGB: out = (1-a*m)*v + a*m*colour, truncated, where m
// is the Gaussian of the box mask divided by its maximum + 1e-6; of several
// boxes, the highest (metrics.md 2.2). The Gaussian of a box is the outer product
// of two profiles, so no image is ever filtered.
func heatmap(p *Pixels, areas []area, opacity, sigma float64, colour [3]uint8) *Pixels {
	type mask struct{ x, y []uint32 } // parts of one, in 16 bits; their product is the mask
	var masks []mask
	for _, b := range areas {
		x, y := profile(p.W, b.Min.X, b.Max.X, sigma), profile(p.H, b.Min.Y, b.Max.Y, sigma)
		mx, my := slices.Max(x), slices.Max(y)
		peak := float64(mx * my)
		masks = append(masks, mask{parts(x, 1/mx), parts(y, mx/(peak+1e-6))})
	}
	table := blend(opacity, colour)
	out := &Pixels{W: p.W, H: p.H, Channels: 3, Pix: make([]uint8, p.W*p.H*3, p.W*p.H*3+2)} // room for the last word
	row := make([]uint32, p.W)                                                              // where in the table the mask's steps begin
	for y := range p.H {
		clear(row)
		for _, m := range masks {
			k := m.y[y] >> 1 // 31 bits in all
			for x, v := range m.x[:len(row)] {
				row[x] = max(row[x], (k*v+1<<(30-stepBits))>>(31-stepBits-8)&^0xff)
			}
		}
		src := p.Pix[y*p.W*p.Channels : (y+1)*p.W*p.Channels]
		dst := out.Pix[y*p.W*3 : cap(out.Pix)]
		if p.Channels == 1 {
			i := 0
			for ; i+2 <= len(row) && i+2 <= len(src); i += 2 { // two pixels to the word; what sticks out is overwritten next
				pair := uint64(table[row[i]|uint32(src[i])]) | uint64(table[row[i+1]|uint32(src[i+1])])<<24
				binary.LittleEndian.PutUint64(dst[3*i:], pair)
			}
			for ; i < len(row); i++ {
				binary.LittleEndian.PutUint32(dst[3*i:], table[row[i]|uint32(src[i])])
			}
			continue
		}
		for i, v := range src {
			dst[i] = uint8(table[row[i/3]|uint32(v)] >> (8 * (i % 3)))
		}
	}
	return out
}

// parts are the values times scale, 0 to 1, in 16 bits.
func parts(values []float64, scale float64) []uint32 {
	out := make([]uint32, len(values))
	for i, v := range values {
		out[i] = uint32(min(float64(v*scale), 1) * (1<<16 - 1))
	}
	return out
}

// steps of a mask between 0 and 1: the last is a quarter of a grey level at most.
const (
	stepBits = 10
	steps    = 1 << stepBits
)

// blend is what a grey level becomes under each step of a mask, by step<<8|level:
// (1-a)*v + a*colour, truncated, with red in the lowest byte.
func blend(opacity float64, colour [3]uint8) []uint32 {
	const bits = 22 // of a fixed-point opacity, exact to far below a grey level
	table := make([]uint32, (steps+1)<<8)
	for i := range table {
		a, v := uint32(opacity*float64(i>>8)/steps*(1<<bits)), uint32(i&0xff)
		keep := v<<bits - a*v // written so that it never falls as a grows towards a higher colour
		r, g, b := (keep+a*uint32(colour[0]))>>bits, (keep+a*uint32(colour[1]))>>bits, (keep+a*uint32(colour[2]))>>bits
		table[i] = r | g<<8 | b<<16
	}
	return table
}

// profile is the indicator of [lo, hi) on n pixels after a Gaussian filter of
// sigma times the box side: cut at 4 sigma, mirrored at the borders
// (d c b a | a b c d | d c b a). Sums over a run of weights come from a running
// sum, so the cost does not grow with sigma.
func profile(n, lo, hi int, sigma float64) []float64 {
	sd := sigma * float64(hi-lo)
	radius := int(float64(4*sd) + .5)
	run := make([]float64, 2*radius+2) // run[k] = weights of offsets below k-radius
	for k := range 2*radius + 1 {
		d := float64(k - radius)
		run[k+1] = run[k] + math.Exp(-.5*d*d/(sd*sd))
	}
	total := run[2*radius+1]
	upTo := func(offset int) float64 { // weights of offsets below this one
		return run[min(max(offset+radius, 0), 2*radius+1)]
	}
	out := make([]float64, n)
	turns := (radius+n)/(2*n) + 1
	for x := range out {
		var s float64
		for t := -turns; t <= turns; t++ {
			o := 2*n*t - x
			s += upTo(o+hi) - upTo(o+lo) + upTo(o-lo) - upTo(o-hi)
		}
		out[x] = s / total
	}
	return out
}

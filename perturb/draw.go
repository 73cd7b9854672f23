package perturb

import (
	"image"
	"math"
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

// occlude replaces a box of p.
func occlude(p *Pixels, box image.Rectangle, with string, sigma float64, r *rng) {
	n := p.Channels
	rows := func(f func(row []uint8)) {
		for y := box.Min.Y; y < box.Max.Y; y++ {
			i := (y*p.W + box.Min.X) * n
			f(p.Pix[i : i+box.Dx()*n])
		}
	}
	// Mean and variance per channel, in integers until the end.
	var sum, squares [3]int
	if with == "mean" || with == "noise" {
		rows(func(row []uint8) {
			for i, v := range row {
				sum[i%n] += int(v)
				squares[i%n] += int(v) * int(v)
			}
		})
	}
	count := box.Dx() * box.Dy()
	switch with {
	case "", "black":
		fill(p, box, [3]uint8{})
	case "mean":
		var c [3]uint8
		for i := range c {
			c[i] = uint8((sum[i] + count/2) / count)
		}
		fill(p, box, c)
	case "blur":
		crop := NewPixels(box.Dx(), box.Dy(), n)
		o := crop.Pix
		rows(func(row []uint8) { o = o[copy(o, row):] })
		o = blur(crop, sigma*float64(min(box.Dx(), box.Dy()))).Pix
		rows(func(row []uint8) { o = o[copy(row, o):] })
	case "noise":
		var scale [3]float64
		for i := range scale {
			variance := float64(count*squares[i]-sum[i]*sum[i]) / float64(count) / float64(count)
			scale[i] = math.Sqrt(variance) / bellSD
		}
		rows(func(row []uint8) {
			for i := 0; i < len(row); i += n {
				e := float64(r.bell())
				for c := range n {
					row[i+c] = level(float64(sum[c])/float64(count) + float64(e*scale[c]))
				}
			}
		})
	}
}

// level rounds to 0..255.
func level(v float64) uint8 { return uint8(min(max(v, 0), 255) + .5) }

// heatmap lays a colour over p, which becomes RGB: out = (1-a*m)*v + a*m*colour, truncated, where m
// is the Gaussian of the box mask divided by its maximum + 1e-6; of several
// boxes, the highest (metrics.md 2.2). The Gaussian of a box is the outer product
// of two profiles, so no image is ever filtered.
func heatmap(p *Pixels, boxes []image.Rectangle, opacity, sigma float64, colour [3]uint8) *Pixels {
	type mask struct {
		x, y []float64
		most float64
	}
	var masks []mask
	for _, b := range boxes {
		m := mask{x: profile(p.W, b.Min.X, b.Max.X, sigma), y: profile(p.H, b.Min.Y, b.Max.Y, sigma)}
		var mx, my float64
		for _, v := range m.x {
			mx = max(mx, v)
		}
		for _, v := range m.y {
			my = max(my, v)
		}
		m.most = float64(mx*my) + 1e-6
		masks = append(masks, m)
	}
	out := NewPixels(p.W, p.H, 3)
	row := make([]int32, p.W) // opacity times mask, in parts of one
	for y := range p.H {
		for i, m := range masks {
			k := opacity * m.y[y] / m.most * (1 << oneBits)
			for x, v := range m.x[:len(row)] {
				if a := int32(k * v); i == 0 || a > row[x] {
					row[x] = a
				}
			}
		}
		src := p.Pix[y*p.W*p.Channels : (y+1)*p.W*p.Channels]
		dst := out.Pix[y*p.W*3 : (y+1)*p.W*3]
		if p.Channels == 3 {
			for i, v := range src {
				dst[i] = mixed(v, colour[i%3], row[i/3])
			}
			continue
		}
		for x, v := range src {
			if len(dst) < 3 { // tells the compiler what it cannot see
				break
			}
			r, g, b := v, v, v
			if a := row[x]; a > 0 {
				r, g = mixed(v, colour[0], a), mixed(v, colour[1], a)
				if b = g; colour[2] != colour[1] {
					b = mixed(v, colour[2], a)
				}
			}
			dst[0], dst[1], dst[2] = r, g, b
			dst = dst[3:]
		}
	}
	return out
}

// oneBits are the bits of a fixed-point opacity: exact to far below a grey level.
const oneBits = 22

// mixed is (1-a)*v + a*c, truncated, written so that it never falls as a grows
// towards a higher c.
func mixed(v, c uint8, a int32) uint8 {
	return uint8(uint32(int32(v)<<oneBits+a*(int32(c)-int32(v))) >> oneBits)
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

package phantom

import (
	"bytes"
	"image"
	"image/draw"
	"iter"
	"slices"

	"assay/backends/phantom"
)

// sight is what can be seen in a picture.
type sight struct {
	// Findings are those of the film. What is covered is not sure; where the picture's border
	// holds no film's number, nothing is.
	Findings Findings
	// Film tells one film from another whatever was drawn over the findings or how the file was
	// encoded; where nothing is seen, it stands for the pixels.
	Film  uint64
	Marks []mark
}

// mark is something that was drawn over a picture.
type mark struct {
	Kind      markKind
	At        image.Rectangle // in pixels; of heat, where it is stronger than half of its peak
	Thickness int             // of an outline, in pixels
	Opacity   int             // of heat at its peak, 0..255
}

// markKind is how something was drawn.
type markKind string

// The kinds of marks.
const (
	markOutline markKind = "box"     // the border of a box
	markHeat    markKind = "heatmap" // a colour that shines through
	markCover   markKind = "cover"   // a box that hides what was there
)

// Look reads the number of the film that a picture shows and compares the picture with the
// clean film, which clean draws: that size x size pixels large.
func Look(img image.Image, clean func(s Scene, size int) *image.Gray) sight {
	p := planes(img)
	if p.w < 64 || p.w != p.h || p.w > 1<<13 {
		return sight{Film: p.digest()}
	}
	s, ok := p.decode()
	if !ok {
		return sight{Film: p.digest()}
	}
	v := sight{Findings: s.truth, Film: phantom.Mix(s.number()), Marks: p.marks(clean(s, p.w).Pix)}
	for site := range NumSites {
		v.Findings[site].Sure = !slices.ContainsFunc(siteInfos[site].shows, func(z zone) bool { return v.hides(z, p.w) })
	}
	return v
}

// hides reports whether a quarter of a zone is covered.
func (v sight) hides(z zone, n int) bool {
	at, covered := z.pixels(n), 0
	for _, m := range v.Marks {
		if m.Kind == markCover || m.Opacity >= allColour {
			over := m.At.Intersect(at)
			covered += over.Dx() * over.Dy()
		}
	}
	return 4*covered > at.Dx()*at.Dy()
}

func (z zone) pixels(n int) image.Rectangle {
	px := func(v int64) int { return int(v) * n / 1000 }
	return image.Rect(px(z[0]), px(z[1]), px(z[2]), px(z[3]))
}

// plane is a picture as grey, and the colour laid over it, 255 for all; nil: there is none.
// What is all colour is black.
type plane struct {
	w, h       int
	grey, tint []uint8
}

func planes(img image.Image) plane {
	b := img.Bounds()
	p := plane{w: b.Dx(), h: b.Dy()}
	p.grey = make([]uint8, p.w*p.h)
	switch m := img.(type) {
	case *image.Gray:
		for y := range p.h {
			copy(p.grey[y*p.w:][:p.w], m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):])
		}
		return p
	case *image.Gray16:
		shift := 4 // detectors use 12 bits
		for i := 0; i < len(m.Pix); i += 2 {
			if m.Pix[i] > 0x0F {
				shift = 8
			}
		}
		for i := range p.grey {
			p.grey[i] = uint8(m.Gray16At(b.Min.X+i%p.w, b.Min.Y+i/p.w).Y >> shift)
		}
		return p
	}
	m, ok := img.(*image.RGBA)
	if !ok {
		m = image.NewRGBA(b)
		draw.Draw(m, b, img, b.Min, draw.Src)
	}
	for y := range p.h {
		pix, row := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):], p.grey[y*p.w:][:p.w]
		for x := range row {
			q := pix[4*x : 4*x+3 : 4*x+3]
			if q[0] == q[1] && q[1] == q[2] {
				row[x] = q[0]
				continue
			}
			grey, tint := untint(q[0], q[1], q[2])
			if row[x] = grey; tint == 0 {
				continue
			}
			if p.tint == nil {
				p.tint = make([]uint8, len(p.grey))
			}
			p.tint[y*p.w+x] = tint
		}
	}
	return p
}

// allColour is from where on colour hides what is under it, of 255.
const allColour = 231

// untint solves c = (1-a)v + a*C for v and a, where C is a full colour such as
// red or yellow: its least channel is 0 and its greatest 255.
func untint(r, g, b uint8) (grey, tint uint8) {
	lo, hi := min(r, g, b), max(r, g, b)
	tint = hi - lo
	switch {
	case tint <= 2: // rounding
		return uint8((299*int(r) + 587*int(g) + 114*int(b)) / 1000), 0
	case tint >= allColour:
		return 0, tint
	}
	left := 255 - int(tint)
	return uint8(min((int(lo)*255+left/2)/left, 255)), tint
}

// digest stands for all pixels.
func (p plane) digest() uint64 {
	hash := uint64(p.w)<<32 | uint64(p.h)
	for _, v := range p.grey {
		hash = (hash ^ uint64(v)) * 0x100000001B3
	}
	return phantom.Mix(hash)
}

// painted are levels that nothing inside a body has.
const painted = 8

// changed says of every pixel whether something was drawn there. Where all pixels were changed
// by more than rounding, only paint can be told from that.
func (p plane) changed(clean []uint8) []bool {
	var counts [256]int
	far := make([]uint8, len(clean))
	for i, c := range clean {
		far[i] = max(p.grey[i], c) - min(p.grey[i], c)
		counts[far[i]]++
	}
	least, spoilt := uint8(0), false
	switch same, near := counts[0], counts[1]; {
	case p.tint == nil && 2*same > len(clean) && near <= len(clean)-same-near: // as it was elsewhere
	case 5*(counts[2]+counts[3]) < same+near: // rounded, as 16 bits are to 8
		least = 3
	default:
		spoilt = true
		for below := counts[0]; 2*below < len(clean) && least < 60; below += counts[least] {
			least++
		}
		least = 4*least + 2
	}
	out := make([]bool, len(clean))
	for i, d := range far {
		out[i] = d > least && (!spoilt || p.grey[i] < painted)
	}
	for i, t := range p.tint {
		if t > 0 {
			out[i] = t >= allColour
		}
	}
	return out
}

// marks are what was drawn over a clean film of the same size.
func (p plane) marks(clean []uint8) []mark {
	if p.tint == nil && bytes.Equal(p.grey, clean) {
		return nil
	}
	changed := p.changed(clean)
	n := min(p.w, grid)
	counts, sizes := make([]int, n*n), make([]int, n*n)
	for y, cells := range p.cells(n) {
		for x, c := range cells {
			sizes[c]++
			if changed[y*p.w+x] {
				counts[c]++
			}
		}
	}
	var out []mark
	coloured := false
	for _, part := range parts(n, func(i int) bool { return counts[i] > 0 && 8*counts[i] >= sizes[i] }) {
		in, m := p.pixels(part.Rectangle, n), mark{Kind: markCover}
		for y := in.Min.Y; y < in.Max.Y; y++ {
			for x := in.Min.X; x < in.Max.X; x++ {
				if changed[y*p.w+x] {
					m.At = m.At.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if least := max(p.w*6/100, 8); m.At.Dx() < least || m.At.Dy() < least || slices.ContainsFunc(out, func(o mark) bool { return m.At.In(o.At) }) {
			continue
		}
		if t := p.hollow(m.At, changed); t > 0 {
			m.Kind, m.Thickness = markOutline, t
			coloured = coloured || p.tint != nil
		} else if p.tint != nil {
			continue // the middle of strong heat
		} else if 5*m.At.Dx()*m.At.Dy() > 3*p.w*p.h { // all of the picture is black or gone
			continue
		}
		out = append(out, m)
	}
	if p.tint != nil && !coloured {
		out = append(out, p.heats()...)
	}
	return out
}

// hollow is how thick the border of a box is whose middle did not change; 0: it did.
func (p plane) hollow(r image.Rectangle, changed []bool) int {
	mid := r.Min.Add(r.Max).Div(2)
	core, n := image.Rect(mid.X-r.Dx()/12, mid.Y-r.Dy()/12, mid.X+r.Dx()/12+1, mid.Y+r.Dy()/12+1), 0
	for y := core.Min.Y; y < core.Max.Y; y++ {
		for x := core.Min.X; x < core.Max.X; x++ {
			if changed[y*p.w+x] {
				n++
			}
		}
	}
	if 4*n > core.Dx()*core.Dy() {
		return 0
	}
	var walks []int
	for _, w := range [][3]int{{mid.Y*p.w + r.Min.X, 1, r.Dx()}, {mid.Y*p.w + r.Max.X - 1, -1, r.Dx()}, {r.Min.Y*p.w + mid.X, p.w, r.Dy()}, {(r.Max.Y-1)*p.w + mid.X, -p.w, r.Dy()}} {
		t := 0
		for t < w[2]/2 && changed[w[0]+t*w[1]] {
			t++
		}
		walks = append(walks, t)
	}
	slices.Sort(walks)
	return walks[2]
}

// heats finds where colour is stronger than about half of its peak: a Gaussian
// of a box, a quarter of the box wide, stands at .52 of its peak on the border.
func (p plane) heats() []mark {
	n := min(p.w, grid)
	heat, counts := make([]int, n*n), make([]int, n*n)
	for y, cells := range p.cells(n) {
		for x, c := range cells {
			heat[c] += int(p.tint[y*p.w+x])
			counts[c]++
		}
	}
	for c := range heat {
		heat[c] /= counts[c]
	}
	peak := slices.Max(heat)
	if peak < 4 {
		return nil
	}
	var out []mark
	for _, part := range parts(n, func(c int) bool { return heat[c]*1000 >= peak*524 }) {
		if part.n < 9 {
			continue
		}
		m := mark{Kind: markHeat, At: p.pixels(part.Rectangle, n)}
		for y := part.Min.Y; y < part.Max.Y; y++ {
			m.Opacity = max(m.Opacity, slices.Max(heat[y*n:][part.Min.X:part.Max.X]))
		}
		if 4*m.Opacity >= 3*peak { // else a rim of it
			out = append(out, m)
		}
	}
	return out
}

// cells gives of each row in which of n x n cells its pixels lie.
func (p plane) cells(n int) iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		column, row := make([]int, p.w), make([]int, p.w)
		for x := range column {
			column[x] = x * n / p.w
		}
		for y := range p.h {
			first := y * n / p.h * n
			for x, c := range column {
				row[x] = first + c
			}
			if !yield(y, row) {
				return
			}
		}
	}
}

// pixels are those of some of n x n cells.
func (p plane) pixels(r image.Rectangle, n int) image.Rectangle {
	return image.Rect(r.Min.X*p.w/n, r.Min.Y*p.h/n, (r.Max.X*p.w+n-1)/n, (r.Max.Y*p.h+n-1)/n)
}

// part is a connected set of cells: the box around it and how many they are.
type part struct {
	image.Rectangle
	n int
}

// parts finds the connected sets of an n x n grid, from above.
func parts(n int, in func(i int) bool) []part {
	done := make([]bool, n*n)
	var out []part
	var stack []int
	for i := range done {
		if done[i] || !in(i) {
			continue
		}
		p := part{Rectangle: image.Rect(i%n, i/n, i%n+1, i/n+1)}
		done[i], stack = true, append(stack[:0], i)
		for len(stack) > 0 {
			k := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x, y := k%n, k/n
			p.Rectangle, p.n = p.Union(image.Rect(x, y, x+1, y+1)), p.n+1
			for _, d := range [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
				if q := k + d[0] + n*d[1]; image.Pt(x+d[0], y+d[1]).In(image.Rect(0, 0, n, n)) && !done[q] && in(q) {
					done[q], stack = true, append(stack, q)
				}
			}
		}
		out = append(out, p)
	}
	return out
}

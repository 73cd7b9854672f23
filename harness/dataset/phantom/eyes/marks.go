package eyes

import (
	"bytes"
	"image"
	"slices"

	"assay/harness/dataset/phantom/film"
)

// Mark is something that was drawn over a picture.
type Mark struct {
	Kind      MarkKind
	At        image.Rectangle // in pixels; of heat, where it is stronger than half of its peak
	Thickness int             // of an outline, in pixels
	Opacity   int             // of heat at its peak, 0..255
}

// MarkKind is how something was drawn.
type MarkKind string

// The kinds of marks.
const (
	Outline MarkKind = "box"     // the border of a box
	Heat    MarkKind = "heatmap" // a colour that shines through
	Cover   MarkKind = "cover"   // a box that hides what was there
)

// finder looks for marks while a picture is read row by row. A film is grainy
// everywhere and has no black inside the body and no long straight border
// anywhere: what has, was drawn.
type finder struct {
	w, h   int
	least  int    // shortest side of a mark, in pixels
	every  int    // rows whose texture is looked at
	paint  []byte // 1 where the last row has any
	now    []byte
	edges  []stretch            // where paint begins or ends, from above
	first  []int                // columns of tiles
	rough  [tiles * tiles]int64 // sum of second differences
	counts [tiles * tiles]int64
	heat   [film.Grid * film.Grid]uint8
}

// tiles is how many to a side texture is told apart by.
const tiles = 48

// stretch is a straight horizontal border of paint, half-open.
type stretch struct {
	y, x0, x1 int
	begins    bool // paint is below
	colour    bool
}

func newFinder(w, h int) *finder {
	f := &finder{w: w, h: h, least: max(min(w, h)*6/100, 8), every: max(h/170, 1), paint: make([]byte, w), now: make([]byte, w), first: firsts(tiles, w)}
	return f
}

// painted are levels that nothing inside a body has.
const painted = 8

func (f *finder) row(y int, grey, tint []uint8, tinted bool) {
	for x, v := range grey {
		f.now[x] = byte((int(v) - painted) >> 8 & 1)
	}
	if y > 0 && !bytes.Equal(f.now, f.paint) {
		f.border(y, tint, tinted)
	}
	f.paint, f.now = f.now, f.paint

	if y%f.every != 0 {
		return
	}
	t := tiles * (y * tiles / f.h)
	for k := range tiles {
		from, to := max(f.first[k], 1), min(f.first[k+1], f.w-1)
		if from >= to {
			continue
		}
		var rough, count int64
		around := grey[from-1 : to+1]
		for x := 1; x+1 < len(around); x++ {
			a, b, c := int64(around[x-1]), int64(around[x]), int64(around[x+1])
			if a < painted || b < painted || c < painted || b == 255 {
				continue // paint, air or print
			}
			rough += abs(a - 2*b + c)
			count++
		}
		f.rough[t+k] += rough
		f.counts[t+k] += count
	}
}

// border finds where paint begins or ends between the last row and this one.
func (f *finder) border(y int, tint []uint8, tinted bool) {
	for x := 0; x < f.w; {
		if f.now[x] == f.paint[x] {
			x++
			continue
		}
		from, begins := x, f.now[x]
		for x < f.w && f.now[x] != f.paint[x] && f.now[x] == begins {
			x++
		}
		if x-from >= f.least {
			f.edges = append(f.edges, stretch{y, from, x, begins == 1, tinted && tint[(from+x)/2] >= allColour})
		}
	}
}

// marks puts together what was found.
func (f *finder) marks() []Mark {
	out := f.boxes()
	if len(out) == 0 || !f.coloured(out[0]) {
		out = append(out, f.heats()...)
	}
	return append(out, f.textured(out)...)
}

// boxes pairs borders: where paint begins and soon ends again t pixels further
// in, an outline of that thickness was drawn; where it ends on the same columns,
// a box was filled.
func (f *finder) boxes() []Mark {
	var out []Mark
	for _, top := range f.edges {
		if !top.begins || slices.ContainsFunc(out, func(m Mark) bool {
			return top.y < m.At.Max.Y && top.y >= m.At.Min.Y && top.x0 < m.At.Max.X && m.At.Min.X < top.x1
		}) {
			continue // inside a box that was found already: its lower bar
		}
		t, bottom := 0, 0
		for _, e := range f.edges {
			if e.begins || e.y <= top.y {
				continue
			}
			in := e.y - top.y
			switch {
			case t == 0 && bottom == 0 && near(e.x0, top.x0+in) && near(e.x1, top.x1-in):
				t = in
			case bottom == 0 && ends(e, top):
				bottom = e.y
			}
		}
		if bottom == 0 || bottom-top.y < f.least || top.colour && t == 0 { // the middle of strong heat
			continue
		}
		m := Mark{Kind: Cover, At: image.Rect(top.x0, top.y, top.x1, bottom)}
		if t > 0 {
			m.Kind, m.Thickness = Outline, t
		}
		out = append(out, m)
	}
	return out
}

// coloured reports whether an outline has a colour.
func (f *finder) coloured(m Mark) bool {
	return slices.ContainsFunc(f.edges, func(s stretch) bool { return s.colour && s.y == m.At.Min.Y })
}

// near allows for a pixel of the film that is black or white by chance.
func near(a, b int) bool { return a-b <= 1 && b-a <= 1 }

// ends reports whether a border closes the box that another one opens. Where a
// box reaches over the body's edge, only one end is the same.
func ends(e, top stretch) bool {
	return near(e.x0, top.x0) && near(e.x1, top.x1) ||
		(near(e.x0, top.x0) || near(e.x1, top.x1)) && 4*min(e.x1-e.x0, top.x1-top.x0) >= 3*max(e.x1-e.x0, top.x1-top.x0)
}

// heats finds where colour is stronger than about half of its peak: a Gaussian
// of a box, a quarter of the box wide, stands at .52 of its peak on the border.
func (f *finder) heats() []Mark {
	peak := slices.Max(f.heat[:])
	if peak < 4 {
		return nil
	}
	var out []Mark
	for _, part := range parts(film.Grid, func(i int) bool { return int(f.heat[i])*1000 >= int(peak)*524 }) {
		if part.n < 9 {
			continue
		}
		top := 0
		for y := part.Min.Y; y < part.Max.Y; y++ {
			for x := part.Min.X; x < part.Max.X; x++ {
				top = max(top, int(f.heat[y*film.Grid+x]))
			}
		}
		out = append(out, Mark{Kind: Heat, Opacity: top, At: f.pixels(part.Rectangle, film.Grid)})
	}
	return out
}

func (f *finder) pixels(r image.Rectangle, n int) image.Rectangle {
	return image.Rect(r.Min.X*f.w/n, r.Min.Y*f.h/n, (r.Max.X*f.w+n-1)/n, (r.Max.Y*f.h+n-1)/n)
}

// textured finds boxes that are far smoother or far rougher than the rest of the
// film. A picture that is all one texture has none.
func (f *finder) textured(known []Mark) []Mark {
	grain := make([]int64, tiles*tiles) // mean second difference, 100 per level; -1: nothing to see
	var all []int64
	full := slices.Max(f.counts[:])
	for i := range grain {
		grain[i] = -1
		if f.counts[i]*2 > full {
			grain[i] = f.rough[i] * 100 / f.counts[i]
			all = append(all, grain[i])
		}
	}
	if len(all) < tiles*tiles/4 {
		return nil
	}
	slices.Sort(all)
	usual := all[len(all)/2]
	if usual < 180 { // the whole picture has lost its grain
		return nil
	}
	var out []Mark
	for _, spoilt := range []func(i int) bool{
		func(i int) bool { return grain[i] >= 0 && grain[i]*2 < usual }, // blurred, or one grey
		func(i int) bool { return grain[i] > 3*usual },                  // noise
	} {
		for _, part := range parts(tiles, opened(tiles, spoilt)) {
			area := part.Dx() * part.Dy()
			if part.Dx() < 5 || part.Dy() < 5 || part.n*100 < area*80 || area*5 > tiles*tiles*3 {
				continue
			}
			at := f.pixels(part.Rectangle, tiles)
			if slices.ContainsFunc(known, func(m Mark) bool { return m.At.Overlaps(at) }) {
				continue
			}
			out = append(out, Mark{Kind: Cover, At: at})
		}
	}
	return out
}

// opened leaves out of a set of cells what is thinner than three: lines and
// edges have texture of their own.
func opened(n int, in func(i int) bool) func(i int) bool {
	around := func(x, y int, f func(i int) bool) bool {
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				if !f((y+dy)*n + x + dx) {
					return false
				}
			}
		}
		return true
	}
	out := make([]bool, n*n)
	for y := 1; y+1 < n; y++ {
		for x := 1; x+1 < n; x++ {
			if around(x, y, in) {
				around(x, y, func(i int) bool { out[i] = true; return true })
			}
		}
	}
	return func(i int) bool { return out[i] }
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
				if x+d[0] < 0 || x+d[0] >= n || y+d[1] < 0 || y+d[1] >= n {
					continue
				}
				if q := k + d[0] + n*d[1]; !done[q] && in(q) {
					done[q], stack = true, append(stack, q)
				}
			}
		}
		out = append(out, p)
	}
	return out
}

package perturb

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"unicode"
)

// Region is a box given in parts of the image, or what a mask has of it: X from the left, Y from
// the top. 0 <= X0 < X1 <= Of and 0 <= Y0 < Y1 <= Of. Image left is patient right.
type Region struct {
	X0, Y0, X1, Y1 int
	Of             int // parts a side is divided into; 0: 100, so per cent
	// Truncate rounds all four bounds down, as the authors' released code does
	// (metrics.md 2.2, marked (R)).
	Truncate bool  `json:",omitempty"`
	Mask     *Mask `json:",omitempty"` // the box is its bounding box; nil: all of the box
}

func (r Region) of() int {
	if r.Of == 0 {
		return 100
	}
	return r.Of
}

// Check says what is wrong with the numbers.
func (r Region) Check() error {
	if n := r.of(); n < 0 || r.X0 < 0 || r.Y0 < 0 || r.X0 >= r.X1 || r.Y0 >= r.Y1 || r.X1 > n || r.Y1 > n {
		return fmt.Errorf("region %d %d %d %d: need 0 <= x0 < x1 <= %d and the same of y", r.X0, r.Y0, r.X1, r.Y1, r.of())
	}
	if r.Mask != nil {
		return r.Mask.check()
	}
	return nil
}

// Pixels is the region in an image of w x h pixels, half-open (metrics.md 2.2):
// lower bounds round down and upper bounds up, in integers, because 0.55*100 is
// more than 55 in floating point; each is clipped to the last pixel, and the
// result is at least one pixel wide and high. Of a mask it is the box round the pixels that it touches.
func (r Region) Pixels(w, h int) image.Rectangle {
	n := r.of()
	if r.Mask != nil {
		return image.Rect(r.X0*w/n, r.Y0*h/n, (r.X1*w+n-1)/n, (r.Y1*h+n-1)/n)
	}
	if r.Truncate {
		at := image.Rect(r.X0*w/n, r.Y0*h/n, r.X1*w/n, r.Y1*h/n)
		if at.Empty() { // nothing could be drawn
			at.Max.X, at.Max.Y = max(at.Max.X, at.Min.X+1), max(at.Max.Y, at.Min.Y+1)
		}
		return at
	}
	x0, x1 := span(r.X0, r.X1, w, n)
	y0, y1 := span(r.Y0, r.Y1, h, n)
	return image.Rect(x0, y0, x1, y1)
}

// regionOf is a box of a picture of w x h pixels as a region whose Pixels there are the box.
func regionOf(box image.Rectangle, w, h int) Region {
	return Region{X0: box.Min.X * h, X1: box.Max.X * h, Y0: box.Min.Y * w, Y1: box.Max.Y * w, Of: w * h, Truncate: true}
}

const paramMargin = "margin"

func span(lo, hi, size, of int) (int, int) {
	a := min(max(lo*size/of, 0), size-1)
	b := min(max((hi*size+of-1)/of, 0), size-1)
	return a, max(b, a+1)
}

// elsewhere moves a box to another place of equal size in w x h pixels, drawn by
// the seed, away from all of avoid; where there is no such room it takes the
// place that covers least of them. A box as large as the image has no other place.
func elsewhere(box image.Rectangle, avoid []area, w, h int, r *rng) (image.Rectangle, error) {
	nx, ny := w-box.Dx()+1, h-box.Dy()+1
	if nx*ny <= 1 {
		return box, fmt.Errorf("a box of %dx%d pixels has no other place in an image of %dx%d", box.Dx(), box.Dy(), w, h)
	}
	const tries = 256
	best, least := box, -1
	for range tries {
		at := box.Sub(box.Min).Add(image.Pt(r.below(nx), r.below(ny)))
		if at == box {
			continue
		}
		covered := 0
		for _, a := range avoid {
			c := at.Intersect(a.Rectangle)
			covered += c.Dx() * c.Dy()
		}
		if least < 0 || covered < least {
			best, least = at, covered
		}
		if least == 0 {
			return best, nil
		}
	}
	if least < 0 { // every try hit the box itself: two places at most
		best = box.Sub(box.Min)
		if best == box {
			best = best.Add(image.Pt(nx-1, ny-1))
		}
	}
	return best, nil
}

// CheckRegionName says what is wrong with the name of a region.
func CheckRegionName(name string) error {
	if len(name) == 0 || len(name) > 40 || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '_' }) {
		return fmt.Errorf("region %q: a name has 1 to 40 letters, digits, - and _", name)
	}
	return nil
}

// Cell is a cell of an occlusion grid; rows and columns count from 1, at the upper left.
type Cell struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
	Row     int `json:"row"`
	Column  int `json:"column"`
}

// Region is the cell as a part of the image.
func (c Cell) Region() Region {
	return Region{X0: (c.Column - 1) * c.Rows, X1: c.Column * c.Rows, Y0: (c.Row - 1) * c.Columns, Y1: c.Row * c.Columns, Of: c.Columns * c.Rows}
}

// Within says whether the cell's middle lies in one of the regions.
func (c Cell) Within(regions []Region) bool {
	// The middle in units of 1/(2n) of a side, compared in integers.
	return slices.ContainsFunc(regions, func(r Region) bool {
		x, y := (2*c.Column-1)*r.of(), (2*c.Row-1)*r.of()
		if m := r.Mask; m != nil {
			column, row := (2*c.Column-1)*m.Size[1]/(2*c.Columns), (2*c.Row-1)*m.Size[0]/(2*c.Rows)
			return m.bits()[column*m.Size[0]+row]
		}
		return x >= 2*r.X0*c.Columns && x < 2*r.X1*c.Columns && y >= 2*r.Y0*c.Rows && y < 2*r.Y1*c.Rows
	})
}

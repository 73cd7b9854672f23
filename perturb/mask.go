package perturb

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"slices"
)

// Mask says which pixels of a picture a region has, in COCO's uncompressed run lengths.
type Mask struct {
	Size   [2]int   `json:"size"`   // height and width of the picture, in pixels
	Counts []uint32 `json:"counts"` // column by column: how many pixels in a row are outside, then inside, outside, ...
}

// String tells masks apart.
func (m *Mask) String() string {
	if m == nil {
		return ""
	}
	h := sha256.New()
	for _, n := range append([]uint32{uint32(m.Size[0]), uint32(m.Size[1])}, m.Counts...) {
		h.Write(binary.LittleEndian.AppendUint32(nil, n))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// check says what is wrong with the numbers.
func (m *Mask) check() error {
	if err := checkSize(m.Size[1], m.Size[0]); err != nil {
		return err
	}
	all := uint64(0)
	for _, n := range m.Counts {
		all += uint64(n)
	}
	if want := uint64(m.Size[0] * m.Size[1]); all != want {
		return fmt.Errorf("counts add up to %d, and %d x %d pixels are %d", all, m.Size[0], m.Size[1], want)
	}
	return nil
}

// bits are the pixels inside, column by column.
func (m *Mask) bits() []bool {
	out := make([]bool, 0, m.Size[0]*m.Size[1])
	for i, n := range m.Counts {
		for range n {
			out = append(out, i%2 == 1)
		}
	}
	return out
}

// RegionOfMask is the region that a mask has. The error says what is wrong with the mask.
func RegionOfMask(m *Mask) (Region, error) {
	if err := m.check(); err != nil {
		return Region{}, err
	}
	h, w := m.Size[0], m.Size[1]
	box := image.Rectangle{}
	for i, in := range m.bits() {
		if in {
			box = box.Union(image.Rect(i/h, i%h, i/h+1, i%h+1))
		}
	}
	if box.Empty() {
		return Region{}, fmt.Errorf("no pixel of %dx%d is inside", w, h)
	}
	r := regionOf(box, w, h)
	r.Truncate, r.Mask = false, m
	return r, nil
}

// regionWhere is the region of the pixels that in says, of a picture of w x h.
func regionWhere(w, h int, in func(x, y int) bool) (Region, error) {
	m, inside := &Mask{Size: [2]int{h, w}, Counts: []uint32{0}}, false
	for x := range w {
		for y := range h {
			if in(x, y) != inside {
				inside, m.Counts = !inside, append(m.Counts, 0)
			}
			m.Counts[len(m.Counts)-1]++
		}
	}
	return RegionOfMask(m)
}

// RegionOfImage is the region of an image's pixels that are neither black nor transparent.
func RegionOfImage(img image.Image) (Region, error) {
	b := img.Bounds()
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return Region{}, err
	}
	return regionWhere(b.Dx(), b.Dy(), func(x, y int) bool {
		red, green, blue, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA() // which are 0 where it is transparent
		return red|green|blue != 0
	})
}

// RegionOfPolygon is the region of the pixels of a picture of w x h whose middles are inside of a
// polygon, by the even-odd rule. Points are x and y in pixels, three or more.
func RegionOfPolygon(points [][2]float64, w, h int) (Region, error) {
	if err := checkSize(w, h); err != nil {
		return Region{}, err
	}
	crossed := make([][]float64, h) // by row, the sides that its middle crosses
	for i, a := range points {
		b := points[(i+1)%len(points)]
		if a[1] > b[1] {
			a, b = b, a
		}
		for y := max(0, int(a[1]-.5)); y < h && float64(y)+.5 < b[1]; y++ {
			if at := float64(y) + .5; at >= a[1] {
				crossed[y] = append(crossed[y], a[0]+float64((at-a[1])*(b[0]-a[0]))/(b[1]-a[1]))
			}
		}
	}
	for _, row := range crossed {
		slices.Sort(row)
	}
	return regionWhere(w, h, func(x, y int) bool {
		left, _ := slices.BinarySearchFunc(crossed[y], float64(x)+.5, func(side, at float64) int {
			if side <= at {
				return -1
			}
			return 1
		})
		return left%2 == 1
	})
}

// area is a region in a picture: a box, and which of its pixels.
type area struct {
	image.Rectangle
	in []bool // row by row; nil: all
}

// has says whether the area has the ith pixel of its box, row by row.
func (a area) has(i int) bool { return a.in == nil || a.in[i] }

// pixels is how many the area has.
func (a area) pixels() (n int) {
	if a.in == nil {
		return a.Dx() * a.Dy()
	}
	for _, in := range a.in {
		if in {
			n++
		}
	}
	return n
}

// area is the region in a picture of w x h pixels, of a mask each pixel that it touches.
func (r Region) area(w, h int) area {
	a := area{Rectangle: r.Pixels(w, h)}
	if r.Mask == nil {
		return a
	}
	tall, wide, bits := r.Mask.Size[0], r.Mask.Size[1], r.Mask.bits()
	for y := a.Min.Y; y < a.Max.Y; y++ {
		for x := a.Min.X; x < a.Max.X; x++ {
			in := false
			for i := x * wide / w; i*w < (x+1)*wide && !in; i++ {
				top := y * tall / h
				in = slices.Contains(bits[i*tall+top:i*tall+((y+1)*tall+h-1)/h], true)
			}
			a.in = append(a.in, in)
		}
	}
	return a
}

// grown is the area with a margin on all sides, a share of its box's shorter side; below 0 it is
// smaller, but no less than a pixel. What would lie outside of w x h pixels is cut off.
func (a area) grown(margin float64, w, h int) area {
	short := min(a.Dx(), a.Dy())
	by := max(int(math.Round(margin*float64(short))), -(short-1)/2)
	picture := image.Rect(0, 0, w, h)
	if a.in == nil || by == 0 {
		a.Rectangle = a.Inset(-by).Intersect(picture)
		return a
	}
	for by < 0 { // or by less, where no pixel would be left
		side := 1 - 2*by
		if smaller := a.where(a.Inset(-by), -by, func(n int) bool { return n == side*side }); smaller.pixels() > 0 {
			return smaller
		}
		if by++; by == 0 {
			return a
		}
	}
	return a.where(a.Inset(-by).Intersect(picture), by, func(n int) bool { return n > 0 })
}

// where are the pixels of a box round which, by pixels on each side, as many of the area lie as
// want wants.
func (a area) where(box image.Rectangle, by int, want func(n int) bool) area {
	out := area{Rectangle: box, in: make([]bool, 0, box.Dx()*box.Dy())}
	w := a.Dx() + 1
	upTo := make([]int, w*(a.Dy()+1)) // pixels above and to the left
	for i, in := range a.in {
		at := (i/a.Dx()+1)*w + i%a.Dx() + 1
		if upTo[at] = upTo[at-1] + upTo[at-w] - upTo[at-w-1]; in {
			upTo[at]++
		}
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			n := 0
			if near := image.Rect(x-by, y-by, x+by+1, y+by+1).Intersect(a.Rectangle); !near.Empty() {
				near = near.Sub(a.Min)
				n = upTo[near.Max.Y*w+near.Max.X] - upTo[near.Min.Y*w+near.Max.X] - upTo[near.Max.Y*w+near.Min.X] + upTo[near.Min.Y*w+near.Min.X]
			}
			out.in = append(out.in, want(n))
		}
	}
	return out
}

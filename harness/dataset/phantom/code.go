package phantom

import (
	"image"
	"slices"

	"assay/backends/phantom"
)

// A film's number says all that it shows. It stands in the film's border, once along each
// side, so that whoever looks can draw the clean film again: a bit is two cells of which one
// is a little brighter than the other, and the four sides vote. So it survives what changes
// the whole picture alike, and marks and covers that leave one side free.
const (
	grid      = 256 // cells to a side of the film
	codeBits  = 80  // of the number, and those that check it
	wordBits  = 56  // of the number
	codeStart = 8   // the first cell, along a side
	codeLong  = 3   // cells of half a bit along the side, and
	codeDeep  = 4   // across it
	codeGrey  = 5   // levels that a half is brighter or darker
)

// number is the film's, which numbered turns back.
func (s Scene) number() uint64 {
	n := s.body
	for site, r := range s.truth {
		n = n*uint64(len(Site(site).Grades())) + uint64(r.Grade)
	}
	return n
}

// numbered is the film of a number: its seed and index are not known.
func numbered(n uint64) Scene {
	var s Scene
	for site := NumSites - 1; site >= 0; site-- {
		grades := uint64(len(site.Grades()))
		s.truth[site] = reading{int(n % grades), true}
		n /= grades
	}
	s.body = n
	s.vary()
	return s
}

// check is what the last bits have to be.
func check(n uint64) uint64 { return phantom.Mix(^n) >> (64 - codeBits + wordBits) }

// halves gives the cells of every bit: those of its first half and those of its second.
func halves(yield func(bit int, first, second image.Rectangle)) {
	for side := range 4 {
		for i := range codeBits {
			along, deep := codeStart+i%(codeBits/2)*2*codeLong, i/(codeBits/2)*codeDeep
			if side%2 == 1 {
				deep = grid - codeDeep - deep
			}
			var half [2]image.Rectangle
			for h := range half {
				r := image.Rect(along+h*codeLong, deep, along+(h+1)*codeLong, deep+codeDeep)
				if side >= 2 {
					r = image.Rect(r.Min.Y, r.Min.X, r.Max.Y, r.Max.X)
				}
				half[h] = r
			}
			yield((i+side*codeBits/4)%codeBits, half[0], half[1]) // no cover takes a bit from several sides
		}
	}
}

// cell is the first pixel of a cell of n pixels.
func cell(c, n int) int { return (c*n + grid - 1) / grid }

// pixels are those of some cells.
func pixels(r image.Rectangle, n int) image.Rectangle {
	return image.Rect(cell(r.Min.X, n), cell(r.Min.Y, n), cell(r.Max.X, n), cell(r.Max.Y, n))
}

// encode makes the border's pixels brighter or darker; there, 0 is air.
func (s Scene) encode(n int, add func(at int, levels int64)) {
	number := s.number()
	halves(func(bit int, first, second image.Rectangle) {
		up := number >> bit
		if bit >= wordBits {
			up = check(number) >> (bit - wordBits)
		}
		levels := int64(2*int(up&1)-1) * codeGrey
		for _, r := range []image.Rectangle{first, second} {
			r = pixels(r, n)
			for y := r.Min.Y; y < r.Max.Y; y++ {
				for x := r.Min.X; x < r.Max.X; x++ {
					add(y*n+x, levels)
				}
			}
			levels = -levels
		}
	})
}

// decode reads the border of a square picture.
func (p plane) decode() (Scene, bool) {
	mean := func(r image.Rectangle) int { // 16 to a level
		r = pixels(r, p.w)
		sum := 0
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for _, v := range p.grey[y*p.w+r.Min.X : y*p.w+r.Max.X] {
				sum += int(v)
			}
		}
		return 16 * sum / max(1, r.Dx()*r.Dy())
	}
	var votes [codeBits]int
	var said [codeBits][]int
	var far []int
	halves(func(bit int, first, second image.Rectangle) {
		v := mean(first) - mean(second)
		said[bit], far = append(said[bit], v), append(far, max(v, -v))
	})
	slices.Sort(far)
	for bit, list := range said {
		for _, v := range list {
			if usual := far[len(far)/2]; v < 2*usual && v > -2*usual { // else an edge of the picture lies there
				votes[bit] += v
			}
		}
	}
	// Of the bits that are least sure, some may be wrong.
	sure := make([]int, codeBits)
	for i := range sure {
		sure[i] = i
	}
	slices.SortFunc(sure, func(a, b int) int { return max(votes[a], -votes[a]) - max(votes[b], -votes[b]) })
	for other := range 1 << 6 {
		var n, checked uint64
		for at, bit := range sure {
			is := uint64(0)
			if votes[bit] > 0 {
				is = 1
			}
			if at < 6 {
				is ^= uint64(other>>at) & 1
			}
			if bit < wordBits {
				n |= is << bit
			} else {
				checked |= is << (bit - wordBits)
			}
		}
		if checked == check(n) {
			return numbered(n), true
		}
	}
	return Scene{}, false
}

package perturb

import (
	"fmt"
	"image"
	"math"
)

// leastSide is the longest side below which a picture says nothing.
const leastSide = 28

// Shrunk is the size that a picture of some size has once it was scaled down to a
// longest side, in pixels; 0: it is not.
func Shrunk(size image.Point, side int) image.Point {
	long := max(size.X, size.Y)
	if side <= 0 || long <= side {
		return size
	}
	of := func(n int) int { return max(1, (n*side+long/2)/long) }
	return image.Pt(of(size.X), of(size.Y))
}

// Budget is the longest side that each of the pictures shown together is scaled down
// to (0: it is not): maxSide, and all by one factor where together they have more than
// maxPixels; 0: no such limit. The error says where they would be too small to show
// anything.
func Budget(sizes []image.Point, maxSide, maxPixels int) ([]int, error) {
	sides := make([]int, len(sizes))
	pixels := func() (n int) {
		for i, s := range sizes {
			s = Shrunk(s, sides[i])
			n += s.X * s.Y
		}
		return n
	}
	for i := range sides {
		sides[i] = maxSide
	}
	all := pixels()
	if maxPixels <= 0 || all <= maxPixels {
		return sides, nil
	}
	for factor := math.Sqrt(float64(maxPixels) / float64(all)); ; factor *= .995 { // rounding may go over
		for i, s := range sizes {
			s = Shrunk(s, maxSide)
			long := max(s.X, s.Y)
			if sides[i] = int(factor * float64(long)); sides[i] < min(long, leastSide) {
				return nil, fmt.Errorf("%d pictures of %d pixels in all have to be sent as %d (max_pixels), and picture %d would be %d pixels long: raise max_pixels, or leave such cases out (max_images)",
					len(sizes), all, maxPixels, i+1, sides[i])
			}
		}
		if pixels() <= maxPixels {
			return sides, nil
		}
	}
}

package run

import (
	"image"
	"testing"

	"pgregory.net/rapid"
)

func TestSizeClassesAreHalfOctaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 5000)
		a, b := image.Pt(side.Draw(t, "w"), side.Draw(t, "h")), image.Pt(side.Draw(t, "w2"), side.Draw(t, "h2"))
		ratio := float64(a.X*a.Y) / float64(b.X*b.Y)
		switch same := sizeClass(a) == sizeClass(b); {
		case same && (ratio > 1.5 || ratio < 1/1.5):
			t.Errorf("%v and %v share a class", a, b)
		case !same && ratio == 1:
			t.Errorf("%v and %v have as many pixels and other classes", a, b)
		}
	})
}

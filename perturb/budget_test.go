package perturb

import (
	"image"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	big, wide, small := image.Pt(1000, 800), image.Pt(2000, 100), image.Pt(60, 90)
	for _, c := range []struct {
		sizes        []image.Point
		side, pixels int
		want         []int
		err          string
	}{
		{[]image.Point{big, small}, 0, 0, []int{0, 0}, ""},
		{[]image.Point{big, small}, 512, 0, []int{512, 512}, ""},
		{[]image.Point{big, big}, 0, 1_600_000, []int{0, 0}, ""},
		{[]image.Point{big, big}, 0, 400_000, []int{500, 500}, ""},
		{[]image.Point{big, wide}, 0, 250_000, []int{500, 1000}, ""},
		{[]image.Point{big, big, big, big}, 500, 200_000, []int{250, 250, 250, 250}, ""},
		{[]image.Point{big, small}, 0, 50_000, nil, "picture 2 would be 22 pixels long: raise max_pixels"},
		{nil, 512, 100, []int{}, ""},
	} {
		got, err := Budget(c.sizes, c.side, c.pixels)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v, side %d, %d pixels: %v, %v, want %v", c.sizes, c.side, c.pixels, got, err, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var sizes []image.Point
		for range rapid.IntRange(1, 49).Draw(t, "n") {
			sizes = append(sizes, image.Pt(rapid.IntRange(1, 4000).Draw(t, "w"), rapid.IntRange(1, 4000).Draw(t, "h")))
		}
		side, pixels := rapid.IntRange(0, 2000).Draw(t, "side"), rapid.IntRange(1, 20_000_000).Draw(t, "pixels")
		sides, err := Budget(sizes, side, pixels)
		if err != nil {
			return
		}
		n, over := 0, 0
		for i, s := range sizes {
			now := Shrunk(s, sides[i])
			if now.X > s.X || now.Y > s.Y || side > 0 && max(now.X, now.Y) > side {
				t.Fatalf("%v became %v at a side of %d", s, now, side)
			}
			n += now.X * now.Y
			before := Shrunk(s, side)
			over += before.X * before.Y
		}
		if n > pixels || over > pixels && n < pixels/2 && len(sizes) == 1 && max(sizes[0].X, sizes[0].Y) < 4*min(sizes[0].X, sizes[0].Y) && pixels > 10_000 {
			t.Fatalf("%d pixels of %d, where %d are allowed", n, over, pixels)
		}
	})
}

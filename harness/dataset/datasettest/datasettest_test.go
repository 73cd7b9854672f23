package datasettest

import (
	"bytes"
	"image"
	"image/color"
	"testing"

	"golang.org/x/image/webp"
)

func TestWebPDecodes(t *testing.T) {
	for _, lv := range [][2]uint8{{10, 200}, {200, 10}, {0, 255}} {
		set := func(x, y int) bool { return (x*7+y*3)%5 < 2 }
		img, err := webp.Decode(bytes.NewReader(webP(37, 21, lv[0], lv[1], set)))
		if err != nil {
			t.Fatal(err)
		}
		if img.Bounds() != image.Rect(0, 0, 37, 21) {
			t.Fatalf("bounds %v", img.Bounds())
		}
		for y := range 21 {
			for x := range 37 {
				want := lv[0]
				if set(x, y) {
					want = lv[1]
				}
				if got := color.NRGBAModel.Convert(img.At(x, y)); got != (color.NRGBA{want, want, want, 255}) {
					t.Fatalf("levels %v, pixel %d,%d: %v", lv, x, y, got)
				}
			}
		}
	}
}

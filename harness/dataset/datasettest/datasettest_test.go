package datasettest

import (
	"bytes"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/webp"
)

func TestWebPDecodes(t *testing.T) {
	for _, lv := range [][2]uint8{{10, 200}, {200, 10}, {0, 255}} {
		set := func(x, y int) bool { return (x*7+y*3)%5 < 2 }
		img, err := webp.Decode(bytes.NewReader(WebP(37, 21, lv[0], lv[1], set)))
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

func TestWriteM3CoTBench(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := WriteM3CoTBench(dir, 13); err != nil {
			t.Fatal(err)
		}
	}
	images, err := filepath.Glob(filepath.Join(a, "images", "*"))
	if err != nil || len(images) != 13 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	for _, name := range images {
		x, errX := os.ReadFile(name)
		y, errY := os.ReadFile(filepath.Join(b, "images", filepath.Base(name)))
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two writes", filepath.Base(name))
		}
		if _, _, err := image.Decode(bytes.NewReader(x)); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
	if WriteM3CoTBench(t.TempDir(), 11) == nil {
		t.Error("11 items were accepted")
	}
}

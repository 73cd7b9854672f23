package cli_test

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"strconv"
)

// ownOp is a program of a user's, own-op FILE --strength S --seed N: it makes a picture whiter, as
// much as its flag says and if its file says so.
func ownOp() {
	does, err := os.ReadFile(os.Args[1])
	strength := 0.0
	for i, w := range os.Args[:len(os.Args)-1] {
		if w == "--strength" && err == nil {
			strength, err = strconv.ParseFloat(os.Args[i+1], 64)
		}
	}
	var src image.Image
	if err == nil {
		src, err = png.Decode(os.Stdin)
	}
	if err == nil && string(does) != "whiter\n" {
		err = fmt.Errorf("no such word: %q", does)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	b := src.Bounds()
	out := image.NewGray(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.Set(x, y, src.At(x, y))
			at := &out.Pix[out.PixOffset(x, y)]
			*at += uint8(strength * float64(255-*at))
		}
	}
	if err := png.Encode(os.Stdout, out); err != nil {
		os.Exit(3)
	}
}

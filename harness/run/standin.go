package run

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"strings"

	"assay/backends"
	"assay/perturb"
)

// sizeClass is a picture's size class: half octaves of its number of pixels, so
// that pictures of a class differ by less than a factor of 1.5 in area.
func sizeClass(size image.Point) int {
	return int(math.Round(2 * math.Log2(float64(max(size.X, 1))*float64(max(size.Y, 1)))))
}

// sizeClasses are the size classes of a trial's pictures.
func sizeClasses(sizes []image.Point) string {
	var key strings.Builder
	for _, s := range sizes {
		fmt.Fprintf(&key, "%d ", sizeClass(s))
	}
	return key.String()
}

// standIn is a picture of a size in the format of another one, with edges, colours
// and texture as a real one has, and of nobody: servers compile, allocate and
// decode for it what they need for a trial's, and learn nothing of a trial. The nth
// version has other pixels.
func standIn(size image.Point, n int, mime string) (backends.Image, error) {
	img := image.NewRGBA(image.Rectangle{Max: size})
	w, h := float64(size.X), float64(size.Y)
	for y := range size.Y {
		for x := range size.X {
			// An ellipse on a slope, and a texture of 4 x 4 pixels whose shade follows from its place.
			dx, dy := (float64(x)-w/2)/(w/3), (float64(y)-h/2)/(h/2.5)
			v := 40 + 120*(x+y)/(size.X+size.Y) + 20*n
			if dx*dx+dy*dy < 1 {
				v += 50
			}
			grain := uint32(x/4)*2654435761 ^ uint32(y/4)*2246822519 ^ uint32(n)*3266489917
			v += int(grain>>13) % 16
			i := img.PixOffset(x, y)
			img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = uint8(v), uint8(v*3/4+y*40/size.Y), uint8(255-v), 255
		}
	}
	if mime == "image/jpeg" {
		var file bytes.Buffer
		err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 90})
		return backends.Image{Bytes: file.Bytes(), MIME: mime}, err
	}
	data, err := perturb.EncodePNG(img)
	return backends.Image{Bytes: data, MIME: "image/png"}, err
}

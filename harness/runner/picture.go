package runner

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"assay/backends"
	"assay/harness/plan"
	"assay/perturb"
)

// PictureSeed decides what is random in the nth picture of an item, from 0: all
// models, arms and repeats see the same picture, and the levels of a sweep differ
// in the level.
func PictureSeed(seed uint64, item string, n int) uint64 {
	return seed ^ hash(item, strconv.Itoa(n))
}

// render is what is sent of the nth image file of a trial's item: its own
// bytes, unless the condition, the longest side or the server's formats demand
// other ones.
func render(ctx context.Context, t plan.Trial, n int, file []byte, set Settings, end Endpoint, seed uint64, room decoding) (backends.Image, image.Point, error) {
	var data []byte
	var mime string
	err := room.whileOne(ctx, file, func() (err error) {
		data, mime, err = t.Condition.On(n).Render(file, perturb.Picture{MaxSide: set.MaxSide, WebP: end.ReadsWebP, Metadata: set.Metadata},
			PictureSeed(seed, t.Key.Item, n))
		return err
	})
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	_, w, h, err := perturb.Config(data)
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	return backends.Image{Bytes: data, MIME: mime}, image.Pt(w, h), nil
}

// decoding bounds the pictures that are decoded at once, by their pixels in all:
// as many as the largest single picture may have, however many requests run
// beside each other.
type decoding struct{ pixels *semaphore.Weighted }

func newDecoding() decoding { return decoding{semaphore.NewWeighted(perturb.MaxPixels)} }

// whileOne waits until there is room for a picture, and calls do. A file that is no
// picture is do's to refuse.
func (d decoding) whileOne(ctx context.Context, file []byte, do func() error) error {
	_, w, h, err := perturb.Config(file)
	if err != nil {
		return do()
	}
	n := int64(w) * int64(h) // at most MaxPixels, or Config refuses it
	if err := d.pixels.Acquire(ctx, n); err != nil {
		return err
	}
	defer d.pixels.Release(n)
	return do()
}

// class is a picture's size class: half octaves of its number of pixels, so
// that pictures of a class differ by less than a factor of 1.5 in area.
func class(size image.Point) int {
	return int(math.Round(2 * math.Log2(float64(max(size.X, 1))*float64(max(size.Y, 1)))))
}

// classes are the size classes of a trial's pictures.
func classes(sizes []image.Point) string {
	var key strings.Builder
	for _, s := range sizes {
		fmt.Fprintf(&key, "%d ", class(s))
	}
	return key.String()
}

// madeUp is a picture of a size in the format of another one, with edges, colours
// and texture as a real one has, and of nobody: servers compile, allocate and
// decode for it what they need for a trial's, and learn nothing of a trial. The nth
// version has other pixels.
func madeUp(size image.Point, n int, mime string) (backends.Image, error) {
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

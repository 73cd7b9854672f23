package runner

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"assay/backends"
	"assay/perturb"
)

// PictureSeed decides what is random in the nth picture of an item, from 0: all
// models, arms and repeats see the same picture, and the levels of a sweep differ
// in the level.
func PictureSeed(seed uint64, item string, n int) uint64 {
	return seed ^ hash(item, strconv.Itoa(n))
}

// picture is what is sent of the nth image file of a task's item: its own
// bytes, unless the condition, the longest side or the server's formats demand
// other ones.
func (b *block) picture(ctx context.Context, t *task, n int, file []byte, set Settings) (backends.Image, image.Point, error) {
	var data []byte
	var mime string
	err := b.run.decoding.whileOne(ctx, file, func() (err error) {
		data, mime, err = t.Condition.On(n).Render(file, perturb.Picture{MaxSide: set.MaxSide, WebP: b.end.ReadsWebP, Metadata: set.Metadata},
			PictureSeed(b.run.job.Seed, t.Key.Item, n))
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

// plainPicture is a PNG of a size without content: a slope of grey, whose nth
// version begins at another shade.
func plainPicture(size image.Point, n int) (backends.Image, error) {
	img := image.NewGray(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			img.SetGray(x, y, color.Gray{Y: uint8(40*n + (x+y)*255/(size.X+size.Y))})
		}
	}
	data, err := perturb.EncodePNG(img)
	return backends.Image{Bytes: data, MIME: "image/png"}, err
}

package runner

import (
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"strconv"
	"sync"

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
	c, how, seed := t.Condition.On(n), perturb.Picture{MaxSide: set.MaxSide, WebP: end.ReadsWebP, Metadata: set.Metadata}, PictureSeed(seed, t.Key.Item, n)
	// All that Render goes by.
	key := sha256.Sum256(fmt.Appendf(nil, "%x %v %+v %+v %d", sha256.Sum256(file), c.Kind == perturb.KindSham, c.Ops, how, seed))
	out, known := room.kept.get(key)
	if !known {
		err := room.whileOne(ctx, file, func() (err error) {
			out.Bytes, out.MIME, err = c.Render(file, how, seed)
			return err
		})
		if err != nil {
			return backends.Image{}, image.Point{}, err
		}
		room.kept.put(key, out)
	}
	_, w, h, err := perturb.Config(out.Bytes)
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	return out, image.Pt(w, h), nil
}

// decoding bounds the pictures that are decoded at once, by their pixels in all:
// as many as the largest single picture may have, however many requests run
// beside each other.
type decoding struct {
	pixels *semaphore.Weighted
	kept   *rendered
}

func newDecoding() decoding { return decoding{semaphore.NewWeighted(perturb.MaxPixels), &rendered{}} }

// rendered are pictures as they were sent, those of a run that came first: other models
// are sent the same ones, and so are conditions that change words alone.
type rendered struct {
	mu    sync.Mutex
	of    map[[sha256.Size]byte]backends.Image
	bytes int
}

// keptBytes is as much as is kept: a few hundred pictures of 512 pixels a side.
const keptBytes = 32 << 20

func (k *rendered) get(key [sha256.Size]byte) (backends.Image, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	img, ok := k.of[key]
	return img, ok
}

func (k *rendered) put(key [sha256.Size]byte, img backends.Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.of[key]; ok || k.bytes+len(img.Bytes) > keptBytes {
		return
	}
	if k.of == nil {
		k.of = map[[sha256.Size]byte]backends.Image{}
	}
	k.of[key], k.bytes = img, k.bytes+len(img.Bytes)
}

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

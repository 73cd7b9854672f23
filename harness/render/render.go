// Package render makes the pictures that are sent: each once, however many models and
// conditions show it, and only so many at once.
package render

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"image"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/semaphore"

	"assay/backends"
	"assay/harness/dataset"
	"assay/perturb"
)

// Seed decides what is random in the nth picture of an item, from 0: all models,
// arms and repeats see the same picture, and the levels of a sweep differ in the
// level.
func Seed(seed uint64, item string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q%q", item, strconv.Itoa(n))
	return seed ^ h.Sum64()
}

// Renderer bounds the pictures that are decoded at once, by their pixels in all: as
// many as the largest single picture may have, however many requests run beside each
// other. It keeps those that came first: other models are sent the same ones, and so
// are conditions that change words alone.
type Renderer struct {
	pixels *semaphore.Weighted

	mu     sync.Mutex
	of     map[[sha256.Size]byte]backends.Image
	bytes  int
	loaded []*loaded       // the latest, the last first
	repeat map[string]bool // ops of the user's, with their parameters, that made the same picture twice
}

// loaded is a picture that several conditions begin with.
type loaded struct {
	key    [sha256.Size]byte
	pixels int
	once   sync.Once
	img    image.Image
	err    error
}

// keptPixels is as much as is kept of loaded pictures: 16 of 1,024 pixels a side, in 64 MB at most.
const keptPixels = 16 << 20

// New is a Renderer that keeps nothing yet.
func New() *Renderer {
	return &Renderer{pixels: semaphore.NewWeighted(perturb.MaxPixels), of: map[[sha256.Size]byte]backends.Image{}, repeat: map[string]bool{}}
}

// Frame is how pictures are sent.
type Frame struct {
	MaxSide   int  // longest side in pixels; 0: as they are
	MaxPixels int  // of all pictures of an item together, scaled down; 0: as they are
	Metadata  bool // what files say beside their pixels is sent
	WebP      bool // the server reads it
}

// Item is what is sent of an item's pictures, and their sizes, in the order in which the
// condition shows them.
func (r *Renderer) Item(ctx context.Context, it *dataset.Item, c perturb.Condition, how Frame, seed uint64) (pics []backends.Image, sizes []image.Point, err error) {
	shown := *it
	if c.Other {
		shown.Images = slices.Clone(it.Images)
		for i := range shown.Images {
			if c.Image == 0 || c.Image == i+1 {
				shown.Images[i] = it.Another.Images[i]
			}
		}
	}
	sides, err := Sides(&shown, how)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range c.Shown(len(it.Images), Seed(seed, it.ID, 0)) {
		img := shown.Images[i]
		data, err := img.Load()
		if err != nil {
			return nil, nil, fmt.Errorf("load image %d (%s): %w", i+1, img.Name, err)
		}
		pic, size, err := r.Picture(ctx, data, c.On(i), perturb.Picture{MaxSide: sides[i], WebP: how.WebP, Metadata: how.Metadata}, Seed(seed, it.ID, i))
		if err != nil {
			err = fmt.Errorf("image %d (%s): %w", i+1, img.Name, err)
			if c.Program != "" {
				err = fmt.Errorf("item %s, %w", it.ID, err)
			}
			return nil, nil, err
		}
		pics, sizes = append(pics, pic), append(sizes, size)
	}
	return pics, sizes, nil
}

// Sides are the longest sides to which an item's images are scaled down (0: not),
// whichever of them are shown: see perturb.Budget.
func Sides(it *dataset.Item, how Frame) ([]int, error) {
	sizes := make([]image.Point, len(it.Images))
	for i, im := range it.Images {
		if how.MaxPixels == 0 {
			break // no size matters
		}
		data, err := im.Load()
		if err == nil {
			_, sizes[i].X, sizes[i].Y, err = perturb.Config(data)
		}
		if err != nil {
			return nil, fmt.Errorf("load image %d (%s): %w", i+1, im.Name, err)
		}
	}
	return perturb.Budget(sizes, how.MaxSide, how.MaxPixels)
}

// Sizes are those of an item's picture files. What cannot be read will not be sent, and
// is not counted.
func Sizes(it *dataset.Item) []image.Point {
	var sizes []image.Point
	for _, img := range it.Images {
		data, err := img.Load()
		if err != nil {
			continue
		}
		if _, w, h, err := perturb.Config(data); err == nil {
			sizes = append(sizes, image.Pt(w, h))
		}
	}
	return sizes
}

// Picture is what is sent of an image file, and its size: its own bytes, unless the
// condition, the longest side or the server's formats demand other ones.
func (r *Renderer) Picture(ctx context.Context, file []byte, c perturb.Condition, how perturb.Picture, seed uint64) (backends.Image, image.Point, error) {
	// All that Render goes by.
	sum := sha256.Sum256(file)
	key := sha256.Sum256(fmt.Appendf(nil, "%x %v %+v %+v %d", sum, c.Kind == perturb.KindSham, c.Ops, how, seed))
	out, known := r.get(key)
	if !known {
		err := r.whileOne(ctx, file, func() (err error) {
			load := func() (image.Image, error) {
				return r.load(sha256.Sum256(fmt.Appendf(nil, "%x %+v %d", sum, c.Loading(), how.MaxSide)), file, c, how)
			}
			if op, own := c.ByProgram(); own {
				out, err = r.byProgram(ctx, op, load, seed)
				return err
			}
			out.Bytes, out.MIME, err = c.RenderFrom(file, how, seed, load)
			return err
		})
		if err != nil {
			return backends.Image{}, image.Point{}, err
		}
		r.put(key, out)
	}
	_, w, h, err := perturb.Config(out.Bytes)
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	return out, image.Pt(w, h), nil
}

// load is c.Load, once for all conditions that load alike while a picture is kept.
func (r *Renderer) load(key [sha256.Size]byte, file []byte, c perturb.Condition, how perturb.Picture) (image.Image, error) {
	_, w, h, err := perturb.Config(file)
	if err != nil {
		return nil, err
	}
	size := image.Pt(w, h)
	if how.MaxSide > 0 {
		size = perturb.Shrunk(size, how.MaxSide)
	}
	l := &loaded{key: key, pixels: size.X * size.Y}
	if l.pixels > keptPixels {
		return c.Load(file, how)
	}
	r.mu.Lock()
	if at := slices.IndexFunc(r.loaded, func(l *loaded) bool { return l.key == key }); at >= 0 {
		l = r.loaded[at]
		r.loaded = slices.Delete(r.loaded, at, at+1)
	}
	r.loaded = slices.Insert(r.loaded, 0, l)
	sum := 0
	for i, l := range r.loaded {
		if sum += l.pixels; sum > keptPixels {
			r.loaded = slices.Delete(r.loaded, i, len(r.loaded))
			break
		}
	}
	r.mu.Unlock()
	l.once.Do(func() { l.img, l.err = c.Load(file, how) })
	return l.img, l.err
}

// keptBytes is as much as is kept: a few hundred pictures of 512 pixels a side.
const keptBytes = 32 << 20

func (r *Renderer) get(key [sha256.Size]byte) (backends.Image, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	img, ok := r.of[key]
	return img, ok
}

func (r *Renderer) put(key [sha256.Size]byte, img backends.Image) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.of[key]; ok || r.bytes+len(img.Bytes) > keptBytes {
		return
	}
	r.of[key], r.bytes = img, r.bytes+len(img.Bytes)
}

// whileOne waits until there is room for a picture, and calls do. A file that is no
// picture is do's to refuse.
func (r *Renderer) whileOne(ctx context.Context, file []byte, do func() error) error {
	_, w, h, err := perturb.Config(file)
	if err != nil {
		return do()
	}
	n := int64(w) * int64(h) // at most MaxPixels, or Config refuses it
	if err := r.pixels.Acquire(ctx, n); err != nil {
		return err
	}
	defer r.pixels.Release(n)
	return do()
}

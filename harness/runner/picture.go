package runner

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/backends"
	"assay/perturb"
)

// picture is what is sent of the nth image file of a task's item: its own
// bytes, unless the condition, the longest side or the server's formats demand
// other ones. What is random in it depends on the seed and the item alone, so
// that all models, arms and repeats see the same picture, and the levels of a
// sweep differ in the level.
func (b *block) picture(t *task, n int, file []byte, set Settings) (backends.Image, image.Point, error) {
	data, mime, err := t.Condition.Render(file, perturb.Picture{MaxSide: set.MaxSide, WebP: b.end.ReadsWebP},
		b.run.job.Seed^hash(t.Key.Item, strconv.Itoa(n)))
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	_, w, h, err := perturb.Config(data)
	if err != nil {
		return backends.Image{}, image.Point{}, err
	}
	return backends.Image{Bytes: data, MIME: mime}, image.Pt(w, h), nil
}

// class is a picture's size class: half octaves of its number of pixels, so
// that pictures of a class differ by less than a factor of 1.5 in area.
func class(size image.Point) int {
	return int(math.Round(2 * math.Log2(float64(max(size.X, 1))*float64(max(size.Y, 1)))))
}

// Warm-up: a model's first request, and its first picture of a new size, pay
// for what later ones do not (kernels, buffers). So before the first trial of
// each class a timed study sends one request that nobody times or stores. Its
// pictures have the trial's sizes and other pixels, and its prompt is another:
// no cache of the server learns anything of a trial.
const (
	warmPrompt = "This request only warms the server up. Reply with one word."
	warmTokens = 8
)

// warm warms the classes of a trial's pictures that this block has not seen.
// The error is for want of a server or of vision: then the trial is not sent.
// Any other is a warning.
func (b *block) warm(ctx context.Context, t *task, in input, set Settings) error {
	var key strings.Builder
	for _, s := range in.sizes {
		fmt.Fprintf(&key, "%d ", class(s))
	}
	if b.warmed[key.String()] {
		return nil
	}
	m := backends.Message{Role: backends.User, Text: warmPrompt}
	for _, s := range in.sizes {
		pic, err := plainPicture(s)
		if err != nil {
			return fmt.Errorf("runner: internal error: warm-up picture: %w", err)
		}
		m.Images = append(m.Images, pic)
	}
	set.Sampling.MaxTokens = min(set.Sampling.MaxTokens, warmTokens)
	err := b.retry(ctx, set, "warm-up "+key.String(), func() error {
		_, err := b.end.Backend.Generate(ctx, b.request([]backends.Message{m}, set), b.recorder())
		return err
	}, func(err error, wait time.Duration) {
		b.run.tell(Event{Kind: AttemptFailed, Model: b.model, Failure: string(kindOf(err)), Text: "warm-up: " + err.Error(), Wait: &wait})
	})
	switch kindOf(err) {
	case backends.ErrUnreachable, backends.ErrLoading, backends.ErrUnknownModel:
		return err
	case backends.ErrNoVision:
		if b.id.Vision == nil {
			return err
		}
	case "":
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.warmed[key.String()] = true
	if err != nil {
		b.run.warn(b.model, fmt.Sprintf("warm-up for pictures like those of %s failed; the first trial of that size may be slower: %v", name(t.Key), err))
	}
	return nil
}

// plainPicture is a PNG of a size without content: a slope of grey.
func plainPicture(size image.Point) (backends.Image, error) {
	img := image.NewGray(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			img.SetGray(x, y, color.Gray{Y: uint8((x + y) * 255 / (size.X + size.Y))})
		}
	}
	data, err := perturb.EncodePNG(img)
	return backends.Image{Bytes: data, MIME: "image/png"}, err
}

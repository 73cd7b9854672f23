package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"assay/backends"
	"assay/timing"
)

// words are what a picture for Sees may show: two of them are not guessed.
var words = [...]string{"ANCHOR", "BUTTER", "CANDLE", "DRAGON", "FEATHER", "GARDEN", "HAMMER", "ISLAND", "KETTLE", "LADDER", "MARBLE", "NEEDLE", "ORANGE", "PEPPER", "RABBIT", "TUNNEL"}

// sightTokens leave room for a model that thinks first.
const sightTokens = 512

// Sees shows a model a picture of two large words, once per model, and asks for them:
// a server that drops pictures without a word answers all the same. true: it read both;
// false: it read none, or the server refused the picture; nil: it read one of them,
// or the request failed. said is its answer, or why there is none.
func (b *Backend) Sees(ctx context.Context, model string) (sees *bool, said string, err error) {
	b.asking.Lock()
	defer b.asking.Unlock()
	if s, ok := b.sight[model]; ok {
		return s.sees, s.said, nil
	}
	one, two := wordsFor(model)
	seed := int64(1)
	r, err := b.Generate(ctx, &backends.Request{Model: model, Sampling: backends.Sampling{MaxTokens: sightTokens, Seed: &seed},
		Messages: []backends.Message{{Role: backends.User, Text: "Write the two words that this picture shows, and nothing else.", Images: []backends.Image{wordPicture(one, two)}}},
		Timeouts: backends.Timeouts{Connect: 10 * time.Second, Total: 5 * time.Minute}}, timing.NewRecorder(timing.NewClock()))
	yes, no := true, false
	switch {
	case errors.Is(err, backends.ErrNoVision):
		sees, said = &no, err.Error()
	case err != nil:
		return nil, "", err
	default:
		said = strings.Join(strings.Fields(r.Answer), " ")
		text := strings.ToUpper(r.Answer + " " + r.Reasoning)
		switch a, b := strings.Contains(text, one), strings.Contains(text, two); {
		case a && b:
			sees = &yes
		case !a && !b:
			sees = &no
		}
		said = fmt.Sprintf("shown the words %s and %s it answered %.200q", one, two, said)
	}
	if b.sight == nil {
		b.sight = map[string]sight{}
	}
	b.sight[model] = sight{sees, said}
	return sees, said, nil
}

// sight is what Sees found of a model.
type sight struct {
	sees *bool
	said string
}

// wordsFor are the two words that a model is shown: always the same, so that a run
// that is repeated asks the same.
func wordsFor(model string) (one, two string) {
	n := backends.NonceOf("sight", model)
	i := int(n[0]-'0')*10 + int(n[1]-'0')
	j := int(n[2]-'0')*10 + int(n[3]-'0')
	i %= len(words)
	if j %= len(words) - 1; j >= i {
		j++
	}
	return words[i], words[j]
}

// wordPicture shows two words, black on white, 448 x 448 pixels.
func wordPicture(lines ...string) backends.Image {
	const scale, side = 8, 448
	small := image.NewGray(image.Rect(0, 0, side/scale, side/scale))
	for i := range small.Pix {
		small.Pix[i] = 255
	}
	d := font.Drawer{Dst: small, Src: image.NewUniform(color.Black), Face: basicfont.Face7x13}
	for i, line := range lines {
		d.Dot = fixed.P(3, 20+i*22)
		d.DrawString(line)
	}
	img := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			img.Pix[y*side+x] = small.Pix[y/scale*small.Stride+x/scale]
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		panic("openai: internal error: a picture in memory cannot be encoded: " + err.Error())
	}
	return backends.Image{Bytes: file.Bytes(), MIME: "image/png"}
}

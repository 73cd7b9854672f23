package backendtest

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"

	"assay/backends"
)

// Picture is a PNG of the given size in pixels: a disc on a grey ramp whose
// place and shade follow from n, so that each n is another picture.
func Picture(width, height, n int) backends.Image {
	img := image.NewGray(image.Rect(0, 0, width, height))
	cx, cy, r := width*(1+n%3)/4, height*(1+n/3%3)/4, min(width, height)/5
	for y := range height {
		for x := range width {
			v := 40 + 60*x/width
			if dx, dy := x-cx, y-cy; dx*dx+dy*dy <= r*r {
				v = 150 + 25*(n%4)
			}
			img.SetGray(x, y, color.Gray{Y: uint8(v)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("backendtest: internal error: " + err.Error())
	}
	return backends.Image{Bytes: b.Bytes(), MIME: "image/png"}
}

// Ask is a request of one user message with the given pictures.
func Ask(model, text string, pictures ...backends.Image) *backends.Request {
	seed := int64(1)
	return &backends.Request{
		Model:    model,
		Messages: []backends.Message{{Role: backends.User, Text: text, Images: pictures}},
		Sampling: backends.Sampling{Temperature: 0.8, MaxTokens: 256, Seed: &seed},
	}
}

// Schema is a small JSON Schema for Request.Schema.
func Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string","enum":["present","absent"]},"sure":{"type":"boolean"}},"required":["verdict","sure"],"additionalProperties":false}`)
}

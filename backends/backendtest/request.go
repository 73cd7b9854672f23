package backendtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"reflect"
	"regexp"

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

// base64PNG is a PNG file in a request.
var base64PNG = regexp.MustCompile(`iVBORw0KGgo[A-Za-z0-9+/]+=*`)

// checkPictures says whether a request holds just these PNG pictures, in their order.
// What their files say beside their pixels may differ.
func checkPictures(sent []byte, want []backends.Image) error {
	found := base64PNG.FindAll(sent, -1)
	if len(found) != len(want) {
		return fmt.Errorf("%d pictures were sent, want %d", len(found), len(want))
	}
	for i, text := range found {
		file, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return fmt.Errorf("picture %d: %w", i+1, err)
		}
		got, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			return fmt.Errorf("picture %d: %w", i+1, err)
		}
		is, err := png.Decode(bytes.NewReader(want[i].Bytes))
		if err != nil {
			return fmt.Errorf("picture %d: %w", i+1, err)
		}
		if !reflect.DeepEqual(got, is) {
			return fmt.Errorf("picture %d is another one than was to be sent", i+1)
		}
	}
	return nil
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

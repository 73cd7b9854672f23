package openai

import (
	"bytes"
	"errors"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
)

// TestSeesWhoReadsBothWords: a server that drops the picture answers all the same.
func TestSeesWhoReadsBothWords(t *testing.T) {
	one, two := wordsFor("m")
	if one == two {
		t.Fatalf("%s twice", one)
	}
	yes, no := true, false
	stop := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		status int
		body   string
		sees   *bool
		said   string
		kind   backends.Kind
	}{
		"reads":       {200, word(one+"\n"+strings.ToLower(two)) + stop, &yes, one, ""},
		"blind":       {200, word("I see a cat.") + stop, &no, "I see a cat.", ""},
		"one of them": {200, word(one) + stop, nil, one, ""},
		"refused":     {400, `{"error":{"message":"m is not a multimodal model"}}`, &no, "not a multimodal", ""},
		"text only":   {400, `{"error":{"message":"messages[0].content must be a string"}}`, &no, "must be a string", ""},
		"broken":      {500, `{"error":{"message":"boom"}}`, nil, "", backends.ErrServer},
	} {
		synctest.Test(t, func(t *testing.T) {
			kind := "application/json"
			if c.status == 200 {
				kind = "text/event-stream"
			}
			b := backend(t, says(c.status, kind, c.body))
			for range 2 { // the second is remembered, but for a failure
				sees, said, err := b.Sees(t.Context(), "m")
				if c.kind != "" && !errors.Is(err, c.kind) || c.kind == "" && err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if (sees == nil) != (c.sees == nil) || sees != nil && *sees != *c.sees || !strings.Contains(said, c.said) {
					t.Errorf("%s: %v, %q", name, sees, said)
				}
			}
			if (len(b.sight) == 1) == (c.kind != "") {
				t.Errorf("%s: %d remembered", name, len(b.sight))
			}
		})
	}
}

// TestThePictureOfWordsShowsThem: black letters on white, other ones for other words, and
// nothing of them in the request's text.
func TestThePictureOfWordsShowsThem(t *testing.T) {
	a, b := wordPicture("ANCHOR", "FEATHER"), wordPicture("ANCHOR", "BUTTER")
	if bytes.Equal(a.Bytes, b.Bytes) {
		t.Error("other words, same picture")
	}
	img, err := png.Decode(bytes.NewReader(a.Bytes))
	if err != nil || img.Bounds().Dx() != 448 {
		t.Fatal(err)
	}
	dark := map[bool]int{} // by half
	last := 0
	for y := range 448 {
		for x := range 448 {
			if r, _, _, _ := img.At(x, y).RGBA(); r == 0 {
				dark[y < 224]++
				last = max(last, x)
			}
		}
	}
	if dark[true] < 2000 || dark[false] < 2000 || last > 440 {
		t.Errorf("dark pixels in the halves: %v, up to column %d", dark, last)
	}
	seen := map[string]bool{}
	for _, m := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		one, two := wordsFor(m)
		seen[one+two] = true
		if one == two {
			t.Errorf("%s twice", one)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d pairs for 8 models", len(seen))
	}
}

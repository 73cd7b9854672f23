package ollama

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/timing"
)

// TestColdRequestsCarryTheirNonceTwice: at the start of the system message, and
// in each picture's file, whose pixels stay.
func TestColdRequestsCarryTheirNonceTwice(t *testing.T) {
	pic := backendtest.Picture(16, 12, 1)
	want, err := png.Decode(bytes.NewReader(pic.Bytes))
	if err != nil {
		t.Fatal(err)
	}
	lengths := map[int]bool{}
	files := map[string]bool{}
	for _, word := range []string{"a", "b"} {
		synctest.Test(t, func(t *testing.T) {
			n := chat(`{"model":"m","message":{"role":"assistant","content":"Yes"},"done":false}`+"\n", `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","load_duration":900}`+"\n")
			req := backendtest.Ask("m", "?", pic, pic)
			req.Cold, req.Prove = backends.NonceOf(word), true
			r, err := over(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
			if err != nil {
				t.Fatal(err)
			}
			if r.Cache != (backends.Cache{State: backends.CacheTimed}) {
				t.Errorf("Ollama proves nothing by itself, got %+v", r.Cache)
			}
			lengths[len(r.Sent)] = true
			var sent struct {
				Messages []struct {
					Role, Content string
					Images        []string
				}
			}
			if err := json.Unmarshal(r.Sent, &sent); err != nil {
				t.Fatal(err)
			}
			if len(sent.Messages) != 2 || sent.Messages[0].Role != "system" || !strings.HasPrefix(sent.Messages[0].Content, string(req.Cold)) || sent.Messages[1].Content != "?" {
				t.Errorf("%.400s", r.Sent)
			}
			for _, text := range sent.Messages[1].Images {
				file, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				files[string(file)] = true
				var got image.Image
				if got, err = png.Decode(bytes.NewReader(file)); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("the picture shows something else: %v", err)
				}
			}
		})
	}
	if len(lengths) != 1 || len(files) != 4 {
		t.Errorf("requests of %d lengths, %d different files, want 1 and 4", len(lengths), len(files))
	}
	req := backendtest.Ask("m", "?", backends.Image{Bytes: []byte("RIFF"), MIME: "image/webp"})
	req.Cold = backends.NonceOf("x")
	n := chat()
	if _, err := over(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock())); err == nil || !strings.Contains(err.Error(), "nothing was sent") || len(n.Seen()) != 0 {
		t.Errorf("a picture that takes no nonce: %v", err)
	}
}

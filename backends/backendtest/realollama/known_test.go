//go:build realollama

package realollama_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/ollama"
	"assay/backends/wire"
	"assay/harness/dataset/phantom"
	"assay/harness/eye"
)

// The known model on a real server, picture by picture: its answers are those that plain Go
// computes of the same file. A picture altered in it changes the answer as computed.
func TestRealOllamaAnswersAsTheKnownModelHasTo(t *testing.T) {
	const name, each = "assay-known-eye-test", 50
	for _, g := range targets(t) {
		b, err := ollama.New(wire.Config{URL: g.url})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Create(t.Context(), name, eye.Files(), eye.OllamaTemplate, map[string]any{"num_ctx": 2048, "num_thread": 1, "repeat_penalty": 1}); err != nil {
			t.Fatal(err)
		}
		m, err := eye.Read()
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int{112, 64, 100, 140, 224}
		shape := func(i, side int) image.Image {
			return eye.Draw(rand.New(rand.NewPCG(53, uint64(i))), eye.Tasks()[i%4], side, side).Image
		}
		const only = "\n\nGive the answer only: a few words, without any explanation."
		film := func(i int) (string, image.Image) {
			s := phantom.NewScene(53, i)
			q := phantom.Faithful(s)
			return q[i*7%len(q)].Text, s.Render([]int{112, 224}[i%2])
		}
		for _, kind := range []struct {
			name string
			ask  func(i int) (string, []image.Image)
		}{
			{"shapes, 64 to 224 pixels", func(i int) (string, []image.Image) {
				return eye.Questions(eye.Tasks()[i%4])[i%3] + only, []image.Image{shape(i, sizes[i/4%len(sizes)])}
			}},
			{"phantom films of 112 and 224 pixels", func(i int) (string, []image.Image) {
				q, img := film(i)
				return q + only, []image.Image{img}
			}},
			{"the same films, half covered", func(i int) (string, []image.Image) {
				q, img := film(i)
				return q + only, []image.Image{covered(img)}
			}},
			{"two or three pictures", func(i int) (string, []image.Image) {
				k := 2 + i%2
				var all []image.Image
				for n := range k {
					all = append(all, shape(100+3*i+n, 112))
				}
				return fmt.Sprintf("In image %d: Name the colour.", 1+i%k) + only, all
			}},
			{"no picture", func(i int) (string, []image.Image) {
				return eye.Questions(eye.Tasks()[i%4])[i%3] + only, nil
			}},
		} {
			same, differ := 0, 0
			answers := map[string]int{}
			for i := range each {
				text, pics := kind.ask(i)
				var a eye.Ask
				msg := backends.Message{Role: backends.User, Text: text}
				for _, p := range pics {
					var file bytes.Buffer
					if err := png.Encode(&file, p); err != nil {
						t.Fatal(err)
					}
					a.User = append(a.User, eye.Part{Image: p})
					msg.Images = append(msg.Images, backends.Image{Bytes: file.Bytes(), MIME: "image/png"})
				}
				a.User = append(a.User, eye.Part{Text: text})
				l, err := b.Likely(t.Context(), &backends.Request{Model: name, Messages: []backends.Message{msg}, Sampling: backends.Sampling{MaxTokens: 8}})
				if err != nil {
					t.Fatal(err)
				}
				want, words := m.Answer(eye.Ollama09, a, 8)
				answers[want]++
				if l.Answer == want {
					same++
					continue
				}
				differ++
				two := words[0].Likely(2)
				t.Logf("%s %d: %q, computed %q (%.3f nats before %q)", kind.name, i, l.Answer, want, words[0].LogProbs[two[0]]-words[0].LogProbs[two[1]], two[1])
			}
			t.Logf("%s: %d of %d answers as computed, %d different answers", kind.name, same, each, len(answers))
			if differ > 0 {
				t.Errorf("%s: %d answers differ", kind.name, differ)
			}
		}
		if err := b.Unload(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := b.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}

// covered is a picture whose left half is black.
func covered(img image.Image) image.Image {
	b := img.Bounds()
	out := image.NewNRGBA(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if out.Set(x, y, img.At(x, y)); x < b.Dx()/2 {
				out.Set(x, y, color.Black)
			}
		}
	}
	return out
}

// assay doctor --with-known-model on a real server: right, and behind proxies that alter pictures.
// JPEG shows in probabilities alone, which 0.9.6 does not say.
func TestRealOllamaDoctorNamesFaults(t *testing.T) {
	redraw := func(side int, at func(img image.Image, x, y int) color.Color) func(*api.ChatRequest) {
		return func(r *api.ChatRequest) {
			for i, file := range r.Messages[0].Images {
				img, _, err := image.Decode(bytes.NewReader(file))
				if err != nil {
					continue
				}
				out := image.NewNRGBA(image.Rectangle{Max: img.Bounds().Size().Div(side)})
				for y := range out.Rect.Dy() {
					for x := range out.Rect.Dx() {
						out.Set(x, y, at(img, side*x, side*y))
					}
				}
				var b bytes.Buffer
				if err := png.Encode(&b, out); err != nil {
					t.Error(err)
				}
				r.Messages[0].Images[i] = b.Bytes()
			}
		}
	}
	as := func(img image.Image, x, y int) color.Color { return img.At(x, y) }
	swapped := func(img image.Image, x, y int) color.Color {
		r, g, b, _ := img.At(x, y).RGBA()
		return color.RGBA64{uint16(b), uint16(g), uint16(r), 0xffff}
	}
	for _, g := range targets(t) {
		to, err := url.Parse(g.url)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name  string
			alter func(*api.ChatRequest)
			runs  int
		}{
			{"", nil, 10},
			{"colours", redraw(1, swapped), 1},
			{"size", redraw(2, as), 1},
			{"dropped", func(r *api.ChatRequest) { r.Messages[0].Images = nil }, 1},
			{"one", func(r *api.ChatRequest) { r.Messages[0].Images = r.Messages[0].Images[:1] }, 1},
			{"order", func(r *api.ChatRequest) { slices.Reverse(r.Messages[0].Images) }, 1},
		} {
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(to)
				r := p.Out
				if r.URL.Path != "/api/chat" || c.alter == nil {
					return
				}
				var req api.ChatRequest
				body, err := io.ReadAll(r.Body)
				if err == nil && json.Unmarshal(body, &req) == nil {
					c.alter(&req)
					body, _ = json.Marshal(req)
				}
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}})
			dir := t.TempDir()
			bench := "name: eye\nstore: out/eye.sqlite\ndatasets:\n  chest: {kind: phantom, items: 2}\nbackends:\n  mine: {kind: ollama, url: \"" + proxy.URL + "\"}\n" +
				"models:\n  m: {backend: mine, model: m}\njudges:\n  lexical: {kind: lexical}\nstudies:\n  qa: {dataset: chest}\n"
			if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(bench), 0o644); err != nil {
				t.Fatal(err)
			}
			accused := 0
			var out string
			for range c.runs {
				code := 0
				if code, out = g.run(t, dir, "doctor", "--with-known-model", "--evict"); code != 0 {
					accused++
				}
			}
			t.Logf("%q: %d runs, %d accused: %s", c.name, c.runs, accused, strings.TrimSpace(out))
			if c.name == "" && accused > 0 || c.name != "" && !strings.Contains(out, "("+c.name+")") {
				t.Errorf("%q: %s", c.name, out)
			}
			proxy.Close()
		}
	}
}

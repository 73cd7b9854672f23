package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/ollama"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/harness/eye"
)

// kitchen is an Ollama that runs the known model, as an engine would, behind something that
// alters requests.
type kitchen struct {
	engine eye.Engine
	model  *eye.Model
	alter  func(*api.ChatRequest) // nil: nothing is altered
	tells  bool                   // log-probabilities
	others []string               // models in memory

	mu    sync.Mutex
	has   map[string]bool // its models
	calls []string
}

func (k *kitchen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	say := func(v any) { json.NewEncoder(w).Encode(v) }
	var body bytes.Buffer
	body.ReadFrom(r.Body)
	if !strings.HasPrefix(r.URL.Path, "/api/blobs/") {
		k.calls = append(k.calls, r.Method+" "+r.URL.Path)
	}
	switch r.URL.Path {
	case "/api/ps":
		var ps api.ProcessResponse
		for _, m := range k.others {
			ps.Models = append(ps.Models, api.ProcessModelResponse{Name: m, Model: m})
		}
		say(ps)
	case "/api/create":
		k.has[knownName] = true
		say(map[string]string{"status": "success"})
	case "/api/delete":
		delete(k.has, knownName)
	case "/api/generate":
		say(api.GenerateResponse{Model: knownName, Done: true, DoneReason: "unload"})
	case "/api/chat":
		var req api.ChatRequest
		if err := json.Unmarshal(body.Bytes(), &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if k.alter != nil {
			k.alter(&req)
		}
		m := req.Messages[len(req.Messages)-1]
		var ask eye.Ask
		for _, b := range m.Images {
			img, _, err := image.Decode(bytes.NewReader(b))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			ask.User = append(ask.User, eye.Part{Image: img})
		}
		ask.User = append(ask.User, eye.Part{Text: m.Content})
		text, words := k.model.Answer(k.engine, ask, eye.ChartTokens)
		reply := map[string]any{"message": api.Message{Role: "assistant", Content: text}, "done": true, "done_reason": "stop"}
		if k.tells {
			var top []map[string]any
			for _, t := range words[0].Likely(20) {
				top = append(top, map[string]any{"token": t, "logprob": words[0].LogProbs[t]})
			}
			reply["logprobs"] = []any{map[string]any{"token": words[0].Text, "top_logprobs": top}}
		}
		say(reply)
	}
}

// redrawn has each picture of a request drawn anew.
func redrawn(size func(image.Point) image.Point, at func(img image.Image, x, y int) color.Color, write func(*bytes.Buffer, image.Image) error) func(*api.ChatRequest) {
	return func(req *api.ChatRequest) {
		for i, b := range req.Messages[0].Images {
			img, _, err := image.Decode(bytes.NewReader(b))
			if err != nil {
				panic(err)
			}
			n := size(img.Bounds().Size())
			out := image.NewNRGBA(image.Rectangle{Max: n})
			for y := range n.Y {
				for x := range n.X {
					out.Set(x, y, at(img, x, y))
				}
			}
			var file bytes.Buffer
			if err := write(&file, out); err != nil {
				panic(err)
			}
			req.Messages[0].Images[i] = file.Bytes()
		}
	}
}

func (k *kitchen) examined(t *testing.T, judge *eye.Judge, evict bool) Diagnosis {
	t.Helper()
	m, err := eye.Read()
	if err != nil {
		t.Fatal(err)
	}
	k.model, k.has = m, map[string]bool{}
	srv := httptest.NewServer(k)
	defer srv.Close()
	b, err := ollama.New(wire.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := Patient{Config: &config.Config{Backends: []backends.Server{{Name: "mine", Kind: ollama.Name, URL: srv.URL}}},
		Backend: func(string) (backends.Backend, error) { return b, nil }}
	return ExamineKnown(context.Background(), p, Known{Judge: judge, Evict: evict, Dir: t.TempDir()})
}

func judge(t *testing.T) *eye.Judge {
	t.Helper()
	j, err := eye.NewJudge()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Each fault is named, by answers alone and by log-probabilities (JPEG by these), under both engines; a server
// that is right is not accused, and nothing of ours stays in it.
func TestFaultsBetweenServerAndModelAreNamed(t *testing.T) {
	judge := judge(t)
	same := func(p image.Point) image.Point { return p }
	asPNG := func(w *bytes.Buffer, img image.Image) error { return png.Encode(w, img) }
	as := func(img image.Image, x, y int) color.Color { return img.At(x, y) }
	for _, c := range []struct {
		name  string
		alter func(*api.ChatRequest)
	}{
		{"", nil},
		{"colours", redrawn(same, func(img image.Image, x, y int) color.Color {
			r, g, b, _ := img.At(x, y).RGBA()
			return color.RGBA64{uint16(b), uint16(g), uint16(r), 0xffff}
		}, asPNG)},
		// Every second pixel, where the hypothesis takes means.
		{"size", redrawn(func(p image.Point) image.Point { return p.Div(2) }, func(img image.Image, x, y int) color.Color { return img.At(2*x, 2*y) }, asPNG)},
		{"quality", redrawn(same, as, func(w *bytes.Buffer, img image.Image) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: 20}) })},
		{"dropped", func(r *api.ChatRequest) { r.Messages[0].Images = nil }},
		{"one", func(r *api.ChatRequest) { r.Messages[0].Images = r.Messages[0].Images[:1] }},
		{"order", func(r *api.ChatRequest) { slices.Reverse(r.Messages[0].Images) }},
	} {
		for i, e := range eye.Engines() {
			for _, tells := range []bool{true, false} {
				if c.name == "quality" && !tells {
					continue // turns no answer that the model is sure of
				}
				if tells != (i == 0) && c.name != "quality" && os.Getenv("ASSAY_SLOW") == "" {
					continue // ASSAY_SLOW=1 tries both with both
				}
				k := &kitchen{engine: e, alter: c.alter, tells: tells}
				found := k.examined(t, judge, false)
				if len(found.Findings) != 1 {
					t.Fatalf("%q: found %+v", c.name, found.Findings)
				}
				f := found.Findings[0]
				if c.name == "" && f.Level != fine || c.name != "" && (f.Level != problem || !strings.HasSuffix(f.Text, "("+c.name+")")) {
					t.Errorf("fault %q, %v, probabilities %v: says %s: %s", c.name, e, tells, f.Level, f.Text)
				} else {
					t.Logf("fault %q, %v, probabilities %v: %s", c.name, e, tells, f.Text)
				}
				if len(k.has) > 0 || k.calls[len(k.calls)-1] != "POST /api/delete" && k.calls[len(k.calls)-1] != "DELETE /api/delete" {
					t.Errorf("the server keeps %v after %v", k.has, k.calls)
				}
			}
		}
	}
}

func TestAServerWithOtherModelsIsLetAlone(t *testing.T) {
	judge := judge(t)
	k := &kitchen{others: []string{"llava:7b"}}
	found := k.examined(t, judge, false)
	if p, _ := found.Count(); p != 1 || !strings.Contains(found.Findings[0].Text, "llava:7b") || !strings.Contains(found.Findings[0].Do, "--evict") || len(k.calls) != 1 {
		t.Errorf("found %+v after %v", found.Findings, k.calls)
	}
	k = &kitchen{others: []string{"llava:7b"}}
	if found := k.examined(t, judge, true); len(found.Findings) != 1 || found.Findings[0].Level != fine {
		t.Errorf("with --evict: %+v", found.Findings)
	}
}

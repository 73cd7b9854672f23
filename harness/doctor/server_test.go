package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/ollama"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/timing"
)

// server is a model server without HTTP.
type server struct {
	id     backends.Identity
	chunks int // of every reply, in one read
	sees   *bool
}

func (s *server) Identify(context.Context, string) (backends.Identity, error) { return s.id, nil }

func (s *server) Sees(context.Context, string) (*bool, string, error) {
	return s.sees, "shown two words it said neither", nil
}

func (s *server) Generate(_ context.Context, _ *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	rec.Start()
	p := make([]timing.Chunk, s.chunks)
	at := rec.Clock().Now() + time.Millisecond
	for i := range p {
		p[i] = timing.Chunk{At: at, Runes: 4, Answer: true, Shared: i < s.chunks-1}
	}
	rec.Chunks(p, timing.StampsUser)
	rec.MarkAt(timing.End, at)
	return &backends.Response{Answer: "x", Finish: backends.FinishStop}, nil
}

// TestDoctorSeesWhatServersAndProxiesDo: each finding, and none where nothing is wrong.
func TestDoctorSeesWhatServersAndProxiesDo(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		server server
		kind   string
		model  backends.Model
		keep   any
		says   string // a finding; "": none of those below
		level  level
	}{
		"fine":             {server{chunks: 1, sees: &yes}, "openai", backends.Model{}, nil, "", ""},
		"a proxy":          {server{chunks: 7, sees: &yes}, "openai", backends.Model{}, nil, "proxy_buffering off", warning},
		"blind":            {server{chunks: 1, sees: &no}, "openai", backends.Model{}, nil, "cannot see pictures", problem},
		"said to see":      {server{chunks: 1, sees: &no}, "openai", backends.Model{Vision: &yes}, nil, "", ""},
		"cannot think":     {server{chunks: 1, sees: &yes, id: backends.Identity{Thinking: &no}}, "openai", backends.Model{Think: &yes}, nil, "take think: true away", problem},
		"unloads":          {server{chunks: 1, sees: &yes}, "ollama", backends.Model{}, 0, "keep_alive is 0", problem},
		"unloads, in text": {server{chunks: 1, sees: &yes}, "ollama", backends.Model{}, "0s", "keep_alive is 0", problem},
		"stays":            {server{chunks: 1, sees: &yes}, "ollama", backends.Model{}, "30m", "", ""},
	} {
		c.model.Name, c.model.Model, c.model.Backend = "m", "m", "b"
		b := backends.Server{Name: "b", Kind: c.kind, Options: map[string]any{"num_ctx": 4096}}
		if c.keep != nil {
			b.Options["keep_alive"] = c.keep
		}
		d := &examination{Patient: Patient{Config: &config.Config{Backends: []backends.Server{b}, Models: []backends.Model{c.model},
			Studies: []config.Study{{Name: "cot", Models: []string{"m"}, Timed: true, Cache: "cold"}}}}}
		d.model(t.Context(), &c.server, b, "m", "m", true)
		var found []string
		for _, f := range d.out.Findings {
			text := f.Text + "; " + f.Do
			for _, known := range []string{"proxy_buffering off", "cannot see pictures", "take think: true away", "keep_alive is 0"} {
				if strings.Contains(text, known) {
					found = append(found, fmt.Sprintf("%s: %s", f.Level, known))
				}
			}
		}
		want := ""
		if c.says != "" {
			want = fmt.Sprintf("%s: %s", c.level, c.says)
		}
		if got := strings.Join(found, "; "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestDoctorSeesAModelThatDoesNotStay: a server may have keep_alive 0 of its own.
func TestDoctorSeesAModelThatDoesNotStay(t *testing.T) {
	for list, want := range map[string]bool{`[]`: true, `[{"name":"other:latest","size":1}]`: true, `[{"name":"m:latest","size":1,"size_vram":1}]`: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"models":%s}`, list) }))
		be, err := ollama.New(wire.Config{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		b := backends.Server{Name: "b", Kind: "ollama"}
		d := &examination{Patient: Patient{Config: &config.Config{Studies: []config.Study{{Timed: true, Cache: "cold"}}}}, vram: map[string]*int64{}}
		d.advise(t.Context(), be, b, "m", "model m", &modelFound{})
		s.Close()
		said := false
		for _, f := range d.out.Findings {
			said = said || strings.Contains(f.Do, "OLLAMA_KEEP_ALIVE") && f.Level == problem
		}
		if said != want {
			t.Errorf("%s in memory: %+v", list, d.out.Findings)
		}
	}
}

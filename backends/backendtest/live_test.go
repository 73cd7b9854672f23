package backendtest_test

import (
	"bytes"
	"image/png"
	"os"
	"testing"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
	"assay/timing"
)

// live are the kinds of real servers that the environment may name:
//
//	ASSAY_OLLAMA=http://127.0.0.1:11434 ASSAY_OLLAMA_MODEL=tiny-vlm ASSAY_OLLAMA_BLIND=tiny-text
//	ASSAY_LLAMACPP=http://127.0.0.1:8080 ASSAY_LLAMACPP_MODEL=the-name-it-lists
//	ASSAY_VLLM=http://127.0.0.1:8000 ASSAY_VLLM_MODEL=name ASSAY_VLLM_BLIND=name
//	ASSAY_OPENAI=http://127.0.0.1:1234 ASSAY_OPENAI_MODEL=name ASSAY_OPENAI_KEY=sk-...
func live() map[string]struct {
	env    string
	target backendtest.Target
} {
	return map[string]struct {
		env    string
		target backendtest.Target
	}{
		"ollama":   {"ASSAY_OLLAMA", backendtest.Target{Server: "ollama", ChecksNames: true, Drops: true}},
		"llamacpp": {"ASSAY_LLAMACPP", backendtest.Target{Server: "llama.cpp"}},
		"vllm":     {"ASSAY_VLLM", backendtest.Target{Server: "vllm", ChecksNames: true}},
		"openai":   {"ASSAY_OPENAI", backendtest.Target{Server: "openai", ChecksNames: true}},
	}
}

// TestRealServers skips each kind of server that the environment does not name.
func TestRealServers(t *testing.T) {
	named := 0
	for api, l := range live() {
		t.Run(api, func(t *testing.T) {
			url := os.Getenv(l.env)
			if url == "" {
				t.Skip(l.env + " names no server")
			}
			named++
			l.target.Model, l.target.Blind = os.Getenv(l.env+"_MODEL"), os.Getenv(l.env+"_BLIND")
			if l.target.Model == "" {
				t.Fatalf("set the model's name too: %s_MODEL", l.env)
			}
			l.target.New = func(d wire.Dial) (backends.Backend, error) {
				return adapters()[api].new(wire.Config{URL: url, Dial: d, Key: os.Getenv(l.env + "_KEY")})
			}
			backendtest.Run(t, l.target)
		})
	}
	if named == 0 {
		t.Skip("no real server is named: see live")
	}
}

func TestPhantoms(t *testing.T) {
	for protocol, target := range map[string]backendtest.Target{
		"ollama":   {Server: "ollama", ChecksNames: true, Blind: "text-only", Drops: true},
		"llamacpp": {Server: "llama.cpp"},
		"vllm":     {Server: "vllm", ChecksNames: true, Blind: "text-only"},
	} {
		for _, reader := range []string{"honest", "thinker"} {
			t.Run(protocol+"/"+reader, func(t *testing.T) {
				target.New = serve(t, protocol, reader)
				target.Model, target.Synthetic = reader, true
				backendtest.Run(t, target)
			})
		}
	}
}

// serve starts a phantom for the length of the test. loaded is the one model
// that a llama-server has, whatever it is asked for; the others look names up.
func serve(t *testing.T, protocol, loaded string) func(wire.Dial) (backends.Backend, error) {
	t.Helper()
	o := phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 7}
	if protocol == "llamacpp" {
		o.Loaded = loaded
	}
	p, err := phantom.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return func(d wire.Dial) (backends.Backend, error) {
		return adapters()[protocol].new(wire.Config{URL: p.URL, Dial: d})
	}
}

func TestPhantomLlamaServerWithoutEyes(t *testing.T) {
	b, err := serve(t, "llamacpp", "text-only")(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.Identify(t.Context(), "text-only")
	if err != nil || id.Vision == nil || *id.Vision || !id.Synthetic {
		t.Errorf("identity %+v, %v: want vision false", id, err)
	}
	resp, err := b.Generate(t.Context(), backendtest.Ask("text-only", "What is this?", backendtest.Picture(64, 64, 1)), timing.NewRecorder(timing.NewClock()))
	backendtest.Typed(t, resp, err, backends.ErrNoVision)
}

func TestPhantomThinksApart(t *testing.T) {
	chest := films.NewScene(1, 2)
	var film bytes.Buffer
	if err := png.Encode(&film, chest.Render(256)); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		b, err := serve(t, protocol, "thinker")(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, think := range []bool{true, false} {
			req := backendtest.Ask("thinker", films.Questions(chest)[0].Text, backends.Image{Bytes: film.Bytes(), MIME: "image/png"})
			req.Think = &think
			rec := timing.NewRecorder(timing.NewClock())
			resp, err := b.Generate(t.Context(), req, rec)
			if err != nil {
				t.Fatalf("%s: %v", protocol, err)
			}
			if (resp.Reasoning != "") != think || resp.Answer == "" {
				t.Errorf("%s, think %v: reasoning %q, answer %q", protocol, think, resp.Reasoning, resp.Answer)
			}
			content, _ := rec.Trace().At(timing.FirstContent)
			answer, _ := rec.Trace().At(timing.FirstAnswer)
			if (answer > content) != think {
				t.Errorf("%s, think %v: content from %v on, the answer from %v on", protocol, think, content, answer)
			}
		}
	}
}

package backendtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/kinds"
	"assay/backends/ollama"
	"assay/backends/wire"
	"assay/timing"
)

// adapter is one of our clients and where it posts.
type adapter struct {
	new  func(wire.Config) (backends.Backend, error)
	chat string
}

// adapters are the kinds of the table that listen somewhere.
func adapters() map[string]adapter {
	all := map[string]adapter{}
	for _, k := range kinds.All() {
		if !k.Phantom && !k.Imported {
			all[k.Name] = adapter{k.Connect, "POST " + k.ChatURL("")}
		}
	}
	return all
}

func connect(t *testing.T, api string, n *backendtest.Network) backends.Backend {
	t.Helper()
	b, err := adapters()[api].new(wire.Config{URL: "http://recorded.invalid:1", Dial: n.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func load(t *testing.T, name string) backendtest.Recording {
	t.Helper()
	r, err := backendtest.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded is what another program (testdata/README.md) read out of a recording.
type recorded struct {
	API              string   `json:"api"`
	Answer           string   `json:"answer"`
	Reasoning        string   `json:"reasoning"`
	Finish           string   `json:"finish"`
	Chunks           int      `json:"chunks"`
	FirstMS          float64  `json:"first_ms"`
	LastMS           float64  `json:"last_ms"`
	PromptTokens     *int     `json:"prompt_tokens"`
	CompletionTokens *int     `json:"completion_tokens"`
	CachedTokens     *int     `json:"cached_tokens"`
	TotalNS          *int64   `json:"total_ns"`
	LoadNS           *int64   `json:"load_ns"`
	PromptNS         *int64   `json:"prompt_ns"`
	DecodeNS         *int64   `json:"decode_ns"`
	PromptMS         *float64 `json:"prompt_ms"`
	DecodeMS         *float64 `json:"decode_ms"`
}

func answers(t *testing.T) map[string]recorded {
	t.Helper()
	b, err := os.ReadFile("testdata/recordings/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]recorded
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Fatalf("only %d recorded answers", len(all))
	}
	return all
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*10)) * 100 * time.Microsecond
}

func TestRecordedAnswersComeOutAsTheyWentIn(t *testing.T) {
	for name, want := range answers(t) {
		t.Run(name, func(t *testing.T) {
			a, ok := adapters()[want.API]
			if !ok {
				t.Fatalf("no adapter for %q", want.API)
			}
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{a.chat: load(t, name)}}
				rec := timing.NewRecorder(timing.NewClock())
				req := backendtest.Ask("tiny-vlm", "Describe this image.", backendtest.Picture(32, 32, 1))
				req.Sampling.MaxTokens = 4096 // more than any of them was recorded with
				resp, err := connect(t, want.API, n).Generate(t.Context(), req, rec)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if n.Open() != 0 {
					t.Errorf("%d connections left open", n.Open())
				}
				if string(resp.Sent) != string(n.Seen()[0].Body) {
					t.Error("Sent is not what the server received")
				}
				compareAnswer(t, resp, want)
				compareTimes(t, rec.Trace(), want)
			})
		})
	}
}

func compareAnswer(t *testing.T, got *backends.Response, want recorded) {
	t.Helper()
	if got.Answer != want.Answer || got.Reasoning != want.Reasoning {
		t.Errorf("answer %q, reasoning %q; want %q, %q", got.Answer, got.Reasoning, want.Answer, want.Reasoning)
	}
	if string(got.Finish) != want.Finish {
		t.Errorf("finish %q, want %q", got.Finish, want.Finish)
	}
	number := func(what string, got, want *int) {
		t.Helper()
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %v, want %v", what, show(got), show(want))
		}
	}
	number("prompt tokens", got.Usage.PromptTokens, want.PromptTokens)
	number("completion tokens", got.Usage.CompletionTokens, want.CompletionTokens)
	number("cached tokens", got.Usage.CachedTokens, want.CachedTokens)
	span := func(what string, got *time.Duration, ns *int64, ms *float64) {
		t.Helper()
		if ms != nil {
			exact := int64(math.Round(*ms * 1e6))
			ns = &exact
		}
		if (got == nil) != (ns == nil) || got != nil && int64(*got) != *ns {
			t.Errorf("%s: %v, want %v ns", what, show(got), show(ns))
		}
	}
	span("total", got.Server.Total, want.TotalNS, nil)
	span("load", got.Server.Load, want.LoadNS, nil)
	span("prompt", got.Server.Prompt, want.PromptNS, want.PromptMS)
	span("decode", got.Server.Decode, want.DecodeNS, want.DecodeMS)
	span("queue", got.Server.Queue, nil, nil)
	if timed := want.TotalNS != nil || want.PromptMS != nil; timed != json.Valid(got.Server.Raw) {
		t.Errorf("the server's own timing object: %q", got.Server.Raw)
	}
}

func show[T any](p *T) any {
	if p == nil {
		return "unknown"
	}
	return *p
}

// compareTimes needs the bubble's clock, on which a recording plays exactly.
func compareTimes(t *testing.T, got timing.Trace, want recorded) {
	t.Helper()
	start, _ := got.At(timing.Start)
	first, ok := got.At(timing.FirstContent)
	if d := first - start; !ok || d != milliseconds(want.FirstMS) {
		t.Errorf("first content after %v (%v), recorded at %v ms", d, ok, want.FirstMS)
	}
	// The tiny model's tokens often came many in a read: then that is no TTFT.
	if _, known := got.TTFT(); known == got.Buffered() {
		t.Errorf("TTFT is known: %t, buffered: %t", known, got.Buffered())
	}
	if d, ok := got.Latency(); !ok || d != milliseconds(want.LastMS) {
		t.Errorf("last content after %v (%v), recorded at %v ms", d, ok, want.LastMS)
	}
	if len(got.Chunks) != want.Chunks {
		t.Errorf("%d chunks, want %d", len(got.Chunks), want.Chunks)
	}
	runes := 0
	for _, p := range got.Chunks {
		runes += p.Runes
	}
	if all := len([]rune(want.Answer + want.Reasoning)); runes != all {
		t.Errorf("chunks of %d code points in all, the text has %d", runes, all)
	}
	if err := backendtest.CheckOrder(got); err != nil {
		t.Error(err)
	}
}

// failure is a recording that must end in a typed error.
type failure struct {
	name    string // of the recording
	api     string
	kind    backends.Kind
	says    string // part of the message
	partial string // prefix of the text that had arrived; "": none had
}

func failures() []failure {
	var all []failure
	add := func(api string, folders []string, name string, kind backends.Kind, says, partial string) {
		for _, f := range folders {
			all = append(all, failure{f + "/" + name, api, kind, says, partial})
		}
	}
	v9, v17, v24, v32 := []string{"ollama-0.9.6"}, []string{"ollama-0.17.4"}, []string{"ollama-0.24.0"}, []string{"ollama-0.32.15"}
	every := []string{"ollama-0.9.6", "ollama-0.17.4", "ollama-0.24.0", "ollama-0.32.15"}
	middle := []string{"ollama-0.17.4", "ollama-0.24.0"}
	add("ollama", every, "err-unknown-model", backends.ErrUnknownModel, "not found", "")
	add("ollama", every, "err-think", backends.ErrRefused, "does not support thinking", "")
	add("ollama", every, "err-bad-option-type", backends.ErrRefused, "must be of type integer", "")
	add("ollama", every, "err-404", backends.ErrRefused, "404 page not found", "")
	add("ollama", every[:3], "chat-format-bad-schema", backends.ErrRefused, "invalid JSON schema in format", "")
	add("ollama", v32, "chat-format-bad-schema", backends.ErrRefused, "JSON schema conversion failed", "")
	// Over-long prompts: only the words tell; 0.9.6 stumbles over something else first.
	add("ollama", every[:3], "long-context-chat-truncated", backends.ErrServer, "SameBatch", "")
	add("ollama", v9, "err-long-context-no-truncate", backends.ErrServer, "SameBatch", "")
	add("ollama", v9, "err-long-context-no-truncate-stream", backends.ErrServer, "SameBatch", "")
	add("ollama", middle, "err-long-context-no-truncate", backends.ErrContextExceeded, "exceeds the context length", "")
	add("ollama", middle, "err-long-context-no-truncate-stream", backends.ErrContextExceeded, "exceeds the context length", "")
	for _, name := range []string{"long-context-chat-truncated", "err-long-context-no-truncate", "err-long-context-no-truncate-stream"} {
		add("ollama", v32, name, backends.ErrContextExceeded, "6043 tokens", "")
	}
	add("ollama", v9, "err-image-larger-than-context", backends.ErrServer, "GGML_ASSERT", "")
	// A 200 with an error line up to 0.9.6, a status after it.
	add("ollama", every[:3], "err-not-an-image", backends.ErrServer, "image: unknown format", "")
	add("ollama", every[:3], "err-truncated-png", backends.ErrServer, "not enough pixel data", "")
	add("ollama", v32, "err-not-an-image", backends.ErrRefused, "Failed to load image", "")
	add("ollama", v32, "err-truncated-png", backends.ErrRefused, "Failed to load image", "")
	add("ollama", v32, "err-text-model-image", backends.ErrNoVision, "does not support multimodal", "")
	add("ollama", every[:3], "err-runner-crash-stream", backends.ErrServer, "unexpectedly stopped", "")
	add("ollama", every[:3], "err-runner-crash-nostream", backends.ErrServer, "unexpectedly stopped", "")
	add("ollama", v24, "err-midstream-runner-killed", backends.ErrServer, "unexpected EOF", `["a b c"`)
	add("ollama", v32, "err-midstream-runner-killed", backends.ErrServer, "unexpected EOF", `[`)
	add("ollama", []string{"ollama-0.17.4-queue"}, "cold-burst-3", backends.ErrBusy, "server busy", "")
	add("ollama", v9, "client-cuts-stream", backends.ErrTruncated, "before the end of the reply", " ")
	add("ollama", v17, "client-cuts-stream", backends.ErrTruncated, "before the end of the reply", " ")
	add("ollama", v24, "client-cuts-stream", backends.ErrTruncated, "before the end of the reply", " ")
	add("ollama", v32, "client-cuts-stream", backends.ErrTruncated, "before the end of the reply", " ")
	// A model that repeats a token is cut off, and only the missing last line says so.
	add("ollama", v9, "repeated-token-stream", backends.ErrTruncated, "without done:true", " no mass wrong chest")
	// The same servers through their OpenAI-style endpoint.
	add("openai", every, "v1-err-unknown-model", backends.ErrUnknownModel, "not found", "")
	add("openai", v24, "v1-err-midstream-runner-killed", backends.ErrTruncated, "[DONE]", "[")
	add("openai", v32, "v1-err-midstream-runner-killed", backends.ErrTruncated, "[DONE]", "[")
	add("openai", every, "v1-chat-nostream", backends.ErrMalformed, "event stream", "") // streaming was not asked for: no answer of ours
	llama := []string{"llama-server-b10573"}
	add("llamacpp", llama, "chat-nostream-nocache", backends.ErrMalformed, "event stream", "")
	add("llamacpp", llama, "err-text-model-image", backends.ErrNoVision, "image input is not supported", "")
	add("llamacpp", llama, "err-not-an-image", backends.ErrRefused, "Failed to load image", "")
	add("llamacpp", llama, "err-truncated-png", backends.ErrRefused, "Failed to load image", "")
	add("llamacpp", llama, "err-bad-schema", backends.ErrRefused, "JSON schema conversion failed", "")
	add("llamacpp", llama, "err-long-context", backends.ErrContextExceeded, "6043 tokens", "")
	add("llamacpp", llama, "err-long-context-stream", backends.ErrContextExceeded, "6043 tokens", "")
	add("llamacpp", llama, "err-404", backends.ErrRefused, "File Not Found", "")
	add("llamacpp", llama, "client-cuts-stream", backends.ErrTruncated, "before the end of the reply", "[")
	add("llamacpp", llama, "err-midstream-server-killed", backends.ErrTruncated, "before the end of the reply", "[")
	return all
}

func TestRecordedFailuresAreTyped(t *testing.T) {
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[f.api].chat: load(t, f.name)}}
				rec := timing.NewRecorder(timing.NewClock())
				req := backendtest.Ask("tiny-vlm", "Describe this image.", backendtest.Picture(32, 32, 1))
				resp, err := connect(t, f.api, n).Generate(t.Context(), req, rec)
				synctest.Wait()
				if n.Open() != 0 {
					t.Errorf("%d connections left open", n.Open())
				}
				e := backendtest.Typed(t, resp, err, f.kind)
				if !strings.Contains(e.Error(), f.says) {
					t.Errorf("%q does not say %q", e, f.says)
				}
				if string(e.Sent) != string(n.Seen()[0].Body) {
					t.Error("Sent is not what the server received")
				}
				if !strings.HasPrefix(e.Partial, f.partial) || (f.partial == "") != (e.Partial == "") {
					t.Errorf("partial text %.60q, want it to begin with %q", e.Partial, f.partial)
				}
				if _, ok := rec.Trace().At(timing.FirstContent); ok != (f.partial != "") {
					t.Errorf("first content: %v, though the text that had arrived is %.40q", ok, e.Partial)
				}
				if err := backendtest.CheckOrder(rec.Trace()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A text model is asked about an image: up to 0.24 the server would answer and
// never say that it did not look (recording err-text-model-image).
func TestBlindModelIsRefusedFromItsShowAnswer(t *testing.T) {
	for _, version := range []string{"0.9.6", "0.17.4", "0.24.0", "0.32.15"} {
		t.Run(version, func(t *testing.T) {
			folder := "ollama-" + version + "/"
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{
					"GET /api/version": load(t, folder+"version"),
					"POST /api/show":   load(t, folder+"show-text"),
					"GET /api/tags":    load(t, folder+"tags"),
					"POST /api/chat":   load(t, folder+"err-text-model-image"),
				}}
				b := connect(t, "ollama", n)
				id, err := b.Identify(t.Context(), "tiny-text")
				if err != nil || id.Vision == nil || *id.Vision {
					t.Fatalf("identity %+v, %v: want vision false", id, err)
				}
				dials := n.Dials()
				resp, err := b.Generate(t.Context(), backendtest.Ask("tiny-text", "What is this?", backendtest.Picture(32, 32, 1)), timing.NewRecorder(timing.NewClock()))
				e := backendtest.Typed(t, resp, err, backends.ErrNoVision)
				if e.Sent != nil || n.Dials() != dials {
					t.Errorf("%d bytes sent over %d new connections, want none", len(e.Sent), n.Dials()-dials)
				}
				// Without an image the same model is asked.
				if _, err := b.Generate(t.Context(), backendtest.Ask("tiny-text", "What is this?"), timing.NewRecorder(timing.NewClock())); errors.Is(err, backends.ErrNoVision) && version != "0.32.15" {
					t.Errorf("a question without an image: %v", err)
				}
			})
		})
	}
}

func TestIdentityOfRecordedServers(t *testing.T) {
	yes, no, context4k := true, false, 4096
	// The weights are the blob's own digest (of model and projector together on 0.32.15): equal on 0.9.6 and 0.24.0, where the
	// manifests differ. All were made with one template.
	identity := func(version, model, digest, weights, family, parameters string, vision *bool) backends.Identity {
		return backends.Identity{Server: "ollama", Version: version, Model: model, Digest: digest, Weights: "sha256:" + weights,
			Template: "sha256:0f3e9af79d4993e7e5e3c2d310040abd2b6044a81f15cc98225df5d9163c6849", Family: family, Parameters: parameters,
			Vision: vision, Thinking: &no, Context: &context4k}
	}
	for _, want := range []backends.Identity{
		identity("0.9.6", "tiny-vlm", "c5b0499f03176416c91b671df915bb224c7e115f20229a8e439d09a89784bea3", "19109400c7febd5ba0b4b19187e51755de221f3cdf9c13f2db078dd9b3f01a75", "mistral3", "307K", &yes),
		identity("0.17.4", "tiny-vlm", "d5bab7fd33aba487fdbf2ef788989779ca942add558bcf02555e9e05555aa938", "d53f3700f7e9bf1c18fad6c167a0a4197fc966b65106ba50d0c9f9d20d7f4ea6", "mistral3", "307K", &yes),
		identity("0.24.0", "tiny-vlm:latest", "9410d7f2da3e284daea63bbcad0450e083d054814061c40a55ed488eac17e3d3", "19109400c7febd5ba0b4b19187e51755de221f3cdf9c13f2db078dd9b3f01a75", "mistral3", "307K", &yes),
		identity("0.32.15", "tiny-vlm", "d0b689d27eab1ca84061b11725258d01bef5a61551f5b2e794a3d9e76407f3a6", "4ff09556bfe9c37731142196b40a66221b5c41a8b60496d622fb0dd744b575a8", "llama", "163K", &yes),
		identity("0.9.6", "tiny-text", "997d675259a42cd93e7958826542eeba5c975854bfa122e7c08ae47d473b7490", "2ec6304eb0dec46cc7ef85e411d6e9944ceac5180b1dec64810da8ab627f443b", "llama", "163K", &no),
		identity("0.17.4", "tiny-text", "0bc97a7b3918e32a4612a044958268a842a2dcb320f9eb2b12cf69a60207d82d", "333f910dfbc7eca4f5dbef0863fa953954de29f37d4156751140aca6ae1c42bf", "llama", "163K", &no),
		identity("0.24.0", "tiny-text", "7f5933858d5bef44c9891179c2e127598ffd7d44a0fd0012d81c3ab1599afef7", "2ec6304eb0dec46cc7ef85e411d6e9944ceac5180b1dec64810da8ab627f443b", "llama", "163K", &no),
		identity("0.32.15", "tiny-text", "c9cdcbac310982ec68c5fc20998208f477ee2fa53cac11ac04ab7dde8a2f6a8c", "aafca2c4663f5e6bb24ec8abe043c8b18b2affe155a3e2601a19465ef239a4d3", "llama", "163K", &no),
	} {
		t.Run(want.Version+"/"+want.Model, func(t *testing.T) {
			folder, show := "ollama-"+want.Version+"/", "show-vlm"
			if !*want.Vision {
				show = "show-text"
			}
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{
					"GET /api/version": load(t, folder+"version"), "POST /api/show": load(t, folder+show), "GET /api/tags": load(t, folder+"tags")}}
				got, err := connect(t, "ollama", n).Identify(t.Context(), want.Model)
				if err != nil {
					t.Fatal(err)
				}
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(want)
				if string(a) != string(b) {
					t.Errorf("identity\n%s, want\n%s", a, b)
				}
			})
		})
	}
}

func TestIdentityOfRecordedLlamaServer(t *testing.T) {
	for prefix, vision := range map[string]bool{"": true, "text-": false} {
		synctest.Test(t, func(t *testing.T) {
			folder, name := "llama-server-b10573/", "tiny-vlm"
			if !vision {
				name = "tiny-text"
			}
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{
				"GET /health": load(t, folder+"health"), "GET /props": load(t, folder+prefix+"props"), "GET /v1/models": load(t, folder+prefix+"models")}}
			got, err := connect(t, "llamacpp", n).Identify(t.Context(), name)
			if err != nil || got.Server != "llama.cpp" || got.Version != "b10573-3f545becc" || got.Model != name || got.Quantisation != "all F32" {
				t.Errorf("identity %+v, %v", got, err)
			}
			if show(got.Vision) != vision || show(got.Context) != 2048 || show(got.Slots) != 2 || got.Synthetic {
				t.Errorf("vision %v, context %v, slots %v, synthetic %v", show(got.Vision), show(got.Context), show(got.Slots), got.Synthetic)
			}
		})
	}
}

func TestIdentityThroughRecordedModelLists(t *testing.T) {
	for _, version := range []string{"0.9.6", "0.17.4", "0.24.0", "0.32.15"} {
		synctest.Test(t, func(t *testing.T) {
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{"GET /v1/models": load(t, "ollama-"+version+"/v1-models")}}
			b := connect(t, "openai", n)
			got, err := b.Identify(t.Context(), "tiny-vlm:latest")
			if err != nil || got.Server != "openai" || got.Vision != nil || got.Context != nil {
				t.Errorf("identity %+v, %v: what a model list does not say is unknown", got, err)
			}
			_, err = b.Identify(t.Context(), "nope")
			backendtest.Typed(t, nil, err, backends.ErrUnknownModel)
		})
	}
}

func TestIdentifyOfAnUnknownModel(t *testing.T) {
	for _, version := range []string{"0.9.6", "0.17.4", "0.24.0", "0.32.15"} {
		synctest.Test(t, func(t *testing.T) {
			folder := "ollama-" + version + "/"
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{
				"GET /api/version": load(t, folder+"version"), "POST /api/show": load(t, folder+"show-unknown"), "GET /api/tags": load(t, folder+"tags")}}
			_, err := connect(t, "ollama", n).Identify(t.Context(), "nope")
			backendtest.Typed(t, nil, err, backends.ErrUnknownModel)
		})
	}
}

func TestLoadedModelsOfRecordedServers(t *testing.T) {
	for version, context := range map[string]*int{"0.9.6": nil, "0.17.4": number(2048), "0.24.0": number(2048), "0.32.15": number(2048)} {
		synctest.Test(t, func(t *testing.T) {
			b, err := ollama.New(wire.Config{URL: "http://recorded.invalid:1", Dial: (&backendtest.Network{
				Routes: map[string]backendtest.Recording{"GET /api/ps": load(t, "ollama-"+version+"/ps-loaded")}}).Dial})
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Loaded(t.Context())
			if err != nil || len(got) == 0 || got[0].Model != "tiny-vlm:latest" || got[0].BytesVRAM != 0 || got[0].Bytes < 1<<20 {
				t.Fatalf("%s: %+v, %v", version, got, err)
			}
			if (got[0].Context == nil) != (context == nil) || context != nil && *got[0].Context != *context {
				t.Errorf("%s: context %v, want %v", version, show(got[0].Context), show(context))
			}
		})
		synctest.Test(t, func(t *testing.T) {
			b, err := ollama.New(wire.Config{URL: "http://recorded.invalid:1", Dial: (&backendtest.Network{
				Routes: map[string]backendtest.Recording{"GET /api/ps": load(t, "ollama-"+version+"/ps-empty")}}).Dial})
			if err != nil {
				t.Fatal(err)
			}
			// The recording of 0.17.4 was made with another model still in memory.
			if got, err := b.Loaded(t.Context()); err != nil || (len(got) == 0) != (version != "0.17.4") {
				t.Errorf("%s: %+v, %v", version, got, err)
			}
		})
	}
}

func number(n int) *int { return &n }

// Cut anywhere before its end mark, a recorded stream is an error that keeps
// what had arrived; cut behind that, it is the whole answer.
func TestRecordedStreamCutAnywhere(t *testing.T) {
	for name, end := range map[string]string{
		"ollama-0.9.6/chat-stream-image-cold":               "}",
		"ollama-0.32.15/chat-stream-length":                 "}",
		"llama-server-b10573/chat-stream-timings-per-token": "[DONE]\n\n", // an event is one with its blank line
	} {
		t.Run(name, func(t *testing.T) {
			whole, want := load(t, name), answers(t)[name]
			complete := bytes.LastIndex(whole.Bytes, []byte(end)) + len(end)
			for cut := range len(whole.Bytes) {
				synctest.Test(t, func(t *testing.T) {
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[want.API].chat: whole.Until(cut)}}
					resp, err := connect(t, want.API, n).Generate(t.Context(), backendtest.Ask("tiny-vlm", "?"), timing.NewRecorder(timing.NewClock()))
					if cut >= complete {
						if err != nil || resp.Answer != want.Answer {
							t.Errorf("cut at byte %d, behind the end mark: %v", cut, err)
						}
						return
					}
					e := backendtest.Typed(t, resp, err, backends.ErrTruncated)
					if !strings.HasPrefix(want.Answer, e.Partial) {
						t.Errorf("cut at byte %d: partial text %q of answer %q", cut, e.Partial, want.Answer)
					}
				})
			}
		})
	}
}

// cutStreams are streams that break off in the middle, by adapter.
func cutStreams() map[string]string {
	return map[string]string{
		"ollama":   "ollama-0.24.0/client-cuts-stream",
		"openai":   "ollama-0.24.0/v1-err-midstream-runner-killed",
		"llamacpp": "llama-server-b10573/client-cuts-stream",
		"vllm":     "llama-server-b10573/client-cuts-stream", // the protocol is the same
	}
}

func TestSilentServerIsGivenUpInTime(t *testing.T) {
	for api, name := range cutStreams() {
		stream := load(t, name)
		stream = stream.Until(stream.Reads[len(stream.Reads)/2].End)
		for what, c := range map[string]struct {
			recording backendtest.Recording
			timeouts  backends.Timeouts
			after     time.Duration // of the request
			partial   bool
		}{
			"first content": {stream.Until(1), backends.Timeouts{FirstContent: 7 * time.Second, Stall: time.Second}, 7 * time.Second, false},
			"stall":         {stream, backends.Timeouts{FirstContent: time.Minute, Stall: 5 * time.Second}, stream.Reads[len(stream.Reads)-1].At + 5*time.Second, true},
			"total":         {stream, backends.Timeouts{Total: 9 * time.Second, Stall: time.Minute}, 9 * time.Second, true},
		} {
			t.Run(api+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: c.recording}, Silent: true}
					req := backendtest.Ask("tiny-vlm", "?")
					req.Timeouts = c.timeouts
					start := time.Now()
					resp, err := connect(t, api, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
					e := backendtest.Typed(t, resp, err, backends.ErrStalled)
					if took := time.Since(start); took != c.after {
						t.Errorf("given up after %v, want %v", took, c.after)
					}
					if (e.Partial != "") != c.partial {
						t.Errorf("partial text %q", e.Partial)
					}
				})
			})
		}
	}
}

func TestCancelEndsTheRequestAndEveryGoroutine(t *testing.T) {
	for api, name := range cutStreams() {
		t.Run(api, func(t *testing.T) {
			stream := load(t, name)
			stream = stream.Until(stream.Reads[len(stream.Reads)/2].End)
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: stream}, Silent: true}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				resp, err := connect(t, api, n).Generate(ctx, backendtest.Ask("tiny-vlm", "?"), timing.NewRecorder(timing.NewClock()))
				e := backendtest.Typed(t, resp, err, backends.ErrCancelled)
				if e.Partial == "" {
					t.Error("the text that had arrived is lost")
				}
				synctest.Wait()
				if n.Open() != 0 {
					t.Errorf("%d connections left open", n.Open())
				}
				// The bubble fails the test if a goroutine outlives it.
			})
		})
	}
}

// A recording that no test reads proves nothing.
func TestEveryRecordingIsRead(t *testing.T) {
	read := map[string]bool{}
	for name := range answers(t) {
		read[name] = true
	}
	for _, f := range failures() {
		read[f.name] = true
	}
	for _, version := range []string{"0.9.6", "0.17.4", "0.24.0", "0.32.15"} {
		for _, name := range []string{"version", "tags", "show-vlm", "show-text", "show-unknown", "ps-empty", "ps-loaded"} {
			read["ollama-"+version+"/"+name] = true
		}
		read["ollama-"+version+"/v1-models"] = true
	}
	for _, name := range []string{"health", "props", "models", "text-props", "text-models"} {
		read["llama-server-b10573/"+name] = true
	}
	read["ollama-0.24.0/root"] = true // TestAServerOfAnotherKindIsNamed
	found := 0
	err := filepath.WalkDir("testdata/recordings", func(p string, d fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(filepath.ToSlash(p), ".response.http")
		if err != nil || !ok {
			return err
		}
		found++
		name = path.Join(path.Base(path.Dir(name)), path.Base(name))
		if !read[name] {
			t.Errorf("no test reads recording %s", name)
		}
		return nil
	})
	if err != nil || found < 100 {
		t.Fatalf("%d recordings, %v", found, err)
	}
}

package vllm

import (
	"bytes"
	"encoding/json"
	"image/png"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/wire"
	"assay/timing"
)

// What stands in these tests for vLLM's replies is written by hand from its
// source: unverified.

const chat = "POST /v1/chat/completions"

func connect(t *testing.T, n *backendtest.Network) *Backend {
	t.Helper()
	b, err := New(wire.Config{URL: "http://handwritten.invalid:1", Dial: n.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func js(status int, body string) backendtest.Recording {
	return backendtest.Reply(status, "application/json", body)
}

func TestUnverifiedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: backendtest.Reply(200, "text/event-stream; charset=utf-8",
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`+"\n\n",
			`data: {"choices":[{"index":0,"delta":{"reasoning":"Two.","reasoning_content":"Two."}}]}`+"\n\n",
			`data: {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}`+"\n\n",
			`data: {"choices":[],"usage":{"prompt_tokens":212,"completion_tokens":2},"metrics":{"time_to_first_token_ms":41.5,"generation_time_ms":63.25,"queue_time_ms":0.125}}`+"\n\n",
			"data: [DONE]\n\n")}}
		req := backendtest.Ask("m", "?")
		req.Schema = backendtest.Schema()
		r, err := connect(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != "A" || r.Reasoning != "Two." || *r.Usage.PromptTokens != 212 || r.Usage.CachedTokens != nil {
			t.Errorf("%+v", r)
		}
		s := r.Server
		if *s.Prompt != 41500*time.Microsecond || *s.Decode != 63250*time.Microsecond || *s.Queue != 125*time.Microsecond || s.Total != nil || len(s.Raw) == 0 {
			t.Errorf("server's clock %+v", s)
		}
		for _, part := range []string{`"include_metrics":true`, `"max_completion_tokens":`, `"response_format":{"json_schema":`, `"stream_options":{"include_usage":true}`} {
			if !bytes.Contains(r.Sent, []byte(part)) {
				t.Errorf("%s is not in %s", part, r.Sent)
			}
		}
	})
}

// TestUnverifiedProbe: sight is found out once, and only a clear word is kept.
func TestUnverifiedProbe(t *testing.T) {
	ok := js(200, `{"choices":[{"message":{"content":"x"}}]}`)
	for name, c := range map[string]struct {
		reply  backendtest.Recording
		sees   *bool
		probes int // in two calls
	}{
		"sees":         {ok, new(true), 1},
		"blind":        {js(400, `{"error":{"message":"m is not a multimodal model","type":"BadRequestError","code":400}}`), new(false), 1},
		"older, blind": {js(400, `{"object":"error","message":"m is not a multimodal model None","type":"BadRequestError","code":400}`), new(false), 1},
		"no images":    {js(400, `{"error":{"message":"At most 0 image(s) may be provided in one prompt.","code":400}}`), new(false), 1},
		"unclear":      {js(500, `{"error":{"message":"boom"}}`), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{
					"GET /v1/models": js(200, `{"data":[{"id":"m","max_model_len":4096}]}`), "GET /version": js(200, `{"version":"0.25.0"}`), chat: c.reply}}
				b := connect(t, n)
				for range 2 {
					id, err := b.Identify(t.Context(), "m")
					if err != nil || id.Server != "vllm" || id.Version != "0.25.0" || *id.Context != 4096 {
						t.Errorf("%+v, %v", id, err)
					}
					if (id.Vision == nil) != (c.sees == nil) || id.Vision != nil && *id.Vision != *c.sees {
						t.Errorf("vision %v, want %v", id.Vision, c.sees)
					}
				}
				probes := 0
				for _, s := range n.Seen() {
					if s.Route == chat {
						probes++
					}
				}
				if probes != c.probes {
					t.Errorf("%d probes, want %d", probes, c.probes)
				}
			})
		})
	}
}

func TestProbeIsAPictureAndOneToken(t *testing.T) {
	body, err := probe("m")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Limit    int `json:"max_completion_tokens"`
		Messages []struct {
			Content []struct {
				Image struct{ URL string } `json:"image_url"`
			}
		}
	}
	if err := json.Unmarshal(body, &r); err != nil || r.Limit != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	var file []byte
	data, ok := bytes.CutPrefix([]byte(r.Messages[0].Content[0].Image.URL), []byte("data:image/png;base64,"))
	if err := json.Unmarshal(append(append([]byte{'"'}, data...), '"'), &file); err != nil || !ok {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(file)); err != nil || img.Bounds().Dx() != 56 {
		t.Errorf("%v, %v", img, err)
	}
}

func TestIdentifyFails(t *testing.T) {
	for name, c := range map[string]struct {
		models, version backendtest.Recording
		kind            backends.Kind
	}{
		"unknown model": {js(200, `{"data":[{"id":"other"}]}`), js(200, `{}`), backends.ErrUnknownModel},
		"key":           {js(401, `{"error":"Unauthorized"}`), js(200, `{}`), backends.ErrRefused},
		"cut":           {js(200, `{"data":[`), js(200, `{}`), backends.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{"GET /v1/models": c.models, "GET /version": c.version}}
				_, err := connect(t, n).Identify(t.Context(), "m")
				backendtest.Typed(t, nil, err, c.kind)
			})
		})
	}
}

// FuzzMetrics: what is kept is a time or nothing.
func FuzzMetrics(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzMetrics/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		var r backends.Response
		err := metrics(event, &r)
		for _, d := range []*time.Duration{r.Server.Prompt, r.Server.Decode, r.Server.Queue} {
			if d != nil && (*d < 0 || err != nil || r.Server.Raw == nil) {
				t.Fatalf("time %v beside error %v, raw %s", *d, err, r.Server.Raw)
			}
		}
	})
}

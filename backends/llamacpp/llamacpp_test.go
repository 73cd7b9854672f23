package llamacpp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/llamacpp"
	"assay/backends/wire"
	"assay/timing"
)

const chat = "POST /v1/chat/completions"

func connect(t *testing.T, n *backendtest.Network) *llamacpp.Backend {
	t.Helper()
	b, err := llamacpp.New(wire.Config{URL: "http://recorded.invalid:1", Dial: n.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func load(t *testing.T, name string) backendtest.Recording {
	t.Helper()
	r, err := backendtest.Load("llama-server-b10573/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func number(p *int) int {
	if p == nil {
		return -1
	}
	return *p
}

// TestTokensOfTheFirstChunk are known where each event has timings (timings_per_token),
// also where later chunks hold several; else, or where they cannot be, unknown.
func TestTokensOfTheFirstChunk(t *testing.T) {
	swap := func(old, with string) func([]byte) []byte {
		with += strings.Repeat(" ", len(old)-len(with)) // chunks keep their lengths
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(with), 1) }
	}
	for name, c := range map[string]struct {
		recording string
		edit      func([]byte) []byte
		first     int // -1: unknown
		odd       bool
	}{
		"recorded":             {"chat-stream-timings-per-token", nil, 1, false},
		"three tokens at once": {"chat-stream-timings-per-token", swap(`"predicted_n":1,`, `"predicted_n":3,`), 3, false},
		"none beside text":     {"chat-stream-timings-per-token", swap(`"predicted_n":1,`, `"predicted_n":0,`), -1, false},
		"more than all":        {"chat-stream-timings-per-token", swap(`"predicted_n":1,`, `"predicted_n":9,`), -1, true},
		"two chunks at once":   {"chat-stream-timings-per-token", swap(`{"content":" sitting"}}],"created":1795160435,`, `{"content":"t","reasoning_content":"s"}}],`), -1, false},
		"not with the first":   {"chat-stream-timings-per-token", swap(`"timings"`, `"timinGs"`), -1, false},
		"not asked for":        {"chat-stream-image-first", nil, -1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			buffer := load(t, c.recording)
			if c.edit != nil {
				edited := c.edit(bytes.Clone(buffer.Bytes))
				if bytes.Equal(edited, buffer.Bytes) {
					t.Fatalf("%s: nothing was edited", name)
				}
				buffer.Bytes = edited
			}
			rec := timing.NewRecorder(timing.NewClock())
			r, err := connect(t, &backendtest.Network{Routes: map[string]backendtest.Recording{chat: buffer}}).Generate(t.Context(), backendtest.Ask("m", "?"), rec)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := number(rec.Trace().FirstTokens); got != c.first || (len(r.Odd) > 0) != c.odd {
				t.Errorf("%s: %d tokens, %v; want %d", name, got, r.Odd, c.first)
			}
		})
	}
}

// TestRecordedTimings: the server's clock rides on the last event before the end
// mark, with or without usage, or on every event.
func TestRecordedTimings(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for name, want := range map[string]struct {
		prompt, completion, cached int
		promptTime, decodeTime     time.Duration
		answer                     string
	}{
		"chat-stream-image-first": {50, 26, 0, us(3187), us(2639), " top question center near"},
		"chat-stream-no-usage":    {50, 26, 49, us(127), us(2462), " top question center near"},
		"chat-schema-stream":      {50, 88, 49, us(557), us(21417), "{"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: load(t, name)}}
				rec := timing.NewRecorder(timing.NewClock())
				r, err := connect(t, n).Generate(t.Context(), backendtest.Ask("m", "?"), rec)
				if err != nil {
					t.Fatal(err)
				}
				if number(r.Usage.PromptTokens) != want.prompt || number(r.Usage.CompletionTokens) != want.completion || number(r.Usage.CachedTokens) != want.cached {
					t.Errorf("usage %d, %d, %d, want %+v", number(r.Usage.PromptTokens), number(r.Usage.CompletionTokens), number(r.Usage.CachedTokens), want)
				}
				s := r.Server
				if s.Prompt == nil || *s.Prompt != want.promptTime || s.Decode == nil || *s.Decode != want.decodeTime || s.Total != nil || s.Queue != nil || s.Load != nil {
					t.Errorf("server's clock %+v, want %+v", s, want)
				}
				if !bytes.Contains(s.Raw, []byte(`"predicted_per_second"`)) || !json.Valid(s.Raw) {
					t.Errorf("raw timings %s", s.Raw)
				}
				if !strings.HasPrefix(r.Answer, want.answer) || r.Finish != backends.FinishStop {
					t.Errorf("answer %q, finish %s", r.Answer, r.Finish)
				}
			})
		})
	}
}

func TestRequestFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: load(t, "chat-stream-no-usage")}}
		req := backendtest.Ask("m", "?")
		think := true
		req.Think, req.Options = &think, map[string]any{"cache_prompt": false, "id_slot": 0}
		r, err := connect(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Sent, n.Seen()[0].Body) {
			t.Error("Sent is not what the server received")
		}
		for _, part := range []string{`"cache_prompt":false`, `"id_slot":0`, `"chat_template_kwargs":{"enable_thinking":true}`, `"max_tokens":`} {
			if !bytes.Contains(r.Sent, []byte(part)) {
				t.Errorf("%s is not in %s", part, r.Sent)
			}
		}
	})
}

// TestColdIsProvenByCacheN: on recordings with and without a hit.
func TestColdIsProvenByCacheN(t *testing.T) {
	for name, want := range map[string]backends.CacheState{"chat-stream-image-cache-2": backends.CacheHit, "chat-stream-image-nocache": backends.CacheCold, "": backends.CacheUnverified} {
		synctest.Test(t, func(t *testing.T) {
			rec := backendtest.Reply(200, "text/event-stream", `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\n", "data: [DONE]\n\n")
			if name != "" {
				rec = load(t, name)
			}
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: rec}}
			req := backendtest.Ask("m", "?", backendtest.Picture(8, 8, 1))
			req.Cold, req.Prove = backends.NonceOf("x"), true
			r, err := connect(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
			if err != nil {
				t.Fatal(err)
			}
			if r.Cache.State != want || want != backends.CacheUnverified && (r.Cache.Field != "timings.cache_n" || (r.Cache.Value == "0") != (want == backends.CacheCold)) {
				t.Errorf("%s: %+v, want %s", name, r.Cache, want)
			}
			// The flag does it: prompt and picture stay as they are.
			if !bytes.Contains(r.Sent, []byte(`"cache_prompt":false`)) || bytes.Contains(r.Sent, []byte(req.Cold)) || bytes.Contains(r.Sent, []byte("system")) {
				t.Errorf("%.300s", r.Sent)
			}
			req.Options = map[string]any{"cache_prompt": true}
			if _, err := connect(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock())); !errors.Is(err, backends.ErrRefused) {
				t.Errorf("an option that says the contrary: %v", err)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	problem := func(status int, message string) backendtest.Recording {
		return backendtest.Reply(status, "application/json", `{"error":{"message":"`+message+`","code":0,"type":"x"}}`)
	}
	event := func(timings string) backendtest.Recording {
		return backendtest.Reply(200, "text/event-stream", `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"timings":`+timings+"}\n\ndata: [DONE]\n\n")
	}
	for name, c := range map[string]struct {
		reply backendtest.Recording
		kind  backends.Kind
		says  string
	}{
		"killed":          {load(t, "err-midstream-server-killed"), backends.ErrTruncated, "before the end of the reply"},
		"blind":           {load(t, "err-text-model-image"), backends.ErrNoVision, "--mmproj"},
		"too long":        {load(t, "err-long-context-stream"), backends.ErrContextExceeded, "6043 tokens"},
		"our bad JSON":    {problem(500, "[json.exception.parse_error.101] parse error at line 1, column 33"), backends.ErrRefused, "parse error"},
		"no slot":         {problem(503, "no slot available"), backends.ErrBusy, "more slots"},
		"loading":         {problem(503, "Loading model"), backends.ErrLoading, "wait until"},
		"another 500":     {problem(500, "boom"), backends.ErrServer, "boom"},
		"unread timings":  {event(`"many"`), backends.ErrMalformed, "timings"},
		"timings no list": {event(`[]`), backends.ErrMalformed, "timings"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: c.reply}}
				r, err := connect(t, n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
				if e := backendtest.Typed(t, r, err, c.kind); !strings.Contains(e.Error(), c.says) {
					t.Errorf("%v does not say %q", e, c.says)
				}
			})
		})
	}
	for _, null := range []string{"null", "{}", `{"prompt_ms":-1}`} {
		synctest.Test(t, func(t *testing.T) {
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: event(null)}}
			r, err := connect(t, n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
			if err != nil || r.Server.Prompt != nil || r.Server.Decode != nil || r.Usage.CachedTokens != nil || r.Usage.PromptTokens != nil {
				t.Errorf("timings %s: %+v, %v", null, r, err)
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	models := backendtest.Reply(200, "application/json", `{"data":[{"id":"m","meta":{"n_params":4300079472,"ftype":"Q4_K - Medium"}}]}`)
	for name, c := range map[string]struct {
		health, props, models backendtest.Recording
		kind                  backends.Kind
		want                  string
	}{
		"recorded": {load(t, "health"), load(t, "props"), load(t, "models"), "",
			`{"server":"llama.cpp","version":"b10573-3f545becc","model":"tiny-vlm","template":"sha256:75ee0460de53910f87c08c02fbc78d31f7fb19afff2bbe5403011889c5bdede0","path":"tiny-text.gguf","bytes":650496,"quantisation":"all F32","parameters":"162.6K","vision":true,"context":2048,"slots":2}`},
		"recorded, blind": {load(t, "health"), load(t, "text-props"), load(t, "text-models"), "",
			`{"server":"llama.cpp","version":"b10573-3f545becc","model":"tiny-text","template":"sha256:75ee0460de53910f87c08c02fbc78d31f7fb19afff2bbe5403011889c5bdede0","path":"tiny-text.gguf","bytes":650496,"quantisation":"all F32","parameters":"162.6K","vision":false,"context":2048,"slots":2}`},
		"figures that cannot be": {load(t, "health"), backendtest.Reply(200, "application/json", `{"total_slots":-3,"default_generation_settings":{"n_ctx":1e300}}`),
			backendtest.Reply(200, "application/json", `{"data":[{"id":"m","meta":{"n_params":-5,"size":-1}}]}`), "", `{"server":"llama.cpp","model":"m"}`},
		"older, says less": {load(t, "health"), backendtest.Reply(200, "application/json", `{"total_slots":1}`), models, "",
			`{"server":"llama.cpp","model":"m","quantisation":"Q4_K - Medium","parameters":"4.3B","slots":1}`},
		"a router": {load(t, "health"), backendtest.Reply(200, "application/json", `{"role":"router","model_alias":"llama-server","model_path":"none","default_generation_settings":{"params":{},"n_ctx":0}}`),
			backendtest.Reply(200, "application/json", `{"data":[{"id":"other"},{"id":"org/m:Q4 K","meta":{"n_params":4300079472,"size":650496}}]}`), "",
			`{"server":"llama.cpp","version":"b10573-3f545becc","model":"org/m:Q4 K","template":"sha256:75ee0460de53910f87c08c02fbc78d31f7fb19afff2bbe5403011889c5bdede0","path":"tiny-text.gguf","bytes":650496,"quantisation":"all F32","parameters":"4.3B","vision":true,"context":2048,"slots":2}`},
		"a name it does not list": {load(t, "health"), load(t, "props"), models, backends.ErrUnknownModel, ""},
		"loading":                 {backendtest.Reply(503, "application/json", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), load(t, "props"), models, backends.ErrLoading, ""},
		"another one":             {backendtest.Reply(200, "text/plain", "OK"), backendtest.Reply(404, "text/plain", "nothing here"), models, backends.ErrRefused, ""},
		"garbage":                 {load(t, "health"), backendtest.Reply(200, "text/html", "<html>"), models, backends.ErrMalformed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{"GET /health": c.health, "GET /props": c.props, "GET /v1/models": c.models,
					"GET /props?model=org%2Fm%3AQ4+K": load(t, "props")}} // a router has each model's apart
				var asked struct{ Model string }
				if c.kind == "" {
					if err := json.Unmarshal([]byte(c.want), &asked); err != nil {
						t.Fatal(err)
					}
				}
				id, err := connect(t, n).Identify(t.Context(), asked.Model)
				if c.kind != "" {
					backendtest.Typed(t, nil, err, c.kind)
					return
				}
				got, _ := json.Marshal(id)
				if err != nil || string(got) != c.want {
					t.Errorf("%s, %v, want %s", got, err, c.want)
				}
			})
		})
	}
}

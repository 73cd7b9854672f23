package kinds_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
)

func connect(t *testing.T, kind, url string) backends.Backend {
	t.Helper()
	k, ok := kinds.Named(kind, "")
	if !ok {
		t.Fatal(kind)
	}
	be, err := k.Connect(wire.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return be
}

// TestContinuationsOfPhantoms: who learnt a text by heart goes on with it, at each
// protocol's raw endpoint, up to the limit of tokens; who did not says something else.
func TestContinuationsOfPhantoms(t *testing.T) {
	var whole string
	for _, q := range films.Questions(films.NewScene(7, 0)) {
		if films.Remembers(memory(t), q.Text) {
			whole = q.Text
			break
		}
	}
	ctx := context.Background()
	for _, protocol := range phantom.Protocols() {
		p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Protocol: protocol, Seed: 1, Skill: new(films.Films)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		be := connect(t, protocol, p.URL)
		raw := be.(backends.Continuer)
		half := len(whole) / 2
		ask := backends.Continuation{Model: "memoriser", Text: whole[:half], Sampling: backends.Sampling{MaxTokens: 400}}
		got, err := raw.Continue(ctx, ask)
		if err != nil || got.Text != whole[half:] || got.Finish != backends.FinishStop || got.Tokens == nil {
			t.Errorf("%s: %+v, %v, want %q", protocol, got, err, whole[half:])
		}
		ask.Sampling.MaxTokens = 3
		if got, err := raw.Continue(ctx, ask); err != nil || got.Finish != backends.FinishLength || *got.Tokens != 3 || !strings.HasPrefix(whole[half:], got.Text) {
			t.Errorf("%s: three tokens: %+v, %v", protocol, got, err)
		}
		ask.Model = "honest"
		if got, err := raw.Continue(ctx, ask); err != nil || strings.HasPrefix(whole[half:], got.Text) {
			t.Errorf("%s: honest goes on with %q, %v", protocol, got.Text, err)
		}
		ask.Model = "nobody"
		if _, err := raw.Continue(ctx, ask); !errors.Is(err, backends.ErrUnknownModel) {
			t.Errorf("%s: an unknown model: %v", protocol, err)
		}
		cut, ok := be.(backends.Tokenizer)
		if ok != (protocol != "ollama") {
			t.Fatalf("%s: tokens: %v", protocol, ok)
		}
		if !ok {
			continue
		}
		ids, err := cut.Tokens(ctx, "memoriser", whole)
		if err != nil || len(ids) < 4 {
			t.Fatal(ids, err)
		}
		if back, err := cut.Text(ctx, "memoriser", ids); err != nil || back != whole {
			t.Errorf("%s: %q, %v", protocol, back, err)
		}
	}
}

func memory(t *testing.T) phantom.Memory {
	t.Helper()
	for _, p := range phantom.Profiles() {
		if p.Name == "memoriser" {
			return p.Memory
		}
	}
	t.Fatal("no memoriser")
	return phantom.Memory{}
}

// TestRawRequestsAndReplies: what is sent where, and what is made of each reply.
func TestRawRequestsAndReplies(t *testing.T) {
	seed := int64(5)
	ask := backends.Continuation{Model: "m", Text: "It <was", Sampling: backends.Sampling{MaxTokens: 9, Seed: &seed}, Options: map[string]any{"num_ctx": 4096, "keep_alive": "5m"}}
	for _, c := range []struct {
		kind, path string
		sent       map[string]any // at least
		status     int
		reply      string
		want       string
		finish     backends.Finish
		fails      backends.Kind
	}{
		{"llamacpp", "/completion", map[string]any{"prompt": "It <was", "n_predict": 9., "temperature": 0., "seed": 5., "stream": false, "num_ctx": 4096.}, 200, `{"content":" late","stop_type":"limit","tokens_predicted":1}`, " late", backends.FinishLength, ""},
		{"llamacpp", "/completion", nil, 200, `{"content":" late","stopped_limit":true}`, " late", backends.FinishLength, ""},
		{"llamacpp", "/completion", nil, 200, `{"content":"","stop_type":"eos"}`, "", backends.FinishStop, ""},
		{"llamacpp", "/completion", nil, 200, `{"stop_type":"eos"}`, "", "", backends.ErrMalformed},
		{"llamacpp", "/completion", nil, 200, `<html>`, "", "", backends.ErrMalformed},
		{"llamacpp", "/completion", nil, 400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size","type":"exceed_context_size_error"}}`, "", "", backends.ErrContextExceeded},
		{"llamacpp", "/completion", nil, 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, "", "", backends.ErrLoading},
		{"vllm", "/v1/completions", map[string]any{"model": "m", "prompt": "It <was", "max_tokens": 9., "temperature": 0., "seed": 5., "stream": false}, 200, `{"choices":[{"text":" late","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`, " late", backends.FinishStop, ""},
		{"vllm", "/v1/completions", nil, 200, `{"choices":[{"text":" late","finish_reason":"abort"}]}`, " late", backends.FinishOther, ""},
		{"vllm", "/v1/completions", nil, 200, `{"choices":[]}`, "", "", backends.ErrMalformed},
		{"ollama", "/api/generate", map[string]any{"model": "m", "prompt": "It <was", "raw": true, "stream": false, "keep_alive": "5m0s", "truncate": false,
			"options": map[string]any{"num_predict": 9., "temperature": 0., "seed": 5., "num_ctx": 4096.}}, 200, `{"response":" late","done":true,"done_reason":"length","eval_count":1}`, " late", backends.FinishLength, ""},
		{"ollama", "/api/generate", nil, 200, `{"response":" late","done":false}`, "", "", backends.ErrTruncated},
		{"ollama", "/api/generate", nil, 200, `{"error":"the runner has stopped"}`, "", "", backends.ErrServer},
		{"ollama", "/api/generate", nil, 404, `{"error":"model 'm' not found"}`, "", "", backends.ErrUnknownModel},
	} {
		var path string
		var body []byte
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(c.status)
			io.WriteString(w, c.reply)
		}))
		got, err := connect(t, c.kind, srv.URL).(backends.Continuer).Continue(context.Background(), ask)
		srv.Close()
		switch {
		case c.fails != "":
			if !errors.Is(err, c.fails) || got.Text != "" {
				t.Errorf("%s %s: %+v, %v, want %s", c.kind, c.reply, got, err, c.fails)
			}
		case err != nil || got.Text != c.want || got.Finish != c.finish:
			t.Errorf("%s %s: %+v, %v", c.kind, c.reply, got, err)
		}
		if path != c.path {
			t.Errorf("%s: posted to %s, want %s", c.kind, path, c.path)
		}
		if c.sent != nil {
			var sent map[string]any
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			for k, v := range c.sent {
				a, _ := json.Marshal(v)
				if b, _ := json.Marshal(sent[k]); string(a) != string(b) {
					t.Errorf("%s: %s is %s, want %s", c.kind, k, b, a)
				}
			}
			if sent["messages"] != nil {
				t.Errorf("%s: messages were sent", c.kind)
			}
		}
	}
}

package hosted

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"assay/backends"
	"assay/timing"
)

const secret = "sk-test-0123456789abcdefghijklmnop"

// api is a fake provider: it keeps what it was sent, and answers what it is told.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []map[string]any
	headers []http.Header
	paths   []string
	answer  func(n int, w http.ResponseWriter, body map[string]any) // n from 0
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, body map[string]any)) *api {
	t.Helper()
	a := &api{answer: answer}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var body map[string]any
		if err != nil || json.Unmarshal(b, &body) != nil {
			t.Errorf("a request that is not JSON: %s", b)
		}
		a.mu.Lock()
		n := len(a.bodies)
		a.bodies, a.headers, a.paths = append(a.bodies, body), append(a.headers, r.Header), append(a.paths, r.URL.Path)
		a.mu.Unlock()
		a.answer(n, w, body)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.bodies)
}

// says answers with a status and a body, each time.
func says(status int, body string, header ...string) func(int, http.ResponseWriter, map[string]any) {
	return func(_ int, w http.ResponseWriter, _ map[string]any) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// good is a reply of a provider: a text, why it ended, and the model.
func good(provider, text, why, model string) string {
	quoted, _ := json.Marshal(text)
	switch provider {
	case "openai":
		return `{"id":"x","model":"` + model + `","system_fingerprint":"fp_7","choices":[{"message":{"role":"assistant","content":` + string(quoted) + `},"finish_reason":"` + why + `"}],
			"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":0}}}`
	case "anthropic":
		return `{"type":"message","model":"` + model + `","content":[{"type":"text","text":` + string(quoted) + `}],"stop_reason":"` + why + `",
			"usage":{"input_tokens":30,"output_tokens":20,"cache_creation_input_tokens":6,"cache_read_input_tokens":64}}`
	}
	half := len(text) / 2
	first, _ := json.Marshal(text[:half])
	second, _ := json.Marshal(text[half:])
	return `{"model":"` + model + `","message":{"role":"assistant","content":` + string(first) + `},"done":false}
{"model":"` + model + `","message":{"role":"assistant","content":` + string(second) + `},"done":false}
{"model":"` + model + `","message":{"role":"assistant","content":""},"done":true,"done_reason":"` + why + `","prompt_eval_count":100,"eval_count":20}
`
}

// stops and cuts are the providers' words for an end, and for the limit of tokens.
func stops(provider string) (stop, cut string) {
	switch provider {
	case "anthropic":
		return "end_turn", "max_tokens"
	}
	return "stop", "length"
}

func settings(provider, url string) Settings {
	return Settings{Provider: provider, URL: url, Model: "judge-1"}
}

func made(t *testing.T, s Settings) *Backend {
	t.Helper()
	b, err := New(s, secret, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const verdictSchema = `{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"type":"string","enum":["yes","no"]}}}`

func request() *backends.Request {
	seed, think := int64(7), false
	return &backends.Request{
		Messages: []backends.Message{{Role: backends.User, Text: "Is it? Answer in JSON."}},
		Sampling: backends.Sampling{Temperature: 0, MaxTokens: 800, Seed: &seed},
		Schema:   json.RawMessage(verdictSchema), Think: &think,
	}
}

func ask(t *testing.T, b *Backend, req *backends.Request) (*backends.Response, *backends.Error) {
	t.Helper()
	rec := timing.NewRecorder(timing.NewClock())
	resp, err := b.Generate(t.Context(), req, rec)
	if (resp == nil) == (err == nil) {
		t.Fatalf("%v and %v", resp, err)
	}
	if _, timed := rec.Trace().At(timing.Start); timed {
		t.Error("a hosted judge is timed")
	}
	if err == nil {
		return resp, nil
	}
	e, ok := err.(*backends.Error)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	if strings.Contains(e.Error()+e.Partial+string(e.Raw), secret) {
		t.Errorf("the key is in %v", e)
	}
	return nil, e
}

func stored(t *testing.T, raw []byte) account {
	t.Helper()
	var a account
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return a
}

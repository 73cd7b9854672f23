package backendtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/wire"
	"assay/timing"
)

// word is one event of an adapter's stream.
func word(api, text, channel string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	if api == "ollama" {
		return fmt.Sprintf(`{"message":{"role":"assistant","%s":%s},"done":false}`+"\n", map[string]string{"answer": "content", "reasoning": "thinking"}[channel], b)
	}
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"%s":%s}}]}`+"\n\n", map[string]string{"answer": "content", "reasoning": "reasoning_content"}[channel], b)
}

// ended is how an adapter's stream ends well.
func ended(api string, tokens int) string {
	if api == "ollama" {
		return fmt.Sprintf(`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":%d}`+"\n", tokens)
	}
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+`data: {"choices":[],"usage":{"completion_tokens":%d}}`+"\n\ndata: [DONE]\n\n", tokens)
}

func kindOf(api string) string {
	if api == "ollama" {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// TestEndlessAnswersAreCutOff: a server that never stops is left after a reply that
// no heeded limit allows, in either channel, and what is kept of it is bounded.
func TestEndlessAnswersAreCutOff(t *testing.T) {
	for _, api := range []string{"ollama", "openai", "llamacpp", "vllm"} {
		for _, channel := range []string{"answer", "reasoning"} {
			var sent atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kindOf(api))
				block := []byte(strings.Repeat(word(api, " and", channel), 100))
				for r.Context().Err() == nil {
					n, err := w.Write(block)
					if sent.Add(int64(n)); err != nil || sent.Load() > 100<<20 {
						return
					}
				}
			}))
			b, err := adapters()[api].new(wire.Config{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			req := backendtest.Ask("m", "?")
			req.Sampling.MaxTokens = 16
			rec := timing.NewRecorder(timing.NewClock())
			r, err := b.Generate(t.Context(), req, rec)
			e := backendtest.Typed(t, r, err, backends.ErrOverlong)
			s.Close()
			if n := sent.Load(); n > 16<<20 {
				t.Errorf("%s: %d bytes were taken", api, n)
			}
			if !strings.HasPrefix(e.Partial, " and and") || len(e.Partial) > 16<<10 || e.Kind.CanHeal() {
				t.Errorf("%s: %d bytes kept, kind %s", api, len(e.Partial), e.Kind)
			}
			if _, ok := rec.Trace().At(timing.FirstContent); !ok {
				t.Errorf("%s: no first content", api)
			}
		}
	}
}

// TestAnswersBeyondTheLimitOfTokens: complete ones too, by the server's count or by
// more text than the tokens can hold; a few more are none.
func TestAnswersBeyondTheLimitOfTokens(t *testing.T) {
	for _, api := range []string{"ollama", "openai", "llamacpp", "vllm"} {
		for _, c := range []struct {
			text   string
			tokens int
			bad    bool
		}{
			{"Yes.", 64, false}, {"Yes.", 192, false}, {"Yes.", 193, true}, {strings.Repeat("x", 80*256), 64, false}, {strings.Repeat("x", 80*256+1), 64, true},
		} {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: backendtest.Reply(200, kindOf(api), word(api, c.text, "answer"), ended(api, c.tokens))}}
				req := backendtest.Ask("m", "?")
				req.Sampling.MaxTokens = 64
				r, err := connect(t, api, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
				if !c.bad {
					if err != nil || r.Answer != c.text {
						t.Errorf("%s, %d tokens, %d bytes: %v", api, c.tokens, len(c.text), err)
					}
					return
				}
				if e := backendtest.Typed(t, r, err, backends.ErrOverlong); e.Partial != c.text[:min(len(c.text), 80*256)] {
					t.Errorf("%s: %d bytes kept", api, len(e.Partial))
				}
			})
		}
	}
}

// TestAKeyInChunksIsRedacted: one character per event, in either channel,
// escaped in a text, in errors that are cut, and in the raw figures.
func TestAKeyInChunksIsRedacted(t *testing.T) {
	const key = "sk-Zq7/w+93kLmN0pQr5tUv"
	spelled := func(api, channel string) (s string) {
		for _, c := range key {
			s += word(api, string(c), channel)
		}
		return s
	}
	escaped := ""
	for _, c := range key {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	for _, api := range []string{"ollama", "openai", "llamacpp", "vllm"} {
		raw := `"figures":"` + key + `"`
		last := strings.Replace(strings.Replace(ended(api, -1), `"eval_count"`, raw+`,"eval_count"`, 1), `"completion_tokens"`, raw+`,"completion_tokens"`, 1)
		for name, c := range map[string]struct {
			status int
			body   string
			want   string // answer or partial
		}{
			"answer":        {200, word(api, "My key is ", "answer") + spelled(api, "answer") + word(api, ".", "answer") + last, "My key is [key]."},
			"reasoning":     {200, spelled(api, "reasoning") + word(api, "No.", "answer") + last, "No."},
			"escaped":       {200, strings.Replace(word(api, "It is XX.", "answer"), "XX", escaped, 1) + last, "It is [key]."},
			"a cut error":   {400, strings.Repeat("x", 490) + key, ""},
			"a page":        {502, "<html><body>" + key + "</body></html>", ""},
			"escaped error": {500, `{"error":{"message":"` + escaped + `"}}`, ""},
			"quoted event":  {200, word(api, "a", "answer") + strings.Replace(word(api, "b", "answer"), `{`, "{"+key, 1), "a"},
			"other type":    {200, "<html>" + strings.Repeat("x", 180) + key, ""},
		} {
			t.Run(name+"/"+api, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kind := kindOf(api)
					if name == "other type" {
						kind = "text/html"
					}
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: backendtest.Reply(c.status, kind, c.body)}}
					b, err := adapters()[api].new(wire.Config{URL: "http://recorded.invalid:1", Dial: n.Dial, Key: key})
					if err != nil {
						t.Fatal(err)
					}
					r, err := b.Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
					var all []string
					if err != nil {
						e := err.(*backends.Error)
						all = []string{e.Error(), e.Partial, fmt.Sprintf("%#v", e.Err)}
						if e.Partial != c.want {
							t.Errorf("partial text %q, want %q", e.Partial, c.want)
						}
					} else {
						all = []string{r.Answer, r.Reasoning, string(r.Server.Raw), fmt.Sprint(r.Odd), fmt.Sprintf("%+v", r.Cache)}
						if r.Answer != c.want {
							t.Errorf("answer %q, want %q", r.Answer, c.want)
						}
						if len(r.Odd) == 0 || !json.Valid(r.Server.Raw) || !strings.Contains(string(r.Server.Raw), "[key]") {
							t.Errorf("odd %v, raw %s", r.Odd, r.Server.Raw)
						}
					}
					for _, s := range all {
						if strings.Contains(s, key[:8]) {
							t.Errorf("the key stands in %q", s)
						}
					}
				})
			})
		}
	}
}

package hosted

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
)

// TestAnswers: what each provider is sent, and what is read of its reply.
func TestAnswers(t *testing.T) {
	for _, p := range []struct {
		name, path, header string
	}{
		{"openai", "/chat/completions", "Authorization"},
		{"anthropic", "/messages", "X-Api-Key"},
		{"ollama", "/api/chat", "Authorization"},
	} {
		t.Run(p.name, func(t *testing.T) {
			stop, _ := stops(p.name)
			a := serve(t, says(200, good(p.name, `{"verdict":"yes"}`, stop, "judge-1-2026-01-31")))
			s := settings(p.name, a.URL)
			s.Price = &Price{Currency: "USD", Input: 2, Output: 8}
			b := made(t, s)
			if _, err := b.Identify(t.Context(), "judge-1"); err == nil {
				t.Error("known before the first answer")
			}
			r, e := ask(t, b, request())
			if e != nil {
				t.Fatal(e)
			}
			if r.Answer != `{"verdict":"yes"}` || r.Finish != backends.FinishStop || r.Usage.PromptTokens == nil || *r.Usage.PromptTokens != 100 || *r.Usage.CompletionTokens != 20 {
				t.Errorf("%+v", r)
			}
			acc := stored(t, r.Server.Raw)
			if acc.Served != "judge-1-2026-01-31" || acc.Cost == nil || *acc.Cost != (100*2+20*8)/1e6 || acc.Currency != "USD" || acc.AtMost {
				t.Errorf("%s", r.Server.Raw)
			}
			if paid := b.Spent(); paid != *acc.Cost {
				t.Errorf("paid %v", paid)
			}
			if a.paths[0] != p.path || !strings.HasSuffix(a.headers[0].Get(p.header), secret) || a.headers[0].Get("User-Agent") != "assay" {
				t.Errorf("%s, %v", a.paths[0], a.headers[0])
			}
			var sent map[string]any
			if json.Unmarshal(r.Sent, &sent) != nil || !reflect.DeepEqual(sent, a.bodies[0]) || strings.Contains(string(r.Sent), secret) {
				t.Errorf("kept %s, came %v", r.Sent, a.bodies[0])
			}
			id, err := b.Identify(t.Context(), "judge-1")
			if err != nil || id.Model != "judge-1-2026-01-31" || id.Server != "hosted "+p.name {
				t.Errorf("%+v, %v", id, err)
			}
		})
	}
}

// TestWhatLeaves: every setting, of every provider, is refused beforehand or in the request
// as it was asked for; a schema stands in the prompt, whole.
func TestWhatLeaves(t *testing.T) {
	const bounded = `{"type":"object","required":["n"],"properties":{"n":{"type":["integer","null"],"minimum":1,"maximum":5}}}`
	whole := func(n int64) *int64 { return &n }
	half := .5
	for _, c := range []struct {
		provider, model string
		temperature     float64
		seed            *int64
		topP            *float64
		unsent          []string
	}{
		{"openai", "judge-1", 0, nil, nil, nil},
		{"openai", "judge-1", .1, whole(7), nil, nil},
		{"openai", "judge-1", 0, whole(0), &half, []string{"sampling.seed", "top_p"}},
		{"openai", "judge-1", 0, whole(-1), nil, []string{"sampling.seed"}}, // which repeats count to 0
		{"openai", "gpt-5-mini", 0, nil, nil, []string{"sampling.temperature"}},
		{"openai", "gpt-5-mini", 1, nil, nil, nil},
		{"openai", "o1-preview", 0, nil, nil, []string{"sampling.temperature"}},
		{"openai", "o1", .5, nil, nil, nil},
		{"openai", "o3", .5, nil, nil, []string{"sampling.temperature"}},
		{"openai", "o3-mini", .5, nil, nil, []string{"sampling.temperature"}},
		{"anthropic", "judge-1", 0, nil, &half, nil},
		{"anthropic", "judge-1", .5, whole(7), nil, []string{"sampling.seed"}},
		{"anthropic", "o3", 0, nil, nil, nil},
		{"ollama", "judge-1", .5, whole(7), &half, nil},
		{"ollama", "judge-1", 0, whole(0), nil, []string{"sampling.seed"}},
	} {
		stop, _ := stops(c.provider)
		a := serve(t, says(200, good(c.provider, "{}", stop, c.model)))
		s, req := settings(c.provider, a.URL), request()
		s.Model, s.TopP = c.model, c.topP
		req.Sampling.Temperature, req.Sampling.Seed, req.Schema = c.temperature, c.seed, json.RawMessage(bounded)
		var unsent []string
		for key, want := range s.Unsent(req.Sampling) {
			if unsent = append(unsent, key); want == "" {
				t.Errorf("%s: what may be asked instead is not said", key)
			}
		}
		slices.Sort(unsent)
		if !slices.Equal(unsent, c.unsent) {
			t.Errorf("%s, %s: %v, want %v", c.provider, c.model, unsent, c.unsent)
		}
		if _, e := ask(t, made(t, s), req); e != nil {
			t.Fatal(e)
		}
		body := a.bodies[0]
		if options, ok := body["options"].(map[string]any); ok {
			maps.Copy(body, options)
		}
		is := func(key string, want any) bool { return fmt.Sprint(body[key]) == fmt.Sprint(want) }
		for key, want := range map[string]any{"sampling.temperature": c.temperature, "sampling.seed": c.seed, "top_p": c.topP} {
			name := strings.TrimPrefix(key, "sampling.")
			sent := body[name] == nil
			switch v := want.(type) {
			case float64:
				sent = is(name, v) || c.model == "gpt-5-mini" && v == 1 // which is its own
			case *int64:
				sent = v == nil && (body[name] == nil || is(name, 0)) || v != nil && is(name, *v) && *v != 0
			case *float64:
				sent = v == nil && (body[name] == nil || is(name, 0)) || v != nil && is(name, *v) && *v != 0
			}
			if sent == slices.Contains(unsent, key) && !(key == "sampling.seed" && c.seed != nil && *c.seed < 0) {
				t.Errorf("%s, %s: %s is in %v, and said to be unsent: %v", c.provider, c.model, key, body, unsent)
			}
		}
		if !is("max_tokens", 800) && !is("max_completion_tokens", 800) && !is("num_predict", 800) || !is("model", c.model) {
			t.Errorf("%v", body)
		}
		if prompt, _ := json.Marshal(body["messages"]); !strings.Contains(strings.ReplaceAll(string(prompt), `\"`, `"`), "Is it? Answer in JSON.\\n\\nReply with nothing but JSON that follows this JSON Schema:\\n"+bounded) {
			t.Errorf("%s: %s", c.provider, prompt)
		}
	}
}

// TestNothingOfTheEnvironmentIsSent: langchaingo would read a key, a model, an address
// and an organisation there.
func TestNothingOfTheEnvironmentIsSent(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_ORGANIZATION", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "of-the-environment")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST"} {
		t.Setenv(name, "http://of-the-environment.invalid")
	}
	for _, p := range Providers() {
		stop, _ := stops(p)
		a := serve(t, says(200, good(p, "{}", stop, "judge-1")))
		b, err := New(settings(p, a.URL), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, e := ask(t, b, request()); e != nil {
			t.Fatal(e)
		}
		if all := fmt.Sprint(a.headers[0], a.bodies[0]); strings.Contains(all, "of-the-environment") || a.headers[0].Get("Authorization")+a.headers[0].Get("X-Api-Key") != "" {
			t.Errorf("%s: %s", p, all)
		}
	}
}

// TestFailures: what a provider may do instead of answering.
func TestFailures(t *testing.T) {
	type want struct {
		kind   backends.Kind
		words  string
		status int
	}
	for name, c := range map[string]struct {
		provider string
		answer   func(int, http.ResponseWriter, map[string]any)
		want     want
	}{
		"429":                    {"openai", says(429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After", "7"), want{backends.ErrBusy, "Rate limit reached", 429}},
		"429, no credit":         {"openai", says(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), want{backends.ErrRefused, "no credit left", 429}},
		"500":                    {"openai", says(500, `{"error":{"message":"The server had an error"}}`), want{backends.ErrServer, "The server had an error", 500}},
		"502, a web page":        {"openai", says(502, `<html><title>Bad Gateway</title></html>`), want{backends.ErrServer, "Bad Gateway", 502}},
		"401":                    {"openai", says(401, `{"error":{"message":"Incorrect API key provided: `+secret+`","code":"invalid_api_key"}}`), want{backends.ErrRefused, "check the API key", 401}},
		"404, model":             {"openai", says(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`), want{backends.ErrUnknownModel, "compare model", 404}},
		"404, path":              {"openai", says(404, `not found`), want{backends.ErrRefused, "base of the API", 404}},
		"redirect":               {"openai", says(302, ``, "Location", "http://elsewhere.invalid/"), want{backends.ErrRefused, "", 302}},
		"refusal":                {"openai", says(200, `{"model":"judge-1","choices":[{"message":{"content":null,"refusal":"I cannot help with that."},"finish_reason":"stop"}]}`), want{backends.ErrDeclined, "I cannot help", 200}},
		"filter":                 {"openai", says(200, good("openai", "{", "content_filter", "judge-1")), want{backends.ErrDeclined, "filter", 200}},
		"truncated":              {"openai", says(200, good("openai", `{"verdict":"yes"}`, "length", "judge-1")), want{backends.ErrLimit, "max_tokens", 200}},
		"cut short":              {"openai", cutShort, want{backends.ErrTruncated, "ended early", 200}},
		"wrong model":            {"openai", says(200, good("openai", "{}", "stop", "judge-1-mini")), want{backends.ErrUnknownModel, `"judge-1-mini" answered where "judge-1" was asked`, 200}},
		"in-band error":          {"openai", says(200, `{"error":{"message":"upstream failed","code":502}}`), want{backends.ErrServer, "upstream failed", 200}},
		"in-band rate limit":     {"openai", says(200, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, "Retry-After", "7"), want{backends.ErrBusy, "slow down", 200}},
		"no choices":             {"openai", says(200, `{"model":"judge-1","choices":[]}`), want{backends.ErrMalformed, "not what openai sends", 200}},
		"not JSON":               {"openai", says(200, `hello`), want{backends.ErrMalformed, "hello", 200}},
		"too long":               {"openai", says(200, strings.Repeat("x", maxReply+1)), want{backends.ErrMalformed, "8 MiB", 200}},
		"anthropic 429":          {"anthropic", says(429, `{"type":"error","error":{"type":"rate_limit_error","message":"too many"}}`, "Retry-After", "7"), want{backends.ErrBusy, "too many", 429}},
		"anthropic overloaded":   {"anthropic", says(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "Retry-After", "7"), want{backends.ErrBusy, "Overloaded", 529}},
		"anthropic 500":          {"anthropic", says(500, `{"type":"error","error":{"type":"api_error","message":"Internal"}}`), want{backends.ErrServer, "Internal", 500}},
		"anthropic 500, busy":    {"anthropic", says(500, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, "Retry-After", "7"), want{backends.ErrBusy, "Overloaded", 500}},
		"400, no JSON words":     {"openai", says(400, `{"error":{"param":"n"}}`, "Retry-After", "7"), want{backends.ErrRefused, `{"param":"n"}`, 400}},
		"400, FastAPI's":         {"openai", says(400, `{"detail":"field required"}`), want{backends.ErrRefused, ": field required", 400}},
		"anthropic refusal":      {"anthropic", says(200, good("anthropic", "", "refusal", "judge-1")), want{backends.ErrDeclined, "refused", 200}},
		"anthropic truncated":    {"anthropic", says(200, good("anthropic", "{", "max_tokens", "judge-1")), want{backends.ErrLimit, "max_tokens", 200}},
		"anthropic cut short":    {"anthropic", cutShort, want{backends.ErrTruncated, "ended early", 200}},
		"anthropic wrong model":  {"anthropic", says(200, good("anthropic", "{}", "end_turn", "other")), want{backends.ErrUnknownModel, `"other" answered`, 200}},
		"anthropic in-band":      {"anthropic", says(200, `{"type":"error","error":{"type":"api_error","message":"upstream"}}`), want{backends.ErrServer, "upstream", 200}},
		"anthropic, null":        {"anthropic", says(200, `null`), want{backends.ErrMalformed, "no answer in it", 200}}, // langchaingo panics
		"anthropic, new content": {"anthropic", says(200, `{"type":"ping"}`), want{backends.ErrMalformed, "anthropic", 200}},
		"ollama 429":             {"ollama", says(429, `{"error":"too many"}`, "Retry-After", "7"), want{backends.ErrBusy, "too many", 429}},
		"ollama 500":             {"ollama", says(500, `{"error":"it broke"}`), want{backends.ErrServer, "it broke", 500}},
		"ollama unknown model":   {"ollama", says(404, `{"error":"model 'judge-1' not found"}`), want{backends.ErrUnknownModel, "not found", 404}},
		"ollama truncated":       {"ollama", says(200, good("ollama", "{}", "length", "judge-1")), want{backends.ErrLimit, "max_tokens", 200}},
		"ollama without an end":  {"ollama", says(200, `{"model":"judge-1","message":{"content":"{}"},"done":false}`), want{backends.ErrMalformed, "no answer in it", 200}},
		"ollama wrong model":     {"ollama", says(200, good("ollama", "{}", "stop", "other")), want{backends.ErrUnknownModel, `"other" answered`, 200}},
		"ollama in-band": {"ollama", says(200, `{"model":"judge-1","message":{"content":"{"},"done":false}
{"error":"runner died"}`), want{backends.ErrServer, "runner died", 200}},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, c.answer)
			_, e := ask(t, made(t, settings(c.provider, a.URL)), request())
			if e == nil || e.Kind != c.want.kind || e.Status != c.want.status || !strings.Contains(e.Error(), c.want.words) {
				t.Fatalf("%v, want %+v", e, c.want)
			}
			if a.asked() != 1 || e.Sent == nil {
				t.Errorf("%d attempts, sent %s", a.asked(), e.Sent)
			}
			if busy := e.Kind == backends.ErrBusy; busy != (e.After != nil) || busy && *e.After != 7*time.Second {
				t.Errorf("to be left alone for %v", e.After)
			}
		})
	}
}

// cutShort promises more than it sends.
func cutShort(_ int, w http.ResponseWriter, _ map[string]any) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"model":"judge-1","choices":[{"message":{"content":"{}"},"finish_reason":"stop"`)
}

// TestUsage: what a reply does not say is unknown and not nothing, and costs the most
// that it may have cost; a refused request costs nothing.
func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		cost   string
	}{
		"missing":       {200, `{"model":"judge-1","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`, "at most"},
		"half":          {200, `{"model":"judge-1","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10}}`, "at most"},
		"negative":      {200, `{"model":"judge-1","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":2}}`, "at most"},
		"nothing":       {200, `{"model":"judge-1","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, "0"},
		"refused":       {500, `{}`, "0"},
		"cut, but told": {200, good("openai", "{", "length", "judge-1"), "0.00036"},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, says(c.status, c.body))
			s := settings("openai", a.URL)
			s.Price = &Price{Currency: "USD", Input: 2, Output: 8}
			b := made(t, s)
			r, e := ask(t, b, request())
			var raw []byte
			usage := backends.Usage{}
			if e != nil {
				raw, usage = e.Raw, e.Usage
			} else {
				raw, usage = r.Server.Raw, r.Usage
			}
			acc := stored(t, raw)
			if acc.Cost == nil || acc.AtMost != (c.cost == "at most") {
				t.Fatalf("%s", raw)
			}
			if paid := b.Spent(); paid != *acc.Cost {
				t.Errorf("paid %v", paid)
			}
			if acc.AtMost {
				if usage.CompletionTokens != nil && usage.PromptTokens != nil {
					t.Errorf("usage %+v", usage)
				}
				if *acc.Cost < 800*8/1e6 { // all that the answer may have
					t.Errorf("at most %v", *acc.Cost)
				}
			} else if got := fmt.Sprint(*acc.Cost); got != c.cost {
				t.Errorf("cost %s, want %s", got, c.cost)
			}
		})
	}
}

// TestWhoAnswers: a date behind the name is the same model, another name is not, unless
// it is given.
func TestWhoAnswers(t *testing.T) {
	for _, c := range []struct {
		asked, as, by string
		same          bool
	}{
		{"gpt-4o", "", "gpt-4o-2024-08-06", true}, {"gpt-4o", "", "gpt-4o-mini", false}, {"gpt-4o", "", "gpt-4o-mini-2024-07-18", false}, {"gpt-4", "", "gpt-4o", false},
		{"gpt-4", "", "gpt-4-0613", true}, {"gpt-4", "", "gpt-4-32k", false}, {"claude-opus-4", "", "claude-opus-4-20250514", true}, {"claude-opus-4", "", "claude-opus-4-1-20250805", false},
		{"claude-3-5-sonnet-latest", "", "claude-3-5-sonnet-20241022", true}, {"gemini-2.0-flash", "", "models/gemini-2.0-flash-001", true}, {"llama3", "", "llama3:latest", true},
		{"llama3:8b", "", "llama3:70b", false}, {"a", "b", "b", true}, {"a", "b", "a", false}, {"a", "", "", true}, {"A", "", "a", true},
	} {
		b := made(t, Settings{Provider: "openai", Model: c.asked, ServedAs: c.as})
		if b.served(c.by) != c.same {
			t.Errorf("%q for %q (as %q): want %v", c.by, c.asked, c.as, c.same)
		}
	}
}

// TestTheKeyStaysHere: a provider that echoes the key gets it into nothing that is kept.
func TestTheKeyStaysHere(t *testing.T) {
	for _, p := range Providers() {
		stop, _ := stops(p)
		a := serve(t, says(200, good(p, secret, stop, "judge-1"))) // Ollama's in two chunks
		r, e := ask(t, made(t, settings(p, a.URL)), request())
		if e != nil {
			t.Fatal(e)
		}
		if all := r.Answer + string(r.Server.Raw) + string(r.Sent); strings.Contains(all, secret) || !strings.HasPrefix(r.Answer, "[key]") {
			t.Errorf("%s: %q", p, all)
		}
		for _, status := range []int{200, 400, 500} {
			a := serve(t, says(status, `{"error":{"message":"your key `+secret+`"},"model":"`+secret+`"}`))
			if _, e := ask(t, made(t, settings(p, a.URL)), request()); e == nil || strings.Contains(e.Error()+string(e.Raw), secret) {
				t.Errorf("%s: %v, %s", p, e, e.Raw)
			}
		}
		// An excerpt would cut it in two.
		a = serve(t, says(500, strings.Repeat("x", 490)+secret))
		if _, e := ask(t, made(t, settings(p, a.URL)), request()); e == nil || strings.Contains(e.Error(), secret[:8]) {
			t.Errorf("%s: %v", p, e)
		}
		// A short key may stand in answers, as any word may, but not in messages.
		a = serve(t, says(400, `{"error":"your key sk-short"}`))
		b, err := New(settings(p, a.URL), "sk-short", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, e := ask(t, b, request()); e == nil || !strings.Contains(e.Error(), "your key [key]") {
			t.Errorf("%s: %v", p, e)
		}
	}
}

// TestTexts: of the first answer, whole or in parts; servers that give reasoning under its old
// name and its new one say it once.
func TestTexts(t *testing.T) {
	choice := func(message string) string {
		return `{"choices":[{"message":{` + message + `},"finish_reason":"stop"},{"message":{"content":"C"},"finish_reason":"stop"}]}`
	}
	for _, c := range []struct {
		provider int
		body     string
	}{
		{0, choice(`"content":"B","reasoning":"two discs"`)},
		{0, choice(`"content":"B","reasoning_content":"two discs"`)},
		{0, choice(`"content":"B","reasoning":"two discs","reasoning_content":"two discs"`)},
		{0, choice(`"content":[{"type":"text","text":""},{"type":"text","text":"B"}],"reasoning":"two discs"`)},
		{1, `{"content":[{"thinking":"two "},{"thinking":"discs","signature":"s"},{"text":"B"}],"stop_reason":"end_turn"}`},
		{2, `{"message":{"thinking":"two "}}{"message":{"thinking":"discs"}} {"message":{"content":"B"}} {"done":true,"done_reason":"stop"} {"message":{"content":"C"}}`},
	} {
		p := providers()[c.provider]
		if r, err := p.reply.read([]byte(c.body)); err != nil || r.Reasoning != "two discs" || r.Answer != "B" || r.Finish != backends.FinishStop {
			t.Errorf("%s: %s: %+v, %v", p.name, c.body, r, err)
		}
	}
}

// TestNumbersOfTokens: what is not said, or cannot be, stays unknown; Anthropic's prompts are in parts.
func TestNumbersOfTokens(t *testing.T) {
	for _, c := range []struct {
		provider    int
		body, usage string
		odd         int
	}{
		{0, `{"choices":[{}]}`, `{}`, 0},
		{0, `{"choices":[{}],"usage":null}`, `{}`, 0},
		{0, `{"choices":[{}],"usage":{"prompt_tokens":0,"completion_tokens":null}}`, `{"prompt_tokens":0}`, 0},
		{0, `{"choices":[{}],"usage":{"prompt_tokens":"9","completion_tokens":12345678901234567890,"prompt_tokens_details":[]}}`, `{}`, 2},
		{1, `{"content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":4,"cache_creation_input_tokens":2}}`, `{"prompt_tokens":7,"cached_tokens":4}`, 0},
		{1, `{"content":[],"usage":{"input_tokens":1,"cache_creation_input_tokens":2}}`, `{"prompt_tokens":3}`, 0},
		{1, `{"content":[],"usage":{"output_tokens":3,"cache_read_input_tokens":4}}`, `{"completion_tokens":3,"cached_tokens":4}`, 0},
		{2, `{"done":false,"eval_count":1}{"done":true,"eval_count":2}`, `{"completion_tokens":2}`, 0},
	} {
		p := providers()[c.provider]
		r, err := p.reply.read([]byte(c.body))
		if usage, jerr := json.Marshal(r.Usage); err != nil || jerr != nil || string(usage) != c.usage || len(r.Odd) != c.odd {
			t.Errorf("%s: %s: %s, want %s; odd %v, %v", p.name, c.body, usage, c.usage, r.Odd, err)
		}
	}
}

// TestPictures: each API has a form of its own.
func TestPictures(t *testing.T) {
	for p, want := range map[string]string{"openai": `"url":"data:image/png;base64,AQID"`, "anthropic": `"data":"AQID","media_type":"image/png"`, "ollama": `"images":["AQID"]`} {
		stop, _ := stops(p)
		a := serve(t, says(200, good(p, "{}", stop, "judge-1")))
		req := request()
		req.Messages[0].Images = []backends.Image{{Bytes: []byte{1, 2, 3}, MIME: "image/png"}}
		if _, e := ask(t, made(t, settings(p, a.URL)), req); e != nil {
			t.Fatal(e)
		}
		if sent, err := json.Marshal(a.bodies[0]["messages"]); err != nil || !strings.Contains(string(sent), want) {
			t.Errorf("%s: %s", p, sent)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	a := serve(t, nil)
	a.Close()
	for _, p := range Providers() {
		if _, e := ask(t, made(t, settings(p, a.URL)), request()); e == nil || e.Kind != backends.ErrUnreachable {
			t.Errorf("%s: %v", p, e)
		}
	}
	wait := make(chan struct{})
	slow := serve(t, func(int, http.ResponseWriter, map[string]any) { <-wait })
	defer close(wait)
	req := request()
	req.Timeouts.Total = time.Millisecond
	if _, e := ask(t, made(t, settings("openai", slow.URL)), req); e == nil || e.Kind != backends.ErrStalled || !strings.Contains(e.Error(), "timeouts.total") {
		t.Errorf("%v", e)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, s := range []Settings{{Provider: "googleai"}, {Provider: "openai", URL: "nowhere"}, {Provider: "openai", Budget: 1}} {
		if b, err := New(s, "", 0); err == nil {
			t.Errorf("%+v: %v", s, b)
		}
	}
}

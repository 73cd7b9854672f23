package ollama

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/wire"
	"assay/timing"
)

func over(t *testing.T, n *backendtest.Network) *Backend {
	t.Helper()
	b, err := New(wire.Config{URL: "http://recorded.invalid:1", Dial: n.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func chat(chunks ...string) *backendtest.Network {
	return &backendtest.Network{Routes: map[string]backendtest.Recording{
		"POST /api/chat": backendtest.Reply(200, "application/x-ndjson", chunks...)}}
}

func TestRequestIsWhatTheServerWants(t *testing.T) {
	seed, yes := int64(11), true
	for name, c := range map[string]struct {
		change func(*backends.Request)
		want   string
	}{
		"plain": {func(*backends.Request) {},
			`{"model":"m","messages":[{"role":"user","content":"a <b> & c"}],"stream":true,"options":{"num_predict":64,"temperature":0},"truncate":false,"shift":false}`},
		"seed, image bare base64, history": {func(r *backends.Request) {
			r.Sampling.Seed = &seed
			r.Messages[0].Images = []backends.Image{{Bytes: []byte("not really a PNG"), MIME: "image/png"}}
			r.Messages = append(r.Messages, backends.Message{Role: backends.Assistant, Text: "B"}, backends.Message{Role: backends.User, Text: "Sure?"})
		}, `{"model":"m","messages":[{"role":"user","content":"a <b> & c","images":["bm90IHJlYWxseSBhIFBORw=="]},{"role":"assistant","content":"B"},{"role":"user","content":"Sure?"}],"stream":true,"options":{"num_predict":64,"seed":11,"temperature":0},"truncate":false,"shift":false}`},
		"a schema silences thinking": {func(r *backends.Request) { r.Schema = json.RawMessage(`{"type":"object"}`) },
			`{"model":"m","messages":[{"role":"user","content":"a <b> & c"}],"stream":true,"format":{"type":"object"},"options":{"num_predict":64,"temperature":0},"think":false,"truncate":false,"shift":false}`},
		"thinking as configured": {func(r *backends.Request) { r.Think = &yes; r.Schema = json.RawMessage(`{"type":"object"}`) },
			`{"model":"m","messages":[{"role":"user","content":"a <b> & c"}],"stream":true,"format":{"type":"object"},"options":{"num_predict":64,"temperature":0},"think":true,"truncate":false,"shift":false}`},
		"options": {func(r *backends.Request) {
			r.Options = map[string]any{"num_ctx": uint64(8192), "keep_alive": "30m", "truncate": true, "num_thread": 2, "shift": true}
		}, `{"model":"m","messages":[{"role":"user","content":"a <b> & c"}],"stream":true,"keep_alive":"30m0s","options":{"num_ctx":8192,"num_predict":64,"num_thread":2,"temperature":0},"truncate":true,"shift":true}`},
		"keep_alive in seconds": {func(r *backends.Request) { r.Options = map[string]any{"keep_alive": 90} },
			`{"model":"m","messages":[{"role":"user","content":"a <b> & c"}],"stream":true,"keep_alive":"1m30s","options":{"num_predict":64,"temperature":0},"truncate":false,"shift":false}`},
	} {
		req := &backends.Request{Model: "m", Messages: []backends.Message{{Role: backends.User, Text: "a <b> & c"}}, Sampling: backends.Sampling{MaxTokens: 64}}
		c.change(req)
		got, err := encode(req)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, %v; want\n%s", name, got, err, c.want)
		}
	}
}

func TestOptionsThatCannotBeSentAreRefusedBeforehand(t *testing.T) {
	for _, options := range []map[string]any{
		{"temperature": 1}, {"num_predict": 5}, {"seed": 3}, {"truncate": "yes"}, {"keep_alive": "soon"}, {"keep_alive": true}, {"stop": func() {}},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := chat(`{"done":true}` + "\n")
			req := backendtest.Ask("m", "?")
			req.Options = options
			resp, err := over(t, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
			e := backendtest.Typed(t, resp, err, backends.ErrRefused)
			if n.Dials() != 0 || e.Sent != nil {
				t.Errorf("%v: something was sent", options)
			}
		})
	}
}

// No recording of a thinking model exists; the shape is that of Ollama's types.
func TestThinkingIsKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := chat(
			`{"message":{"role":"assistant","content":"","thinking":"two "},"done":false}`+"\n",
			`{"message":{"role":"assistant","content":"B","thinking":"discs"},"done":false}`+"\n",
			`{"message":{"role":"assistant","content":"."},"done":false}`+"\n"+`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"unload","eval_count":3,"prompt_eval_count":0}`+"\n",
		)
		rec := timing.NewRecorder(timing.NewClock())
		resp, err := over(t, n).Generate(t.Context(), backendtest.Ask("m", "?"), rec)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Reasoning != "two discs" || resp.Answer != "B." || resp.Finish != backends.FinishOther {
			t.Errorf("reasoning %q, answer %q, finish %s", resp.Reasoning, resp.Answer, resp.Finish)
		}
		if u := resp.Usage; u.CompletionTokens == nil || *u.CompletionTokens != 3 || u.PromptTokens == nil || *u.PromptTokens != 0 {
			t.Errorf("usage %+v: a zero that was sent is a zero", u)
		}
		if resp.Server.Total != nil || resp.Server.Decode != nil {
			t.Errorf("timings %+v: what was not sent is unknown", resp.Server)
		}
		tr := rec.Trace()
		first, _ := tr.At(timing.FirstContent)
		answer, _ := tr.At(timing.FirstAnswer)
		if d := answer - first; d != time.Millisecond {
			t.Errorf("answer begins %v after the reasoning, want 1ms", d)
		}
		want := []timing.Chunk{{Runes: 4}, {Runes: 5, Shared: true}, {Runes: 1, Answer: true}, {Runes: 1, Answer: true, Shared: true}}
		if len(tr.Chunks) != len(want) {
			t.Fatalf("chunks %+v", tr.Chunks)
		}
		for i, p := range tr.Chunks {
			if p.Runes != want[i].Runes || p.Answer != want[i].Answer || p.Shared != want[i].Shared {
				t.Errorf("chunk %d is %+v, want %+v", i, p, want[i])
			}
		}
	})
}

// Versions newer than 0.33.2 count what they reused of a prompt, whose own count has it in.
func TestReusedTokensAreCounted(t *testing.T) {
	n := func(i int) *int { return &i }
	for cached, want := range map[string]*int{``: nil, `,"prompt_eval_cached_count":0`: n(0), `,"prompt_eval_cached_count":850`: n(850), `,"prompt_eval_cached_count":901`: nil, `,"prompt_eval_cached_count":-1`: nil} {
		synctest.Test(t, func(t *testing.T) {
			resp, err := over(t, chat(`{"message":{"content":"B"},"done":true,"done_reason":"stop","prompt_eval_count":900,"eval_count":1`+cached+"}\n")).
				Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Usage.CachedTokens; (got == nil) != (want == nil) || got != nil && *got != *want || *resp.Usage.PromptTokens != 900 {
				t.Errorf("%s: %+v", cached, resp.Usage)
			}
		})
	}
}

func TestRepliesThatAreNotOllamas(t *testing.T) {
	for name, c := range map[string]struct {
		reply backendtest.Recording
		kind  backends.Kind
		says  string
	}{
		"a web page":            {backendtest.Reply(200, "text/html", "<html>\n<body>hello</body>\n"), backends.ErrMalformed, "line 1"},
		"another protocol":      {backendtest.Reply(200, "text/event-stream", "data: {\"choices\":[]}\n\n"), backends.ErrMalformed, "is this an Ollama server?"},
		"nothing":               {backendtest.Reply(200, "application/x-ndjson"), backends.ErrTruncated, "done:true"},
		"an error object":       {backendtest.Reply(200, "application/x-ndjson", `{"error":{"code":7}}`+"\n"), backends.ErrServer, `{"code":7}`},
		"an error that is none": {backendtest.Reply(200, "application/x-ndjson", `{"error":null}`+"\n"), backends.ErrTruncated, "done:true"},
		"a bare status":         {backendtest.Reply(502, "text/plain", "bad gateway"), backends.ErrServer, "bad gateway"},
		"unauthorised":          {backendtest.Reply(401, "application/json", `{"error":"no key"}`), backends.ErrRefused, "no key"},
		"done in a fragment":    {backendtest.Reply(200, "application/x-ndjson", `{"message":{"content":"x"},"done":tr`), backends.ErrTruncated, "done:true"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{"POST /api/chat": c.reply}}
				resp, err := over(t, n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
				if e := backendtest.Typed(t, resp, err, c.kind); !strings.Contains(e.Error(), c.says) {
					t.Errorf("%q does not say %q", e, c.says)
				}
			})
		})
	}
}

func TestIdentifyFailures(t *testing.T) {
	good := func(path string) backendtest.Recording {
		return map[string]backendtest.Recording{
			"version": backendtest.Reply(200, "application/json", `{"version":"9"}`),
			"show":    backendtest.Reply(200, "application/json", `{"details":{"quantization_level":"Q4_K_M"},"model_info":{}}`),
			"tags":    backendtest.Reply(200, "application/json", `{"models":[]}`),
		}[path]
	}
	routes := func() map[string]backendtest.Recording {
		return map[string]backendtest.Recording{"GET /api/version": good("version"), "POST /api/show": good("show"), "GET /api/tags": good("tags")}
	}
	for name, c := range map[string]struct {
		route string
		reply backendtest.Recording
		kind  backends.Kind
	}{
		"not JSON":      {"GET /api/version", backendtest.Reply(200, "text/html", "<html>"), backends.ErrMalformed},
		"another shape": {"GET /api/tags", backendtest.Reply(200, "application/json", `{"models":"none"}`), backends.ErrMalformed},
		"no such path":  {"GET /api/version", backendtest.Reply(404, "text/plain", "404 page not found"), backends.ErrRefused},
		"loading":       {"POST /api/show", backendtest.Reply(503, "application/json", `{"error":"wait"}`), backends.ErrLoading},
		"redirect":      {"GET /api/version", redirect(), backends.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := routes()
				r[c.route] = c.reply
				_, err := over(t, &backendtest.Network{Routes: r}).Identify(t.Context(), "m")
				backendtest.Typed(t, nil, err, c.kind)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		id, err := over(t, &backendtest.Network{Routes: routes()}).Identify(t.Context(), "m")
		if err != nil || id.Vision != nil || id.Thinking != nil || id.Context != nil || id.Digest != "" || id.Quantisation != "Q4_K_M" || id.Synthetic {
			t.Errorf("identity %+v, %v: what is not said is unknown", id, err)
		}
		r := routes()
		tagged := r["GET /api/version"]
		tagged.Bytes = bytes.Replace(tagged.Bytes, []byte("Connection:"), []byte(backends.PhantomHeader+": honest\r\nConnection:"), 1)
		tagged.Reads = []backendtest.Read{{At: 0, End: len(tagged.Bytes)}}
		r["GET /api/version"] = tagged
		if id, err := over(t, &backendtest.Network{Routes: r}).Identify(t.Context(), "m"); err != nil || !id.Synthetic {
			t.Errorf("a phantom's identity %+v, %v: want it marked", id, err)
		}
	})
}

func redirect() backendtest.Recording {
	r := backendtest.Reply(307, "text/plain")
	r.Bytes = bytes.Replace(r.Bytes, []byte("Connection:"), []byte("Location: http://elsewhere.invalid/\r\nConnection:"), 1)
	r.Reads = []backendtest.Read{{At: 0, End: len(r.Bytes)}}
	return r
}

func TestModelNamesWithAndWithoutTag(t *testing.T) {
	for name, want := range map[string]string{"qwen3-vl": "qwen3-vl:latest", "qwen3-vl:8b": "qwen3-vl:8b", "host:5000/team/model": "host:5000/team/model:latest", "team/model:q4": "team/model:q4"} {
		if got := full(name); got != want {
			t.Errorf("%s is listed as %s, want %s", name, got, want)
		}
	}
}

// seeds are the lines of recorded streams and their kin.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/lines/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no seed corpus in testdata/lines: %v", err)
	}
	var all [][]byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			all = append(all, bytes.TrimRight(line, "\n"))
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d seeds", len(all))
	}
	return all
}

// The live look decides which timeout runs: it must not miss text.
func TestLiveLookSeesWhatTheParserSees(t *testing.T) {
	nested := []byte(`{"message":{"role":"assistant","tool_calls":[{"function":{"arguments":{"content":""}}}],"content" : "x"}}`)
	call := []byte(`{"message":{"role":"assistant","tool_calls":[{"function":{"arguments":{"content":"y"}}}],"content":""}}`)
	for _, b := range append(seeds(t), nested, call) {
		l, err := parseLine(b)
		if err != nil {
			continue
		}
		if want := l.Message.Content != "" || l.Message.Thinking != ""; hasText(b) != want {
			t.Errorf("text in %q: %v, want %v", b, hasText(b), want)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLine(b)
		if err != nil {
			return
		}
		// What is absent stays absent, and what was read can be written again.
		var keys map[string]json.RawMessage
		if json.Unmarshal(b, &keys) == nil {
			for key, got := range map[string]bool{"eval_count": l.Count != nil, "prompt_eval_count": l.PromptCount != nil, "total_duration": l.TotalDuration != nil} {
				if _, sent := keys[key]; got && !sent && !strings.Contains(strings.ToLower(string(b)), key) {
					t.Errorf("%s is known, though %q does not say it", key, b)
				}
			}
		}
		kind, _ := classify(200, words(l.Error))
		if kind == "" {
			t.Errorf("an error without a kind: %q", b)
		}
	})
}

// What a modelfile says of the files, and of what stands around a prompt.
func TestDigestsOfAModel(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	file := func(lines ...string) string {
		return "# Modelfile generated by \"ollama show\"\n# FROM tiny\n" + strings.Join(lines, "\n")
	}
	from := func(d string) string { return "FROM /models dir/blobs/sha256-" + d }
	if got := weights(file(from(a), "TEMPLATE x")); got != "sha256:"+a {
		t.Errorf("one file: %s, want its own digest", got)
	}
	if got := weights(file("FROM tiny:latest", "TEMPLATE FROM sha256-"+a)); got != "" {
		t.Errorf("no file by digest: %s", got)
	}
	seen := map[string]string{}
	for what, f := range map[string]string{"a": file(from(a)), "b": file(from(b)), "a and projector b": file(from(a), from(b)), "a with adapter b": file(from(a), "ADAPTER /blobs/sha256-"+b)} {
		got := weights(f)
		if was, ok := seen[got]; ok || got == "" {
			t.Errorf("%s and %s have the digest %q", what, was, got)
		}
		seen[got] = what
	}
	if weights(file(from(a), from(b))) != weights(file(from(b), from(a))) {
		t.Error("the order of the files changes the digest")
	}
	show := api.ShowResponse{Template: "{{ .Prompt }}", Parameters: "stop \"x\"\nnum_ctx 9", System: "s"}
	turned := show
	turned.Parameters = "num_ctx 9\nstop \"x\""
	if around(&show) != around(&turned) || around(&api.ShowResponse{}) != "" {
		t.Error("the order of parameters changes the digest, or nothing has one")
	}
	for what, change := range map[string]func(*api.ShowResponse){
		"template": func(s *api.ShowResponse) { s.Template += " " }, "system": func(s *api.ShowResponse) { s.System = "" },
		"parameters": func(s *api.ShowResponse) { s.Parameters = "num_ctx 8" }, "messages": func(s *api.ShowResponse) { s.Messages = []api.Message{{Role: "user", Content: "hi"}} },
	} {
		other := show
		if change(&other); around(&other) == around(&show) {
			t.Errorf("another %s gives the same digest", what)
		}
	}
}

// A server that gives no sign at all may hold the model's slot for a request that was
// given up: the failure says what frees it.
func TestNoReplySaysWhatFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := backendtest.Reply(200, "application/x-ndjson", "{}\n")
		n := &backendtest.Network{Routes: map[string]backendtest.Recording{"POST /api/chat": whole.Until(0)}, Silent: true}
		b := over(t, n)
		req := backendtest.Ask("m:1b", "?")
		req.Timeouts = backends.Timeouts{FirstContent: 7 * time.Second}
		resp, err := b.Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
		if e := backendtest.Typed(t, resp, err, backends.ErrStalled); !strings.Contains(e.Hint, "ollama stop m:1b") {
			t.Errorf("hint %q", e.Hint)
		}
	})
}

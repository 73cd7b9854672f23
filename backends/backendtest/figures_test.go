package backendtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/timing"
)

// figures is a reply of an adapter's server with figures of the test's.
func figures(api, usage, timings string) backendtest.Recording {
	if api == "ollama" {
		return backendtest.Reply(200, "application/x-ndjson", `{"message":{"role":"assistant","content":"Yes"},"done":false}`+"\n",
			`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"`+timings+"}\n")
	}
	return backendtest.Reply(200, "text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"Yes"},"finish_reason":"stop"}]}`+"\n\n",
		`data: {"choices":[]`+usage+timings+"}\n\ndata: [DONE]\n\n")
}

// TestFiguresThatCannotBeTrue: through every adapter they are unknown, named, and
// kept as they came; the answer counts.
func TestFiguresThatCannotBeTrue(t *testing.T) {
	const unknown = -1
	usage := func(prompt, completion, cached string) string {
		return `,"usage":{"prompt_tokens":` + prompt + `,"completion_tokens":` + completion + `,"prompt_tokens_details":{"cached_tokens":` + cached + `}}`
	}
	timings := func(cache, prompt, promptMS, n, ms string) string {
		return `,"timings":{"cache_n":` + cache + `,"prompt_n":` + prompt + `,"prompt_ms":` + promptMS + `,"predicted_n":` + n + `,"predicted_ms":` + ms + `}`
	}
	ollama := func(total, load, promptN, prompt, n, eval string) string {
		return `,"total_duration":` + total + `,"load_duration":` + load + `,"prompt_eval_count":` + promptN + `,"prompt_eval_duration":` + prompt + `,"eval_count":` + n + `,"eval_duration":` + eval
	}
	for name, c := range map[string]struct {
		apis                       string
		usage, timings             string
		prompt, completion, cached int // unknown: nil
		times                      int // how many of the server's are known
		cache                      backends.CacheState
		odd                        string // fields, in order
		raw                        string // part of what is kept
	}{
		"good": {"openai vllm", usage("9", "2", "0"), "", 9, 2, 0, 0, backends.CacheCold, "", ""},
		"negative counts": {"openai vllm", usage("-10", "-1", "-1"), "", unknown, unknown, unknown, 0, backends.CacheUnverified,
			"usage.prompt_tokens usage.completion_tokens usage.prompt_tokens_details.cached_tokens", `"cached_tokens":-1`},
		"a negative count of reused tokens": {"openai vllm llamacpp", usage("9", "2", "-1"), "", 9, 2, unknown, 0, backends.CacheUnverified,
			"usage.prompt_tokens_details.cached_tokens", `"cached_tokens":-1`},
		"counts beyond a 64-bit integer": {"openai vllm llamacpp", usage("9223372036854775808", "9223372036854775807", "0"), "", unknown, unknown, 0, 0, "",
			"usage.prompt_tokens usage.completion_tokens", "9223372036854775808"},
		"counts that are words": {"openai vllm llamacpp", usage(`"9"`, "2.5", "true"), "", unknown, unknown, unknown, 0, backends.CacheUnverified,
			"usage.prompt_tokens usage.completion_tokens usage.prompt_tokens_details.cached_tokens", `"9"`},
		"more reused than sent":     {"openai vllm", usage("9", "2", "10"), "", 9, 2, unknown, 0, backends.CacheUnverified, "usage.prompt_tokens_details.cached_tokens", `"cached_tokens":10`},
		"no tokens in an answer":    {"openai vllm", usage("9", "0", "0"), "", 9, unknown, 0, 0, backends.CacheCold, "usage.completion_tokens", `"completion_tokens":0`},
		"a usage that is a list":    {"openai vllm", `,"usage":[1]`, "", unknown, unknown, unknown, 0, backends.CacheUnverified, "usage", "[1]"},
		"vLLM: times":               {"vllm", usage("9", "2", "0"), `,"metrics":{"time_to_first_token_ms":-4,"generation_time_ms":1e300,"queue_time_ms":0.5}`, 9, 2, 0, 1, backends.CacheCold, "metrics.time_to_first_token_ms metrics.generation_time_ms", "1e300"},
		"vLLM: longer than it took": {"vllm", usage("9", "2", "0"), `,"metrics":{"time_to_first_token_ms":4000,"generation_time_ms":1,"queue_time_ms":0.5}`, 9, 2, 0, 2, backends.CacheCold, "the server's prompt time", "4000"},
		"llama-server, good":        {"llamacpp", usage("9", "2", "4"), timings("4", "5", "1.5", "2", "3"), 9, 2, 4, 2, backends.CacheHit, "", ""},
		"llama-server, its sum":     {"llamacpp", usage("9", "2", "0"), timings("0", "8", "1", "2", "3"), unknown, 2, 0, 2, backends.CacheUnverified, "usage.prompt_tokens", `"prompt_n":8`},
		"llama-server, its answer":  {"llamacpp", usage("9", "3", "0"), timings("0", "9", "1", "2", "3"), 9, unknown, 0, 2, backends.CacheCold, "usage.completion_tokens", `"predicted_n":2`},
		"llama-server, reused":      {"llamacpp", usage("9", "2", "4"), timings("0", "9", "1", "2", "3"), 9, 2, unknown, 2, backends.CacheUnverified, "usage.prompt_tokens_details.cached_tokens", `"cached_tokens":4`},
		"llama-server, below nothing": {"llamacpp", "", timings("-1", "10", "-0.1", "2", "3"), unknown, 2, unknown, 1, backends.CacheUnverified,
			"timings.prompt_ms timings.cache_n", `"cache_n":-1`},
		"llama-server, a sum of two limits": {"llamacpp", "", timings("9223372036854775807", "9223372036854775807", "1", "2", "3"), unknown, 2, unknown, 2, backends.CacheUnverified,
			"timings.cache_n timings.prompt_n", "9223372036854775807"},
		"llama-server, an odd part": {"llamacpp", "", timings("0", "-10", "1", "2", "3"), unknown, 2, 0, 2, backends.CacheUnverified, "timings.prompt_n", `"prompt_n":-10`},
		"Ollama, good":              {"ollama", "", ollama("900000", "20000", "9", "400000", "2", "300000"), 9, 2, unknown, 4, backends.CacheTimed, "", ""},
		"Ollama, below nothing": {"ollama", "", ollama("-1", "-100000000000", "-10", "-1", "-2", "-3"), unknown, unknown, unknown, 0, backends.CacheTimed,
			"prompt_eval_count eval_count total_duration load_duration prompt_eval_duration eval_duration", `"load_duration":-100000000000`},
		"Ollama, beyond all bounds": {"ollama", "", ollama("9223372036854775808", "9223372036854775807", "9223372036854775808", "1", "1e99", "1"), unknown, unknown, unknown, 2, backends.CacheTimed,
			"prompt_eval_count eval_count total_duration load_duration", `"total_duration":9223372036854775808`},
		"Ollama, longer than it took": {"ollama", "", ollama("900000", "100000000000", "9", "1", "2", "1"), 9, 2, unknown, 3, backends.CacheTimed, "the server's load time", `"load_duration":100000000000`},
		"Ollama, words":               {"ollama", "", ollama(`"1s"`, "null", `[]`, "0.5", "2", "1"), unknown, 2, unknown, 2, backends.CacheTimed, "prompt_eval_count total_duration", `"1s"`},
	} {
		for api := range strings.FieldsSeq(c.apis) {
			t.Run(name+"/"+api, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: figures(api, c.usage, c.timings)}}
					req := backendtest.Ask("m", "?")
					req.Prove = true
					r, err := connect(t, api, n).Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
					if err != nil {
						t.Fatal(err)
					}
					if r.Answer != "Yes" {
						t.Errorf("answer %q", r.Answer)
					}
					for what, pair := range map[string][2]any{
						"prompt":     {show(r.Usage.PromptTokens), show(known(c.prompt))},
						"completion": {show(r.Usage.CompletionTokens), show(known(c.completion))},
						"cached":     {show(r.Usage.CachedTokens), show(known(c.cached))},
					} {
						if pair[0] != pair[1] {
							t.Errorf("%s tokens: %v, want %v", what, pair[0], pair[1])
						}
					}
					times := 0
					for _, d := range []any{show(r.Server.Total), show(r.Server.Load), show(r.Server.Prompt), show(r.Server.Decode), show(r.Server.Queue)} {
						if d != "unknown" {
							times++
						}
					}
					if times != c.times {
						t.Errorf("%d times are known, want %d: %+v", times, c.times, r.Server)
					}
					if c.cache != "" && r.Cache.State != c.cache || r.Cache.State == backends.CacheUnverified && r.Cache.Reason == "" {
						t.Errorf("caches: %+v, want %s", r.Cache, c.cache)
					}
					var fields []string
					for _, o := range r.Odd {
						fields = append(fields, o.Field)
						if o.Why == "" || o.Value == "" {
							t.Errorf("%+v says too little", o)
						}
					}
					if got := strings.Join(fields, " "); got != c.odd {
						t.Errorf("odd are %q, want %q", got, c.odd)
					}
					if !strings.Contains(string(r.Server.Raw), c.raw) {
						t.Errorf("%s is not kept in %s", c.raw, r.Server.Raw)
					}
				})
			})
		}
	}
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// TestTimingsOnEveryEventCorrectThemselves: only the last ones count, odd or not.
func TestTimingsOnEveryEventCorrectThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event := func(n int) string {
			return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"timings":{"cache_n":0,"prompt_n":9,"predicted_n":%d}}`+"\n\n", n)
		}
		n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()["llamacpp"].chat: backendtest.Reply(200, "text/event-stream", event(-1), event(2), "data: [DONE]\n\n")}}
		r, err := connect(t, "llamacpp", n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
		if err != nil || show(r.Usage.CompletionTokens) != 2 || len(r.Odd) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

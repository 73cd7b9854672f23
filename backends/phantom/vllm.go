package phantom

import (
	"fmt"
	"net/http"
	"time"
)

// vllmVersion is whose framing is spoken. Nobody has recorded a live vLLM: all
// of this file follows its source, and is unverified.
const vllmVersion = "0.99.0-phantom"

func (s *server) vllm() *http.ServeMux {
	mux := s.openai()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("GET /version", told(func(*http.Request) any { return map[string]string{"version": vllmVersion} }))
	mux.HandleFunc("GET /v1/models", told(s.vllmModels))
	mux.HandleFunc("GET /metrics", s.vllmMetrics)
	mux.HandleFunc("POST /v1/completions", s.goesOn(func(model string, m more) map[string]any {
		return map[string]any{"id": "cmpl-phantom", "object": "text_completion", "created": time.Now().Unix(), "model": model,
			"choices": []any{map[string]any{"index": 0, "text": m.text, "logprobs": nil, "finish_reason": m.finish}},
			"usage":   map[string]int{"prompt_tokens": m.prompt, "completion_tokens": m.tokens, "total_tokens": m.prompt + m.tokens}}
	}))
	return mux
}

func vllmHeaders(h http.Header, _ *http.Request) {
	h.Set("Server", "uvicorn")
	h.Set("Content-Type", "application/json")
}

// vllmWords are vLLM's words of what is wrong.
func vllmWords() map[problem]words {
	const bad = "BadRequestError"
	const body = "The request body is no JSON of a chat completion: {why}"
	return map[problem]words{
		nowhere:      {status: 404, text: "Not Found"},
		emptyBody:    {status: 400, kind: bad, text: body},
		noJSON:       {status: 400, kind: bad, text: body},
		unknownModel: {status: 404, kind: "NotFoundError", text: "The model `{model}` does not exist.", field: "model"},
		noMessages:   {status: 400, kind: bad, text: "there are no messages"},
		badMessages:  {status: 400, kind: bad, text: "the messages are no list of messages"},
		blind:        {status: 400, kind: bad, text: "{model} is not a multimodal model"},
		badPicture:   {status: 400, kind: bad, text: "cannot identify image file"},
		elsewhere:    {status: 400, kind: bad, text: "cannot identify image file"},
		badFormat:    {status: 400, kind: bad, text: "unknown response format {why}"},
		tooLong: {status: 400, kind: bad, field: "input_tokens", text: "This model's maximum context length is {context} tokens. However, your request has {tokens} input tokens. " +
			"Please reduce the length of the input messages."},
		badSchema: {status: 400, kind: bad, text: "Invalid JSON schema: {why}"},
		badToken:  {status: 400, kind: bad, text: "{why}"},
		loading:   {status: 503, kind: "ServiceUnavailableError", text: "the engine is still being started"},
		broken:    {status: 500, kind: "InternalServerError", text: "the engine failed"},
	}
}

func vllmError(say words, j job) any {
	if j.is == nowhere {
		return map[string]string{"detail": say.text}
	}
	var field any
	if say.field != "" {
		field = say.field
	}
	return map[string]any{"error": map[string]any{"message": say.text, "type": say.kind, "param": field, "code": say.status}}
}

func (s *server) vllmModels(r *http.Request) any {
	data := []any{}
	for _, p := range s.readers {
		data = append(data, map[string]any{"id": p.Name, "object": "model", "created": s.began.Unix(), "owned_by": "vllm", "root": "phantom:" + p.Name, "parent": nil,
			"max_model_len": p.Context, "permission": []any{}})
	}
	return map[string]any{"object": "list", "data": data}
}

// vllmMetrics counts what has been done.
func (s *server) vllmMetrics(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	d, busy := s.done, s.busy
	s.mu.Unlock()
	tokens, pictures := s.options.Caches.hits()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range []struct {
		name, kind string
		v          int
	}{
		{"num_requests_running", "gauge", busy},
		{"prompt_tokens_total", "counter", d.prompt},
		{"generation_tokens_total", "counter", d.generated},
		{"prefix_cache_hits_total", "counter", tokens},
		{"mm_cache_hits_total", "counter", pictures},
	} {
		fmt.Fprintf(w, "# TYPE vllm:%s %s\nvllm:%s %d\n", m.name, m.kind, m.name, m.v)
	}
	const first = "vllm:time_to_first_token_seconds"
	fmt.Fprintf(w, "# TYPE %s histogram\n%s_sum %g\n%s_count %d\n", first, first, d.first.Seconds(), first, d.replies)
}

type vllmMetrics struct {
	First    float64 `json:"time_to_first_token_ms"`
	Generate float64 `json:"generation_time_ms"`
	Queue    float64 `json:"queue_time_ms"`
	Between  float64 `json:"mean_itl_ms"`
}

func (t *take) vllmMetrics() *vllmMetrics {
	return &vllmMetrics{First: milliseconds(t.first.Sub(t.began)), Generate: milliseconds(t.last.Sub(t.first)),
		Between: milliseconds(t.last.Sub(t.first)) / float64(max(t.tokens-1, 1))}
}

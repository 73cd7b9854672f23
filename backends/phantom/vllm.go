package phantom

import (
	"fmt"
	"net/http"
	"time"
)

// vllmVersion is whose framing is spoken. Nobody has recorded a live vLLM: all
// of this file follows its source, and is unverified.
const vllmVersion = "0.99.0-phantom"

func (s *server) vllm() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) { send(w, 200, map[string]string{"version": vllmVersion}) })
	mux.HandleFunc("GET /v1/models", s.vllmModels)
	mux.HandleFunc("GET /metrics", s.vllmMetrics)
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		s.complete(w, r, func(t *take, c completed) completed { return c }, s.vllmStream)
	})
	mux.HandleFunc("POST /v1/completions", s.goesOn(func(model string, m more) map[string]any {
		return map[string]any{"id": "cmpl-phantom", "object": "text_completion", "created": time.Now().Unix(), "model": model,
			"choices": []any{map[string]any{"index": 0, "text": m.text, "logprobs": nil, "finish_reason": m.finish}},
			"usage":   map[string]int{"prompt_tokens": m.prompt, "completion_tokens": m.tokens, "total_tokens": m.prompt + m.tokens}}
	}))
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /detokenize", s.detokenize)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "uvicorn")
		w.Header().Set("Content-Type", "application/json")
		if _, pattern := mux.Handler(r); pattern == "" {
			send(w, 404, map[string]string{"detail": "Not Found"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type vllmProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func vllmRefuse(w http.ResponseWriter, j job, t trouble) {
	p := vllmProblem{Code: 400, Type: "BadRequestError"}
	switch t.is {
	case emptyBody, noJSON:
		p.Message = fmt.Sprint("The request body is no JSON of a chat completion: ", t.cause)
	case unknownModel:
		p = vllmProblem{fmt.Sprintf("The model `%s` does not exist.", j.name), "NotFoundError", new("model"), 404}
	case noMessages, badMessages:
		p.Message = "the messages are no list of messages"
	case blind:
		p.Message = j.name + " is not a multimodal model"
	case badPicture, elsewhere:
		p.Message = "cannot identify image file"
	case badFormat:
		p.Message = "unknown response format " + t.cause.Error()
	case tooLong:
		p.Param, p.Message = new("input_tokens"), fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.", j.context, j.promptTokens())
	case badSchema:
		p.Message = "Invalid JSON schema: " + t.cause.Error()
	case badToken:
		p.Message = t.cause.Error()
	case loading:
		p = vllmProblem{Message: "the engine is still being started", Type: "ServiceUnavailableError", Code: 503}
	default:
		p = vllmBroken()
	}
	send(w, p.Code, map[string]any{"error": p})
}

func vllmBroken() vllmProblem {
	return vllmProblem{Message: "the engine failed", Type: "InternalServerError", Code: 500}
}

func (s *server) vllmModels(w http.ResponseWriter, r *http.Request) {
	data := []any{}
	for _, p := range s.readers {
		data = append(data, map[string]any{"id": p.Name, "object": "model", "created": s.began.Unix(), "owned_by": "vllm", "root": "phantom:" + p.Name, "parent": nil,
			"max_model_len": p.Context, "permission": []any{}})
	}
	send(w, 200, map[string]any{"object": "list", "data": data})
}

// vllmMetrics counts what has been done.
func (s *server) vllmMetrics(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	d, busy := s.done, s.busy
	s.mu.Unlock()
	tokens, pictures := s.options.Caches.Hits()
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

func (s *server) vllmStream(w http.ResponseWriter, r *http.Request, t *take, c completion) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &sink{ctx: r.Context(), t: t, write: flushed(w), reset: reset(w), blank: []byte(": ping\n\n"), long: `data: {"choices":[{"index":0,"delta":{"content":"`,
		problem: fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", encode(map[string]any{"error": vllmBroken()}))}
	out.ended(s.speak(out, t, c))
}

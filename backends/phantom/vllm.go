package phantom

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// vllmVersion is whose framing is spoken. Nobody has recorded a live vLLM: all
// of this file follows its source, and is unverified.
const vllmVersion = "0.99.0-phantom"

func (s *server) vllm() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200) })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		vllmReply(w, 200, map[string]string{"version": vllmVersion})
	})
	mux.HandleFunc("GET /v1/models", s.vllmModels)
	mux.HandleFunc("GET /metrics", s.vllmMetrics)
	mux.HandleFunc("POST /v1/chat/completions", s.vllmChat)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "uvicorn")
		if _, pattern := mux.Handler(r); pattern == "" {
			vllmReply(w, 404, map[string]string{"detail": "Not Found"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func vllmReply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	reply(w, status, v)
}

type vllmProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func vllmError(w http.ResponseWriter, status int, kind, param, message string) {
	p := vllmProblem{Message: message, Type: kind, Code: status}
	if param != "" {
		p.Param = &param
	}
	vllmReply(w, status, map[string]any{"error": p})
}

func (s *server) vllmModels(w http.ResponseWriter, r *http.Request) {
	data := []any{}
	for _, p := range s.readers {
		data = append(data, map[string]any{"id": p.Name, "object": "model", "created": s.began.Unix(), "owned_by": "vllm", "root": "phantom:" + p.Name, "parent": nil,
			"max_model_len": p.Context, "permission": []any{}})
	}
	vllmReply(w, 200, map[string]any{"object": "list", "data": data})
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
		v          float64
	}{
		{"num_requests_running", "gauge", float64(busy)},
		{"prompt_tokens_total", "counter", float64(d.prompt)},
		{"generation_tokens_total", "counter", float64(d.generated)},
		{"prefix_cache_queries_total", "counter", float64(d.prompt)},
		{"prefix_cache_hits_total", "counter", float64(tokens)},
		{"mm_cache_queries_total", "counter", float64(d.replies)},
		{"mm_cache_hits_total", "counter", float64(pictures)},
	} {
		fmt.Fprintf(w, "# TYPE vllm:%s %s\nvllm:%s %g\n", m.name, m.kind, m.name, m.v)
	}
	for _, m := range []struct {
		name string
		sum  time.Duration
	}{{"time_to_first_token_seconds", d.first}, {"request_queue_time_seconds", 0}, {"request_prefill_time_seconds", d.first}, {"request_decode_time_seconds", d.decode}} {
		fmt.Fprintf(w, "# TYPE vllm:%s histogram\nvllm:%s_sum %g\nvllm:%s_count %d\n", m.name, m.name, m.sum.Seconds(), m.name, d.replies)
	}
}

func (s *server) vllmChat(w http.ResponseWriter, r *http.Request) {
	const bad = "BadRequestError"
	b, err := body(r)
	began := time.Now()
	var c completion
	if err == nil {
		err = c.parse(b)
	}
	if err != nil {
		vllmError(w, 400, bad, "", "The request body is no chat completion request: "+err.Error())
		return
	}
	p, ok := s.reader(c.Model)
	if !ok {
		vllmError(w, 404, "NotFoundError", "model", fmt.Sprintf("The model `%s` does not exist.", c.Model))
		return
	}
	j, err := c.job(s.options.Skill, p, began, b)
	switch {
	case errors.Is(err, errBlind):
		vllmError(w, 400, bad, "", c.Model+" is not a multimodal model")
		return
	case errors.Is(err, errPicture), errors.Is(err, errFetch):
		vllmError(w, 400, bad, "", "cannot identify image file")
		return
	case err != nil:
		vllmError(w, 400, bad, "", err.Error())
		return
	}
	if n := promptTokens(j); n > p.Context {
		vllmError(w, 400, bad, "input_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.", p.Context, n))
		return
	}
	t, err := s.prepare(j)
	if err != nil {
		vllmError(w, 400, bad, "", "Invalid JSON schema: "+err.Error())
		return
	}
	if t.refused(w, func() { vllmError(w, 503, "ServiceUnavailableError", "", "the engine is still being started") },
		func() { vllmError(w, 500, "InternalServerError", "", "the engine failed") }) {
		return
	}
	if j.stream {
		s.vllmStream(w, r, t, c)
		return
	}
	s.vllmWhole(w, r, t)
}

// vllmChunk is one event. The order of fields is vLLM's.
type vllmChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []vllmChoice `json:"choices"`
	Usage   *vllmUsage   `json:"usage,omitempty"`
	Metrics *vllmMetrics `json:"metrics,omitempty"`
}

type vllmChoice struct {
	Index   int            `json:"index"`
	Delta   map[string]any `json:"delta,omitzero"`
	Message map[string]any `json:"message,omitempty"`
	Logs    any            `json:"logprobs"`
	Finish  *string        `json:"finish_reason"`
	Tokens  any            `json:"token_ids"`
}

type vllmUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type vllmMetrics struct {
	First    float64 `json:"time_to_first_token_ms"`
	Generate float64 `json:"generation_time_ms"`
	Queue    float64 `json:"queue_time_ms"`
	Between  float64 `json:"mean_itl_ms"`
}

func (t *take) vllmUsage() *vllmUsage {
	u := &vllmUsage{Prompt: t.promptTokens, Completion: t.tokens(), Total: t.promptTokens + t.tokens()}
	u.Details.Cached = t.reused.Tokens
	return u
}

func (t *take) vllmMetrics() *vllmMetrics {
	return &vllmMetrics{First: milliseconds(t.first.Sub(t.began)), Generate: milliseconds(t.last.Sub(t.first)),
		Between: milliseconds(t.last.Sub(t.first)) / float64(max(t.tokens()-1, 1))}
}

func (s *server) vllmStream(w http.ResponseWriter, r *http.Request, t *take, c completion) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &sink{ctx: r.Context(), t: t, write: flushed(w), reset: reset(w), blank: []byte(": ping\n\n"), long: `data: {"choices":[{"index":0,"delta":{"content":"`,
		problem: fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", encode(map[string]any{"error": vllmProblem{Message: "the engine failed", Type: "InternalServerError", Code: 500}}))}
	empty := vllmChunk{ID: s.id(), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: t.name}
	event := func(choices []vllmChoice, usage *vllmUsage, metrics *vllmMetrics) error {
		e := empty
		e.Choices, e.Usage, e.Metrics = choices, usage, metrics
		return out.send(fmt.Appendf(nil, "data: %s\n\n", encode(e)))
	}
	delta := func(finish *string, d map[string]any) error {
		return event([]vllmChoice{{Finish: finish, Delta: d}}, nil, nil)
	}
	if t.fault == faultRoleFirst && delta(nil, map[string]any{"role": "assistant", "content": ""}) != nil {
		return
	}
	err := s.play(r.Context(), t, func(i int, p chunk) error {
		if i == 0 && t.fault != faultRoleFirst {
			if err := delta(nil, map[string]any{"role": "assistant", "content": ""}); err != nil {
				return err
			}
		}
		if p.thinking {
			return delta(nil, map[string]any{"reasoning": p.text})
		}
		return delta(nil, map[string]any{"content": p.text})
	})
	if out.ended(err) {
		return
	}
	if delta(new(t.finish()), map[string]any{}) != nil {
		return
	}
	if c.StreamOptions.IncludeUsage && t.fault != FaultNoUsage && event([]vllmChoice{}, t.vllmUsage(), t.vllmMetrics()) != nil {
		return
	}
	out.send([]byte("data: [DONE]\n\n")) // a client that is gone needs no end mark
}

func (s *server) vllmWhole(w http.ResponseWriter, r *http.Request, t *take) {
	message := s.whole(r, t, "reasoning")
	vllmReply(w, 200, vllmChunk{ID: s.id(), Object: "chat.completion", Created: time.Now().Unix(), Model: t.name,
		Choices: []vllmChoice{{Finish: new(t.finish()), Message: message}}, Usage: t.vllmUsage()})
}

package phantom

import (
	"bytes"
	"context"
	_ "embed" // props.json
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// llamaBuild is whose framing is spoken.
const llamaBuild = "b10573-phantom"

// llamaProps is what /props says beside the model: the keys of b10573.
//
//go:embed props.json
var llamaProps []byte

const llamaSlots = 8

func (s *server) llamacpp() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { llamaReply(w, 200, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET /props", s.llamaProps)
	mux.HandleFunc("GET /slots", s.llamaSlots)
	mux.HandleFunc("GET /v1/models", s.llamaModels)
	mux.HandleFunc("POST /v1/chat/completions", s.llamaChat)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "llama.cpp")
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header()["Date"] = nil // llama-server sends none
		if _, pattern := mux.Handler(r); pattern == "" {
			llamaError(w, 404, "File Not Found", "not_found_error")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func llamaReply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if status == 200 {
		w.Header().Set("Keep-Alive", "timeout=5, max=100")
	} else {
		w.Header().Set("Connection", "close")
	}
	reply(w, status, v)
}

type llamaProblem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Prompt  int    `json:"n_prompt_tokens,omitempty"`
	Context int    `json:"n_ctx,omitempty"`
}

func llamaError(w http.ResponseWriter, status int, message, kind string) {
	llamaReply(w, status, map[string]any{"error": llamaProblem{Code: status, Message: message, Type: kind}})
}

// llamaReader is who answers to a name.
func (s *server) llamaReader(name string) (Profile, bool) {
	if p, ok := s.reader(name); ok {
		return p, true
	}
	return s.reader(s.options.Loaded)
}

func (s *server) llamaProps(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if err := json.Unmarshal(llamaProps, &v); err != nil {
		panic("phantom: internal error: " + err.Error())
	}
	p, ok := s.llamaReader(r.URL.Query().Get("model"))
	if !ok {
		p = s.readers[0]
	}
	v["model_alias"], v["model_path"], v["build_info"] = p.Name, "phantom:"+p.Name, llamaBuild
	v["total_slots"] = llamaSlots
	v["modalities"] = map[string]bool{"vision": p.Vision, "video": false, "audio": false}
	v["default_generation_settings"].(map[string]any)["n_ctx"] = p.Context
	llamaReply(w, 200, v)
}

func (s *server) llamaSlots(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	type slot struct {
		ID          int  `json:"id"`
		Context     int  `json:"n_ctx"`
		Speculative bool `json:"speculative"`
		Processing  bool `json:"is_processing"`
	}
	list := make([]slot, llamaSlots)
	for i := range list {
		list[i] = slot{ID: i, Context: s.readers[0].Context, Processing: i < busy}
	}
	llamaReply(w, 200, list)
}

func (s *server) llamaModels(w http.ResponseWriter, r *http.Request) {
	var models, data []any
	for _, p := range s.readers {
		can := []string{"completion"}
		if p.Vision {
			can = append(can, "multimodal")
		}
		models = append(models, map[string]any{"name": p.Name, "model": p.Name, "modified_at": "", "size": "", "digest": "", "type": "model", "description": "",
			"tags": []string{""}, "capabilities": can, "parameters": "", "details": map[string]any{"parent_model": "", "format": "gguf", "family": "",
				"families": []string{""}, "parameter_size": "", "quantization_level": ""}})
		data = append(data, map[string]any{"id": p.Name, "aliases": []string{p.Name}, "tags": []string{}, "object": "model", "created": s.began.Unix(), "owned_by": "llamacpp",
			"meta": map[string]any{"vocab_type": true, "n_vocab": 1, "n_ctx": p.Context, "n_ctx_train": p.Context, "n_embd": 1, "n_params": p.Weights, "size": p.Weights * 4, "ftype": "all F32"}})
	}
	llamaReply(w, 200, map[string]any{"models": models, "object": "list", "data": data})
}

func (s *server) llamaChat(w http.ResponseWriter, r *http.Request) {
	b, err := body(r)
	began := time.Now()
	var c completion
	if err == nil {
		err = c.parse(b)
	}
	var shape *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		llamaError(w, 500, "[json.exception.parse_error.101] parse error at line 1, column 1: attempting to parse an empty input; check that your input string or stream contains the expected JSON", "server_error")
		return
	case errors.As(err, &shape):
		llamaError(w, 400, "Expected '"+shape.Field+"' to be of type "+shape.Type.String(), "invalid_request_error")
		return
	case err != nil:
		llamaError(w, 500, fmt.Sprintf("[json.exception.parse_error.101] parse error at line 1, column %d: syntax error while parsing value - %v", len(b)+1, err), "server_error")
		return
	}
	p, ok := s.llamaReader(c.Model)
	if !ok {
		llamaError(w, 404, fmt.Sprintf("model '%s' not found", c.Model), "not_found_error")
		return
	}
	j, err := c.job(s.options.Skill, p, began, b)
	if err != nil {
		status, kind, message := 400, "invalid_request_error", ""
		switch {
		case errors.Is(err, errNoMessages):
			message = "'messages' is required"
		case errors.Is(err, errMessages):
			message = "Expected 'messages' to be an array"
		case errors.Is(err, errPicture):
			message = "Failed to load image or audio file"
		case errors.Is(err, errFetch):
			status, kind, message = 500, "server_error", "error: cannot make GET request"
		case errors.Is(err, errBlind):
			status, kind, message = 500, "server_error", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
		default:
			message = `response_format type must be one of "text" or "json_object", but got: ` + c.ResponseFormat.Type
		}
		llamaError(w, status, message, kind)
		return
	}
	if n := promptTokens(j); n > p.Context {
		llamaReply(w, 400, map[string]any{"error": llamaProblem{400, fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", n, p.Context),
			"exceed_context_size_error", n, p.Context}})
		return
	}
	t, err := s.prepare(j)
	if err != nil {
		llamaError(w, 400, "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed:\n"+strings.ToUpper(err.Error()[:1])+err.Error()[1:], "invalid_request_error")
		return
	}
	if t.refused(w, func() { llamaError(w, 503, "Loading model", "unavailable_error") }, func() { llamaError(w, 500, "the computation failed", "server_error") }) {
		return
	}
	if j.stream {
		s.llamaStream(w, r, t, c)
		return
	}
	s.llamaWhole(w, r, t)
}

// llamaChunk is one event. The order of fields is llama-server's.
type llamaChunk struct {
	Choices     []llamaChoice `json:"choices"`
	Created     int64         `json:"created"`
	ID          string        `json:"id"`
	Model       string        `json:"model"`
	Fingerprint string        `json:"system_fingerprint"`
	Object      string        `json:"object"`
	Usage       *llamaUsage   `json:"usage,omitempty"`
	Timings     *llamaTimings `json:"timings,omitempty"`
}

type llamaChoice struct {
	Finish  *string        `json:"finish_reason"`
	Index   int            `json:"index"`
	Delta   map[string]any `json:"delta,omitzero"`
	Message map[string]any `json:"message,omitempty"`
}

type llamaUsage struct {
	Completion int `json:"completion_tokens"`
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type llamaTimings struct {
	CacheN          int     `json:"cache_n"`
	PromptN         int     `json:"prompt_n"`
	PromptMS        float64 `json:"prompt_ms"`
	PromptPerToken  float64 `json:"prompt_per_token_ms"`
	PromptPerSecond float64 `json:"prompt_per_second"`
	N               int     `json:"predicted_n"`
	MS              float64 `json:"predicted_ms"`
	PerToken        float64 `json:"predicted_per_token_ms"`
	PerSecond       float64 `json:"predicted_per_second"`
}

// llamaTimings is the server's clock after n chunks. Rates divide by one token
// less, as they do since b10406.
func (t *take) llamaTimings(n int) *llamaTimings {
	v := &llamaTimings{CacheN: t.reused.Tokens, PromptN: t.promptTokens - t.reused.Tokens, PromptMS: milliseconds(t.first.Sub(t.began)), N: n, MS: max(milliseconds(t.last.Sub(t.first)), .001)}
	v.PromptPerToken = v.PromptMS / float64(v.PromptN)
	v.PromptPerSecond = 1000 / max(v.PromptPerToken, 1e-6)
	if n > 1 {
		v.PerToken = v.MS / float64(n-1)
		v.PerSecond = 1000 / v.PerToken
	}
	return v
}

func (t *take) llamaUsage() *llamaUsage {
	u := &llamaUsage{Completion: t.tokens(), Prompt: t.promptTokens, Total: t.promptTokens + t.tokens()}
	u.Details.Cached = t.reused.Tokens
	return u
}

func (s *server) llamaStream(w http.ResponseWriter, r *http.Request, t *take, c completion) {
	out, err := s.openLlama(w, r)
	if err != nil {
		return
	}
	defer out.close()
	empty := llamaChunk{Created: time.Now().Unix(), ID: s.id(), Model: t.name, Fingerprint: llamaBuild, Object: "chat.completion.chunk"}
	event := func(choices []llamaChoice, usage *llamaUsage, timings *llamaTimings) []byte {
		e := empty
		e.Choices, e.Usage, e.Timings = choices, usage, timings
		return append(append([]byte("data: "), encode(e)...), "\n\n"...)
	}
	delta := func(finish *string, d map[string]any) []llamaChoice { return []llamaChoice{{Finish: finish, Delta: d}} }
	role := event(delta(nil, map[string]any{"role": "assistant", "content": nil}), nil, nil)
	to := &sink{ctx: out.ctx, t: t, write: out.chunk, reset: out.reset, blank: []byte(":\n\n"), long: `data: {"choices":[{"delta":{"content":"`,
		problem: fmt.Appendf(nil, "data: %s\n\n", encode(map[string]any{"error": llamaProblem{Code: 500, Message: "the computation failed", Type: "server_error"}}))}
	alone := t.ask.Schema != nil || t.fault == faultRoleFirst // the first chunk, which has no token
	if t.fault == faultRoleFirst && to.send(role) != nil {
		return
	}
	n := 0
	err = s.play(out.ctx, t, func(i int, p chunk) error {
		var b []byte
		switch {
		case i > 0:
		case !alone: // it comes in one chunk with the first token
			b = slices.Clone(role)
		case t.fault != faultRoleFirst:
			if err := to.send(role); err != nil {
				return err
			}
		}
		key := "content"
		if p.thinking {
			key = "reasoning_content"
		}
		n += p.tokens
		var timings *llamaTimings
		if c.TimingsPerToken {
			timings = t.llamaTimings(n)
		}
		return to.send(append(b, event(delta(nil, map[string]any{key: p.text}), nil, timings)...))
	})
	if errors.Is(err, errEnded) {
		out.end()
	}
	if err != nil {
		return
	}
	finish := t.finish()
	timings := t.llamaTimings(t.tokens())
	var end []byte
	switch {
	case t.fault == FaultNoUsage:
		end = event(delta(&finish, map[string]any{}), nil, nil)
	case c.StreamOptions.IncludeUsage:
		end = append(event(delta(&finish, map[string]any{}), nil, nil), event([]llamaChoice{}, t.llamaUsage(), timings)...)
	default:
		end = event(delta(&finish, map[string]any{}), nil, timings)
	}
	if to.send(end) == nil && to.send([]byte("data: [DONE]\n\n")) == nil {
		out.end()
	}
}

func (s *server) llamaWhole(w http.ResponseWriter, r *http.Request, t *take) {
	message := s.whole(r, t, "reasoning_content")
	llamaReply(w, 200, llamaChunk{Choices: []llamaChoice{{Finish: new(t.finish()), Message: message}}, Created: time.Now().Unix(), ID: s.id(), Model: t.name,
		Fingerprint: llamaBuild, Object: "chat.completion", Usage: t.llamaUsage(), Timings: t.llamaTimings(t.tokens())})
}

// llamaOut is a stream's connection. llama-server promises to keep it alive and
// closes it after the stream, which net/http cannot be told to do; so the
// connection is taken over.
type llamaOut struct {
	ctx   context.Context // ends when the client is gone
	write func([]byte) error
	reset func() // ends the connection with RST
	close func()
}

func (s *server) openLlama(w http.ResponseWriter, r *http.Request) (*llamaOut, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		llamaError(w, 500, "phantom: this connection cannot stream", "server_error")
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context()) // the server's end, too
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		conn.Read(make([]byte, 1)) // the client sends nothing more: it has hung up
		cancel()
	}()
	out := &llamaOut{ctx: ctx}
	out.write = func(b []byte) error {
		_, err := conn.Write(b)
		return err
	}
	out.reset = func() { linger(conn) }
	out.close = func() {
		conn.Close()
		<-gone
	}
	head := "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: " + r.Header.Get("Origin") + "\r\nX-Accel-Buffering: no\r\n" +
		"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n" + header + ": 1\r\n\r\n"
	if err := out.write([]byte(head)); err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

func (o *llamaOut) chunk(b []byte) error {
	return o.write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b))
}

func (o *llamaOut) end() { o.write([]byte("0\r\n\r\n")) }

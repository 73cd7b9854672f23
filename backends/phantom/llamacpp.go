package phantom

import (
	"context"
	_ "embed" // props.json
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { send(w, 200, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET /props", s.llamaProps)
	mux.HandleFunc("GET /slots", s.llamaSlots)
	mux.HandleFunc("GET /v1/models", s.llamaModels)
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		s.complete(w, r, func(t *take, c completed) completed { c.Timings = t.llamaTimings(t.tokens); return c }, s.llamaStream)
	})
	mux.HandleFunc("POST /completion", s.goesOn(func(model string, m more) map[string]any {
		return map[string]any{"index": 0, "content": m.text, "model": model, "tokens_predicted": m.tokens, "tokens_evaluated": m.prompt,
			"stop": true, "stop_type": map[string]string{"stop": "eos", "length": "limit"}[m.finish], "stopping_word": "", "truncated": false}
	}))
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /detokenize", s.detokenize)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "llama.cpp")
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Keep-Alive", "timeout=5, max=100")
		w.Header()["Date"] = nil // llama-server sends none
		if _, pattern := mux.Handler(r); pattern == "" {
			s.refuse(w, job{}, trouble{is: nowhere})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type llamaProblem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Prompt  int    `json:"n_prompt_tokens,omitempty"`
	Context int    `json:"n_ctx,omitempty"`
}

func llamaRefuse(w http.ResponseWriter, j job, t trouble) {
	p := llamaProblem{Code: 400, Type: "invalid_request_error"}
	const parsing = "[json.exception.parse_error.101] parse error at line 1, column "
	var shape *json.UnmarshalTypeError
	switch t.is {
	case nowhere:
		p = llamaProblem{Code: 404, Message: "File Not Found", Type: "not_found_error"}
	case emptyBody:
		p = llamaProblem{Code: 500, Type: "server_error", Message: parsing + "1: attempting to parse an empty input; check that your input string or stream contains the expected JSON"}
	case noJSON:
		if errors.As(t.cause, &shape) {
			p.Message = "Expected '" + shape.Field + "' to be of type " + shape.Type.String()
			break
		}
		p = llamaProblem{Code: 500, Type: "server_error", Message: fmt.Sprintf(parsing+"%d: syntax error while parsing value - %v", len(j.body)+1, t.cause)}
	case unknownModel:
		p = llamaProblem{Code: 404, Message: fmt.Sprintf("model '%s' not found", j.name), Type: "not_found_error"}
	case noMessages:
		p.Message = "'messages' is required"
	case badMessages:
		p.Message = "Expected 'messages' to be an array"
	case badPicture:
		p.Message = "Failed to load image or audio file"
	case elsewhere:
		p = llamaProblem{Code: 500, Message: "error: cannot make GET request", Type: "server_error"}
	case blind:
		p = llamaProblem{Code: 500, Message: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", Type: "server_error"}
	case badFormat:
		p.Message = `response_format type must be one of "text" or "json_object", but got: ` + t.cause.Error()
	case tooLong:
		p = llamaProblem{400, fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", j.promptTokens(), j.context),
			"exceed_context_size_error", j.promptTokens(), j.context}
	case badSchema:
		why := t.cause.Error()
		p.Message = "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed:\n" + strings.ToUpper(why[:1]) + why[1:]
	case badToken:
		p.Message = t.cause.Error()
	case loading:
		p = llamaProblem{Code: 503, Message: "Loading model", Type: "unavailable_error"}
	default:
		p = llamaBroken()
	}
	w.Header().Del("Keep-Alive")
	w.Header().Set("Connection", "close")
	send(w, p.Code, map[string]any{"error": p})
}

func llamaBroken() llamaProblem {
	return llamaProblem{Code: 500, Message: "the computation failed", Type: "server_error"}
}

func (s *server) llamaProps(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if err := json.Unmarshal(llamaProps, &v); err != nil {
		panic("phantom: internal error: " + err.Error())
	}
	p, ok := s.known(r.URL.Query().Get("model"))
	if !ok {
		p = s.readers[0]
	}
	v["model_alias"], v["model_path"], v["build_info"] = p.Name, "phantom:"+p.Name, llamaBuild
	v["total_slots"] = llamaSlots
	v["modalities"] = map[string]bool{"vision": p.Vision, "video": false, "audio": false}
	v["default_generation_settings"].(map[string]any)["n_ctx"] = p.Context
	send(w, 200, v)
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
	send(w, 200, list)
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
	send(w, 200, map[string]any{"models": models, "object": "list", "data": data})
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

func (s *server) llamaStream(w http.ResponseWriter, r *http.Request, t *take, c completion) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.refuse(w, t.job, trouble{broken, err}) // this connection cannot stream
		return
	}
	ctx, cancel := context.WithCancel(r.Context()) // the server's end, too
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		conn.Read(make([]byte, 1)) // the client sends nothing more: it has hung up
		cancel()
	}()
	defer func() {
		conn.Close()
		<-gone
	}()
	// llama-server promises to keep the connection alive and closes it after the stream,
	// which net/http cannot be told to do; so the connection is taken over.
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: %s\r\nX-Accel-Buffering: no\r\n"+
		"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n%s: 1\r\n\r\n", r.Header.Get("Origin"), header)
	out := &sink{ctx: ctx, t: t, reset: func() { linger(conn) }, blank: []byte(":\n\n"), long: `data: {"choices":[{"delta":{"content":"`,
		problem: fmt.Appendf(nil, "data: %s\n\n", encode(map[string]any{"error": llamaBroken()}))}
	out.write = func(b []byte) error {
		_, err := conn.Write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b))
		return err
	}
	if err := s.speak(out, t, c); err == nil || errors.Is(err, errEnded) {
		conn.Write([]byte("0\r\n\r\n")) // a client that is gone needs no end mark
	}
}

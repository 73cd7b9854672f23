package phantom

import (
	_ "embed" // props.json
	"encoding/json"
	"net/http"
)

// llamaBuild is whose framing is spoken.
const llamaBuild = "b10573-phantom"

// llamaProps is what /props says beside the model: the keys of b10573.
//
//go:embed props.json
var llamaProps []byte

const llamaSlots = 8

func (s *server) llama() bool { return s.protocol.name == "llamacpp" }

func (s *server) llamacpp() *http.ServeMux {
	mux := s.openai()
	mux.HandleFunc("GET /health", told(func(*http.Request) any { return map[string]string{"status": "ok"} }))
	mux.HandleFunc("GET /props", told(s.llamaProps))
	mux.HandleFunc("GET /slots", told(s.llamaSlots))
	mux.HandleFunc("GET /v1/models", told(s.llamaModels))
	mux.HandleFunc("POST /completion", s.goesOn(func(model string, m more) map[string]any {
		return map[string]any{"index": 0, "content": m.text, "model": model, "tokens_predicted": m.tokens, "tokens_evaluated": m.prompt,
			"stop": true, "stop_type": map[string]string{"stop": "eos", "length": "limit"}[m.finish], "stopping_word": "", "truncated": false}
	}))
	return mux
}

func llamaHeaders(h http.Header, r *http.Request) {
	h.Set("Server", "llama.cpp")
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Keep-Alive", "timeout=5, max=100")
	h["Date"] = nil // llama-server sends none
}

// llamaWords are llama-server's words of what is wrong.
func llamaWords() map[problem]words {
	const bad, failed, none = "invalid_request_error", "server_error", "not_found_error"
	const parsing = "[json.exception.parse_error.101] parse error at line 1, column 1: "
	return map[problem]words{
		nowhere:      {status: 404, kind: none, text: "File Not Found"},
		emptyBody:    {status: 500, kind: failed, text: parsing + "attempting to parse an empty input; check that your input string or stream contains the expected JSON"},
		noJSON:       {status: 500, kind: failed, text: parsing + "syntax error while parsing value - {why}"},
		unknownModel: {status: 404, kind: none, text: "model '{model}' not found"},
		noMessages:   {status: 400, kind: bad, text: "'messages' is required"},
		badMessages:  {status: 400, kind: bad, text: "Expected 'messages' to be an array"},
		badPicture:   {status: 400, kind: bad, text: "Failed to load image or audio file"},
		elsewhere:    {status: 500, kind: failed, text: "error: cannot make GET request"},
		blind:        {status: 500, kind: failed, text: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"},
		badFormat:    {status: 400, kind: bad, text: `response_format type must be one of "text" or "json_object", but got: {why}`},
		tooLong: {status: 400, kind: "exceed_context_size_error",
			text: "request ({tokens} tokens) exceeds the available context size ({context} tokens), try increasing it"},
		badSchema: {status: 400, kind: bad, text: "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed:\n{why}"},
		badToken:  {status: 400, kind: bad, text: "{why}"},
		loading:   {status: 503, kind: "unavailable_error", text: "Loading model"},
		broken:    {status: 500, kind: failed, text: "the computation failed"},
	}
}

func llamaError(say words, j job) any {
	e := map[string]any{"code": say.status, "message": say.text, "type": say.kind}
	if say.kind == "exceed_context_size_error" {
		e["n_prompt_tokens"], e["n_ctx"] = j.promptTokens(), j.context
	}
	return map[string]any{"error": e}
}

func llamaRefuse(w http.ResponseWriter, j job, say words) {
	w.Header().Del("Keep-Alive")
	w.Header().Set("Connection", "close")
	send(w, say.status, llamaError(say, j))
}

func (s *server) llamaProps(r *http.Request) any {
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
	return v
}

type llamaSlot struct {
	ID          int  `json:"id"`
	Context     int  `json:"n_ctx"`
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
}

func (s *server) llamaSlots(r *http.Request) any {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	list := make([]llamaSlot, llamaSlots)
	for i := range list {
		list[i] = llamaSlot{ID: i, Context: s.readers[0].Context, Processing: i < busy}
	}
	return list
}

func (s *server) llamaModels(r *http.Request) any {
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
	return map[string]any{"models": models, "object": "list", "data": data}
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

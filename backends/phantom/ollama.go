package phantom

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ollamaVersion is whose framing is spoken.
const ollamaVersion = "0.24.0-phantom"

func (s *server) ollama() *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range []struct {
		method, path string
		do           func(w http.ResponseWriter, r *http.Request)
	}{
		{"GET", "/{$}", func(w http.ResponseWriter, r *http.Request) { ollamaText(w, 200, "Ollama is running") }},
		{"GET", "/api/version", told(func(*http.Request) any { return map[string]any{"version": ollamaVersion} })},
		{"GET", "/api/tags", told(s.ollamaTags)},
		{"GET", "/api/ps", told(s.ollamaPS)},
		{"POST", "/api/show", s.answered(s.ollamaShow)},
		{"POST", "/api/chat", s.answered(s.ollamaChat)},
		{"POST", "/api/generate", s.answered(s.ollamaGenerate)},
	} {
		mux.HandleFunc(e.path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != e.method && (e.method != "GET" || r.Method != "HEAD") {
				w.Header().Set("Allow", e.method)
				ollamaText(w, http.StatusMethodNotAllowed, "405 method not allowed")
				return
			}
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			e.do(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { ollamaText(w, 404, "404 page not found") })
	return mux
}

func ollamaText(w http.ResponseWriter, status int, text string) {
	kind := "text/plain"
	if status == 200 {
		kind += "; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// ollamaWords are Ollama's words of what is wrong.
func ollamaWords() map[problem]words {
	return map[problem]words{
		emptyBody:    {status: 400, text: "missing request body"},
		noJSON:       {status: 400, text: "{why}"},
		noName:       {status: 400, text: "model is required"},
		unknownModel: {status: 404, text: "model '{model}' not found"},
		badFormat:    {status: 500, text: `invalid format: {why}; expected "json" or a valid JSON Schema object`},
		unthinking:   {status: 400, text: `"{model}" does not support thinking`},
		badOption:    {status: 500, text: `option "{why}" must be of type integer`},
		badPicture:   {status: 500, text: "Failed to create new sequence: failed to process inputs: {why}"},
		tooLong:      {status: 400, text: "the input length exceeds the context length"},
		badSchema:    {status: 500, text: "invalid JSON schema in format"},
		unprompted:   {status: 400, text: "phantoms answer at /api/chat only"},
		loading:      {status: 503, text: "the model is still being loaded"},
		broken:       {status: 500, text: "the model's runner has stopped"},
	}
}

func ollamaError(say words, j job) any {
	// A field's type is named after Ollama's package, not ours.
	return map[string]string{"error": strings.NewReplacer("phantom.", "api.", "chatRequest", "ChatRequest", "chatMessage", "Message").Replace(say.text)}
}

func ollamaRefuse(w http.ResponseWriter, j job, say words) {
	if j.is != badPicture && (j.is != tooLong || !j.stream) {
		send(w, say.status, ollamaError(say, j))
		return
	}
	w.Header().Set("Content-Type", "application/json") // the model's runner reports it: a stream by then
	w.WriteHeader(say.status)
	w.Write(encode(ollamaError(say, j)))
	http.NewResponseController(w).Flush()
}

// ollamaModel is what lists of models say of one, with what a list adds.
func ollamaModel(p Profile, more map[string]any) map[string]any {
	more["name"], more["model"], more["size"], more["digest"], more["details"] = p.Name+":latest", p.Name+":latest", p.Weights*4, digest(p), ollamaDetails(p)
	return more
}

func ollamaDetails(p Profile) map[string]any {
	size := fmt.Sprintf("%dM", p.Weights/1_000_000)
	if p.Weights >= 1_000_000_000 {
		size = fmt.Sprintf("%.1fB", float64(p.Weights)/1e9)
	}
	return map[string]any{"parent_model": "", "format": "gguf", "family": "phantom", "families": []string{"phantom"},
		"parameter_size": size, "quantization_level": "F32"}
}

func (s *server) ollamaTags(*http.Request) any {
	list := []any{}
	for _, p := range s.readers {
		list = append(list, ollamaModel(p, map[string]any{"modified_at": s.began.Format(time.RFC3339Nano)}))
	}
	return map[string]any{"models": list}
}

func (s *server) ollamaPS(*http.Request) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, p := range s.readers {
		if at, ok := s.used[p.Name]; ok {
			list = append(list, ollamaModel(p, map[string]any{"expires_at": at.Add(30 * time.Minute).Format(time.RFC3339Nano), "size_vram": 0, "context_length": p.Context}))
		}
	}
	return map[string]any{"models": list}
}

func (s *server) ollamaShow(w http.ResponseWriter, r *http.Request) (job, any) {
	var req struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	j := s.ollamaRead(w, r, &req, func() string { return cmp.Or(req.Model, req.Name) })
	p, can := j.reader, []string{"completion"}
	if p.Vision {
		can = append(can, "vision")
	}
	if p.Thinking != ThinksNot {
		can = append(can, "thinking")
	}
	return j, map[string]any{
		"modelfile":  "# A synthetic reader; it has no weights.\nFROM " + p.Name + ":latest\n",
		"parameters": fmt.Sprintf("num_ctx                        %d", p.Context),
		"template":   "{{- range .Messages }}{{ .Role }}: {{ .Content }}{{- end }}", "details": ollamaDetails(p),
		"model_info": map[string]any{"general.architecture": "phantom", "general.file_type": 0, "general.parameter_count": p.Weights,
			"phantom.context_length": p.Context},
		"tensors":      []any{map[string]any{"name": "token_embd.weight", "type": "F32", "shape": []int{1, 1}}},
		"capabilities": can, "modified_at": s.began.Format(time.RFC3339Nano),
	}
}

// ollamaRead reads a request and finds the model by the name in it, with or without a tag.
func (s *server) ollamaRead(w http.ResponseWriter, r *http.Request, into any, name func() string) job {
	j, ok := read(w, r, into), false
	if j.is != fine {
		return j
	}
	j.name = name()
	j.reader, ok = s.reader(strings.TrimSuffix(j.name, ":latest"))
	switch {
	case j.name == "":
		j.is = noName
	case !ok:
		j.is = unknownModel
	}
	return j
}

// ollamaGenerate continues raw texts and takes models out of memory. Phantoms answer
// questions in conversations only, and are loaded by these.
func (s *server) ollamaGenerate(w http.ResponseWriter, r *http.Request) (job, any) {
	var req struct {
		Model     string `json:"model"`
		Prompt    string `json:"prompt"`
		Raw       bool   `json:"raw"`
		KeepAlive any    `json:"keep_alive"`
		Options   struct {
			Predict int   `json:"num_predict"`
			Seed    int64 `json:"seed"`
		} `json:"options"`
	}
	j := s.ollamaRead(w, r, &req, func() string { return req.Model })
	answer := map[string]any{"model": j.name, "created_at": now(), "response": "", "done": true}
	switch {
	case j.is != fine:
	case req.Raw:
		m := s.goOn(&j, req.Prompt, req.Options.Predict, req.Options.Seed)
		answer["response"], answer["done_reason"], answer["prompt_eval_count"], answer["eval_count"] = m.text, m.finish, m.prompt, m.tokens
	case req.Prompt == "" && (req.KeepAlive == float64(0) || req.KeepAlive == "0" || req.KeepAlive == "0s"):
		answer["done_reason"] = "unload"
		s.mu.Lock()
		delete(s.used, j.reader.Name)
		delete(s.loaded, j.reader.Name)
		s.mu.Unlock()
	default:
		j.is = unprompted
	}
	return j, answer
}

type chatRequest struct {
	Model    string          `json:"model"`
	Messages []chatMessage   `json:"messages"`
	Stream   *bool           `json:"stream"`
	Format   json.RawMessage `json:"format"`
	Think    any             `json:"think"`
	Truncate *bool           `json:"truncate"`
	Options  map[string]any  `json:"options"`
}

type chatMessage struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Images  [][]byte `json:"images"`
}

func (s *server) ollamaChat(w http.ResponseWriter, r *http.Request) (job, any) {
	var req chatRequest
	j := s.ollamaRead(w, r, &req, func() string { return req.Model })
	if j.is == fine && len(req.Messages) == 0 {
		s.count(j.reader.Name, 0)
		s.load(j.reader)
		return j, map[string]any{"model": j.name, "created_at": now(), "message": map[string]any{"role": "assistant", "content": ""},
			"done": true, "done_reason": "load"}
	}
	if j.is == fine {
		j.trouble = req.job(&j, s.options.Skill)
	}
	if a := s.prepare(&j); j.is == fine {
		s.ollamaAnswer(w, r, a)
	}
	return j, nil
}

// job reads what is asked of a model.
func (req chatRequest) job(j *job, skill skill) trouble {
	j.stream = req.Stream == nil || *req.Stream
	switch f := string(bytes.TrimSpace(req.Format)); {
	case f == "" || f == "null" || f == `""`:
	case f == `"json"`:
		j.ask.JSON = true
	case f[0] == '{':
		j.ask.Schema = req.Format
	default:
		return trouble{badFormat, errors.New(strconv.Quote(f))}
	}
	if on, ok := req.Think.(bool); ok {
		j.ask.Think = &on
		if on && j.reader.Thinking == ThinksNot {
			return trouble{is: unthinking}
		}
	}
	whole := map[string]int{"num_ctx": j.reader.Context}
	for _, name := range []string{"num_predict", "seed", "num_ctx"} {
		v, given := req.Options[name]
		n, ok := v.(float64)
		if given && (!ok || n != math.Trunc(n)) {
			return trouble{badOption, errors.New(name)}
		}
		if given {
			whole[name] = int(n)
		}
	}
	j.maxTokens, j.ask.Seed = max(whole["num_predict"], 0), int64(whole["seed"])
	if req.Truncate != nil && !*req.Truncate {
		j.context = whole["num_ctx"]
	}
	for _, m := range req.Messages {
		var parts []part
		for _, image := range m.Images {
			parts = append(parts, part{picture: image})
		}
		if t := j.hear(skill, m.Role, append(parts, part{text: m.Content})); t.is != fine {
			return t
		}
	}
	return trouble{}
}

// ollamaLine is one line of a reply. The order of fields is Ollama's.
type ollamaLine struct {
	Model     string        `json:"model"`
	CreatedAt string        `json:"created_at"`
	Message   ollamaMessage `json:"message"`
	Done      bool          `json:"done"`
	Reason    string        `json:"done_reason,omitempty"`
	Total     int64         `json:"total_duration,omitempty"`
	Load      int64         `json:"load_duration,omitempty"`
	PromptN   int           `json:"prompt_eval_count,omitempty"`
	Prompt    int64         `json:"prompt_eval_duration,omitempty"`
	EvalN     int           `json:"eval_count,omitempty"`
	Eval      int64         `json:"eval_duration,omitempty"`
}

type ollamaMessage struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	Thinking string `json:"thinking,omitempty"`
}

// ollamaLoad is what a warm Ollama calls loading; phantoms have nothing to load.
const ollamaLoad = 900 * time.Microsecond

func (s *server) ollamaAnswer(w http.ResponseWriter, r *http.Request, t *take) {
	out := s.sink(w, r, t, `{"model":"`+t.name+`","message":{"role":"assistant","content":"`, append(s.failed(t.job), '\n'))
	line := func(l ollamaLine) error {
		l.Model, l.CreatedAt, l.Message.Role = t.name, now(), "assistant"
		if !t.stream {
			send(w, 200, l)
			return nil
		}
		return out.send(append(encode(l), '\n'))
	}
	if t.stream {
		w.Header().Set("Content-Type", s.protocol.events)
	}
	if t.fault == faultRoleFirst && line(ollamaLine{}) != nil { // it strikes streams only
		return
	}
	err := s.play(r.Context(), t, func(_ int, p chunk) error {
		switch {
		case !t.stream:
			return nil
		case p.thinking:
			return line(ollamaLine{Message: ollamaMessage{Thinking: p.text}})
		}
		return line(ollamaLine{Message: ollamaMessage{Content: p.text}})
	})
	if out.ended(err) {
		return
	}
	end := ollamaLine{Done: true, Reason: t.finish()}
	if load := ollamaLoad + t.load; t.fault != FaultNoUsage {
		end.Total, end.Load, end.PromptN, end.Prompt = int64(time.Since(t.began)), int64(load), t.promptTokens, int64(max(t.first.Sub(t.began)-load, 1))
		end.EvalN, end.Eval = t.tokens, int64(max(t.last.Sub(t.first), 1))
	}
	if !t.stream {
		end.Message.Thinking, end.Message.Content = text(t.chunks)
	}
	line(end) // a client that is gone needs no answer
}

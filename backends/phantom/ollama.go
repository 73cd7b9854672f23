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
	"strings"
	"time"
)

// ollamaVersion is whose framing is spoken.
const ollamaVersion = "0.24.0-phantom"

func (s *server) ollama() http.Handler {
	mux := http.NewServeMux()
	for _, e := range []struct {
		method, path string
		do           func(w http.ResponseWriter, r *http.Request)
	}{
		{"GET", "/{$}", func(w http.ResponseWriter, r *http.Request) { ollamaText(w, 200, "Ollama is running") }},
		{"GET", "/api/version", func(w http.ResponseWriter, r *http.Request) {
			ollamaReply(w, 200, map[string]any{"version": ollamaVersion})
		}},
		{"GET", "/api/tags", s.ollamaTags},
		{"GET", "/api/ps", s.ollamaPS},
		{"POST", "/api/show", s.ollamaShow},
		{"POST", "/api/chat", s.ollamaChat},
		{"POST", "/api/generate", s.ollamaGenerate},
	} {
		mux.HandleFunc(e.path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != e.method && (e.method != "GET" || r.Method != "HEAD") {
				w.Header().Set("Allow", e.method)
				ollamaText(w, http.StatusMethodNotAllowed, "405 method not allowed")
				return
			}
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

func ollamaReply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	reply(w, status, v)
}

func ollamaError(w http.ResponseWriter, status int, message string) {
	ollamaReply(w, status, map[string]string{"error": message})
}

// ollamaRefuse is an error that the model's runner reports: a stream by then.
func ollamaRefuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(map[string]string{"error": message}))
	http.NewResponseController(w).Flush()
}

func ollamaDetails(p Profile) map[string]any {
	return map[string]any{"parent_model": "", "format": "gguf", "family": "phantom", "families": []string{"phantom"},
		"parameter_size": size(p.Weights), "quantization_level": "F32"}
}

// size writes parameters the usual way: "4.3B".
func size(n int64) string {
	if n >= 1_000_000_000 {
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

func (s *server) ollamaTags(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	for _, p := range s.readers {
		list = append(list, map[string]any{"name": p.Name + ":latest", "model": p.Name + ":latest", "modified_at": s.began.Format(time.RFC3339Nano),
			"size": p.Weights * 4, "digest": digest(p), "details": ollamaDetails(p)})
	}
	ollamaReply(w, 200, map[string]any{"models": list})
}

func (s *server) ollamaPS(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, p := range s.readers {
		if at, ok := s.used[p.Name]; ok {
			list = append(list, map[string]any{"name": p.Name + ":latest", "model": p.Name + ":latest", "size": p.Weights * 4, "digest": digest(p),
				"details": ollamaDetails(p), "expires_at": at.Add(30 * time.Minute).Format(time.RFC3339Nano), "size_vram": 0, "context_length": p.Context})
		}
	}
	ollamaReply(w, 200, map[string]any{"models": list})
}

func (s *server) ollamaShow(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	asked, ok := s.ollamaRead(w, r, &req, func() string { return cmp.Or(req.Model, req.Name) })
	if !ok {
		return
	}
	p, can := asked.of, []string{"completion"}
	if p.Vision {
		can = append(can, "vision")
	}
	if p.Thinking != ThinksNot {
		can = append(can, "thinking")
	}
	const template = "{{- range .Messages }}{{ .Role }}: {{ .Content }}{{- end }}"
	ollamaReply(w, 200, map[string]any{
		"modelfile": "# A synthetic reader; it has no weights.\nFROM " + p.Name + ":latest\n", "parameters": fmt.Sprintf("num_ctx                        %d", p.Context),
		"template": template, "details": ollamaDetails(p),
		"model_info": map[string]any{"general.architecture": "phantom", "general.file_type": 0, "general.parameter_count": p.Weights,
			"phantom.context_length": p.Context},
		"tensors":      []any{map[string]any{"name": "token_embd.weight", "type": "F32", "shape": []int{1, 1}}},
		"capabilities": can, "modified_at": s.began.Format(time.RFC3339Nano),
	})
}

// ollamaAsked is a request as it came.
type ollamaAsked struct {
	body  []byte
	files lifted    // the pictures that were lifted from it
	read  time.Time // when all of it had come
	of    Profile
}

// ollamaRead decodes a request, but for its pictures, and finds the model by the name in
// it, with or without a tag; or answers with what is wrong.
func (s *server) ollamaRead(w http.ResponseWriter, r *http.Request, into any, name func() string) (a ollamaAsked, ok bool) {
	b, err := body(r)
	a.body, a.read = b, time.Now()
	short, files := lift(b)
	a.files = files
	if err == nil && len(bytes.TrimSpace(b)) == 0 {
		err = errors.New("missing request body")
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(short)).Decode(into)
	}
	if err != nil {
		// The field's type is named after Ollama's package, not ours.
		ollamaError(w, 400, strings.NewReplacer("phantom.", "api.", "chatRequest", "ChatRequest", "chatMessage", "Message").Replace(err.Error()))
		return a, false
	}
	if name() == "" {
		ollamaError(w, 400, "model is required")
		return a, false
	}
	if a.of, ok = s.reader(strings.TrimSuffix(name(), ":latest")); !ok {
		ollamaError(w, 404, fmt.Sprintf("model '%s' not found", name()))
	}
	return a, ok
}

// ollamaGenerate loads models and takes them out of memory, which needs no
// prompt. Phantoms answer in conversations only.
func (s *server) ollamaGenerate(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model     string `json:"model"`
		Prompt    string `json:"prompt"`
		KeepAlive any    `json:"keep_alive"`
	}
	asked, ok := s.ollamaRead(w, r, &req, func() string { return req.Model })
	if !ok {
		return
	}
	p := asked.of
	if req.Prompt != "" {
		ollamaError(w, 400, "phantoms answer at /api/chat only")
		return
	}
	why := "load"
	if req.KeepAlive == float64(0) || req.KeepAlive == "0" || req.KeepAlive == "0s" {
		why = "unload"
		s.mu.Lock()
		delete(s.used, p.Name)
		delete(s.loaded, p.Name)
		s.mu.Unlock()
	} else {
		s.count(p.Name, 0)
		s.load(p)
	}
	ollamaReply(w, 200, struct {
		Model    string `json:"model"`
		Created  string `json:"created_at"`
		Response string `json:"response"`
		Done     bool   `json:"done"`
		Reason   string `json:"done_reason"`
	}{req.Model, now(), "", true, why})
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

func (s *server) ollamaChat(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	asked, ok := s.ollamaRead(w, r, &req, func() string { return req.Model })
	if !ok {
		return
	}
	p := asked.of
	if len(req.Messages) == 0 {
		s.count(p.Name, 0)
		s.load(p)
		ollamaReply(w, 200, map[string]any{"model": req.Model, "created_at": now(), "message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": "load"})
		return
	}
	j := job{began: asked.read, body: asked.body, reader: p, name: req.Model, stream: req.Stream == nil || *req.Stream}
	switch f := string(bytes.TrimSpace(req.Format)); {
	case f == "" || f == "null" || f == `""`:
	case f == `"json"`:
		j.ask.JSON = true
	case f[0] == '{':
		j.ask.Schema = req.Format
	default:
		ollamaError(w, 500, fmt.Sprintf(`invalid format: %q; expected "json" or a valid JSON Schema object`, f))
		return
	}
	if on, ok := req.Think.(bool); ok {
		j.ask.Think = &on
		if on && p.Thinking == ThinksNot {
			ollamaError(w, 400, fmt.Sprintf("%q does not support thinking", req.Model))
			return
		}
	}
	bad := ""
	whole := func(name string, none int) int {
		v, given := req.Options[name]
		if !given {
			return none
		}
		n, ok := v.(float64)
		if !ok || n != math.Trunc(n) {
			bad = name
		}
		return int(n)
	}
	limit, seed, context := whole("num_predict", 0), whole("seed", 0), whole("num_ctx", p.Context)
	if bad != "" {
		ollamaError(w, 500, fmt.Sprintf("option %q must be of type integer", bad))
		return
	}
	j.maxTokens, j.ask.Seed = max(limit, 0), int64(seed)

	var texts []string
	for _, m := range req.Messages {
		texts = append(texts, m.Content)
		j.ask.Talk = append(j.ask.Talk, Line{Role: m.Role, Text: m.Content, Shows: len(m.Images) > 0})
		var shown []Film // the last message that has any gives those that the reader looks at
		for _, image := range m.Images {
			if !p.Vision {
				break // they are dropped without a word
			}
			film, err := j.look(s.options.Skill, asked.files.file(image), "")
			if err != nil {
				ollamaRefuse(w, 500, "Failed to create new sequence: failed to process inputs: "+err.Error())
				return
			}
			shown = append(shown, film)
		}
		if len(shown) > 0 {
			j.ask.Films = shown
		}
		j.prompt.Say(m.Content)
	}
	j.ask.Prompt = strings.Join(texts, "\n")
	if n := promptTokens(j); n > context && req.Truncate != nil && !*req.Truncate {
		const message = "the input length exceeds the context length"
		if j.stream {
			ollamaRefuse(w, 400, message)
		} else {
			ollamaError(w, 400, message)
		}
		return
	}
	t, err := s.prepare(j)
	if err != nil {
		ollamaError(w, 500, "invalid JSON schema in format")
		return
	}
	s.ollamaAnswer(w, r, t)
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

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
	if t.refused(w, func() { ollamaError(w, 503, "the model is still being loaded") }, func() { ollamaError(w, 500, "the model's runner has stopped") }) {
		return
	}
	out := &sink{ctx: r.Context(), t: t, write: flushed(w), reset: reset(w), blank: []byte("\n"),
		problem: append(encode(map[string]string{"error": "the model's runner has stopped"}), '\n'), long: `{"model":"` + t.name + `","message":{"role":"assistant","content":"`}
	line := func(l ollamaLine) error {
		l.Model, l.CreatedAt, l.Message.Role = t.name, now(), "assistant"
		return out.send(append(encode(l), '\n'))
	}
	if t.stream {
		w.Header().Set("Content-Type", "application/x-ndjson")
		if t.fault == faultRoleFirst && line(ollamaLine{}) != nil {
			return
		}
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
	load := ollamaLoad + t.load
	end := ollamaLine{Done: true, Reason: "stop", Total: int64(time.Since(t.began)), Load: int64(load), PromptN: t.promptTokens,
		Prompt: int64(max(t.first.Sub(t.began)-load, 1)), EvalN: t.tokens(), Eval: int64(max(t.last.Sub(t.first), 1))}
	if t.cut {
		end.Reason = "length"
	}
	if t.fault == FaultNoUsage {
		end = ollamaLine{Done: true, Reason: end.Reason}
	}
	if t.stream {
		line(end) // a client that is gone needs no answer
		return
	}
	end.Model, end.CreatedAt, end.Message.Role = t.name, now(), "assistant"
	end.Message.Thinking, end.Message.Content = text(t.chunks)
	ollamaReply(w, 200, end)
}

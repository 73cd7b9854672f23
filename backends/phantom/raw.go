// Raw is how phantom servers continue texts as they stand, without a chat
// template, and say which tokens texts have: Ollama's /api/generate with raw,
// llama-server's /completion and vLLM's /v1/completions, and the latter two's /tokenize
// and /detokenize.

package phantom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// speaker says how a text goes on for a model; false: there is no such model.
type speaker func(model, text string, seed int64) (string, bool)

// rawHandler takes what is asked of raw texts, and leaves the rest to next.
func rawHandler(protocol string, speak speaker, next http.Handler) http.Handler {
	s := &rawServer{protocol: protocol, speak: speak, ids: map[string]int{}}
	paths := map[string]map[string]func(http.ResponseWriter, request){
		"ollama":   {"/api/generate": s.continued},
		"llamacpp": {"/completion": s.continued, "/tokenize": s.tokens, "/detokenize": s.text},
		"vllm":     {"/v1/completions": s.continued, "/tokenize": s.tokens, "/detokenize": s.text},
	}[protocol]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		do, ok := paths[r.URL.Path]
		if !ok || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, rawMaxBody))
		var asked request
		if err == nil {
			err = json.Unmarshal(body, &asked)
		}
		if protocol == "ollama" && (err != nil || !asked.Raw) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			s.refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		do(w, asked)
	})
}

const rawMaxBody = 16 << 20

// request has the fields of all protocols.
type request struct {
	Model   string `json:"model"`
	Prompt  string `json:"prompt"`
	Raw     bool   `json:"raw"`       // Ollama
	Predict int    `json:"n_predict"` // llama-server
	Max     int    `json:"max_tokens"`
	Seed    int64  `json:"seed"`
	Content string `json:"content"` // llama-server's text to cut
	Tokens  []int  `json:"tokens"`
	Options struct {
		Predict int   `json:"num_predict"`
		Seed    int64 `json:"seed"`
	} `json:"options"` // Ollama
}

type rawServer struct {
	protocol string
	speak    speaker

	mu     sync.Mutex
	ids    map[string]int // tokens by text
	pieces []string       // the texts, by token
}

func (s *rawServer) continued(w http.ResponseWriter, r request) {
	said, ok := s.speak(strings.TrimSuffix(r.Model, ":latest"), r.Prompt, max(r.Seed, r.Options.Seed))
	if !ok {
		s.refuse(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", r.Model))
		return
	}
	tokens := split(said)
	limit, finish := max(r.Predict, r.Max, r.Options.Predict), "stop"
	if limit > 0 && len(tokens) > limit {
		tokens, finish = tokens[:limit], "length"
	}
	said = strings.Join(tokens, "")
	prompt := len(split(r.Prompt))
	switch s.protocol {
	case "ollama":
		rawReply(w, http.StatusOK, map[string]any{"model": r.Model, "created_at": time.Now().UTC().Format(time.RFC3339Nano), "response": said, "done": true, "done_reason": finish,
			"prompt_eval_count": prompt, "eval_count": len(tokens)})
	case "llamacpp":
		rawReply(w, http.StatusOK, map[string]any{"index": 0, "content": said, "model": r.Model, "tokens_predicted": len(tokens), "tokens_evaluated": prompt,
			"stop": true, "stop_type": map[string]string{"stop": "eos", "length": "limit"}[finish], "stopping_word": "", "truncated": false})
	default:
		rawReply(w, http.StatusOK, map[string]any{"id": "cmpl-phantom", "object": "text_completion", "created": time.Now().Unix(), "model": r.Model,
			"choices": []any{map[string]any{"index": 0, "text": said, "logprobs": nil, "finish_reason": finish}},
			"usage":   map[string]int{"prompt_tokens": prompt, "completion_tokens": len(tokens), "total_tokens": prompt + len(tokens)}})
	}
}

func (s *rawServer) tokens(w http.ResponseWriter, r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []int{}
	for _, piece := range split(r.Content + r.Prompt) { // one of which is there
		id, ok := s.ids[piece]
		if !ok {
			id = len(s.pieces)
			s.ids[piece] = id
			s.pieces = append(s.pieces, piece)
		}
		ids = append(ids, id)
	}
	rawReply(w, http.StatusOK, map[string]any{"tokens": ids, "count": len(ids)})
}

func (s *rawServer) text(w http.ResponseWriter, r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, id := range r.Tokens {
		if id < 0 || id >= len(s.pieces) {
			s.refuse(w, http.StatusBadRequest, fmt.Sprintf("there is no token %d", id))
			return
		}
		b.WriteString(s.pieces[id])
	}
	rawReply(w, http.StatusOK, map[string]string{"content": b.String(), "prompt": b.String()})
}

func (s *rawServer) refuse(w http.ResponseWriter, status int, message string) {
	if s.protocol == "ollama" {
		rawReply(w, status, map[string]string{"error": message})
		return
	}
	rawReply(w, status, map[string]any{"error": map[string]any{"code": status, "message": message, "type": "invalid_request_error"}})
}

func rawReply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("phantom: internal error: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) // a client that is gone needs no answer
}

// split cuts a text into tokens: words with the space before them, long ones in two.
func split(text string) []string {
	var out []string
	for text != "" {
		end := len(text)
		if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }); i >= 0 {
			if k := strings.IndexFunc(text[i:], unicode.IsSpace); k >= 0 {
				end = i + k
			}
		}
		if end > 12 {
			end = 8
			for !utf8.RuneStart(text[end]) {
				end--
			}
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return out
}

package phantom

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// completion is a request to /v1/chat/completions as llama-server and vLLM both
// take it.
type completion struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"` // a text, or a list of parts
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int  `json:"max_tokens"`
	MaxCompletionTokens *int  `json:"max_completion_tokens"`
	Predict             *int  `json:"n_predict"` // llama-server
	Seed                int64 `json:"seed"`
	ResponseFormat      struct {
		Type       string          `json:"type"`
		Schema     json.RawMessage `json:"schema"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	JSONSchema json.RawMessage `json:"json_schema"` // llama-server
	Structured struct {
		JSON json.RawMessage `json:"json"`
	} `json:"structured_outputs"` // vLLM
	Template struct {
		Thinking *bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`
	TimingsPerToken bool   `json:"timings_per_token"` // llama-server
	CachePrompt     *bool  `json:"cache_prompt"`      // llama-server
	CacheSalt       string `json:"cache_salt"`        // vLLM
}

// known is who answers to a name: any name where a reader is loaded.
func (s *server) known(name string) (Profile, bool) {
	if p, ok := s.reader(name); ok {
		return p, true
	}
	return s.reader(s.options.Loaded)
}

// openai is what llama-server and vLLM both answer.
func (s *server) openai() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.answered(s.complete))
	mux.HandleFunc("POST /tokenize", s.answered(s.tokenize))
	mux.HandleFunc("POST /detokenize", s.answered(s.detokenize))
	return mux
}

func (s *server) complete(w http.ResponseWriter, r *http.Request) (job, any) {
	var c completion
	j := read(w, r, &c)
	var shape *json.UnmarshalTypeError
	if errors.As(j.cause, &shape) && strings.HasPrefix(shape.Field, "messages") {
		j.is = badMessages
	}
	if j.is == fine {
		j.trouble = s.asked(&j, c)
	}
	a := s.prepare(&j)
	switch {
	case j.is != fine:
		return j, nil
	case c.Stream:
		s.stream(w, r, a, c)
		return j, nil
	}
	if err := s.play(r.Context(), a, func(int, chunk) error { return nil }); err != nil {
		panic(http.ErrAbortHandler) // the client is gone, or the server is
	}
	thinking, answer := text(a.chunks)
	message := map[string]any{"role": "assistant", "content": answer}
	if thinking != "" {
		message[s.protocol.thinks] = thinking
	}
	whole := s.completed(a, "chat.completion")
	whole.Choices, whole.Usage = []option{{Finish: new(a.finish()), Message: message, Logs: s.protocol.logs, Tokens: s.protocol.logs}}, a.usage()
	if s.llama() {
		whole.Timings = a.llamaTimings(a.tokens)
	}
	return j, whole
}

// asked reads the conversation of a request.
func (s *server) asked(j *job, c completion) (t trouble) {
	j.name, j.stream = c.Model, c.Stream
	var ok bool
	if j.reader, ok = s.known(c.Model); !ok {
		return trouble{is: unknownModel}
	}
	for _, n := range []*int{c.Predict, c.MaxCompletionTokens, c.MaxTokens} {
		if n != nil {
			j.maxTokens = max(*n, 0)
			break
		}
	}
	j.context, j.ask.Seed, j.ask.Think = j.reader.Context, c.Seed, c.Template.Thinking
	schemas := []json.RawMessage{c.JSONSchema, c.Structured.JSON}
	switch f := c.ResponseFormat; f.Type {
	case "", "text":
	case "json_object", "json_schema":
		j.ask.JSON = true
		schemas = append(schemas, f.Schema, f.JSONSchema.Schema)
	default:
		return trouble{badFormat, errors.New(f.Type)}
	}
	for _, schema := range schemas {
		if j.ask.Schema == nil && len(schema) > 0 && string(schema) != "null" {
			j.ask.Schema = schema
		}
	}
	if len(c.Messages) == 0 {
		return trouble{is: noMessages}
	}
	j.prompt = prompt{salt: c.CacheSalt, fresh: c.CachePrompt != nil && !*c.CachePrompt}
	for _, m := range c.Messages {
		list, ok := m.Content.([]any)
		if whole, single := m.Content.(string); single || m.Content == nil {
			list, ok = []any{map[string]any{"text": whole}}, true
		}
		if !ok {
			return trouble{is: badMessages}
		}
		var parts []part
		for _, p := range list {
			fields, ok := p.(map[string]any)
			if !ok {
				return trouble{is: badMessages}
			}
			one := part{}
			one.text, _ = fields["text"].(string)
			one.named, _ = fields["uuid"].(string) // vLLM
			if fields["type"] == "image_url" {
				if !j.reader.Vision {
					return trouble{is: blind}
				}
				image, _ := fields["image_url"].(map[string]any)
				url, _ := image["url"].(string)
				if one.picture, t = dataURL(url); t.is != fine {
					return t
				}
			}
			parts = append(parts, one)
		}
		if t := j.hear(s.options.Skill, m.Role, parts); t.is != fine {
			return t
		}
	}
	return trouble{}
}

// dataURL is the file that a data URL carries.
func dataURL(url string) ([]byte, trouble) {
	if !strings.HasPrefix(url, "data:") {
		return nil, trouble{is: elsewhere}
	}
	_, data, _ := strings.Cut(url, ";base64,")
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(file) == 0 {
		return nil, trouble{badPicture, err}
	}
	return file, trouble{}
}

// continued is a request to continue a text, to either server.
type continued struct {
	Model   string `json:"model"`
	Prompt  string `json:"prompt"`
	Predict int    `json:"n_predict"` // llama-server
	Max     int    `json:"max_tokens"`
	Seed    int64  `json:"seed"`
}

// goesOn answers with how a text goes on, in a server's shape.
func (s *server) goesOn(shape func(model string, m more) map[string]any) http.HandlerFunc {
	return s.answered(func(w http.ResponseWriter, r *http.Request) (job, any) {
		var c continued
		j := read(w, r, &c)
		j.name = c.Model
		var ok bool
		if j.reader, ok = s.known(c.Model); j.is == fine && !ok {
			j.is = unknownModel
		}
		return j, shape(c.Model, s.goOn(&j, c.Prompt, cmp.Or(c.Predict, c.Max), c.Seed))
	})
}

// completed is one event of a stream, or a whole reply, with what either server puts in it.
type completed struct {
	ID          string        `json:"id"`
	Object      string        `json:"object"`
	Created     int64         `json:"created"`
	Model       string        `json:"model"`
	Fingerprint string        `json:"system_fingerprint,omitempty"` // llama-server
	Choices     []option      `json:"choices"`
	Usage       *usage        `json:"usage,omitempty"`
	Timings     *llamaTimings `json:"timings,omitempty"`
	Metrics     *vllmMetrics  `json:"metrics,omitempty"`
}

type option struct {
	Index   int             `json:"index"`
	Delta   map[string]any  `json:"delta,omitzero"`
	Message map[string]any  `json:"message,omitempty"`
	Logs    json.RawMessage `json:"logprobs,omitzero"` // vLLM
	Finish  *string         `json:"finish_reason"`
	Tokens  json.RawMessage `json:"token_ids,omitzero"` // vLLM
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (t *take) usage() *usage {
	u := &usage{Prompt: t.promptTokens, Completion: t.tokens, Total: t.promptTokens + t.tokens}
	u.Details.Cached = t.reused.Tokens
	return u
}

// completed is a reply to which nothing was said yet. No two of a server's share an ID.
func (s *server) completed(t *take, object string) completed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return completed{ID: fmt.Sprintf("chatcmpl-phantom%016x", s.last), Object: object, Created: time.Now().Unix(), Model: t.name, Fingerprint: s.protocol.build, Choices: []option{}}
}

// stream sends a reply as events.
func (s *server) stream(w http.ResponseWriter, r *http.Request, t *take, c completion) {
	w.Header().Set("Content-Type", s.protocol.events)
	const done = "data: [DONE]\n\n"
	out := s.sink(w, r, t, `data: {"choices":[{"index":0,"delta":{"content":"`, fmt.Appendf(nil, "data: %s\n\n", s.failed(t.job)))
	if s.llama() {
		w.Header().Set("X-Accel-Buffering", "no")
	} else {
		out.problem = append(out.problem, done...)
	}
	err := s.speak(out, t, c)
	if err == nil {
		err = out.send([]byte(done))
	}
	out.ended(err)
	if s.llama() { // it closes the connection that it promised to keep, which net/http does not
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Write([]byte("0\r\n\r\n"))
			conn.Close()
		}
	}
}

// speak sends all of a reply but the mark of its end. llama-server sends some events together.
func (s *server) speak(out *sink, t *take, c completion) error {
	llama := s.llama()
	empty := s.completed(t, "chat.completion.chunk")
	var held []byte
	say := func(e completed, more bool) error {
		held = fmt.Appendf(held, "data: %s\n\n", encode(e))
		if more && llama {
			return nil
		}
		b := held
		held = nil
		return out.send(b)
	}
	event := func(finish *string, delta map[string]any) completed {
		e := empty
		e.Choices = []option{{Finish: finish, Delta: delta, Logs: s.protocol.logs, Tokens: s.protocol.logs}}
		return e
	}
	role := event(nil, map[string]any{"role": "assistant", "content": map[bool]any{true: nil, false: ""}[llama]})
	if t.fault == faultRoleFirst {
		if err := say(role, false); err != nil {
			return err
		}
	}
	n := 0
	err := s.play(out.ctx, t, func(i int, p chunk) error {
		if i == 0 && t.fault != faultRoleFirst {
			if err := say(role, t.ask.Schema == nil); err != nil {
				return err
			}
		}
		key := "content"
		if p.thinking {
			key = s.protocol.thinks
		}
		e := event(nil, map[string]any{key: p.text})
		if n += p.tokens; llama && c.TimingsPerToken {
			e.Timings = t.llamaTimings(n)
		}
		return say(e, false)
	})
	if err != nil {
		return err
	}
	end, counts := event(new(t.finish()), map[string]any{}), empty
	counts.Usage = t.usage()
	if llama {
		counts.Timings = t.llamaTimings(t.tokens)
	} else {
		counts.Metrics = t.vllmMetrics()
	}
	counted := t.fault != FaultNoUsage
	if counted && !c.StreamOptions.IncludeUsage {
		end.Timings, counted = counts.Timings, false
	}
	if err := say(end, counted); err != nil {
		return err
	}
	if counted {
		return say(counts, false)
	}
	return nil
}

package phantom

import (
	"bytes"
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
	Model         string          `json:"model"`
	Messages      json.RawMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int   `json:"max_tokens"`
	MaxCompletionTokens *int   `json:"max_completion_tokens"`
	Predict             *int   `json:"n_predict"` // llama-server
	Seed                *int64 `json:"seed"`
	ResponseFormat      *struct {
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

	files lifted // its pictures, lifted from Messages
}

// part is a chunk of a message's content.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
	UUID string `json:"uuid"` // vLLM
}

// What is wrong with a request. The protocols have their own words for each.
var (
	errNoMessages = errors.New("no messages")
	errMessages   = errors.New("messages are not a list")
	errPicture    = errors.New("a picture cannot be read")
	errFetch      = errors.New("a picture stands elsewhere")
	errBlind      = errors.New("the model cannot see")
	errFormat     = errors.New("unknown response format")
)

// parse reads a request's JSON.
func (c *completion) parse(body []byte) error {
	short, files := lift(body)
	c.files = files
	return json.Unmarshal(short, c)
}

// job reads the conversation of a request for a reader.
func (c completion) job(skill skill, p Profile, began time.Time, body []byte) (job, error) {
	j := job{began: began, body: body, reader: p, name: c.Model, stream: c.Stream}
	for _, n := range []*int{c.Predict, c.MaxCompletionTokens, c.MaxTokens} {
		if n != nil {
			j.maxTokens = max(*n, 0)
			break
		}
	}
	if c.Seed != nil {
		j.ask.Seed = *c.Seed
	}
	j.ask.Think = c.Template.Thinking
	if err := c.format(&j.ask); err != nil {
		return j, err
	}
	if len(c.Messages) == 0 || string(c.Messages) == "null" {
		return j, errNoMessages
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(c.Messages, &messages); err != nil {
		return j, errMessages
	}
	j.prompt = Prompt{Salt: c.CacheSalt, Fresh: c.CachePrompt != nil && !*c.CachePrompt}
	var texts []string
	for _, m := range messages {
		var whole string
		if !bytes.HasPrefix(m.Content, []byte("[")) && json.Unmarshal(m.Content, &whole) == nil {
			texts = append(texts, whole)
			j.ask.Talk = append(j.ask.Talk, Line{Role: m.Role, Text: whole})
			j.prompt.Say(whole)
			continue
		}
		var parts []part
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			return j, errMessages
		}
		var shown []Film // the last message that has any gives those that the reader looks at
		var said []string
		for _, one := range parts {
			if one.Type != "image_url" {
				said = append(said, one.Text)
				j.prompt.Say(one.Text)
				continue
			}
			if !p.Vision {
				return j, errBlind
			}
			file, err := dataURL(one.Image.URL, c.files)
			if err != nil {
				return j, err
			}
			film, err := j.look(skill, file, one.UUID)
			if err != nil {
				return j, errPicture
			}
			shown = append(shown, film)
		}
		texts = append(texts, said...)
		j.ask.Talk = append(j.ask.Talk, Line{Role: m.Role, Text: strings.Join(said, "\n"), Shows: len(shown) > 0})
		if len(shown) > 0 {
			j.ask.Films = shown
		}
	}
	j.ask.Prompt = strings.Join(texts, "\n")
	return j, nil
}

// format takes over what the answer has to look like.
func (c completion) format(a *Ask) error {
	a.Schema = given(c.JSONSchema, c.Structured.JSON)
	if c.ResponseFormat == nil {
		return nil
	}
	switch c.ResponseFormat.Type {
	case "", "text":
	case "json_object":
		a.JSON = true
		a.Schema = given(a.Schema, c.ResponseFormat.Schema)
	case "json_schema":
		a.JSON = true
		a.Schema = given(a.Schema, c.ResponseFormat.JSONSchema.Schema)
	default:
		return fmt.Errorf("%w: %s", errFormat, c.ResponseFormat.Type)
	}
	return nil
}

// given is the first schema that is there.
func given(all ...json.RawMessage) json.RawMessage {
	for _, s := range all {
		if len(s) > 0 && string(s) != "null" {
			return s
		}
	}
	return nil
}

// dataURL is the file that a data URL carries.
func dataURL(url string, files lifted) ([]byte, error) {
	if !strings.HasPrefix(url, "data:") {
		return nil, errFetch
	}
	_, data, ok := strings.Cut(url, ";base64,")
	if !ok {
		return nil, errPicture
	}
	file, err := base64.StdEncoding.AppendDecode(nil, []byte(data))
	if file = files.file(file); err != nil || len(bytes.TrimSpace(file)) == 0 {
		return nil, errPicture
	}
	return file, nil
}

// id is the name of a completion; no two of a server's replies share one.
func (s *server) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return fmt.Sprintf("chatcmpl-phantom%016x", s.last)
}

// finish is the reason why a reply ended.
func (t *take) finish() string {
	if t.cut {
		return "length"
	}
	return "stop"
}

// whole plays a reply that is no stream and gives its message; reasoning is what the
// server calls that.
func (s *server) whole(r *http.Request, t *take, reasoning string) map[string]any {
	if err := s.play(r.Context(), t, func(int, chunk) error { return nil }); err != nil {
		panic(http.ErrAbortHandler) // the client is gone, or the server is
	}
	thinking, answer := text(t.chunks)
	message := map[string]any{"role": "assistant", "content": answer}
	if thinking != "" {
		message[reasoning] = thinking
	}
	return message
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

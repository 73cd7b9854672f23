package hosted

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"assay/backends"
)

// provider is a kind of API.
type provider struct {
	name   string
	url    string // its own; "": it has none
	bearer bool   // langchaingo gives it no key
	client func(b *Backend, holds *openai.ResponseFormatJSONSchemaProperty) (llms.Model, error)
	// form is how a schema is asked for, and what of it langchaingo can hold.
	form func(schema json.RawMessage) (form string, holds *openai.ResponseFormatJSONSchemaProperty)
	left func(body []byte) (Left, error)
	read func(body []byte) (reply, error)
	// dataURL is a picture as a URL; otherwise it goes as bytes.
	dataURL bool
}

// unset is what stands for a key where there is none: langchaingo wants some.
const unset = "none"

func (b *Backend) token() string {
	if b.key == "" {
		return unset
	}
	return b.key
}

// providers are all of them. Whatever langchaingo would read from the environment is
// said, so that it does not.
func providers() []provider {
	noSchema := func(form string) func(json.RawMessage) (string, *openai.ResponseFormatJSONSchemaProperty) {
		return func(schema json.RawMessage) (string, *openai.ResponseFormatJSONSchemaProperty) {
			if schema == nil {
				form = ""
			}
			return form, nil
		}
	}
	return []provider{
		{
			name: "openai", url: "https://api.openai.com/v1", dataURL: true, form: formOf, left: leftOpenAI, read: readOpenAI,
			client: func(b *Backend, holds *openai.ResponseFormatJSONSchemaProperty) (llms.Model, error) {
				opts := []openai.Option{openai.WithToken(b.token()), openai.WithModel(b.set.Model), openai.WithBaseURL(b.base), openai.WithOrganization(""), openai.WithAPIType(openai.APITypeOpenAI), openai.WithHTTPClient(b.http)}
				if holds != nil {
					opts = append(opts, openai.WithResponseFormat(&openai.ResponseFormat{Type: "json_schema",
						JSONSchema: &openai.ResponseFormatJSONSchema{Name: "verdict", Strict: closed(holds), Schema: holds}}))
				}
				return openai.New(opts...)
			},
		},
		{
			name: "anthropic", url: "https://api.anthropic.com/v1", form: noSchema(""), left: leftAnthropic, read: readAnthropic,
			client: func(b *Backend, _ *openai.ResponseFormatJSONSchemaProperty) (llms.Model, error) {
				return anthropic.New(anthropic.WithToken(b.token()), anthropic.WithModel(b.set.Model), anthropic.WithBaseURL(b.base), anthropic.WithHTTPClient(b.http))
			},
		},
		{
			name: "ollama", url: "https://ollama.com", bearer: true, form: noSchema(formJSON), left: leftOllama, read: readOllama,
			client: func(b *Backend, _ *openai.ResponseFormatJSONSchemaProperty) (llms.Model, error) {
				if _, err := url.Parse(b.base); err != nil { // langchaingo would end the program
					return nil, errors.New("hosted: not an address")
				}
				return ollama.New(ollama.WithServerURL(b.base), ollama.WithModel(b.set.Model), ollama.WithHTTPClient(b.http))
			},
		},
	}
}

// Providers are the names of the kinds of APIs.
func Providers() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

// talk is a conversation as langchaingo has it.
func (p provider) talk(msgs []backends.Message) []llms.MessageContent {
	roles := map[backends.Role]llms.ChatMessageType{backends.System: llms.ChatMessageTypeSystem, backends.User: llms.ChatMessageTypeHuman, backends.Assistant: llms.ChatMessageTypeAI}
	var out []llms.MessageContent
	for _, m := range msgs {
		c := llms.MessageContent{Role: roles[m.Role], Parts: []llms.ContentPart{llms.TextContent{Text: m.Text}}}
		for _, img := range m.Images {
			if p.dataURL { // its BinaryPart is not what the API reads
				c.Parts = append(c.Parts, llms.ImageURLPart("data:"+img.MIME+";base64,"+base64.StdEncoding.EncodeToString(img.Bytes)))
			} else {
				c.Parts = append(c.Parts, llms.BinaryPart(img.MIME, img.Bytes))
			}
		}
		out = append(out, c)
	}
	return out
}

// Left is what of the settings was in a request that left, as it stood there. nil: not.
type Left struct {
	Model       string          `json:"model,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"top_p,omitempty"`
	MaxTokens   *int            `json:"max_tokens,omitempty"`
	Seed        *int64          `json:"seed,omitempty"`
	Think       *bool           `json:"think,omitempty"`
	Schema      string          `json:"schema,omitempty"` // one of the forms
	schema      json.RawMessage // as it left; nil: none did
	thinks      bool            // without Think the model may think
}

func leftOpenAI(body []byte) (Left, error) {
	var r struct {
		Left
		MaxCompletionTokens *int `json:"max_completion_tokens"`
		ResponseFormat      *struct {
			Type       string `json:"type"`
			JSONSchema *struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Left{}, err
	}
	l := r.Left
	if r.MaxCompletionTokens != nil {
		l.MaxTokens = r.MaxCompletionTokens
	}
	l.Schema, l.Think = "", nil
	if f := r.ResponseFormat; f != nil {
		l.Schema = formJSON
		if f.JSONSchema != nil {
			l.schema = f.JSONSchema.Schema
		}
	}
	return l, nil
}

func leftAnthropic(body []byte) (Left, error) {
	var l Left
	err := json.Unmarshal(body, &l)
	return l, err
}

func leftOllama(body []byte) (Left, error) {
	var r struct {
		Model   string          `json:"model"`
		Think   *bool           `json:"think"`
		Format  json.RawMessage `json:"format"`
		Options struct {
			Left
			NumPredict *int `json:"num_predict"`
		} `json:"options"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Left{}, err
	}
	l := r.Options.Left
	l.Model, l.MaxTokens, l.Think, l.Schema, l.thinks = r.Model, r.Options.NumPredict, r.Think, "", true
	switch {
	case string(r.Format) == `"json"`:
		l.Schema = formJSON
	case bytes.HasPrefix(r.Format, []byte("{")):
		l.schema = r.Format
	}
	return l, nil
}

// reply is what a reply says.
type reply struct {
	backends.Usage
	model, fingerprint string // "": it does not say
	text, reasoning    string
	finish             backends.Finish
	said               string   // why it ended, in the provider's word
	declined           string   // why it did not answer; "": it did
	problem            *problem // an error in the place of an answer
	odd                backends.Odds
}

// problem is an error that a provider tells.
type problem struct{ Message, Type, Code string }

// problemIn reads {"error":{"message","type","code"}} and {"error":"..."}.
func problemIn(body []byte) *problem {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &r) != nil || len(r.Error) == 0 || string(r.Error) == "null" {
		return nil
	}
	var e struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(r.Error, &e.Message) != nil && (json.Unmarshal(r.Error, &e) != nil || e.Message == "" && e.Type == "") {
		e.Message = backends.Excerpt(r.Error)
	}
	return &problem{e.Message, e.Type, strings.Trim(string(e.Code), `"`)}
}

var errShape = errors.New("no answer in it")

func readOpenAI(body []byte) (reply, error) {
	var r struct {
		Model       string `json:"model"`
		Fingerprint string `json:"system_fingerprint"`
		Choices     []struct {
			Message struct {
				Content   json.RawMessage `json:"content"`
				Refusal   string          `json:"refusal"`
				Reasoning string          `json:"reasoning_content"`
				Thoughts  string          `json:"reasoning"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Prompt     json.RawMessage `json:"prompt_tokens"`
			Completion json.RawMessage `json:"completion_tokens"`
			Details    struct {
				Cached json.RawMessage `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Of struct {
				Reasoning json.RawMessage `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return reply{}, err
	}
	out := reply{model: r.Model, fingerprint: r.Fingerprint}
	if u := r.Usage; u != nil {
		out.PromptTokens = out.odd.Count("usage.prompt_tokens", u.Prompt)
		out.CompletionTokens = out.odd.Count("usage.completion_tokens", u.Completion)
		out.CachedTokens = out.odd.Count("usage.prompt_tokens_details.cached_tokens", u.Details.Cached)
		out.ReasoningTokens = out.odd.Count("usage.completion_tokens_details.reasoning_tokens", u.Of.Reasoning)
	}
	if len(r.Choices) == 0 {
		return out, errShape
	}
	c := r.Choices[0]
	out.said, out.reasoning, out.finish = c.Finish, cmp.Or(c.Message.Thoughts, c.Message.Reasoning), ending(c.Finish, "stop", "length")
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(c.Message.Content, &out.text) != nil && json.Unmarshal(c.Message.Content, &parts) == nil {
		for _, p := range parts {
			out.text += p.Text
		}
	}
	switch {
	case c.Message.Refusal != "":
		out.declined = c.Message.Refusal
	case c.Finish == "content_filter":
		out.declined = "the provider's filter stopped it"
	}
	return out, nil
}

func ending(said, stop, length string) backends.Finish {
	switch said {
	case stop:
		return backends.FinishStop
	case length:
		return backends.FinishLength
	}
	return backends.FinishOther
}

func readAnthropic(body []byte) (reply, error) {
	var r struct {
		Type    string `json:"type"`
		Model   string `json:"model"`
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"content"`
		Stop  string `json:"stop_reason"`
		Usage *struct {
			Input   json.RawMessage `json:"input_tokens"`
			Output  json.RawMessage `json:"output_tokens"`
			Created json.RawMessage `json:"cache_creation_input_tokens"`
			Cached  json.RawMessage `json:"cache_read_input_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return reply{}, err
	}
	out := reply{model: r.Model, said: r.Stop, finish: ending(r.Stop, "end_turn", "max_tokens")}
	if u := r.Usage; u != nil {
		// The prompt is in three parts: what no cache had any part in is the first.
		out.PromptTokens = out.odd.Count("usage.input_tokens", u.Input)
		out.CompletionTokens = out.odd.Count("usage.output_tokens", u.Output)
		out.CachedTokens = out.odd.Count("usage.cache_read_input_tokens", u.Cached)
		for _, more := range []*int{out.CachedTokens, out.odd.Count("usage.cache_creation_input_tokens", u.Created)} {
			if out.PromptTokens != nil && more != nil {
				n := *out.PromptTokens + *more
				out.PromptTokens = &n
			}
		}
	}
	if r.Type != "message" {
		return out, errShape
	}
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			out.text += c.Text
		case "thinking":
			out.reasoning += c.Thinking
		}
	}
	switch r.Stop {
	case "refusal":
		out.declined = "the model refused"
	case "model_context_window_exceeded":
		out.finish = backends.FinishLength
	case "stop_sequence":
		out.finish = backends.FinishStop
	}
	return out, nil
}

// readOllama reads lines: langchaingo asks for no stream by leaving the word out, and
// Ollama streams unless it is told not to.
func readOllama(body []byte) (reply, error) {
	var out reply
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if out.problem = problemIn(line); out.problem != nil {
			return out, nil
		}
		var r struct {
			Model   string `json:"model"`
			Message struct {
				Content  string `json:"content"`
				Thinking string `json:"thinking"`
			} `json:"message"`
			Done   bool            `json:"done"`
			Why    string          `json:"done_reason"`
			Prompt json.RawMessage `json:"prompt_eval_count"`
			Eval   json.RawMessage `json:"eval_count"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return out, err
		}
		out.model, out.text, out.reasoning = r.Model, out.text+r.Message.Content, out.reasoning+r.Message.Thinking
		if r.Done {
			out.said, out.finish = r.Why, ending(r.Why, "stop", "length")
			out.PromptTokens, out.CompletionTokens = out.odd.Count("prompt_eval_count", r.Prompt), out.odd.Count("eval_count", r.Eval)
			return out, nil
		}
	}
	return out, errShape
}

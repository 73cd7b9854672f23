package hosted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"assay/backends"
)

// reply is what a reply says.
type reply struct {
	backends.Usage
	model, fingerprint string // "": it does not say
	text, reasoning    string
	finish             backends.Finish // "": there is no end
	declined           string          // why it did not answer; "": it did
	problem            *problem        // an error in the place of an answer
	odd                backends.Odds
}

// problem is an error that a provider tells.
type problem struct{ Message, Type, Code string }

func (p problem) String() string {
	return strings.TrimSpace(strings.Join([]string{p.Message, p.Type, p.Code}, " "))
}

// problemOf reads {"message","type","code"} and "...".
func problemOf(raw json.RawMessage) *problem {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var e struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &e.Message) != nil && (json.Unmarshal(raw, &e) != nil || e.Message == "" && e.Type == "") {
		e.Message = backends.Excerpt(raw)
	}
	return &problem{e.Message, e.Type, strings.Trim(string(e.Code), `"`)}
}

var errShape = errors.New("no answer in it")

// said is a reply, or a line of one, of any provider: their keys do not meet.
type said struct {
	Error json.RawMessage `json:"error"`
	Model string          `json:"model"`

	// OpenAI's
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

	// Anthropic's
	Type    string `json:"type"`
	Content []struct {
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"content"`
	Stop string `json:"stop_reason"`

	// Ollama's, of a line
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Why    string          `json:"done_reason"`
	Prompt json.RawMessage `json:"prompt_eval_count"`
	Eval   json.RawMessage `json:"eval_count"`

	Usage struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
		Details    struct {
			Cached json.RawMessage `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Of struct {
			Reasoning json.RawMessage `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		Input   json.RawMessage `json:"input_tokens"`
		Output  json.RawMessage `json:"output_tokens"`
		Created json.RawMessage `json:"cache_creation_input_tokens"`
		Cached  json.RawMessage `json:"cache_read_input_tokens"`
	} `json:"usage"`
}

// read reads a reply, of Ollama one line after the other: langchaingo asks for no stream by
// leaving the word out, and Ollama streams unless it is told not to.
func read(body []byte) (reply, error) {
	var out reply
	for dec := json.NewDecoder(bytes.NewReader(body)); out.finish == ""; {
		var s said
		err := dec.Decode(&s)
		switch out.problem = problemOf(s.Error); {
		case out.problem != nil:
			return out, nil
		case errors.Is(err, io.EOF):
			return out, errShape
		case err != nil:
			return out, err
		}
		out.model, out.fingerprint = s.Model, s.Fingerprint
		out.count(&s)
		switch {
		case len(s.Choices) > 0:
			m := s.Choices[0].Message
			out.text, out.reasoning, out.finish = content(m.Content), cmp.Or(m.Thoughts, m.Reasoning), ending(s.Choices[0].Finish)
			if out.declined = m.Refusal; s.Choices[0].Finish == "content_filter" {
				out.declined = cmp.Or(m.Refusal, "the provider's filter stopped it")
			}
		case s.Type == "message":
			for _, c := range s.Content {
				out.text, out.reasoning = out.text+c.Text, out.reasoning+c.Thinking
			}
			if out.finish = ending(s.Stop); s.Stop == "refusal" {
				out.declined = "the model refused"
			}
		default:
			out.text, out.reasoning = out.text+s.Message.Content, out.reasoning+s.Message.Thinking
			if s.Done {
				out.finish = ending(s.Why)
			}
		}
	}
	return out, nil
}

// content is a text, or parts of one.
func content(raw json.RawMessage) (text string) {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			text += p.Text
		}
	}
	return text
}

func ending(word string) backends.Finish {
	switch word {
	case "stop", "end_turn", "stop_sequence":
		return backends.FinishStop
	case "length", "max_tokens", "model_context_window_exceeded":
		return backends.FinishLength
	}
	return backends.FinishOther
}

// count reads the numbers of tokens. What is not said stays unknown.
func (r *reply) count(s *said) {
	u := &s.Usage
	r.PromptTokens = cmp.Or(r.odd.Count("usage.prompt_tokens", u.Prompt), r.odd.Count("usage.input_tokens", u.Input), r.odd.Count("prompt_eval_count", s.Prompt))
	r.CompletionTokens = cmp.Or(r.odd.Count("usage.completion_tokens", u.Completion), r.odd.Count("usage.output_tokens", u.Output), r.odd.Count("eval_count", s.Eval))
	r.CachedTokens = cmp.Or(r.odd.Count("usage.prompt_tokens_details.cached_tokens", u.Details.Cached), r.odd.Count("usage.cache_read_input_tokens", u.Cached))
	r.ReasoningTokens = r.odd.Count("usage.completion_tokens_details.reasoning_tokens", u.Of.Reasoning)
	if u.Input != nil && r.PromptTokens != nil { // Anthropic's prompt is in three parts
		for _, more := range []*int{r.CachedTokens, r.odd.Count("usage.cache_creation_input_tokens", u.Created)} {
			if more != nil {
				n := *r.PromptTokens + *more
				r.PromptTokens = &n
			}
		}
	}
}

package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// hasContent is the live look for a non-empty chunk in a line of the stream. A
// search tells lines that cannot have one; what is left is read as the decoder
// reads it, or, where an event goes over several lines, believed.
func hasContent(line []byte) bool {
	rest := line
	if i := bytes.IndexByte(line, '['); i >= 0 && bytes.HasSuffix(bytes.TrimRight(line[:i], " \t:"), []byte(`"choices"`)) {
		rest = line[i:] // half of a line stands before its choices
	}
	if !filled(rest, []byte(`content"`)) && !filled(rest, []byte(`reasoning"`)) {
		return false
	}
	data, found := bytes.CutPrefix(line, []byte("data:"))
	if !found {
		return false
	}
	var c chunk
	if json.Unmarshal(data, &c) != nil {
		return true
	}
	for _, ch := range c.Choices {
		if thought, text := ch.Delta.texts(); ch.Index == 0 && thought+text != "" {
			return true
		}
	}
	return false
}

// filled says whether key is followed by a string or a list that is not empty.
func filled(line, key []byte) bool {
	const space = " \t\r"
	for {
		i := bytes.Index(line, key)
		if i < 0 {
			return false
		}
		line = bytes.TrimLeft(line[i+len(key):], space)
		if len(line) == 0 || line[0] != ':' {
			continue
		}
		line = bytes.TrimLeft(line[1:], space)
		if len(line) > 1 && line[0] == '"' && line[1] != '"' || len(line) > 0 && line[0] == '[' {
			return true
		}
	}
}

// longestName is how long the name of a model may be, in bytes; a longer one is none.
const longestName = 500

// chunk is one event of the stream.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Content          text   `json:"content"`
	Reasoning        string `json:"reasoning"`         // vLLM
	ReasoningContent string `json:"reasoning_content"` // llama.cpp, older vLLM
}

// texts are the new reasoning and the new part of the answer.
func (d delta) texts() (thought, answer string) {
	// vLLM fills both names with the same text while the older one is phased out.
	thought = d.Reasoning
	if thought == "" {
		thought = d.ReasoningContent
	}
	return d.Content.thought + thought, d.Content.answer
}

// text is a content: a string, or a list of parts, of which some servers make
// reasoning parts.
type text struct{ answer, thought string }

func (t *text) UnmarshalJSON(b []byte) error {
	*t = text{}
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, &t.answer)
	}
	var parts []struct {
		Type     string
		Text     string
		Thinking []struct{ Text string }
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("content is a list that cannot be read: %w", err)
	}
	for i, p := range parts {
		switch p.Type {
		case "text":
			t.answer += p.Text
		case "thinking":
			for _, th := range p.Thinking {
				t.thought += th.Text
			}
		default:
			return fmt.Errorf("part %d of a list-valued content is of type %q, want text or thinking", i, p.Type)
		}
	}
	return nil
}

type usage struct {
	Prompt        json.RawMessage `json:"prompt_tokens"`
	Completion    json.RawMessage `json:"completion_tokens"`
	PromptDetails struct {
		Cached json.RawMessage `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning json.RawMessage `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// Where a usage has its figures.
const (
	PromptTokens     = "usage.prompt_tokens"
	completionTokens = "usage.completion_tokens"
	CachedTokens     = "usage.prompt_tokens_details.cached_tokens"
	reasoningTokens  = "usage.completion_tokens_details.reasoning_tokens"
)

// count reads a usage into r. It says more than what a dialect worked out; where
// the two differ, neither is believed. said is whether r has text.
func count(raw json.RawMessage, r *backends.Response, said bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	before := len(r.Odd)
	var u usage
	if err := json.Unmarshal(raw, &u); err != nil {
		r.Odd.Add("usage", raw, "cannot be read")
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		to   **int
	}{
		{PromptTokens, u.Prompt, &r.Usage.PromptTokens}, {completionTokens, u.Completion, &r.Usage.CompletionTokens},
		{CachedTokens, u.PromptDetails.Cached, &r.Usage.CachedTokens}, {reasoningTokens, u.CompletionDetails.Reasoning, &r.Usage.ReasoningTokens},
	} {
		n := r.Odd.Count(f.name, f.raw)
		switch _, odd := r.Odd.Of(f.name); {
		case odd:
			*f.to = nil
		case n == nil:
		case *f.to != nil && **f.to != *n:
			r.Odd.Add(f.name, f.raw, fmt.Sprintf("is not what the server's own timings say, %d", **f.to))
			*f.to = nil
		default:
			*f.to = n
		}
	}
	if n := r.Usage.CompletionTokens; said && n != nil && *n == 0 {
		r.Odd.Add(completionTokens, []byte("0"), "is nothing beside an answer that is something")
		r.Usage.CompletionTokens = nil
	}
	r.Odd.AtMost(CachedTokens, &r.Usage.CachedTokens, r.Usage.PromptTokens, "the whole prompt")
	r.Odd.AtMost(reasoningTokens, &r.Usage.ReasoningTokens, r.Usage.CompletionTokens, "the whole answer")
	if len(r.Odd) > before {
		kept := map[string]json.RawMessage{"usage": bytes.Clone(raw)}
		if r.Server.Raw != nil {
			kept["timings"] = r.Server.Raw
		}
		both, err := json.Marshal(kept)
		if err != nil {
			panic("openai: internal error: JSON that was read cannot be written: " + err.Error())
		}
		r.Server.Raw = both
	}
}

// decode reads a buffer. The response holds what had arrived even beside an error. Where
// the first event with text counts the tokens so far, rec learns how many its chunk holds.
func (b *Backend) decode(buffer *wire.Buffer, rec *timing.Recorder) (*backends.Response, []timing.Chunk, error) {
	r := &backends.Response{Sent: buffer.Sent}
	var chunks []timing.Chunk
	var answer, reasoning strings.Builder
	var said json.RawMessage // the last usage
	var first *int           // tokens of the first chunk
	defer func() {
		r.Answer, r.Reasoning = answer.String(), reasoning.String()
		buffer.Redact(&r.Reasoning, &r.Answer, &r.Served)
		count(said, r, len(chunks) > 0)
		r.Odd.AtMost("tokens of the first chunk", &first, r.Usage.CompletionTokens, "the whole answer")
		if first != nil {
			rec.FirstTokens(*first)
		}
	}()
	finish := ""
	for e := range buffer.Events() {
		if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
			switch r.Finish = ended(finish); {
			case finish == "":
				return r, chunks, buffer.Fail(backends.ErrTruncated, "the end mark came without a finish reason", "look into the server's log")
			case r.Finish == "":
				return r, chunks, buffer.Fail(backends.ErrTruncated, "the server gave up: finish reason "+finish, "look into the server's log")
			}
			return r, chunks, nil
		}
		if len(bytes.TrimSpace(e.Data)) == 0 { // an event all the same; some servers keep a connection alive with it
			continue
		}
		if c, ok := backends.ReadComplaint(e.Data); ok {
			return r, chunks, b.classify(Problem{Status: buffer.Status, Complaint: c}).error(buffer.Fail)
		}
		var c chunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return r, chunks, buffer.Fail(backends.ErrMalformed, fmt.Sprintf("an event cannot be read (%v): %.200s", err, e.Data), "")
		}
		if c.Model != "" && len(c.Model) <= longestName {
			r.Served = c.Model
		}
		arrived, counted := len(chunks), r.Usage.CompletionTokens
		if b.dialect.Event != nil {
			if err := b.dialect.Event(e.Data, r); err != nil {
				return r, chunks, buffer.Fail(backends.ErrMalformed, fmt.Sprintf("%v: %.200s", err, e.Data), "")
			}
		}
		if len(c.Usage) > 0 && string(c.Usage) != "null" {
			said = c.Usage
		}
		for _, ch := range c.Choices {
			if ch.Index != 0 {
				continue
			}
			thought, text := ch.Delta.texts()
			if thought != "" {
				p := e.Chunk(thought, false)
				p.Shared = p.Shared || text != ""
				chunks = append(chunks, p)
				reasoning.WriteString(thought)
			}
			if text != "" {
				chunks = append(chunks, e.Chunk(text, true))
				answer.WriteString(text)
			}
			if ch.FinishReason != nil {
				finish = *ch.FinishReason
			}
		}
		if n := r.Usage.CompletionTokens; arrived == 0 && len(chunks) == 1 && n != nil && n != counted && *n > 0 {
			first = n
		}
	}
	if r.Finish = ended(finish); r.Finish != "" {
		r.Unended = true
		return r, chunks, nil
	}
	return r, chunks, buffer.Fail(backends.ErrTruncated, "the stream ended without its end mark [DONE]", "look into the server's log")
}

// ended is what a finish reason says; "": there is none, or the server gave up.
func ended(reason string) backends.Finish {
	switch reason {
	case "", "abort", "error":
		return ""
	case "stop":
		return backends.FinishStop
	case "length":
		return backends.FinishLength
	}
	return backends.FinishOther
}

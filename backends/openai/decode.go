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

// hasContent is the cheap live look for a non-empty piece in a line of the
// stream. Only the beginning of the delta is looked at: its keys come before the
// first brace that could close it, unless a piece came before that.
func hasContent(line []byte) bool {
	for i := 0; ; {
		j := bytes.IndexByte(line[i:], '{')
		if j < 0 {
			return false
		}
		i += j + 1
		if !bytes.HasSuffix(bytes.TrimRight(line[:i-1], " "), []byte(`"delta":`)) {
			continue
		}
		delta := line[i:]
		if j := bytes.IndexByte(delta, '}'); j >= 0 {
			delta = delta[:j+1]
		}
		if filled(delta, []byte(`content":`)) || filled(delta, []byte(`"reasoning":`)) {
			return true
		}
	}
}

// filled says whether key is followed by a string that is not empty.
func filled(delta, key []byte) bool {
	for {
		i := bytes.Index(delta, key)
		if i < 0 {
			return false
		}
		delta = bytes.TrimLeft(delta[i+len(key):], " ")
		if len(delta) > 1 && delta[0] == '"' && delta[1] != '"' {
			return true
		}
	}
}

// chunk is one event of the stream.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type choice struct {
	Index int `json:"index"`
	Delta struct {
		Content          string `json:"content"`
		Reasoning        string `json:"reasoning"`         // vLLM
		ReasoningContent string `json:"reasoning_content"` // llama.cpp, older vLLM
	} `json:"delta"`
	FinishReason *string `json:"finish_reason"`
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
	CompletionTokens = "usage.completion_tokens"
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
		{PromptTokens, u.Prompt, &r.Usage.PromptTokens}, {CompletionTokens, u.Completion, &r.Usage.CompletionTokens},
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
		r.Odd.Add(CompletionTokens, []byte("0"), "is nothing beside an answer that is something")
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

// decode reads a tape. The response holds what had arrived even beside an error.
func (b *Backend) decode(tape *wire.Tape) (*backends.Response, []timing.Piece, error) {
	r := &backends.Response{Sent: tape.Sent}
	var pieces []timing.Piece
	var answer, reasoning strings.Builder
	var said json.RawMessage // the last usage
	defer func() {
		r.Answer, r.Reasoning = answer.String(), reasoning.String()
		count(said, r, len(pieces) > 0)
	}()
	finish := ""
	for e := range tape.Events() {
		if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
			switch finish {
			case "stop":
				r.Finish = backends.FinishStop
			case "length":
				r.Finish = backends.FinishLength
			case "":
				return r, pieces, tape.Fail(backends.ErrTruncated, "the end mark came without a finish reason", "look into the server's log")
			case "abort", "error":
				return r, pieces, tape.Fail(backends.ErrTruncated, "the server gave up: finish reason "+finish, "look into the server's log")
			default:
				r.Finish = backends.FinishOther
			}
			return r, pieces, nil
		}
		if p, ok := inBand(e.Data); ok {
			p.Status = tape.Status
			return r, pieces, b.classify(p).error(tape.Fail)
		}
		var c chunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			if e.Open {
				break
			}
			return r, pieces, tape.Fail(backends.ErrMalformed, fmt.Sprintf("an event cannot be read (%v): %.200s", err, e.Data), "")
		}
		if b.dialect.Event != nil {
			if err := b.dialect.Event(e.Data, r); err != nil {
				return r, pieces, tape.Fail(backends.ErrMalformed, fmt.Sprintf("%v: %.200s", err, e.Data), "")
			}
		}
		if len(c.Usage) > 0 && string(c.Usage) != "null" {
			said = c.Usage
		}
		for _, ch := range c.Choices {
			if ch.Index != 0 {
				continue
			}
			// vLLM fills both names with the same text while the older one is phased out.
			thought := ch.Delta.Reasoning
			if thought == "" {
				thought = ch.Delta.ReasoningContent
			}
			if thought != "" {
				p := e.Piece(thought, false)
				p.Shared = p.Shared || ch.Delta.Content != ""
				pieces = append(pieces, p)
				reasoning.WriteString(thought)
			}
			if ch.Delta.Content != "" {
				pieces = append(pieces, e.Piece(ch.Delta.Content, true))
				answer.WriteString(ch.Delta.Content)
			}
			if ch.FinishReason != nil {
				finish = *ch.FinishReason
			}
		}
	}
	return r, pieces, tape.Fail(backends.ErrTruncated, "the stream ended without its end mark [DONE]", "look into the server's log")
}

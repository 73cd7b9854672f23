package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

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
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
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
	Prompt        *int `json:"prompt_tokens"`
	Completion    *int `json:"completion_tokens"`
	PromptDetails struct {
		Cached *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// decode reads a tape. The response holds what had arrived even beside an error.
func (b *Backend) decode(tape *wire.Tape) (*backends.Response, []timing.Piece, error) {
	r := &backends.Response{Sent: tape.Sent}
	var pieces []timing.Piece
	var answer, reasoning strings.Builder
	defer func() { r.Answer, r.Reasoning = answer.String(), reasoning.String() }()
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
		if c.Usage != nil { // says more than what a dialect works out
			received(&r.Usage.PromptTokens, c.Usage.Prompt)
			received(&r.Usage.CompletionTokens, c.Usage.Completion)
			received(&r.Usage.CachedTokens, c.Usage.PromptDetails.Cached)
			received(&r.Usage.ReasoningTokens, c.Usage.CompletionDetails.Reasoning)
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

func received(to **int, n *int) {
	if n != nil {
		*to = n
	}
}

// Milliseconds makes a duration of a server's figure; nil: it is missing or not
// a time between 0 and a hundred years.
func Milliseconds(ms *float64) *time.Duration {
	if ms == nil || !(*ms >= 0 && *ms < 100*365.25*86400e3) {
		return nil
	}
	d := time.Duration(math.Round(*ms * 1e6))
	return &d
}

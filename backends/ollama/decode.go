package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// line is one line of the reply. Ollama leaves out figures that are zero, and
// its own type reads those as zero: here they stay unknown.
type line struct {
	api.ChatResponse
	Error         json.RawMessage `json:"error"`
	TotalDuration json.RawMessage `json:"total_duration"`
	LoadDuration  json.RawMessage `json:"load_duration"`
	PromptCount   json.RawMessage `json:"prompt_eval_count"`
	CachedCount   json.RawMessage `json:"prompt_eval_cached_count"` // newer than 0.33.2; part of PromptCount
	PromptTime    json.RawMessage `json:"prompt_eval_duration"`
	Count         json.RawMessage `json:"eval_count"`
	Time          json.RawMessage `json:"eval_duration"`
}

// parseLine reads one line of an NDJSON reply.
func parseLine(b []byte) (*line, error) {
	l := &line{}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, err
	}
	return l, nil
}

// hasText is the live look at a line: does it carry a chunk of text? A search tells
// lines that cannot; what is left is read as the decoder reads it.
func hasText(b []byte) bool {
	if !hasValue(b, `"content"`) && !hasValue(b, `"thinking"`) {
		return false
	}
	l, err := parseLine(b)
	return err == nil && l.Message.Thinking+l.Message.Content != ""
}

// hasValue says whether key stands before a string that is not empty.
func hasValue(b []byte, key string) bool {
	for {
		i := bytes.Index(b, []byte(key))
		if i < 0 {
			return false
		}
		b = b[i+len(key):]
		value := bytes.TrimLeft(b, " \t\r:")
		if len(value) > 1 && value[0] == '"' && value[1] != '"' {
			return true
		}
	}
}

// decode reads a buffer. Beside an error the chunks are those that had arrived.
func decode(buffer *wire.Buffer) (*backends.Response, []timing.Chunk, *backends.Error) {
	if buffer.Status != http.StatusOK {
		return nil, nil, refusal(buffer.Status, buffer.Text(), buffer.Fail)
	}
	var answer, reasoning strings.Builder
	var chunks []timing.Chunk
	fail := func(e *backends.Error) (*backends.Response, []timing.Chunk, *backends.Error) {
		thought, said := reasoning.String(), answer.String()
		buffer.Redact(&thought, &said)
		e.Partial = partial(said, thought)
		return nil, chunks, e
	}
	number := 0
	for in := range buffer.Lines() {
		number++
		l, err := parseLine(in.Data)
		if err != nil {
			if in.Open {
				break
			}
			return fail(buffer.Fail(backends.ErrMalformed, fmt.Sprintf("line %d of the reply is not what /api/chat sends: %v: %.80q", number, err, in.Data), "is this an Ollama server?"))
		}
		if stated(l.Error) {
			kind, hint := classify(buffer.Status, words(l.Error))
			return fail(buffer.Fail(kind, words(l.Error), hint))
		}
		if l.Message.Thinking != "" {
			at := in.Arrival
			at.Shared = at.Shared || l.Message.Content != ""
			chunks = append(chunks, at.Chunk(l.Message.Thinking, false))
			reasoning.WriteString(l.Message.Thinking)
		}
		if l.Message.Content != "" {
			chunks = append(chunks, in.Chunk(l.Message.Content, true))
			answer.WriteString(l.Message.Content)
		}
		if l.Done {
			r := &backends.Response{Answer: answer.String(), Reasoning: reasoning.String(), Finish: finish(l.DoneReason), Sent: buffer.Sent}
			buffer.Redact(&r.Reasoning, &r.Answer)
			span := func(name string, raw json.RawMessage) *time.Duration {
				return r.Odd.Span(name, raw, time.Nanosecond)
			}
			r.Usage = backends.Usage{PromptTokens: r.Odd.Count("prompt_eval_count", l.PromptCount), CompletionTokens: r.Odd.Count("eval_count", l.Count),
				CachedTokens: r.Odd.Count("prompt_eval_cached_count", l.CachedCount)}
			r.Odd.AtMost("prompt_eval_cached_count", &r.Usage.CachedTokens, r.Usage.PromptTokens, "the whole prompt")
			if n := r.Usage.CompletionTokens; n != nil && *n == 0 && len(chunks) > 0 {
				r.Odd.Add("eval_count", l.Count, "is nothing beside an answer that is something")
				r.Usage.CompletionTokens = nil
			}
			r.Server = backends.Timings{Total: span("total_duration", l.TotalDuration), Load: span("load_duration", l.LoadDuration),
				Prompt: span("prompt_eval_duration", l.PromptTime), Decode: span("eval_duration", l.Time), Raw: append(json.RawMessage(nil), in.Data...)}
			return r, chunks, nil
		}
	}
	return fail(buffer.Fail(backends.ErrTruncated, "the stream ended without done:true", "look into the server's log; a model that repeats one token is cut off like this too"))
}

// partial is the text that a failure leaves behind.
func partial(answer, reasoning string) string {
	if answer == "" {
		return reasoning
	}
	return answer
}

func finish(reason string) backends.Finish {
	switch reason {
	case "stop":
		return backends.FinishStop
	case "length":
		return backends.FinishLength
	}
	return backends.FinishOther
}

// refusal is the error for a reply with a status other than 200. fail makes it.
func refusal(status int, body []byte, fail func(backends.Kind, string, string) *backends.Error) *backends.Error {
	var reply struct {
		Error json.RawMessage `json:"error"`
	}
	message := backends.Excerpt(body)
	if json.Unmarshal(body, &reply) == nil && stated(reply.Error) {
		message = words(reply.Error)
	}
	if len(message) > 2000 {
		message = message[:2000] + " ..."
	}
	kind, hint := classify(status, message)
	return fail(kind, message, hint)
}

func stated(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// words is an error's text: a JSON string, or whatever else stands there.
func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return strings.TrimSpace(s)
}

// classify names a failure from its status and the server's words, as recorded
// from 0.9.6, 0.17.4, 0.24.0 and 0.32.15 (which passes on llama-server's).
func classify(status int, message string) (kind backends.Kind, hint string) {
	says := backends.Complaint{Message: message}.Says
	switch {
	case status == http.StatusNotFound && says("model") && says("not found"):
		return backends.ErrUnknownModel, "ollama list shows what the server has; ollama pull fetches more"
	case status == http.StatusRequestEntityTooLarge:
		return backends.ErrRefused, backends.Smaller
	case status == http.StatusTooManyRequests:
		return backends.ErrBusy, "let fewer requests be in flight"
	case status == http.StatusServiceUnavailable && says("busy", "maximum pending requests"):
		return backends.ErrBusy, "its queue is full: let fewer requests be in flight, or raise OLLAMA_MAX_QUEUE"
	case status == http.StatusServiceUnavailable:
		return backends.ErrLoading, "the server is loading a model; try again later"
	case says("does not support multimodal", "image input is not supported", "does not support images"):
		return backends.ErrNoVision, "choose a vision model"
	case says("exceeds the context length", "exceed_context_size", "exceeds the available context size"):
		return backends.ErrContextExceeded, "raise num_ctx in the backend's options or shorten the prompt"
	case says("model runner has unexpectedly stopped", "error was encountered while running the model", "runner process has terminated"):
		return backends.ErrServer, "the model runner died: the server's log says why; the next request loads the model anew"
	case says("must be of type", "invalid json schema in format", `expected "json" or a valid json schema`):
		// Sent with status 500, but it is the request that is wrong: trying again is in vain.
		return backends.ErrRefused, "mend the option or the schema that is named"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return backends.ErrRefused, "is the backend's url that of an Ollama server, without /api or /v1 at its end?"
	case status >= 400 && status < 500:
		return backends.ErrRefused, ""
	}
	return backends.ErrServer, "look into the server's log"
}

package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"assay/backends"
)

// Problem is what a server says when it does not answer.
type Problem struct {
	Status  int    // HTTP status; 200 for an error inside a stream
	Message string // the server's own words
	Type    string // "exceed_context_size_error", "NotFoundError", ...
	Code    string // "model_not_found", "400", ...

	kind backends.Kind
	hint string
}

func (p Problem) error(fail func(backends.Kind, string, string) *backends.Error) error {
	return fail(p.kind, p.Message, p.hint)
}

// Says reports whether the message has one of the words, whatever the case.
func (p Problem) Says(words ...string) bool {
	m := strings.ToLower(p.Message)
	for _, w := range words {
		if strings.Contains(m, w) {
			return true
		}
	}
	return false
}

// Problem reads and classifies the body of a reply that is not 200.
func (b *Backend) Problem(status int, body []byte) Problem {
	p, ok := inBand(body)
	if !ok {
		p.Message = backends.Excerpt(body)
		if p.Message == "" {
			p.Message = http.StatusText(status)
		}
	}
	p.Status = status
	return b.classify(p)
}

// inBand reads an error object: {"error":{message,type,code}}, {"error":"..."},
// {"object":"error","message":...} of older vLLM, {"detail":...} of FastAPI.
func inBand(data []byte) (Problem, bool) {
	if !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(`"detail"`)) {
		return Problem{}, false
	}
	type words struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	var e struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
		Object string          `json:"object"`
		words
	}
	if json.Unmarshal(data, &e) != nil {
		return Problem{}, false
	}
	w := e.words
	switch {
	case len(e.Error) > 0 && string(e.Error) != "null":
		w = words{}
		if json.Unmarshal(e.Error, &w.Message) != nil && (json.Unmarshal(e.Error, &w) != nil || w.Message == "") {
			w.Message = string(e.Error)
		}
	case e.Object == "error":
	case len(e.Detail) > 0 && string(e.Detail) != "null":
		if json.Unmarshal(e.Detail, &w.Message) != nil {
			w.Message = string(e.Detail)
		}
	default:
		return Problem{}, false
	}
	code := strings.Trim(string(w.Code), `"`)
	if code == "null" {
		code = ""
	}
	return Problem{Message: w.Message, Type: w.Type, Code: code}, true
}

// classify says what kind of failure p is and what to do about it.
func (b *Backend) classify(p Problem) Problem {
	if b.dialect.Classify != nil {
		if p.kind, p.hint = b.dialect.Classify(p); p.kind != "" {
			return p
		}
	}
	switch {
	case p.Type == "exceed_context_size_error" || p.Code == "context_length_exceeded" || p.Says("maximum context length", "exceeds the available context"):
		p.kind, p.hint = backends.ErrContextExceeded, "start the server with a longer context, or send less"
	case p.Says("not a multimodal model", "does not support image", "does not support vision", "image input is not supported", "content must be a string"):
		p.kind, p.hint = backends.ErrNoVision, "choose a model that can see"
	case p.Code == "model_not_found" || p.Says("model") && p.Says("does not exist", "not found"):
		p.kind, p.hint = backends.ErrUnknownModel, "compare the name with the server's /v1/models"
	case p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden:
		p.kind, p.hint = backends.ErrRefused, "check the API key"
	case p.Status == http.StatusServiceUnavailable && p.Says("loading"):
		p.kind, p.hint = backends.ErrLoading, "wait until the model is loaded"
	case p.Status == http.StatusNotFound:
		p.kind, p.hint = backends.ErrRefused, "is the backend's url the server's base, without a path?"
	case p.Status == http.StatusRequestEntityTooLarge:
		p.kind, p.hint = backends.ErrRefused, backends.Smaller
	case p.Status == http.StatusTooManyRequests:
		p.kind, p.hint = backends.ErrBusy, "let fewer requests be in flight"
	case p.Status == http.StatusServiceUnavailable && p.Says("busy", "overload", "too many", "queue", "capacity"):
		p.kind, p.hint = backends.ErrBusy, "let fewer requests be in flight"
	case p.Status == http.StatusRequestTimeout:
		p.kind, p.hint = backends.ErrServer, "let fewer requests be in flight"
	case p.Status >= 400 && p.Status < 500:
		p.kind, p.hint = backends.ErrRefused, b.omitting(p)
	default: // also an error inside a stream, and a status that is neither 200 nor an error
		p.kind, p.hint = backends.ErrServer, "look into the server's log"
	}
	return p
}

// omitting is how to leave out a field that a refusal names; "": it names none.
func (b *Backend) omitting(p Problem) string {
	for _, name := range Omittable() {
		if p.Says(name, strings.ReplaceAll(name, "_", " ")) && !slices.Contains(b.omit, name) {
			return "if the server does not know " + name + ", write omit: [" + strings.Join(append(slices.Clone(b.omit), name), ", ") + "] at the backend in bench.yaml: requests then go without it"
		}
	}
	return ""
}

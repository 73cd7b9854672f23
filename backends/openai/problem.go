package openai

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"assay/backends"
)

// Problem is what a server says when it does not answer.
type Problem struct {
	Status int // HTTP status; 200 for an error inside a stream
	backends.Complaint

	kind backends.Kind
	hint string
}

func (p Problem) error(fail func(backends.Kind, string, string) *backends.Error) error {
	return fail(p.kind, p.Message, p.hint)
}

// Problem reads and classifies the body of a reply that is not 200.
func (b *Backend) Problem(status int, body []byte) Problem {
	p := Problem{Status: status}
	var ok bool
	if p.Complaint, ok = backends.ReadComplaint(body); !ok {
		p.Message = cmp.Or(backends.Excerpt(body), http.StatusText(status))
	}
	return b.classify(p)
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

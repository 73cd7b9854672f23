package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"assay/backends"
)

const rawPath = "/api/generate"

var _ backends.Continuer = (*Backend)(nil)

// Continue posts to /api/generate with raw, which puts no template around a prompt. An
// Ollama does not say what tokens a text has.
func (b *Backend) Continue(ctx context.Context, c backends.Continuation) (backends.Continued, error) {
	// What of a Request's options stands at the top of its body does so here.
	body, err := encode(&backends.Request{Model: c.Model, Sampling: c.Sampling, Options: c.Options})
	fields := map[string]any{}
	if err == nil {
		err = json.Unmarshal(body, &fields)
	}
	if err == nil {
		delete(fields, "messages")
		fields["prompt"], fields["raw"], fields["stream"] = c.Text, true, false
		body, err = json.Marshal(fields)
	}
	if err != nil {
		return backends.Continued{}, &backends.Error{Kind: backends.ErrRefused, Op: "POST " + b.wire.URL() + rawPath, Message: err.Error() + "; nothing was sent", Hint: "mend the backend's options in bench.yaml"}
	}
	reply, err := b.wire.Post(ctx, rawPath, body)
	if err != nil {
		return backends.Continued{}, err
	}
	if reply.Status != http.StatusOK {
		return backends.Continued{}, refusal(reply.Status, reply.Body, reply.Fail)
	}
	var out struct {
		Response *string         `json:"response"`
		Done     bool            `json:"done"`
		Reason   string          `json:"done_reason"`
		Tokens   json.RawMessage `json:"eval_count"`
		Error    string          `json:"error"`
	}
	switch err := json.Unmarshal(reply.Body, &out); {
	case err != nil:
		return backends.Continued{}, reply.Fail(backends.ErrMalformed, "the reply cannot be read: "+err.Error(), "is this an Ollama server?")
	case out.Error != "":
		return backends.Continued{}, reply.Fail(backends.ErrServer, out.Error, "look into the server's log")
	case out.Response == nil || !out.Done:
		return backends.Continued{}, reply.Fail(backends.ErrTruncated, "the reply does not say that it is done", "")
	}
	r := backends.Continued{Text: *out.Response, Finish: backends.FinishOther, Tokens: backends.Positive(out.Tokens)}
	switch out.Reason {
	case "stop":
		r.Finish = backends.FinishStop
	case "length":
		r.Finish = backends.FinishLength
	}
	return r, nil
}

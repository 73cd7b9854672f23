package openai

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"assay/backends"
	"assay/backends/wire"
)

// rawPath is where a prompt gets no template around it.
const rawPath = "/v1/completions"

// Complete has a model go on with a text as it stands. Servers of no particular kind
// may put a template around it, so that Backend is no backends.Continuer: those that
// are known not to call this.
func (b *Backend) Complete(ctx context.Context, c backends.Continuation) (backends.Continued, error) {
	fields := map[string]any{}
	maps.Copy(fields, c.Options)
	fields["model"], fields["prompt"], fields["max_tokens"], fields["temperature"], fields["stream"] = c.Model, c.Text, c.Sampling.MaxTokens, c.Sampling.Temperature, false
	if c.Sampling.Seed != nil {
		fields["seed"] = *c.Sampling.Seed
	}
	for _, name := range b.omit {
		delete(fields, name)
	}
	var out struct {
		Choices []struct {
			Text   string `json:"text"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Completion json.RawMessage `json:"completion_tokens"`
		} `json:"usage"`
	}
	reply, err := b.Ask(ctx, rawPath, fields, &out)
	if err != nil {
		return backends.Continued{}, err
	}
	if len(out.Choices) != 1 {
		return backends.Continued{}, reply.Fail(backends.ErrMalformed, "the reply does not have one choice", "is this an OpenAI-compatible server?")
	}
	r := backends.Continued{Text: out.Choices[0].Text, Finish: backends.FinishOther, Tokens: backends.Positive(out.Usage.Completion)}
	switch out.Choices[0].Finish {
	case "stop":
		r.Finish = backends.FinishStop
	case "length":
		r.Finish = backends.FinishLength
	}
	return r, nil
}

// Ask posts fields and reads the reply, untimed.
func (b *Backend) Ask(ctx context.Context, path string, fields map[string]any, out any) (*wire.Reply, error) {
	body, err := encode(fields)
	if err != nil {
		return nil, b.invalid("the request cannot be encoded: "+err.Error(), "check its options")
	}
	reply, err := b.Client.Post(ctx, path, body)
	if err != nil {
		return nil, err
	}
	if reply.Status != http.StatusOK {
		return reply, b.Refusal(reply)
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return reply, reply.Fail(backends.ErrMalformed, "the reply cannot be read: "+err.Error(), "")
	}
	return reply, nil
}

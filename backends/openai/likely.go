package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"assay/backends"
)

// Likely answers a request untimed, with the likeliest tokens in the place of the first.
func (b *Backend) Likely(ctx context.Context, req *backends.Request) (backends.Likely, error) {
	body, err := b.Body(req)
	if err != nil {
		return backends.Likely{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		panic("openai: internal error: " + err.Error())
	}
	delete(fields, "stream_options")
	fields["stream"], fields["logprobs"], fields["top_logprobs"] = false, true, 20
	body, err = json.Marshal(fields)
	if err != nil {
		panic("openai: internal error: " + err.Error())
	}
	reply, err := b.Client.Post(ctx, ChatPath, body)
	if err != nil {
		return backends.Likely{}, err
	}
	if reply.Status != http.StatusOK {
		return backends.Likely{}, b.Problem(reply.Status, reply.Body).error(reply.Fail)
	}
	var said struct {
		Choices []struct {
			Message  struct{ Content string }
			Logprobs struct{ Content []backends.Choices }
		}
	}
	if err := json.Unmarshal(reply.Body, &said); err != nil || len(said.Choices) == 0 {
		return backends.Likely{}, reply.Fail(backends.ErrMalformed, fmt.Sprintf("expected one choice, found %d (%v)", len(said.Choices), err), "is this an OpenAI-style server?")
	}
	c := said.Choices[0]
	return backends.Likely{Answer: c.Message.Content, First: backends.FirstOf(c.Logprobs.Content)}, nil
}

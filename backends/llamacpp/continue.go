package llamacpp

import (
	"context"
	"encoding/json"
	"maps"

	"assay/backends"
)

// Where llama-server continues texts and says their tokens.
const (
	rawPath        = "/completion"
	tokenizePath   = "/tokenize"
	detokenizePath = "/detokenize"
)

var (
	_ backends.Continuer = (*Backend)(nil)
	_ backends.Tokenizer = (*Backend)(nil)
)

// Continue posts to /completion, which puts no template around a prompt.
func (b *Backend) Continue(ctx context.Context, c backends.Continuation) (backends.Continued, error) {
	fields := map[string]any{}
	maps.Copy(fields, c.Options)
	// The name chooses where one server has several models; others do not look at it.
	fields["model"] = c.Model
	fields["prompt"], fields["n_predict"], fields["temperature"], fields["stream"] = c.Text, c.Sampling.MaxTokens, c.Sampling.Temperature, false
	if c.Sampling.Seed != nil {
		fields["seed"] = *c.Sampling.Seed
	}
	var out struct {
		Content *string         `json:"content"`
		Tokens  json.RawMessage `json:"tokens_predicted"`
		Stop    string          `json:"stop_type"`     // newer servers
		Limit   bool            `json:"stopped_limit"` // older ones
	}
	reply, err := b.chat.Ask(ctx, rawPath, fields, &out)
	if err != nil {
		return backends.Continued{}, err
	}
	if out.Content == nil {
		return backends.Continued{}, reply.Fail(backends.ErrMalformed, "the reply has no content", "is this a llama-server?")
	}
	r := backends.Continued{Text: *out.Content, Finish: backends.FinishStop, Tokens: backends.Positive(out.Tokens)}
	if out.Stop == "limit" || out.Limit {
		r.Finish = backends.FinishLength
	}
	return r, nil
}

// Tokens asks /tokenize.
func (b *Backend) Tokens(ctx context.Context, model, text string) ([]int, error) {
	var out struct {
		Tokens []int `json:"tokens"`
	}
	_, err := b.chat.Ask(ctx, tokenizePath, map[string]any{"model": model, "content": text, "add_special": false}, &out)
	return out.Tokens, err
}

// Text asks /detokenize.
func (b *Backend) Text(ctx context.Context, model string, tokens []int) (string, error) {
	var out struct {
		Content string `json:"content"`
	}
	_, err := b.chat.Ask(ctx, detokenizePath, map[string]any{"model": model, "tokens": tokens}, &out)
	return out.Content, err
}

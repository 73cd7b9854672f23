package vllm

import (
	"context"

	"assay/backends"
)

// Where vLLM says the tokens of texts.
const (
	tokenizePath   = "/tokenize"
	detokenizePath = "/detokenize"
)

var (
	_ backends.Continuer = (*Backend)(nil)
	_ backends.Tokenizer = (*Backend)(nil)
)

// Continue posts to /v1/completions, which puts no template around a prompt.
func (b *Backend) Continue(ctx context.Context, c backends.Continuation) (backends.Continued, error) {
	return b.chat.Complete(ctx, c)
}

// Tokens asks /tokenize.
func (b *Backend) Tokens(ctx context.Context, model, text string) ([]int, error) {
	var out struct {
		Tokens []int `json:"tokens"`
	}
	_, err := b.chat.Ask(ctx, tokenizePath, map[string]any{"model": model, "prompt": text, "add_special_tokens": false}, &out)
	return out.Tokens, err
}

// Text asks /detokenize.
func (b *Backend) Text(ctx context.Context, model string, tokens []int) (string, error) {
	var out struct {
		Prompt string `json:"prompt"`
	}
	_, err := b.chat.Ask(ctx, detokenizePath, map[string]any{"model": model, "tokens": tokens}, &out)
	return out.Prompt, err
}

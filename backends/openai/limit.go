package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/backends"
	"assay/timing"
)

// otherLimit is the other field that limits an answer: OpenAI's newest models refuse
// max_tokens; Ollama, llama-cpp-python, older TGI and LM Studio know nothing else.
var otherLimit = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

// Few tokens that a server is asked for, and how many it may give: some count end marks.
const (
	fewTokens  = 4
	mostTokens = 2 * fewTokens
)

// limit is what Limits found of a model.
type limit struct {
	field string // that limits its answers
	asked bool   // what follows is known
	said  string
	err   error
}

// limitField is the field that limits the answers of a model.
func (b *Backend) limitField(model string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l, ok := b.limits[model]; ok {
		return l.field
	}
	return b.dialect.MaxTokens
}

func (b *Backend) setLimit(model string, l limit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits == nil {
		b.limits = map[string]limit{}
	}
	b.limits[model] = l
}

// Limits asks, once per model, for a few tokens of a long answer, and counts what comes.
// A server that refuses the field which limits an answer, or does not know it, is asked
// under the other name, and if it keeps to that, from then on. ErrDropped: it keeps to
// neither, or cuts answers below the limit. Other errors: that could not be found out.
func (b *Backend) Limits(ctx context.Context, model string, options map[string]any) (said string, err error) {
	b.asking.Lock()
	defer b.asking.Unlock()
	b.mu.Lock()
	known := b.limits[model]
	b.mu.Unlock()
	if known.asked {
		return known.said, known.err
	}
	first := b.limitField(model)
	for _, field := range []string{first, otherLimit[first]} {
		b.setLimit(model, limit{field: field})
		said, failed := b.tryLimit(ctx, model, field, options)
		if failed == nil {
			b.setLimit(model, limit{field, true, said, nil})
			return said, nil
		}
		if err == nil || errors.Is(failed, backends.ErrDropped) && !errors.Is(err, backends.ErrDropped) {
			err = failed
		}
		if !errors.Is(failed, backends.ErrDropped) && !errors.Is(failed, backends.ErrRefused) {
			break
		}
	}
	b.setLimit(model, limit{first, errors.Is(err, backends.ErrDropped), "", err})
	return "", err
}

// tryLimit asks once under one name.
func (b *Backend) tryLimit(ctx context.Context, model, field string, options map[string]any) (said string, err error) {
	seed := int64(1)
	r, err := b.Generate(ctx, &backends.Request{Model: model, Sampling: backends.Sampling{MaxTokens: fewTokens, Seed: &seed}, Options: options,
		Messages: []backends.Message{{Role: backends.User, Text: "Write the numbers from one to five hundred in words."}},
		Timeouts: backends.Timeouts{Connect: 10 * time.Second, Total: 5 * time.Minute}}, timing.NewRecorder(timing.NewClock()))
	dropped := func(found, hint string) error {
		return &backends.Error{Kind: backends.ErrDropped, Op: fmt.Sprintf("ask %s for an answer of at most %d tokens (%s)", b.Client.URL(), fewTokens, field), Message: found, Hint: hint}
	}
	const keep = "let the server, or what stands before it, keep to max_tokens or max_completion_tokens: else answers run on, or end where the server likes"
	var e *backends.Error
	switch {
	case errors.As(err, &e) && e.Kind == backends.ErrOverlong:
		return "", dropped("the server does not keep to that limit: "+e.Message, keep)
	case err != nil:
		return "", err
	}
	n, what := len(strings.Fields(r.Answer+" "+r.Reasoning)), "words"
	if r.Usage.CompletionTokens != nil {
		n, what = *r.Usage.CompletionTokens, "tokens"
	}
	switch {
	case n > mostTokens:
		return "", dropped(fmt.Sprintf("the server does not keep to that limit: %d %s came", n, what), keep)
	case r.Finish == backends.FinishLength && what == "tokens" && n < fewTokens:
		return "", dropped(fmt.Sprintf("the server cuts answers below the limit that was asked: %d tokens came, and it says that length cut them", n), "raise the server's own limit of answers, or its context")
	}
	return fmt.Sprintf("asked for at most %d tokens (%s), it gave %d %s", fewTokens, field, n, what), nil
}

package hosted

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/wire"
)

func fail(kind backends.Kind, message, hint string) *backends.Error {
	return &backends.Error{Kind: kind, Message: message, Hint: hint}
}

// failed is why there is no reply of status 200 to read; nil: there is one.
func failed(ctx, whole context.Context, x *exchange, err error, total time.Duration) *backends.Error {
	switch {
	case ctx.Err() != nil:
		return fail(backends.ErrCancelled, context.Cause(ctx).Error(), "")
	case whole.Err() != nil:
		return fail(backends.ErrStalled, fmt.Sprint("no complete reply within ", total), "raise timeouts.total of the judge")
	case x.sent == nil:
		return fail(backends.ErrRefused, fmt.Sprint("langchaingo made no request: ", err), "")
	case x.status == 0:
		return fail(backends.ErrUnreachable, fmt.Sprint(x.err), "is url: of the judge right, and is there a network?")
	case len(x.body) > maxReply:
		return fail(backends.ErrMalformed, "the reply is longer than 8 MiB", "")
	case x.err != nil:
		return fail(backends.ErrTruncated, fmt.Sprint("the reply ended early: ", x.err), "")
	case x.status != http.StatusOK:
		return refused(x, cmp.Or(complaint(x.body), backends.Excerpt(x.body)))
	}
	return nil
}

// complaint is an error that a provider tells; "": it tells none.
func complaint(body []byte) string {
	c, ok := backends.ReadComplaint(body)
	if !ok {
		return ""
	}
	return cmp.Or(strings.Join(strings.Fields(c.Message+" "+c.Type+" "+c.Code), " "), backends.Excerpt(body))
}

// refused is the error where a provider gave one in the place of an answer.
func refused(x *exchange, said string) *backends.Error {
	kind, hint := classify(x.status, said)
	e := fail(kind, said, hint)
	if x.status == http.StatusOK {
		e.Message = "an error in the place of an answer: " + said
	}
	if kind == backends.ErrBusy { // whatever the status: Anthropic's is 529
		e.After = wire.RetryAfter(http.StatusServiceUnavailable, x.header, time.Now())
	}
	return e
}

// classify says what kind of failure it is, and what to do.
func classify(status int, said string) (backends.Kind, string) {
	says := backends.Complaint{Message: said}.Says
	switch {
	case says("context_length_exceeded", "maximum context length", "prompt is too long"):
		return backends.ErrContextExceeded, "choose a model with a longer context"
	case status == http.StatusPaymentRequired || says("insufficient_quota", "credit balance", "billing"):
		return backends.ErrRefused, "the account has no credit left"
	case status == http.StatusUnauthorized || status == http.StatusForbidden,
		says("invalid_api_key", "authentication_error"):
		return backends.ErrRefused, "check the API key of the judge"
	case says("model_not_found") || status == http.StatusNotFound && says("model"):
		return backends.ErrUnknownModel, "compare model: of the judge with the provider's list"
	case status == http.StatusNotFound:
		return backends.ErrRefused, "is url: of the judge the base of the API, such as https://api.openai.com/v1?"
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529,
		says("rate_limit", "overloaded"):
		return backends.ErrBusy, "lower in_flight, requests_per_minute or tokens_per_minute of the judge"
	case status == http.StatusRequestTimeout || status >= 500 || status == http.StatusOK:
		return backends.ErrServer, ""
	}
	return backends.ErrRefused, ""
}

// read reads a reply of status 200.
func (b *Backend) read(x *exchange) (reply, *backends.Error) {
	rep, err := b.provider.reply.read(x.body) // beside an error it may tell what it cost
	for _, s := range []*string{&rep.Answer, &rep.Reasoning, &rep.declined, &rep.Served, &rep.fingerprint} {
		*s = b.answers(*s) // once they are put together: a key may have come in chunks
	}
	switch {
	case err != nil:
		return rep, fail(backends.ErrMalformed, fmt.Sprintf("the reply is not what %s sends (%v): %s",
			b.provider.name, err, backends.Excerpt(x.body)), "is provider: of the judge right?")
	case rep.problem != "":
		return rep, refused(x, rep.problem)
	case !b.served(rep.Served):
		return rep, fail(backends.ErrUnknownModel, fmt.Sprintf("%q answered where %q was asked", rep.Served, b.set.Model),
			"where that is the same model, write served_as: "+rep.Served+" of the judge")
	case rep.declined != "":
		return rep, fail(backends.ErrDeclined, rep.declined, "")
	case rep.Finish == backends.FinishLength:
		e := fail(backends.ErrLimit, "the limit of tokens cut the answer", "raise max_tokens of the judge")
		e.Partial = rep.Answer
		return rep, e
	}
	return rep, nil
}

// versioned is what may stand behind a model's name: a date, a number or a tag that
// says which version answered.
var versioned = regexp.MustCompile(`^([-@][0-9]{3,8}(-[0-9]{2,4})*|:latest)$`)

// served says whether the model that answered is the one that was asked; a reply that
// does not say which is none of another.
func (b *Backend) served(by string) bool {
	plain := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s), "models/"), "-latest")
	}
	if by == "" || b.set.ServedAs != "" {
		return by == "" || by == b.set.ServedAs
	}
	version, same := strings.CutPrefix(plain(by), plain(b.set.Model))
	return same && (version == "" || versioned.MatchString(version))
}

package hosted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/wire"
)

// failed is why there is no reply of status 200 to read; nil: there is one.
func (b *Backend) failed(ctx, whole context.Context, x *exchange, err error, total time.Duration) *backends.Error {
	e := &backends.Error{Op: b.op(), Status: x.status}
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message = backends.ErrCancelled, context.Cause(ctx).Error()
	case whole.Err() != nil:
		e.Kind, e.Message, e.Hint = backends.ErrStalled, fmt.Sprintf("no complete reply within %v", total), "raise timeouts.total of the judge"
	case x.sent == nil:
		e.Kind, e.Message = backends.ErrRefused, "langchaingo made no request: "+b.messages(fmt.Sprint(err))
	case x.status == 0 && errors.As(x.err, &dial) && dial.Op == "dial":
		e.Kind, e.Message, e.Hint = backends.ErrUnreachable, b.messages(x.err.Error()), "is url: of the judge right, and is there a network?"
	case x.status == 0:
		e.Kind, e.Message = backends.ErrUnreachable, b.messages(fmt.Sprint(x.err))
	case errors.Is(x.err, errLong):
		e.Kind, e.Message = backends.ErrMalformed, errLong.Error()
	case x.err != nil:
		e.Kind, e.Message = backends.ErrTruncated, "the reply ended early: "+b.messages(x.err.Error())
	case x.status != http.StatusOK:
		rep, _ := read(x.body)
		p := rep.problem
		if p == nil {
			p = &problem{Message: backends.Excerpt(x.body)}
		}
		e.Kind, e.Hint = classify(x.status, *p)
		e.Message, e.After = b.messages(p.String()), after(x)
	default:
		return nil
	}
	return e
}

// after is how long the provider asks to be left alone.
func after(x *exchange) *time.Duration {
	status := x.status
	if status == overloaded {
		status = http.StatusServiceUnavailable
	}
	return wire.RetryAfter(status, x.header, time.Now())
}

// overloaded is Anthropic's status for having no room.
const overloaded = 529

// classify says what kind of failure it is, and what to do.
func classify(status int, p problem) (backends.Kind, string) {
	says := func(words ...string) bool {
		all := strings.ToLower(p.String())
		for _, w := range words {
			if strings.Contains(all, w) {
				return true
			}
		}
		return false
	}
	switch {
	case says("context_length_exceeded", "maximum context length", "prompt is too long"):
		return backends.ErrContextExceeded, "choose a model with a longer context"
	case status == http.StatusPaymentRequired || says("insufficient_quota", "credit balance", "billing"):
		return backends.ErrRefused, "the account has no credit left"
	case status == http.StatusUnauthorized || status == http.StatusForbidden || says("invalid_api_key", "authentication_error"):
		return backends.ErrRefused, "check the API key of the judge"
	case says("model_not_found") || status == http.StatusNotFound && says("model"):
		return backends.ErrUnknownModel, "compare model: of the judge with the provider's list"
	case status == http.StatusNotFound:
		return backends.ErrRefused, "is url: of the judge the base of the API, such as https://api.openai.com/v1?"
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == overloaded || says("rate_limit", "overloaded"):
		return backends.ErrBusy, "lower in_flight, requests_per_minute or tokens_per_minute of the judge"
	case status == http.StatusRequestTimeout || status >= 500 || status == http.StatusOK:
		return backends.ErrServer, ""
	}
	return backends.ErrRefused, ""
}

// read reads a reply of status 200.
func (b *Backend) read(x *exchange) (reply, *backends.Error) {
	fail := func(kind backends.Kind, message, hint string) *backends.Error {
		return &backends.Error{Kind: kind, Op: b.op(), Status: x.status, Message: b.messages(message), Hint: hint}
	}
	rep, err := read(x.body) // beside an error it may tell what it cost
	b.clean(&rep)
	switch {
	case err != nil:
		return rep, fail(backends.ErrMalformed, fmt.Sprintf("the reply is not what %s sends (%v): %s", b.provider.name, err, backends.Excerpt(x.body)), "is provider: of the judge right?")
	case rep.problem != nil:
		kind, hint := classify(x.status, *rep.problem)
		return rep, fail(kind, "an error in the place of an answer: "+rep.problem.String(), hint)
	case !b.served(rep.model):
		return rep, fail(backends.ErrUnknownModel, fmt.Sprintf("%q answered where %q was asked", rep.model, b.set.Model), "where that is the same model, write served_as: "+rep.model+" of the judge")
	case rep.declined != "":
		return rep, fail(backends.ErrDeclined, rep.declined, "")
	case rep.finish == backends.FinishLength:
		e := fail(backends.ErrLimit, "the limit of tokens cut the answer", "raise max_tokens of the judge")
		e.Partial = rep.text
		return rep, e
	}
	return rep, nil
}

// clean takes the key out of texts, once they are put together: it may have come in chunks.
func (b *Backend) clean(r *reply) {
	for _, s := range []*string{&r.text, &r.reasoning, &r.declined, &r.model, &r.fingerprint} {
		*s = b.answers(*s)
	}
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
	asked, got := plain(b.set.Model), plain(by)
	if b.set.ServedAs != "" {
		return by == "" || by == b.set.ServedAs
	}
	rest, same := strings.CutPrefix(got, asked)
	return by == "" || same && (rest == "" || versioned.MatchString(rest))
}

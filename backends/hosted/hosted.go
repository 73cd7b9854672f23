// Package hosted asks models behind hosted APIs, as judges: texts, never timed.
//
//  1. Settings that langchaingo would leave out are refused as bench.yaml is read (Unsent);
//     a schema goes into the prompt, and whoever asks holds the reply to it.
//  2. Limits hold a request back: requests and tokens per minute, what the provider asks
//     for by Retry-After, and a budget in money, which ends it.
//  3. langchaingo builds it and sends it through a round tripper of ours.
//  4. The reply is read from its own bytes: langchaingo's reading loses status, headers,
//     the model that answered and whether usage was told, and takes a cut answer for a whole one.
package hosted

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"
	"golang.org/x/time/rate"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// Settings are a hosted model and how it may be used.
type Settings struct {
	Provider string   // of Providers
	URL      string   // base of the API; "": the provider's own
	Model    string   // the provider's name for it
	TopP     *float64 // above 0, to 1; nil: not sent
	// ServedAs is the name under which it answers; "": Model, or Model with a version behind it.
	ServedAs string
	Requests int     // per minute; 0: as many as there are
	Tokens   int     // per minute, of prompts and answers; 0: as many as there are
	Price    *Price  // nil: not known
	Budget   float64 // most to be paid, in Price.Currency; 0: no limit
}

// Price is what a provider asks for.
type Price struct {
	Currency      string  // "USD"
	Input, Output float64 // of a million tokens
}

// of is what a request costs.
func (p *Price) of(prompt, answer int) float64 {
	return (float64(prompt)*p.Input + float64(answer)*p.Output) / 1e6
}

// Account is what was stored of a request beside its answer.
type Account struct {
	Served      string `json:"served,omitempty"` // the model, as the reply names it
	Fingerprint string `json:"fingerprint,omitempty"`
	// Cost is what was paid, or may have been where the reply does not say: AtMost.
	Cost     *float64 `json:"cost,omitempty"`
	Currency string   `json:"currency,omitempty"`
	AtMost   bool     `json:"at_most,omitempty"`
}

// Backend is a hosted model. It is safe for concurrent use.
type Backend struct {
	set      Settings
	provider provider
	base     string
	answers  func(string) string // without the key
	messages func(string) string
	http     *http.Client
	pace     *pace
	purse    *purse

	model llms.Model

	mu   sync.Mutex
	last Account // of the last good answer
}

// New makes a backend. key is the API key, "" for none; spent is what was paid before,
// in Price.Currency. It sends nothing.
func New(s Settings, key string, spent float64) (*Backend, error) {
	i := slices.IndexFunc(providers(), func(p provider) bool { return p.name == s.Provider })
	if i < 0 {
		return nil, fmt.Errorf("hosted: expected a provider (%s), found %q", strings.Join(Providers(), ", "), s.Provider)
	}
	b := &Backend{set: s, provider: providers()[i]}
	b.base = strings.TrimRight(cmp.Or(s.URL, b.provider.url), "/")
	if u, err := url.Parse(b.base); err != nil || u.Host == "" {
		return nil, fmt.Errorf("hosted: expected an address such as %s, found none that can be used", cmp.Or(b.provider.url, "https://api.example.org/v1"))
	}
	if s.Budget > 0 && s.Price == nil {
		return nil, errors.New("hosted: expected a price where there is a budget, found none")
	}
	b.answers, b.messages = wire.Mask(append(proxySecrets(b.base), key)...)
	b.purse = &purse{price: s.Price, limit: s.Budget, spent: spent, settled: make(chan struct{})}
	b.pace = &pace{}
	if s.Requests > 0 {
		b.pace.requests = rate.NewLimiter(rate.Limit(float64(s.Requests)/60), 1)
	}
	if s.Tokens > 0 {
		b.pace.tokens = rate.NewLimiter(rate.Limit(float64(s.Tokens)/60), s.Tokens)
	}
	b.http = &http.Client{
		Transport: &exchanger{key: key, bearer: b.provider.bearer, next: &http.Transport{
			Proxy: proxy, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
			DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext, TLSHandshakeTimeout: 30 * time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var err error
	if b.model, err = b.provider.client(b, cmp.Or(key, "none")); err != nil { // it wants some
		return nil, fmt.Errorf("hosted: %s", b.messages(err.Error()))
	}
	return b, nil
}

// proxy is http.ProxyFromEnvironment, whose errors tell the address with its password.
func proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, errors.New("expected an address such as http://proxy.example.org:3128 in HTTPS_PROXY, found one that cannot be read")
	}
	return u, nil
}

// proxySecrets are what the proxy on the way to an address is told, and may tell again.
func proxySecrets(base string) []string {
	r, err := http.NewRequest(http.MethodPost, base, nil)
	if err != nil {
		return nil
	}
	u, err := proxy(r)
	if err != nil || u == nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return []string{password, base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))}
}

// Identify says what answered last; it sends nothing. Before the first answer nothing
// is known.
func (b *Backend) Identify(_ context.Context, model string) (backends.Identity, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.Served == "" {
		return backends.Identity{}, &backends.Error{Kind: backends.ErrUnreachable, Op: "identify " + model, Message: "no answer has come yet that names the model"}
	}
	return backends.Identity{Server: "hosted " + b.set.Provider, Version: b.last.Fingerprint, Model: b.last.Served}, nil
}

// Generate asks once. It waits until limits let the request go; nothing of it is
// timed, so the recorder stays empty. A reply is read whole: nothing streams.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	size, answer := len(req.Schema)+overhead, req.Sampling.MaxTokens
	for _, m := range req.Messages {
		size += len(m.Text)
		for _, p := range m.Images {
			size += len(p.Bytes)
		}
	}
	x := &exchange{}
	fail := func(kind backends.Kind, message, hint string) *backends.Error {
		return &backends.Error{Kind: kind, Op: b.op(), Message: b.messages(message), Hint: hint, Status: x.status}
	}
	if err := b.purse.hold(ctx, size, answer); err != nil {
		if ctx.Err() != nil {
			return nil, fail(backends.ErrCancelled, err.Error(), "")
		}
		return nil, fail(backends.ErrBudget, err.Error(), "raise budget: of the judge and run assay judge: what is judged stays")
	}
	var acc Account
	defer func() { b.purse.settle(size, answer, acc.Cost) }()
	if err := b.pace.wait(ctx, size/bytesPerToken+answer, req.Timeouts.Busy); err != nil {
		var closed closedError
		if errors.As(err, &closed) {
			e := fail(backends.ErrBusy, err.Error(), "")
			e.After = &closed.left
			return nil, e
		}
		return nil, fail(backends.ErrCancelled, err.Error(), "")
	}
	whole := ctx
	if req.Timeouts.Total > 0 {
		var stop context.CancelFunc
		whole, stop = context.WithTimeout(ctx, req.Timeouts.Total)
		defer stop()
	}
	msgs, opts := b.talk(req)
	_, err := b.model.GenerateContent(context.WithValue(whole, exchangeKey{}, x), msgs, opts...) // tells nothing that x does not, unless nothing was made
	x.body = []byte(b.answers(string(x.body)))                                                   // before an excerpt cuts it
	e := b.failed(ctx, whole, x, err, req.Timeouts.Total)
	var rep reply
	if e == nil {
		rep, e = b.read(x)
	}
	if x.sent != nil {
		b.charge(&acc, rep.Usage, x, size, answer)
	}
	acc.Served, acc.Fingerprint = rep.model, rep.fingerprint
	raw, jerr := json.Marshal(acc)
	if jerr != nil {
		panic("hosted: internal error: an account does not marshal: " + jerr.Error())
	}
	if e != nil {
		if x.sent != nil {
			e.Sent, e.Usage, e.Raw = x.sent, rep.Usage, raw
		}
		if e.Kind == backends.ErrBusy && e.After != nil {
			b.pace.hold(time.Now().Add(*e.After)) // for all who ask this provider
		}
		return nil, e
	}
	b.mu.Lock()
	b.last = acc
	b.mu.Unlock()
	return &backends.Response{Answer: rep.text, Reasoning: rep.reasoning, Finish: rep.finish, Usage: rep.Usage, Sent: x.sent,
		Server: backends.Timings{Raw: raw}, Odd: rep.odd}, nil
}

const (
	// overhead is more than what langchaingo puts around texts, in bytes.
	overhead = 2048
	// bytesPerToken is for the pace alone: English has about four.
	bytesPerToken = 3
)

func (b *Backend) op() string { return "POST " + b.messages(b.base) }

// charge says what a request that left has cost: nothing where the provider refused
// it, the usage where it tells one, and otherwise the most that it can have been.
func (b *Backend) charge(acc *Account, u backends.Usage, x *exchange, size, answer int) {
	if b.set.Price == nil {
		return
	}
	acc.Currency = b.set.Price.Currency
	cost := 0.0
	switch {
	case x.status != 0 && x.status != http.StatusOK:
	case u.PromptTokens != nil && u.CompletionTokens != nil:
		cost = b.set.Price.of(*u.PromptTokens, *u.CompletionTokens)
	default:
		cost, acc.AtMost = b.set.Price.of(size, answer), true
	}
	acc.Cost = &cost
}

// Spent is what was paid until now, with what was paid before.
func (b *Backend) Spent() (money float64, currency string) {
	if b.set.Price == nil {
		return 0, ""
	}
	return b.purse.paid(), b.set.Price.Currency
}

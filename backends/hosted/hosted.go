// Package hosted asks models behind hosted APIs, as judges: texts, never timed.
//
//  1. Settings that langchaingo would leave out are refused as bench.yaml is read
//     (Settings.Unsent); a schema goes into the prompt, and whoever asks holds the reply to it.
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
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tmc/langchaingo/llms"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// Settings are a hosted model and how it may be used.
type Settings struct {
	Provider string   // of Providers
	URL      string   // base of the API; "": the provider's own
	Model    string   // the provider's name for it
	TopP     *float64 `yaml:"top_p" range:"0.001..1"` // above 0, to 1; nil: not sent
	// ServedAs is the name under which it answers; "": Model, or Model with a version behind it.
	ServedAs string  `yaml:"served_as"`
	Requests int     `yaml:"requests_per_minute" range:"1..1000000000"` // per minute; 0: as many as there are
	Tokens   int     `yaml:"tokens_per_minute" range:"1..1000000000"`   // per minute, of prompts and answers; 0: as many as there are
	Price    *Price  `yaml:"price"`                                     // nil: not known
	Budget   float64 `yaml:"budget" range:"0..1e9"`                     // most to be paid, in Price.Currency; 0: no limit
}

// Price is what a provider asks for.
type Price struct {
	Currency string  `yaml:"currency,needed"`             // "USD"
	Input    float64 `yaml:"input,needed" range:"0..1e6"` // of a million tokens
	Output   float64 `yaml:"output,needed" range:"0..1e6"`
}

// of is what a request costs.
func (p *Price) of(prompt, answer int) float64 {
	return (float64(prompt)*p.Input + float64(answer)*p.Output) / 1e6
}

// account is what is stored of a request beside its answer.
type account struct {
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
	model    llms.Model
	last     atomic.Pointer[account] // of the last good answer; nil: none came
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
	at, err := url.Parse(b.base)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("hosted: expected an address such as %s, found none that can be used", b.provider.url)
	}
	if s.Budget > 0 && s.Price == nil {
		return nil, errors.New("hosted: expected a price where there is a budget, found none")
	}
	proxy, unread := http.ProxyFromEnvironment(&http.Request{URL: at})
	if unread != nil { // it tells the proxy's password
		unread = errors.New("expected an address such as http://proxy.example.org:3128 in HTTPS_PROXY, " +
			"found one that cannot be read")
	}
	secrets := []string{key}
	if proxy != nil && proxy.User != nil { // the proxy may tell again what it is told
		password, _ := proxy.User.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
		secrets = append(secrets, password, basic)
	}
	b.answers, b.messages = wire.Mask(secrets...)
	b.purse = &purse{price: cmp.Or(s.Price, &Price{}), limit: s.Budget, spent: spent, settled: make(chan struct{})}
	b.pace = &pace{requests: perMinute(s.Requests, 1), tokens: perMinute(s.Tokens, s.Tokens)}
	b.http = &http.Client{Transport: &exchanger{key: key, provider: b.provider, next: &http.Transport{
		Proxy:             func(*http.Request) (*url.URL, error) { return proxy, unread },
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext, TLSHandshakeTimeout: 30 * time.Second,
	}}}
	if b.model, err = b.provider.client(b); err != nil {
		return nil, fmt.Errorf("hosted: %s", b.messages(err.Error()))
	}
	return b, nil
}

// Identify says what answered last; it sends nothing. Before the first answer nothing
// is known.
func (b *Backend) Identify(_ context.Context, model string) (backends.Identity, error) {
	last := b.last.Load()
	if last == nil || last.Served == "" {
		return backends.Identity{}, &backends.Error{Kind: backends.ErrUnreachable, Op: "identify " + model,
			Message: "no answer has come yet that names the model"}
	}
	return backends.Identity{Server: "hosted " + b.set.Provider, Version: last.Fingerprint, Model: last.Served}, nil
}

// Generate asks once. It waits until limits let the request go; nothing of it is
// timed, so the recorder stays empty. A reply is read whole: nothing streams.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	x := &exchange{}
	r, e := b.ask(ctx, req, x)
	if e != nil {
		e.Op, e.Status, e.Sent = "POST "+b.messages(b.base), x.status, x.sent
		e.Message = b.messages(e.Message)
		return nil, e
	}
	return r, nil
}

// ask is Generate; its errors are yet to be masked.
func (b *Backend) ask(ctx context.Context, req *backends.Request, x *exchange) (*backends.Response, *backends.Error) {
	size, answer := len(req.Schema)+overhead, req.Sampling.MaxTokens
	for _, m := range req.Messages {
		size += len(m.Text)
		for _, p := range m.Images {
			size += len(p.Bytes)
		}
	}
	if e := b.purse.hold(ctx, size, answer); e != nil {
		return nil, e
	}
	var acc account
	defer func() { b.purse.settle(size, answer, acc.Cost) }()
	if e := b.pace.wait(ctx, size/bytesPerToken+answer, req.Timeouts.Busy); e != nil {
		return nil, e
	}
	whole, stop := context.WithTimeout(ctx, cmp.Or(req.Timeouts.Total, math.MaxInt64))
	defer stop()
	msgs, set := b.talk(req)
	// What it says counts only where it made no request.
	_, err := b.model.GenerateContent(context.WithValue(whole, exchangeKey{}, x), msgs, set)
	x.body = []byte(b.answers(string(x.body))) // before an excerpt cuts it
	e := failed(ctx, whole, x, err, req.Timeouts.Total)
	if x.sent == nil {
		return nil, e
	}
	var rep reply
	if e == nil {
		rep, e = b.read(x)
	}
	acc = b.account(&rep, x.status, size, answer)
	raw, err := json.Marshal(acc)
	if err != nil {
		panic("hosted: internal error: an account does not marshal: " + err.Error())
	}
	if e != nil {
		if e.After != nil {
			b.pace.hold(time.Now().Add(*e.After)) // for all who ask this provider
		}
		e.Usage, e.Raw = rep.Usage, raw
		return nil, e
	}
	b.last.Store(&acc)
	rep.Sent, rep.Server.Raw = x.sent, raw
	return &rep.Response, nil
}

const (
	// overhead is more than what langchaingo puts around texts, in bytes.
	overhead = 2048
	// bytesPerToken is for the pace alone: English has about four.
	bytesPerToken = 3
)

// account is what a request that left has cost: nothing where the provider refused it,
// the usage where it tells one, and otherwise the most that it can have been.
func (b *Backend) account(r *reply, status, size, answer int) account {
	acc := account{Served: r.Served, Fingerprint: r.fingerprint}
	if b.set.Price == nil {
		return acc
	}
	cost := 0.0
	switch prompt, said := r.Usage.PromptTokens, r.Usage.CompletionTokens; {
	case status != 0 && status != http.StatusOK:
	case prompt != nil && said != nil:
		cost = b.set.Price.of(*prompt, *said)
	default:
		cost, acc.AtMost = b.set.Price.of(size, answer), true
	}
	acc.Cost, acc.Currency = &cost, b.set.Price.Currency
	return acc
}

// Spent is what was paid until now, in Price.Currency, with what was paid before.
func (b *Backend) Spent() float64 {
	b.purse.mu.Lock()
	defer b.purse.mu.Unlock()
	return b.purse.spent
}

package hosted

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"assay/backends"
)

// pace holds requests back: so many, and so many tokens, a minute, and none before the
// time that the provider has asked for.
type pace struct {
	requests, tokens *rate.Limiter

	mu     sync.Mutex
	closed time.Time // until then
}

// perMinute lets so many through a minute, 0: all, and burst at once.
func perMinute(n, burst int) *rate.Limiter {
	if n == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), burst)
}

// wait returns when a request of so many tokens may go. One that has more than a
// minute's waits for a whole minute's. The provider is waited for as long as most allows,
// 0: for ever.
func (p *pace) wait(ctx context.Context, tokens int, most time.Duration) *backends.Error {
	err := p.requests.Wait(ctx)
	if err == nil {
		err = p.tokens.WaitN(ctx, min(tokens, p.tokens.Burst()))
	}
	for err == nil {
		p.mu.Lock()
		left := time.Until(p.closed)
		p.mu.Unlock()
		switch {
		case left <= 0 && ctx.Err() == nil:
			return nil
		case most > 0 && left > most:
			return &backends.Error{Kind: backends.ErrBusy, After: &left,
				Message: fmt.Sprintf("the provider asked to be left alone for %v more; nothing was sent", left.Round(time.Second))}
		}
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(left):
		}
	}
	return fail(backends.ErrCancelled, err.Error(), "")
}

// hold keeps all requests until a time.
func (p *pace) hold(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.closed) {
		p.closed = until
	}
}

// purse is a budget. What a request may cost at the very most is held until it is
// known what it did cost, so that the budget is never passed.
type purse struct {
	price *Price  // zero: not known
	limit float64 // 0: none

	mu      sync.Mutex
	spent   float64
	held    float64
	holding int
	settled chan struct{} // closed when a request is paid
}

// hold returns when the money for a request is there: of a prompt of so many bytes, a
// token being a byte at least, and so many tokens of answer. Its error says that it is
// not, whatever those under way will cost, or that ctx ended.
func (p *purse) hold(ctx context.Context, size, answer int) *backends.Error {
	most := p.price.of(size, answer)
	for {
		p.mu.Lock()
		if p.limit == 0 || p.spent+p.held+most <= p.limit {
			p.held += most
			p.holding++
			p.mu.Unlock()
			return nil
		}
		if p.holding == 0 {
			defer p.mu.Unlock()
			said := fmt.Sprintf("the budget of %s is used up: %s is spent, and the next request may cost up to %s",
				p.money(p.limit), p.money(p.spent), p.money(most))
			return fail(backends.ErrBudget, said, "raise budget: of the judge and run assay judge: what is judged stays")
		}
		settled := p.settled
		p.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return fail(backends.ErrCancelled, context.Cause(ctx).Error(), "")
		}
	}
}

// settle pays a request that was held; cost nil: it was not sent.
func (p *purse) settle(size, answer int, cost *float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding--
	if p.held -= p.price.of(size, answer); p.holding == 0 {
		p.held = 0
	}
	if cost != nil {
		p.spent += *cost
	}
	close(p.settled)
	p.settled = make(chan struct{})
}

// money is never rounded to nothing.
func (p *purse) money(x float64) string {
	digits := 2
	if 0 < x && x < 1 {
		digits = 6
	}
	return fmt.Sprintf("%.*f %s", digits, x, p.price.Currency)
}

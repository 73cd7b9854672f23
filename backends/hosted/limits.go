package hosted

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace holds requests back: so many, and so many tokens, a minute, and none before the
// time that the provider has asked for.
type pace struct {
	requests, tokens *rate.Limiter // nil: no limit

	mu     sync.Mutex
	closed time.Time // until then
}

// closedError is that a provider asks to be left alone for longer than may be waited.
type closedError struct{ left time.Duration }

func (e closedError) Error() string {
	return fmt.Sprintf("the provider asked to be left alone for %v more; nothing was sent", e.left.Round(time.Second))
}

// wait returns when a request of so many tokens may go. One that has more than a
// minute's waits for a whole minute's. The provider is waited for as long as most allows,
// 0: for ever, or else it is a closedError.
func (p *pace) wait(ctx context.Context, tokens int, most time.Duration) error {
	if p.requests != nil {
		if err := p.requests.Wait(ctx); err != nil {
			return err
		}
	}
	if p.tokens != nil {
		if err := p.tokens.WaitN(ctx, min(tokens, p.tokens.Burst())); err != nil {
			return err
		}
	}
	for {
		p.mu.Lock()
		left := time.Until(p.closed)
		p.mu.Unlock()
		switch {
		case left <= 0:
			return ctx.Err()
		case most > 0 && left > most:
			return closedError{left}
		}
		t := time.NewTimer(left)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
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
	price *Price
	limit float64 // 0: none

	mu      sync.Mutex
	spent   float64
	held    float64
	holding int
	settled chan struct{} // closed when a request is paid
}

// hold returns when the money for a request is there: of a prompt of so many bytes, a
// token being a byte at least, and so many tokens of answer. Its error says that it is
// not, whatever those under way will cost, or is that of ctx.
func (p *purse) hold(ctx context.Context, size, answer int) error {
	if p.price == nil {
		return nil
	}
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
			return fmt.Errorf("the budget of %s is used up: %s is spent, and the next request may cost up to %s", p.money(p.limit), p.money(p.spent), p.money(most))
		}
		settled := p.settled
		p.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settle pays a request that was held; cost nil: it was not sent.
func (p *purse) settle(size, answer int, cost *float64) {
	if p.price == nil {
		return
	}
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

func (p *purse) paid() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// money is never rounded to nothing.
func (p *purse) money(x float64) string {
	digits := 2
	if x != 0 && math.Abs(x) < 1 {
		digits = 6
	}
	return fmt.Sprintf("%.*f %s", digits, x, p.price.Currency)
}

package backends

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// RetryPolicy is how often and when.
type RetryPolicy struct {
	Retries int           // further tries after one that can heal, >= 0
	First   time.Duration // pause before the first of them, doubling up to a minute; 0: half a second
	Busy    time.Duration // waits for a busy server in all; they use up no retries
	Jitter  *rand.Rand    // makes each pause 0.5 to 1.5 times as long; nil: it stays as it is
}

// Do tries until it succeeds, meets what cannot heal, has used up its retries or its
// patience with a busy server, or ctx ends. again is told before each pause.
func (p RetryPolicy) Do(ctx context.Context, try func() error, again func(error, time.Duration)) error {
	first := p.First
	if first <= 0 {
		first = 500 * time.Millisecond
	}
	growing := backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: max(first, backoff.DefaultMaxInterval)}
	retries, busy := &retryPauses{growing, p.Jitter}, &retryPauses{growing, p.Jitter}
	busy.Reset()
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := patiently(ctx, p.Busy, busy.NextBackOff, try, again)
		var e *Error
		if err != nil && !(errors.As(err, &e) && e.Kind.CanHeal() && e.Kind != ErrBusy) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(retries), backoff.WithMaxTries(uint(p.Retries)+1), backoff.WithMaxElapsedTime(0), backoff.WithNotify(again))
	return err
}

// retryPauses doubles from the first pause up to a minute, so that trials in flight
// together do not come back together. The library's own jitter is not used because
// it cannot be seeded.
type retryPauses struct {
	growing backoff.ExponentialBackOff
	jitter  *rand.Rand
}

func (p *retryPauses) Reset() { p.growing.Reset() }

func (p *retryPauses) NextBackOff() time.Duration {
	d := p.growing.NextBackOff()
	if p.jitter == nil {
		return d
	}
	return d/2 + time.Duration(p.jitter.Int64N(int64(d)))
}

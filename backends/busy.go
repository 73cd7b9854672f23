package backends

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patiently calls try until it meets no ErrBusy. Before each further call it waits as
// long as the server asks, or else as long as pause says, most in all; again is told
// of each wait before it. Each call makes an attempt of its own, so that no wait is
// part of any time. The error is try's last, with what ended the patience in its hint,
// or that of ctx.
func patiently(ctx context.Context, most time.Duration, pause func() time.Duration, try func() error, again func(err error, wait time.Duration)) error {
	left := most
	for {
		err := try()
		var e *Error
		if !errors.As(err, &e) || e.Kind != ErrBusy {
			return err
		}
		wait := pause()
		if e.After != nil {
			wait = *e.After
		}
		if wait > left {
			tired := *e
			tired.Hint = fmt.Sprintf("%v of waiting were allowed by timeouts.busy, %v are left", most, left)
			if e.After != nil {
				tired.Hint += fmt.Sprintf(", and the server asks for %v", wait)
			}
			if e.Hint != "" {
				tired.Hint += "; " + e.Hint
			}
			return &tired
		}
		left -= wait
		again(err, wait)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

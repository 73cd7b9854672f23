package exchange

import (
	"errors"
	"testing"
)

// TestAhead: all values come in order with their errors, of no list, a part of one and
// several; and who stops early waits for an iterator that has ended.
func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, aheadOf - 1, aheadOf, aheadOf + 1, 5*aheadOf + 7} {
		ended := false
		values := func(yield func(int, error) bool) {
			defer func() { ended = true }()
			for i := range n {
				var err error
				if i == n-1 {
					err = broken
				}
				if !yield(i, err) {
					return
				}
			}
		}
		next, stop := ahead(values)
		for i := range n {
			if v, err, more := next(); v != i || !more || (err == broken) != (i == n-1) {
				t.Fatalf("%d of %d: %d, %v, %v", i, n, v, err, more)
			}
		}
		if v, err, more := next(); v != 0 || err != nil || more {
			t.Errorf("behind %d: %d, %v, %v", n, v, err, more)
		}
		stop()
		stop()
		for early := range min(n, 3) {
			ended = false
			next, stop := ahead(values)
			for range early {
				next()
			}
			if stop(); !ended {
				t.Errorf("stopped after %d of %d, and the iterator goes on", early, n)
			}
		}
	}
}

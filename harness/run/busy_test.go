package run

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
)

// TestBusyServersAreWaitedFor: as long as they ask, without using up retries, as
// attempts of their own, outside every time; and no longer than was allowed.
func TestBusyServersAreWaitedFor(t *testing.T) {
	after := func(d time.Duration) func(call) (*backends.Response, error) {
		return func(c call) (*backends.Response, error) {
			if c.nth <= 3 {
				return nil, &backends.Error{Kind: backends.ErrBusy, Op: "POST http://server", Status: 429, Message: "slow down", After: &d}
			}
			return nil, nil
		}
	}
	for _, c := range []struct {
		asks, allowed time.Duration
		waited        time.Duration
		attempts      int // stored; 0: the block stops
	}{
		{7 * time.Second, 21 * time.Second, 21 * time.Second, 4},
		{7 * time.Second, 20 * time.Second, 14 * time.Second, 0},
		{time.Hour, 5 * time.Minute, 0, 0},
		{0, time.Second, 0, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{reply: after(c.asks), takes: func(call) time.Duration { return time.Second }}, newMemory()
			b := planned("s", "a", items(1), direct())
			j := job(s, m, b).set("s", func(s *Settings) { s.Retries, s.Timeouts.Busy = 0, c.allowed })
			watch := &seen{}
			j.Progress = watch
			start := time.Now()
			sum := must(t, j)
			if d := time.Since(start) - time.Duration(len(s.calls))*time.Second; d != c.waited {
				t.Errorf("asked for %v, %v allowed: waited %v, want %v", c.asks, c.allowed, d, c.waited)
			}
			tr := m.trials[b.Trials[0].Key]
			if len(tr.Attempts) != c.attempts {
				t.Fatalf("asked for %v, %v allowed: %d attempts, want %d", c.asks, c.allowed, len(tr.Attempts), c.attempts)
			}
			if c.attempts == 0 {
				if len(sum.Stopped) != 1 || !errors.Is(sum.Stopped[0].Err, backends.ErrBusy) || !strings.Contains(sum.Stopped[0].Err.Error(), "timeouts.busy") || sum.Left != 1 {
					t.Errorf("%+v", sum)
				}
				return
			}
			for i, a := range tr.Attempts {
				if last := i == len(tr.Attempts)-1; (a.Output != nil) != last || !last && (a.Failure.Kind != "busy" || a.Failure.Status != 429) {
					t.Errorf("attempt %d: %+v", i, a)
				}
			}
			if d, ok := tr.Attempts[3].Turns[0].Trace.Latency(); !ok || d != time.Second {
				t.Errorf("latency %v: the waits are not the model's", d)
			}
			for _, e := range watch.of(attemptFailed) {
				if *e.Wait != c.asks {
					t.Errorf("told of a wait of %v, %v were asked for", *e.Wait, c.asks)
				}
			}
		})
	}
}

// TestBusyServersThatDoNotSayWhen are asked again with growing pauses, as is one that
// is busy when it is asked who it is.
func TestBusyServersThatDoNotSayWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &backends.Error{Kind: backends.ErrBusy, Status: 503}
		s, m := &server{}, newMemory()
		s.identify = func(n int) error {
			if n < 3 {
				return busy
			}
			return nil
		}
		s.reply = func(c call) (*backends.Response, error) {
			if c.nth <= 3 {
				return nil, busy
			}
			return nil, nil
		}
		b := planned("s", "a", items(1), direct())
		must(t, job(s, m, b).set("s", func(s *Settings) { s.Retries, s.Timeouts.Busy = 0, time.Minute }))
		if n := len(m.trials[b.Trials[0].Key].Attempts); n != 4 || s.asked != 3+1 { // and once as the block ends
			t.Fatalf("%d attempts, asked %d times who it is", n, s.asked)
		}
		for i := 1; i < len(s.calls); i++ {
			base := time.Second << (i - 1)
			if d := s.calls[i].at.Sub(s.calls[i-1].at); d < base/2 || d >= base*3/2 {
				t.Errorf("pause %d took %v, want about %v", i, d, base)
			}
		}
	})
}

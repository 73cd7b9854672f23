package hosted

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/timing"
)

// network answers without one, so that time can be made.
type network func(n int, r *http.Request) (status int, header http.Header, body string)

func (f network) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(0, r)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func offline(t *testing.T, s Settings, spent float64, f network) *Backend {
	t.Helper()
	b, err := New(s, secret, spent)
	if err != nil {
		t.Fatal(err)
	}
	b.http.Transport.(*exchanger).next = f
	return b
}

// TestPaces: requests and tokens a minute, and what the provider asks for, hold back
// all who ask it.
func TestPaces(t *testing.T) {
	fine := good("openai", "{}", "stop", "judge-1")
	for name, c := range map[string]struct {
		set    func(*Settings)
		busy   bool // the first request is told to come again in 40 s
		within [2]time.Duration
	}{
		"none":     {func(*Settings) {}, false, [2]time.Duration{0, 0}},
		"requests": {func(s *Settings) { s.Requests = 6 }, false, [2]time.Duration{50 * time.Second, 50 * time.Second}},
		// Six times 1,496 tokens (of bytes/3 and all of the answer) at 1,200 a minute, of which 1,200 are there at once and no wait is for more.
		"tokens":       {func(s *Settings) { s.Tokens = 1200 }, false, [2]time.Duration{5 * time.Minute, 5 * time.Minute}},
		"the provider": {func(*Settings) {}, true, [2]time.Duration{40 * time.Second, 40 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := settings("openai", "http://hosted.invalid")
				c.set(&s)
				var n atomic.Int64
				b := offline(t, s, 0, func(_ int, r *http.Request) (int, http.Header, string) {
					if n.Add(1) == 1 && c.busy {
						return 429, http.Header{"Retry-After": {"40"}}, `{"error":{"message":"slow down"}}`
					}
					return 200, nil, fine
				})
				start := time.Now()
				if c.busy {
					if _, e := ask(t, b, request()); e == nil || e.Kind != backends.ErrBusy {
						t.Fatal(e)
					}
				}
				var wg sync.WaitGroup
				for range 6 {
					wg.Go(func() {
						if _, err := b.Generate(t.Context(), request(), timing.NewRecorder(timing.NewClock())); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(start).Round(time.Second); took < c.within[0] || took > c.within[1] {
					t.Errorf("took %v, want %v to %v", took, c.within[0], c.within[1])
				}
			})
		})
	}
}

// TestClosedForLong: a provider that asks to be left alone for a day is not waited for
// longer than timeouts.busy allows, by whoever asks it.
func TestClosedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings("openai", "http://hosted.invalid")
		s.Price, s.Budget = &Price{Currency: "USD", Input: 2, Output: 8}, 100
		var n atomic.Int64
		b := offline(t, s, 0, func(_ int, r *http.Request) (int, http.Header, string) {
			n.Add(1)
			return 429, http.Header{"Retry-After": {"86400"}}, `{"error":{"message":"no more today"}}`
		})
		req := request()
		req.Timeouts.Busy = 5 * time.Minute
		start := time.Now()
		for range 3 {
			if _, e := ask(t, b, req); e == nil || e.Kind != backends.ErrBusy || e.After == nil || *e.After < 23*time.Hour {
				t.Fatal(e)
			}
		}
		if took := time.Since(start); took > req.Timeouts.Busy || n.Load() != 1 {
			t.Errorf("%d requests in %v", n.Load(), took)
		}
		if paid := b.Spent(); paid != 0 || b.purse.held != 0 {
			t.Errorf("paid %v, held %v", paid, b.purse.held)
		}
	})
}

// TestBudget: it is never passed, however many ask at once; nothing leaves once it is
// used up; what was spent before counts.
func TestBudget(t *testing.T) {
	price := &Price{Currency: "USD", Input: 1, Output: 1000}
	each := price.of(100, 20) // .0201; held is .8 and more
	for name, c := range map[string]struct {
		budget, before float64
		want           int
	}{
		"none":         {0, 0, 40},
		"for some":     {1, 0, 10}, // the 10th may begin at .1809: with .8024 held it is below 1
		"spent before": {1, .1, 5},
		"all gone":     {1, 1, 0},
	} {
		for _, together := range []int{1, 8} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := settings("openai", "http://hosted.invalid")
					s.Price, s.Budget = price, c.budget
					var n atomic.Int64
					b := offline(t, s, c.before, func(int, *http.Request) (int, http.Header, string) {
						n.Add(1)
						time.Sleep(time.Second)
						return 200, nil, good("openai", "{}", "stop", "judge-1")
					})
					var refused atomic.Int64
					var wg sync.WaitGroup
					for range together {
						wg.Go(func() {
							for range 40 / together {
								_, err := b.Generate(t.Context(), request(), timing.NewRecorder(timing.NewClock()))
								if err == nil {
									continue
								}
								e, ok := err.(*backends.Error)
								if !ok || e.Kind != backends.ErrBudget || e.Kind.CanHeal() || e.Sent != nil || !strings.Contains(e.Error(), "raise budget") || !strings.Contains(e.Error(), "1.00 USD") {
									t.Error(err)
								}
								refused.Add(1)
							}
						})
					}
					wg.Wait()
					if int(n.Load()) != c.want || int(refused.Load()) != 40-c.want {
						t.Errorf("%d sent, %d refused; want %d", n.Load(), refused.Load(), c.want)
					}
					if paid := b.Spent(); paid < c.before+float64(c.want)*each-1e-9 || paid > c.before+float64(c.want)*each+1e-9 || c.budget > 0 && paid > c.budget {
						t.Errorf("paid %v", paid)
					}
				})
			})
		}
	}
}

// TestStopping: whoever waits for money, for a minute to pass or for an answer can be stopped.
func TestStopping(t *testing.T) {
	for _, budget := range []float64{1, 0} { // 0: it is the minute that two wait for
		synctest.Test(t, func(t *testing.T) {
			s := settings("openai", "http://hosted.invalid")
			s.Price, s.Budget, s.Requests = &Price{Currency: "USD", Input: 1, Output: 1000}, budget, 1
			b := offline(t, s, 0, func(_ int, r *http.Request) (int, http.Header, string) {
				<-r.Context().Done()
				return 500, nil, ""
			})
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					_, err := b.Generate(ctx, request(), timing.NewRecorder(timing.NewClock()))
					if e, ok := err.(*backends.Error); !ok || e.Kind != backends.ErrCancelled {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			stop()
			wg.Wait()
		})
	}
}

// TestAShorterWaitDoesNotUndoALonger: of two requests at once one is told to come again in 40 s, and then
// the other in 10 s.
func TestAShorterWaitDoesNotUndoALonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		b := offline(t, settings("openai", "http://hosted.invalid"), 0, func(int, *http.Request) (int, http.Header, string) {
			switch n.Add(1) {
			case 1:
				time.Sleep(time.Second)
				return 429, http.Header{"Retry-After": {"40"}}, `{"error":{"message":"slow down"}}`
			case 2:
				time.Sleep(2 * time.Second)
				return 429, http.Header{"Retry-After": {"10"}}, `{"error":{"message":"slow down"}}`
			}
			return 200, nil, good("openai", "{}", "stop", "judge-1")
		})
		start := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := b.Generate(t.Context(), request(), timing.NewRecorder(timing.NewClock())); err == nil {
					t.Error("answered")
				}
			})
		}
		wg.Wait()
		if _, e := ask(t, b, request()); e != nil {
			t.Error(e)
		}
		if took := time.Since(start); took < 41*time.Second || took > 42*time.Second {
			t.Errorf("the next request came after %v, want 41s", took)
		}
	})
}

// TestWhatIsPaidIsNotHeld: of a budget of 10 two requests hold 4 each; when one of them is paid with 1
// there is room for another while the other is under way.
func TestWhatIsPaidIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &purse{price: &Price{Currency: "USD", Output: 1e6}, limit: 10, settled: make(chan struct{})}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for range 2 {
			if err := p.hold(ctx, 0, 4); err != nil {
				t.Fatal(err)
			}
		}
		cost := 1.
		p.settle(0, 4, &cost)
		if err := p.hold(ctx, 0, 4); err != nil || p.spent != 1 {
			t.Errorf("%v, %v is paid", err, p.spent)
		}
	})
}

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/results"
)

// weights says which model the nth request meets: the second from request at on.
func weights(at int) func(n int) backends.Identity {
	return func(n int) backends.Identity {
		id := backends.Identity{Server: "llama.cpp", Version: "b1", Path: "first.gguf"}
		if at > 0 && n >= at {
			id.Path = "second.gguf"
		}
		return id
	}
}

// exchanged answers with the name of its file, and is another one from its nth
// request on.
func exchanged(at int, reply func(n int) (*backends.Response, error)) *server {
	s := &server{}
	is := weights(at)
	s.id = is(0)
	s.reply = func(c call) (*backends.Response, error) {
		if at > 0 && c.n >= at {
			s.mu.Lock()
			s.id = is(at)
			s.mu.Unlock()
		}
		if reply != nil {
			if r, err := reply(c.n); r != nil || err != nil {
				return r, err
			}
		}
		return &backends.Response{Answer: is(c.n).Path, Finish: backends.FinishStop, Sent: []byte("x")}, nil
	}
	return s
}

// A model that is exchanged inside a block is noticed, whatever shows it. No
// answer of the second one counts, and the first one's runs to the end later.
func TestAModelExchangedInsideABlock(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	const n, at = 130, 70
	for _, c := range []struct {
		name     string
		at       int                                       // the first request that meets the second model
		reply    func(n int) (*backends.Response, error)   // nil: it answers
		listener func(s *server) func() (p string, k bool) // nil: not known
		answers  [2]int                                    // that count, at least and at most
	}{
		{name: "nothing shows it", at: at, answers: [2]int{50, 50}},
		{name: "nothing shows it, with the last request", at: n, answers: [2]int{100, 100}},
		{name: "a connection was lost", at: at, reply: func(n int) (*backends.Response, error) {
			if n == at {
				return nil, fail(backends.ErrTruncated, "cut")
			}
			return nil, nil
		}, answers: [2]int{50, 50}},
		{name: "the model was loaded", at: at, reply: func(n int) (*backends.Response, error) {
			if n == at {
				return &backends.Response{Answer: "second.gguf", Finish: backends.FinishStop, Sent: []byte("x"), Server: backends.Timings{Load: ms(400)}}, nil
			}
			return nil, nil
		}, answers: [2]int{50, 50}},
		{name: "another process listens", at: at, listener: func(s *server) func() (string, bool) {
			return func() (string, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.id.Path, true
			}
		}, answers: [2]int{50, 50}},
		{name: "it stays", at: 0, answers: [2]int{n, n}},
	} {
		for _, limit := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				s, m := exchanged(c.at, c.reply), newMemory()
				j := job(s, m, planned("s", "a", items(n), direct())).set("s", func(set *Settings) { set.InFlight = limit })
				if c.listener != nil {
					who := c.listener(s)
					j.Listener = func(context.Context, string) (string, bool) { return who() }
				}
				sum := must(t, j)
				good, bad := 0, 0
				for k, tr := range m.trials {
					last, _ := tr.Last()
					switch {
					case last.Output == nil && (last.Failure.Kind != KindSwapped || last.Served != ""):
						t.Errorf("%s, %d in flight: %s ended with %+v", c.name, limit, k.Name(), last)
					case last.Output == nil:
					case last.Output.Answer != "first.gguf":
						bad++
					default:
						good++
						if m.served[last.Served].Path != "first.gguf" {
							t.Errorf("%s: %s was served by %+v", c.name, k.Name(), m.served[last.Served])
						}
					}
				}
				// Which answers are in doubt depends on when those in flight ended: each
				// time the server is asked, up to limit-1 more than askEvery are settled.
				late := c.answers[1] / askEvery * (limit - 1)
				if bad != 0 || good < c.answers[0]-limit || good > c.answers[1]+late || sum.Done != good || sum.Left != n-good || sum.Failed != 0 {
					t.Fatalf("%s, %d in flight: %d answers count, %d of another model, want %v: %+v", c.name, limit, good, bad, c.answers, sum)
				}
				var e *swappedError
				if c.at > 0 && (len(sum.Stopped) != 1 || !errors.As(sum.Stopped[0].Err, &e) || !strings.Contains(e.Error(), `file was "first.gguf", is "second.gguf"`) || sum.Stopped[0].Left != sum.Left) {
					t.Fatalf("%s: %+v", c.name, sum)
				}
				if c.listener != nil && limit == 1 && len(s.calls) != at {
					t.Errorf("%s: %d requests, want the %dth to be the last", c.name, len(s.calls), at)
				}
				again := exchanged(0, nil)
				j.Endpoints["a"], j.Listener = Endpoint{Backend: again, Model: "a:latest"}, nil
				if sum := must(t, j); sum.Done != n-good || sum.Left != 0 || len(again.calls) != n-good {
					t.Errorf("%s: with the first one again: %d requests, %+v", c.name, len(again.calls), sum)
				}
				for k, tr := range m.trials {
					if last, _ := tr.Last(); last.Output == nil || last.Output.Answer != "first.gguf" {
						t.Errorf("%s: %s is %+v in the end", c.name, k.Name(), last)
					}
				}
			})
		}
	}
}

// A trial whose prompt holds an answer that was taken back is asked anew with the
// answer that took its place.
func TestWhatNeededATakenBackAnswerIsAskedAnew(t *testing.T) {
	m := newMemory()
	second := arm("second", []string{"direct"}, `{{index .Outputs "direct"}}`)
	// The fourth request is the second arm of the second item.
	s := exchanged(3, nil)
	j := job(s, m, planned("s", "a", items(2), direct(), second))
	if sum := must(t, j); sum.Done != 0 || sum.Left != 4 || len(sum.Stopped) != 1 {
		t.Fatalf("%+v", sum)
	}
	j.Endpoints["a"] = Endpoint{Backend: exchanged(0, nil), Model: "a:latest"}
	if sum := must(t, j); sum.Done != 4 || sum.Left != 0 {
		t.Errorf("%+v", sum)
	}
}

// A server that was restarted with the same model goes on. It is asked once, and
// warmed up again before it is timed.
func TestTheSameModelInANewProcess(t *testing.T) {
	s, m := exchanged(0, nil), newMemory()
	j := job(s, m, planned("s", "a", items(6, picture(8, 8, 1)), direct())).set("s", func(s *Settings) { s.Timed = true })
	var pid atomic.Int64
	s.takes = func(c call) time.Duration {
		if !c.warm() && strings.Contains(c.last(), "i02") {
			pid.Store(1)
		}
		return 0
	}
	j.Listener = func(context.Context, string) (string, bool) { return fmt.Sprint(pid.Load()), true }
	sum := must(t, j)
	var order []string
	for _, c := range s.calls {
		word := "warm"
		if !c.warm() {
			word = strings.Fields(c.last())[1]
		}
		order = append(order, word)
	}
	if want := []string{"warm", "i00", "i01", "i02", "warm", "i03", "i04", "i05"}; sum.Done != 6 || !slices.Equal(order, want) || s.asked != 3 {
		t.Errorf("asked %d times, sent %v, %+v", s.asked, order, sum)
	}
}

// An attempt that met nobody was served by nobody, and who serves must be stored
// before an attempt that says so.
func TestAttemptsSayWhoServedThem(t *testing.T) {
	s, m := exchanged(0, func(n int) (*backends.Response, error) {
		if n == 2 {
			return nil, fail(backends.ErrRefused, "no")
		}
		return nil, nil
	}), newMemory()
	b := planned("s", "a", items(2), direct())
	must(t, job(s, m, b))
	by := func(i int) results.Digest { a, _ := m.trials[b.Trials[i].Key].Last(); return a.Served }
	if m.served[by(0)].Path != "first.gguf" || by(1) != "" {
		t.Errorf("served by %q and %q", by(0), by(1))
	}
}

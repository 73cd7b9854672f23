package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

func timed(s *Settings) { s.Timed, s.Cache, s.RepeatsOfInvalid = true, "cold", 2 }

// says is an answer whose caches are in a state.
func says(c call, state backends.CacheState) *backends.Response {
	cache := backends.Cache{State: state, Field: "f", Value: "v"}
	if state == backends.CacheUnverified {
		cache = backends.Cache{State: state, Reason: "because"}
	}
	return &backends.Response{Answer: "re: " + c.last(), Finish: backends.FinishStop, Cache: cache}
}

// TestNoncesFollowFromSeedKeyAttemptAndTurn: they are stored, differ everywhere,
// and are no part of the inputs; a study that is not timed has none.
func TestNoncesFollowFromSeedKeyAttemptAndTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{}, newMemory()
		s.reply = func(c call) (*backends.Response, error) {
			if c.nth == 1 && c.last() == "question i00 one" {
				return nil, fail(backends.ErrServer, "busy")
			}
			return says(c, backends.CacheCold), nil
		}
		b := planned("s", "a", items(2, picture(8, 8, 1)), arm("two", nil, "{{.Question}} one", "two"))
		free := planned("free", "a", items(1), direct())
		j := job(s, m, plan.Block{Model: "a", Trials: append(b.Trials, free.Trials...)}).set("free", func(*Settings) {}).set("s", timed)
		must(t, j)
		var stored []backends.Nonce
		for _, tr := range b.Trials {
			for n, a := range m.trials[tr.Key].Attempts {
				for turn, nonce := range a.Cache.Nonces {
					if nonce != NonceOf(7, tr.Key, n, turn) || a.Cache.Policy != results.PolicyCold {
						t.Errorf("%s: attempt %d, turn %d: %s", tr.Key.Name(), n, turn, nonce)
					}
					stored = append(stored, nonce)
				}
				if len(a.Cache.Nonces) != len(a.Turns) || (a.Cache.State == "") != (a.Failure != nil) {
					t.Errorf("%s: attempt %d: %+v", tr.Key.Name(), n, a.Cache)
				}
			}
		}
		var sent, warm []backends.Nonce
		for _, c := range s.calls {
			switch {
			case c.warm():
				warm = append(warm, c.req.Cold)
			case c.last() == "question i00 direct":
				if c.req.Cold != "" || c.req.Prove {
					t.Errorf("an untimed request has the nonce %q", c.req.Cold)
				}
			default:
				if !c.req.Prove {
					t.Error("a timed request does not ask for proof")
				}
				sent = append(sent, c.req.Cold)
			}
		}
		all := append(slices.Clone(sent), warm...)
		slices.Sort(all)
		if !slices.Equal(stored, sent) || len(sent) != 5 || len(warm) != 1 || len(slices.Compact(all)) != 6 || all[0] == "" {
			t.Errorf("sent %q, stored %q, warm-up %q", sent, stored, warm)
		}
		again := newMemory()
		other := job(&server{reply: func(c call) (*backends.Response, error) { return says(c, backends.CacheCold), nil }}, again, b).set("s", func(s *Settings) { s.Timed = true })
		other.Seed = 8
		must(t, other)
		for _, tr := range b.Trials {
			x, y := m.trials[tr.Key], again.trials[tr.Key]
			if x.Inputs != y.Inputs || y.Attempts[0].Cache.Policy != results.PolicyWarm || len(y.Attempts[0].Cache.Nonces) != 0 {
				t.Errorf("inputs %s and %s, %+v", x.Inputs, y.Inputs, y.Attempts[0].Cache)
			}
		}
		if a, _ := m.trials[free.Trials[0].Key].Last(); a.Cache != nil {
			t.Errorf("an untimed attempt has %+v", a.Cache)
		}
	})
}

// TestInvalidTimesAreTakenAgainAtTheEndOfTheBlock, up to the limit, and again
// after an interruption.
func TestInvalidTimesAreTakenAgainAtTheEndOfTheBlock(t *testing.T) {
	// How often each item is a hit before it is cold.
	hits := map[string]int{"i00": 1, "i01": 0, "i02": 9, "i03": 2}
	reply := func(c call) (*backends.Response, error) {
		if c.warm() {
			return nil, nil
		}
		if c.nth <= hits[strings.Fields(c.last())[1]] {
			return says(c, backends.CacheHit), nil
		}
		return says(c, backends.CacheCold), nil
	}
	s, m := &server{reply: reply}, newMemory()
	a := planned("s", "a", items(4), direct())
	free := planned("free", "a", items(1), direct())
	j := job(s, m, plan.Block{Model: "a", Trials: append(a.Trials, free.Trials...)}, planned("s", "b", items(1), direct())).set("free", func(*Settings) {}).set("s", timed)
	watch := &seen{}
	j.Progress = watch
	sum := must(t, j)
	want := "i00 i01 i02 i03 i00 i00 i02 i03 i02 i03 i00"
	var order []string
	for _, c := range s.trials() {
		order = append(order, strings.Fields(c.last())[1])
	}
	// The second i00 is the untimed study's, the last one model b's: hits are per
	// conversation, so that one is cold.
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if sum.Done != 6 || sum.Repeated != 5 || sum.Invalid != 1 || sum.Left != 0 || len(watch.of(trialAgain)) != 5 || len(watch.of(trialDone)) != 11 {
		t.Errorf("%+v, %d to be done again, %d done", sum, len(watch.of(trialAgain)), len(watch.of(trialDone)))
	}
	for i, wantAttempts := range []int{2, 1, 3, 3} {
		tr := m.trials[a.Trials[i].Key]
		last, _ := tr.Last()
		if len(tr.Attempts) != wantAttempts || (len(last.Invalid()) > 0) != (i == 2) || (last.Cache.State == backends.CacheHit) != (i == 2) {
			t.Errorf("%s: %d attempts, %v", tr.Key.Name(), len(tr.Attempts), last.Flags)
		}
	}
	// Nothing is left to do: the limit is reached.
	quiet := &server{reply: reply}
	j.Endpoints = map[string]Endpoint{"a": {Backend: quiet, Model: "a:latest"}, "b": {Backend: quiet, Model: "b:latest"}}
	if sum := must(t, j); quiet.asked != 0 || sum.Skipped != 6 || sum.Invalid != 1 {
		t.Errorf("asked %d times, %+v", quiet.asked, sum)
	}
	// With a higher limit, resuming takes that one time again.
	j = j.set("s", func(s *Settings) { timed(s); s.RepeatsOfInvalid = 3 })
	cold := &server{reply: func(c call) (*backends.Response, error) { return says(c, backends.CacheCold), nil }}
	j.Endpoints["a"] = Endpoint{Backend: cold, Model: "a:latest"}
	if sum := must(t, j); len(cold.trials()) != 1 || sum.Skipped != 6 || sum.Repeated != 1 || sum.Invalid != 0 || len(m.trials[a.Trials[2].Key].Attempts) != 4 {
		t.Errorf("%d sent, %+v", len(cold.trials()), sum)
	}
}

// Answers of a study that is not timed ran beside others: their times count
// nowhere, and are missed nowhere.
func TestAnUntimedStudyMissesNoTimes(t *testing.T) {
	for _, timed := range []bool{false, true} {
		reply := func(call) (*backends.Response, error) {
			return &backends.Response{Answer: "cut", Finish: backends.FinishLength}, nil
		}
		m := newMemory()
		j := job(&server{reply: reply}, m, planned("s", "a", items(4), direct())).set("s", func(s *Settings) { s.Timed = timed })
		sum := must(t, j)
		invalid := 0
		for _, tr := range m.trials {
			if last, _ := tr.Last(); len(last.Invalid()) > 0 {
				invalid++
			}
		}
		if want := map[bool]int{false: 0, true: 4}[timed]; invalid != 4 || sum.Invalid != want || sum.Done != 4 {
			t.Errorf("timed %v: %d answers with a flag, %+v", timed, invalid, sum)
		}
	}
}

// An answer that a limit cut is taken again only where chance may make it shorter:
// not inside a run, and not by the next one.
func TestTruncatedAnswersAreNotAskedForAgain(t *testing.T) {
	seed := int64(1)
	for _, c := range []struct {
		sampling backends.Sampling
		flags    []results.Flag // that the attempt gets beside
		requests int
	}{
		{backends.Sampling{Temperature: 0.1, MaxTokens: 8, Seed: &seed}, nil, 4},
		{backends.Sampling{Temperature: 0, MaxTokens: 8}, nil, 4},
		{backends.Sampling{Temperature: 0.1, MaxTokens: 8, Seed: &seed}, []results.Flag{results.FlagThrottled}, 4}, // the first of them
		{backends.Sampling{Temperature: 0.1, MaxTokens: 8}, nil, 4 * 3},
	} {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		s := &server{reply: func(c call) (*backends.Response, error) {
			return &backends.Response{Answer: "cut", Finish: backends.FinishLength, Sent: []byte("x")}, nil
		}}
		j := job(s, st, planned("s", "a", items(4), direct())).set("s", func(set *Settings) { timed(set); set.Sampling, set.RepeatsOfInvalid = c.sampling, 2 })
		if c.flags != nil {
			j.Watch = &watch{flags: c.flags}
		}
		if sum := must(t, j); len(s.trials()) != c.requests || sum.Invalid != 4 || sum.Done != 4 {
			t.Errorf("%+v: %d requests, want %d; %+v", c.sampling, len(s.trials()), c.requests, sum)
		}
		if sum := must(t, j); len(s.trials()) != c.requests || sum.Invalid != 4 || sum.Skipped != 4 {
			t.Errorf("%+v, resumed: %d requests, want %d; %+v", c.sampling, len(s.trials()), c.requests, sum)
		}
	}
}

// Cut off between the first round and the repeats, the next run does the repeats.
func TestResumeTakesInvalidTimesAgain(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := planned("s", "a", items(3), direct())
	ctx, cancel := context.WithCancel(t.Context())
	first := &server{}
	first.reply = func(c call) (*backends.Response, error) {
		if len(first.trials()) == 3 {
			cancel()
		}
		return says(c, backends.CacheHit), nil
	}
	sum, err := Run(ctx, job(first, st, b).set("s", timed))
	if !errors.Is(err, context.Canceled) || sum.Done != 3 || sum.Invalid != 3 || sum.Repeated != 0 {
		t.Fatalf("%v, %+v", err, sum)
	}
	second := &server{reply: func(c call) (*backends.Response, error) { return says(c, backends.CacheCold), nil }}
	j := job(second, st, b).set("s", timed)
	watch := &seen{}
	j.Progress = watch
	sum = must(t, j)
	if e := watch.of(runStarted)[0]; e.Trials != 3 || e.Skipped != 0 {
		t.Errorf("%+v", e)
	}
	if len(second.trials()) != 3 || sum.Skipped != 3 || sum.Repeated != 3 || sum.Invalid != 0 {
		t.Errorf("%d sent, %+v", len(second.trials()), sum)
	}
	for i, c := range second.trials() {
		if c.req.Cold != NonceOf(7, b.Trials[i].Key, 1, 0) {
			t.Errorf("the nonce of the second attempt is %s", c.req.Cold)
		}
	}
}

// What keeps a repeat from being one: the answer stays.
func TestRepeatsThatCannotBe(t *testing.T) {
	second := arm("second", []string{"direct"}, `{{.Question}} knowing {{index .Outputs "direct"}}`)
	b := planned("s", "a", items(1), direct(), second)
	for _, c := range []struct {
		again func() (*backends.Response, error) // of direct, the second time
		warns string
	}{
		{func() (*backends.Response, error) {
			return &backends.Response{Answer: "another", Cache: backends.Cache{State: backends.CacheCold}}, nil
		}, "given anew, and is another one"},
		{func() (*backends.Response, error) { return nil, fail(backends.ErrRefused, "no") }, "has no answer any more"},
	} {
		s, m := &server{}, newMemory()
		s.reply = func(k call) (*backends.Response, error) {
			if k.last() == "question i00 direct" && k.nth == 2 {
				return c.again()
			}
			return says(k, backends.CacheHit), nil
		}
		sum := must(t, job(s, m, b).set("s", func(s *Settings) { timed(s); s.RepeatsOfInvalid = 1 }))
		tr := m.trials[b.Trials[1].Key]
		if a, _ := tr.Last(); len(tr.Attempts) != 1 || a.Output == nil || sum.Repeated != 1 || len(sum.Warnings) != 1 || !strings.Contains(sum.Warnings[0], c.warns) {
			t.Errorf("%d attempts, %+v", len(tr.Attempts), sum)
		}
	}
	// A repeat that fails is a failure: the last attempt counts.
	s, m := &server{}, newMemory()
	s.reply = func(k call) (*backends.Response, error) {
		if k.nth > 1 {
			return nil, fail(backends.ErrRefused, "no")
		}
		return says(k, backends.CacheHit), nil
	}
	sum := must(t, job(s, m, planned("s", "a", items(2), direct())).set("s", timed))
	if sum.Done != 0 || sum.Failed != 2 || sum.Repeated != 2 || sum.Invalid != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestTheStateOfAnAttemptIsItsLeastColdTurns(t *testing.T) {
	order := []backends.CacheState{backends.CacheCold, backends.CacheUnverified, backends.CacheHit, ""}
	for _, first := range order {
		for _, second := range order {
			for _, cold := range []bool{true, false} {
				s, m := &server{}, newMemory()
				s.reply = func(c call) (*backends.Response, error) {
					switch c.last() {
					case "one":
						return says(c, first), nil
					case "two":
						return says(c, second), nil
					}
					return nil, nil
				}
				b := planned("s", "a", items(1), arm("two", nil, "one", "two"))
				sum := must(t, job(s, m, b).set("s", func(s *Settings) { s.Timed, s.Cache = true, map[bool]string{true: "cold", false: "warm"}[cold] }))
				rank := func(s backends.CacheState) int {
					if s == "" { // the server says nothing
						s = backends.CacheUnverified
					}
					return slices.Index(order, s)
				}
				want := order[max(rank(first), rank(second))]
				a, _ := m.trials[b.Trials[0].Key].Last()
				hit := want == backends.CacheHit && cold
				if a.Cache.State != want || slices.Contains(a.Flags, results.FlagCacheHit) != hit || (sum.Invalid == 1) != hit || (a.Cache.Reason != "") != (want == backends.CacheUnverified) {
					t.Errorf("%q then %q, cold %t: %+v, flags %v", first, second, cold, a.Cache, a.Flags)
				}
			}
		}
	}
}

// clocked answers after some time by what the nonce has seen, with the time that
// Ollama calls loading.
func clocked(s *server, cached bool) {
	seen := map[backends.Nonce]bool{}
	load, tokens, context := 5*time.Millisecond, 100, 8192
	s.id.Context = &context
	s.takes = func(c call) time.Duration {
		d := 400*time.Millisecond + load
		if cached && c.req.Cold != "" && seen[c.req.Cold] {
			d = 30*time.Millisecond + load
		}
		seen[c.req.Cold] = true
		return d
	}
	s.reply = nil
	s.server = func(r *backends.Response) {
		r.Cache = backends.Cache{State: backends.CacheTimed}
		r.Server.Load, r.Usage.PromptTokens = &load, &tokens
	}
}

// TestCalibration: two fresh requests and an exact repeat before the first trial
// of a class, with the trial's own turn; it is stored with every attempt.
func TestCalibration(t *testing.T) {
	for _, cached := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{}, newMemory()
			clocked(s, cached)
			tokens := 100
			b := planned("s", "a", items(2, picture(8, 8, 1)), direct())
			must(t, job(s, m, b).set("s", timed))
			repeats := 3 // that nothing is cached is not believed at once
			if cached {
				repeats = 1
			}
			if len(s.calls) != 1+2+repeats+2 {
				t.Fatalf("%d requests", len(s.calls))
			}
			cal := s.calls[1:4]
			if talk(cal[0].req) != talk(cal[1].req) || talk(cal[0].req) != talk(s.calls[3+repeats].req) || cal[0].req.Cold == cal[1].req.Cold || !reflect.DeepEqual(cal[1].req, cal[2].req) {
				t.Errorf("the calibration is not the trial's turn under two nonces, the second twice")
			}
			repeat := 400 * time.Millisecond
			if cached {
				repeat = 30 * time.Millisecond
			}
			for _, tr := range b.Trials {
				a, _ := m.trials[tr.Key].Last()
				want := &results.Calibration{Fresh: []time.Duration{400 * time.Millisecond, 400 * time.Millisecond}, Repeat: repeat, PromptTokens: &tokens}
				if !reflect.DeepEqual(a.Cache.Calibration, want) || a.Cache.State != backends.CacheCold || a.Cache.Field != "TTFT - load_duration" {
					t.Errorf("%s: %+v, %+v", tr.Key.Name(), a.Cache, a.Cache.Calibration)
				}
			}
		})
	}
}

// TestAHitThatOnlyTimeShowsIsConfirmed: by one more fresh request, which a busy
// calibration does not stand up to and a real hit does.
func TestAHitThatOnlyTimeShowsIsConfirmed(t *testing.T) {
	for _, busy := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{}, newMemory()
			clocked(s, true)
			s.takes = func(c call) time.Duration {
				switch {
				case c.n == 4: // the repeat of the calibration
					return 35 * time.Millisecond
				case c.n == 5: // the trial
					return 105 * time.Millisecond
				case c.n < 4 || !busy:
					return 505 * time.Millisecond
				}
				return 108 * time.Millisecond
			}
			b := planned("s", "a", items(1), direct())
			sum := must(t, job(s, m, b).set("s", timed))
			tr := m.trials[b.Trials[0].Key]
			a := tr.Attempts[0]
			want, fresh := backends.CacheHit, []time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond}
			if busy {
				want, fresh[2] = backends.CacheCold, 103*time.Millisecond
			}
			if a.Cache.State != want || !slices.Equal(a.Cache.Calibration.Fresh, fresh) || slices.Contains(a.Flags, results.FlagCacheHit) == busy || len(a.Cache.Nonces) != 1 {
				t.Errorf("busy %t: %+v, %+v, flags %v", busy, a.Cache, a.Cache.Calibration, a.Flags)
			}
			// The repeat of the real hit is cold.
			if last, _ := tr.Last(); last.Cache.State != backends.CacheCold || sum.Invalid != 0 || (sum.Repeated == 0) != busy {
				t.Errorf("busy %t: %+v, %+v", busy, last.Cache, sum)
			}
		})
	}
}

func TestACalibrationThatFailsLeavesTrialsUnverified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{}, newMemory()
		clocked(s, true)
		s.reply = func(c call) (*backends.Response, error) {
			if c.n > 1 && c.n < 5 {
				return nil, fail(backends.ErrServer, "out of memory")
			}
			return nil, nil
		}
		b := planned("s", "a", items(1), direct())
		sum := must(t, job(s, m, b).set("s", timed))
		a, _ := m.trials[b.Trials[0].Key].Last()
		if a.Cache.State != backends.CacheUnverified || !strings.Contains(a.Cache.Reason, "out of memory") || len(sum.Warnings) != 1 {
			t.Errorf("%+v, %+v", a.Cache, sum)
		}
	})
}

// watch says what it is told to, and remembers what it was asked.
type watch struct {
	flags   []results.Flag
	windows [][2]time.Duration
	degrees []float64 // at each look; none: unknown
	looks   int
}

func (w *watch) Flags(from, to time.Duration) []results.Flag {
	w.windows = append(w.windows, [2]time.Duration{from, to})
	if len(w.windows) > 1 {
		return nil
	}
	return w.flags
}

func (w *watch) Temperature() (float64, bool) {
	w.looks++
	if len(w.degrees) == 0 {
		return 0, false
	}
	t := w.degrees[0]
	w.degrees = w.degrees[min(1, len(w.degrees)-1):]
	return t, true
}

func TestWhatTheWatchSawIsFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{takes: func(call) time.Duration { return time.Second }}, newMemory()
		w := &watch{flags: []results.Flag{results.FlagThrottled, results.FlagSamplerGap}}
		b := planned("s", "a", items(2), direct())
		j := job(s, m, b).set("s", timed)
		j.Watch = w
		sum := must(t, j)
		tr := m.trials[b.Trials[0].Key]
		if sum.Repeated != 1 || sum.Invalid != 0 || len(tr.Attempts) != 2 || !slices.Equal(tr.Attempts[0].Flags, w.flags) || len(tr.Attempts[1].Flags) != 0 {
			t.Errorf("%+v, %+v", sum, tr.Attempts)
		}
		if len(w.windows) != 3 {
			t.Fatalf("asked of %v", w.windows)
		}
		for i, a := range []results.Attempt{tr.Attempts[0], m.trials[b.Trials[1].Key].Attempts[0], tr.Attempts[1]} {
			from, _ := a.Turns[0].Trace.At(timing.Start)
			to, _ := a.Turns[0].Trace.At(timing.End)
			if w.windows[i] != [2]time.Duration{from, to} || to-from != time.Second {
				t.Errorf("asked of %v, the request took from %v to %v", w.windows[i], from, to)
			}
		}
	})
	// An untimed study asks nobody.
	w := &watch{}
	j := job(&server{}, newMemory(), planned("s", "a", items(2), direct()))
	j.Watch = w
	if must(t, j); len(w.windows) != 0 {
		t.Errorf("asked of %v", w.windows)
	}
}

func TestASetClockIsFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{takes: func(call) time.Duration { return 10 * time.Second }}, newMemory()
		jump := time.Duration(0)
		s.reply = func(c call) (*backends.Response, error) {
			switch c.last() {
			case "question i00 direct":
				jump += 5 * time.Millisecond // as much as steering does in 10 s
			case "question i01 direct":
				if c.nth == 1 {
					jump -= time.Second
				}
			case "question i02 direct":
				if c.nth == 1 {
					jump += 13 * time.Millisecond
				}
			}
			return nil, nil
		}
		b := planned("s", "a", items(3), direct())
		j := job(s, m, b).set("s", timed)
		j.wall = func() time.Time { return time.Now().Add(jump).Round(0) }
		sum := must(t, j)
		for i, want := range []int{1, 2, 2} {
			tr := m.trials[b.Trials[i].Key]
			if len(tr.Attempts) != want || slices.Contains(tr.Attempts[0].Flags, results.FlagClockJump) != (want == 2) {
				t.Errorf("%s: %d attempts, %v", tr.Key.Name(), len(tr.Attempts), tr.Attempts[0].Flags)
			}
		}
		if sum.Repeated != 2 || sum.Invalid != 0 {
			t.Errorf("%+v", sum)
		}
	})
	// The system's own clocks agree.
	m := newMemory()
	sum := must(t, job(&server{}, m, planned("s", "a", items(20), direct())).set("s", timed))
	if sum.Repeated != 0 {
		t.Errorf("%+v", sum)
	}
}

// keeper is a watcher that notes how many trials are stored when it keeps samples.
type keeper struct {
	*watch
	store *memory
	at    []int
	err   error
}

func (k *keeper) Keep() error {
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	k.at = append(k.at, len(k.store.trials))
	return k.err
}

// Samples are kept before each timed trial is stored, so that they are durable with
// it and before the next one begins.
func TestSamplesAreKeptWithTheirTrial(t *testing.T) {
	m := newMemory()
	k := &keeper{watch: &watch{}, store: m}
	timedOnes, free := planned("s", "a", items(3), direct()), planned("free", "a", items(2), direct())
	j := job(&server{}, m, plan.Block{Model: "a", Trials: append(timedOnes.Trials, free.Trials...)}).set("free", func(*Settings) {}).set("s", timed)
	j.Watch = k
	must(t, j)
	if !slices.Equal(k.at, []int{0, 1, 2}) {
		t.Errorf("kept when %v trials were stored", k.at)
	}
	broken := &keeper{watch: &watch{}, store: newMemory(), err: results.FaultFull}
	j = job(&server{}, broken.store, timedOnes).set("s", timed)
	j.Watch = broken
	if _, err := Run(t.Context(), j); !errors.Is(err, results.FaultFull) || len(broken.store.trials) != 0 {
		t.Errorf("%v, %d stored", err, len(broken.store.trials))
	}
}

// What stood still, or a clock that was steered, is no latency: it is flagged and
// taken again.
func TestAStandstillIsFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		srv, m := &server{takes: func(call) time.Duration { return 10 * s }}, newMemory()
		var slept, steered time.Duration
		began, stopped := time.Now(), 0
		srv.reply = func(c call) (*backends.Response, error) {
			switch {
			case c.warm() || c.nth > 1:
			case c.last() == "question i01 direct":
				slept += 5 * s
			case c.last() == "question i02 direct":
				steered += 15 * time.Millisecond // 0.15 % of 10 s
			case c.last() == "question i03 direct":
				steered += 5 * time.Millisecond // what ntpd does
			}
			return nil, nil
		}
		b := planned("s", "a", items(4), direct())
		j := job(srv, m, b).set("s", timed)
		j.wall = func() time.Time { return time.Now().Add(slept).Round(0) } // it does not sleep
		j.clocks = func() (timing.Clocks, bool) {
			d := time.Since(began)
			return timing.Clocks{Mono: d, Boot: d + slept, Raw: d - steered}, true
		}
		j.Stopped = func(model string) bool { // in the first trial, for half a second
			if n := len(srv.trials()); model != "a" || n != 1 || stopped >= 5 {
				return false
			}
			stopped++
			return true
		}
		sum := must(t, j)
		for i, want := range []results.Flag{results.FlagStopped, results.FlagStopped, results.FlagClockSlewed, ""} {
			tr := m.trials[b.Trials[i].Key]
			if want == "" {
				if len(tr.Attempts) != 1 || len(tr.Attempts[0].Flags) != 0 {
					t.Errorf("%s: %d attempts, %v", tr.Key.Name(), len(tr.Attempts), tr.Attempts[0].Flags)
				}
				continue
			}
			if len(tr.Attempts) != 2 || !slices.Equal(tr.Attempts[0].Flags, []results.Flag{want}) || len(tr.Attempts[1].Flags) != 0 {
				t.Errorf("%s: %d attempts, %v, want %s and another", tr.Key.Name(), len(tr.Attempts), tr.Attempts[0].Flags, want)
			}
		}
		if sum.Repeated != 3 || sum.Invalid != 0 {
			t.Errorf("%+v", sum)
		}
	})
}

// A managed server may take a while to start before the request: the attempt
// starts with the request.
func TestAnAttemptStartsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, m := &server{takes: func(call) time.Duration { return time.Second }}, newMemory()
		b := planned("s", "a", items(1), direct())
		j := job(srv, m, b)
		e := j.Endpoints["a"]
		e.Backend = runnerLate{e.Backend}
		j.Endpoints["a"] = e
		must(t, j)
		a := m.trials[b.Trials[0].Key].Attempts[0]
		from, ok := a.Turns[0].Trace.At(timing.Start)
		if off := a.Started.Sub(j.Clock.Origin()) - from; !ok || off.Abs() > time.Millisecond || from < time.Minute {
			t.Errorf("the attempt starts %v off its request, which starts at %v", off, from)
		}
	})
}

// runnerLate starts for a minute before each request.
type runnerLate struct{ backends.Backend }

func (l runnerLate) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	<-time.After(time.Minute)
	return l.Backend.Generate(ctx, req, rec)
}

func TestCoolDown(t *testing.T) {
	to := 60.0
	for name, c := range map[string]struct {
		cool    config.CoolDown
		degrees []float64
		want    time.Duration // before each of two trials
		looks   int
	}{
		"none":                    {config.CoolDown{}, nil, 0, 0},
		"for a time":              {config.CoolDown{For: 90 * time.Second}, nil, 90 * time.Second, 0},
		"cool already":            {config.CoolDown{For: time.Minute, Celsius: &to}, []float64{60}, 0, 2},
		"to a temperature":        {config.CoolDown{For: time.Minute, Celsius: &to}, []float64{80, 70, 61, 59, 80, 70, 61, 59}, 3 * time.Second, 8},
		"hot for good":            {config.CoolDown{For: 4500 * time.Millisecond, Celsius: &to}, []float64{90}, 4500 * time.Millisecond, 10},
		"a temperature not known": {config.CoolDown{For: 2 * time.Second, Celsius: &to}, nil, 2 * time.Second, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{}, newMemory()
			w := &watch{degrees: c.degrees}
			j := job(s, m, planned("s", "a", items(2), direct())).set("s", func(s *Settings) { timed(s); s.CoolDown = c.cool })
			j.Watch = w
			began := time.Now()
			must(t, j)
			for _, call := range s.trials() {
				if d := call.at.Sub(began); d != c.want {
					t.Errorf("%s: waited %v, want %v", name, d, c.want)
				}
				began = call.at
			}
			if w.looks != c.looks {
				t.Errorf("%s: %d looks, want %d", name, w.looks, c.looks)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m := newMemory()
		_, err := Run(ctx, job(&server{}, m, planned("s", "a", items(2), direct())).set("s", func(s *Settings) { timed(s); s.CoolDown.For = time.Hour }))
		if !errors.Is(err, context.DeadlineExceeded) || len(m.trials) != 0 {
			t.Errorf("%v, %d stored", err, len(m.trials))
		}
	})
	j := job(&server{}, newMemory(), planned("s", "a", items(2), direct())).set("s", func(s *Settings) { timed(s); s.CoolDown = config.CoolDown{For: 1, Celsius: &to} })
	if _, err := Run(t.Context(), j); err == nil || !strings.Contains(err.Error(), "nothing measures temperatures") {
		t.Errorf("a temperature that nobody measures: %v", err)
	}
	j = job(&server{}, newMemory(), planned("s", "a", items(2), direct())).set("s", func(s *Settings) { s.Cache = "cold" })
	if _, err := Run(t.Context(), j); err == nil || !strings.Contains(err.Error(), "timed studies only") {
		t.Errorf("nonces in an untimed study: %v", err)
	}
}

// Whoever wants to look at a model that is warm and idle is told before the first
// timed trial, once for a block, and ends the run where it fails.
func TestAWarmModelIsToldOfOnceBeforeItsFirstTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func(c call) (*backends.Response, error) { return says(c, backends.CacheCold), nil }}
		b := planned("s", "a", items(3, picture(8, 8, 1)), direct())
		b.Trials = append(b.Trials, planned("free", "a", items(1), direct()).Trials...)
		j := job(s, newMemory(), b).set("s", timed).set("free", func(*Settings) {})
		var told []string
		j.Ready = func(_ context.Context, model string) error {
			told = append(told, fmt.Sprint(model, " after ", len(s.calls)-len(s.trials()), " warm-ups and ", len(s.trials()), " trials"))
			return nil
		}
		must(t, j)
		if fmt.Sprint(told) != "[a after 1 warm-ups and 0 trials]" {
			t.Errorf("told %q", told)
		}
		full := errors.New("the disk is full")
		s2 := &server{reply: s.reply}
		j = job(s2, newMemory(), b).set("s", timed).set("free", func(*Settings) {})
		j.Ready = func(context.Context, string) error { return full }
		if _, err := Run(t.Context(), j); !errors.Is(err, full) || len(s2.trials()) != 0 {
			t.Errorf("%v after %d trials", err, len(s2.trials()))
		}
	})
}

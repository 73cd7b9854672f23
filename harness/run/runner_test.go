package run

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
)

func TestTrialsRunOneByOneInPlanOrder(t *testing.T) {
	s, m := &server{}, newMemory()
	cot := arm("cot", nil, "{{.Question}} cot")
	a, b := planned("s", "a", items(3), direct(), cot), planned("s", "b", items(2), cot, direct())
	j := job(s, m, a, b)
	var told []string
	j.Identified = func(_ context.Context, model string, id backends.Identity) error {
		told = append(told, fmt.Sprintf("%s %s after %d", model, id.Model, len(s.calls)))
		return nil
	}
	sum := must(t, j)
	if sum.Done != 10 || len(m.trials) != 10 {
		t.Fatalf("10 trials planned, got %+v, %d stored", sum, len(m.trials))
	}
	var want []string
	for _, bl := range j.Plan.Blocks {
		for _, tr := range bl.Trials {
			want = append(want, tr.Item.Question+" "+tr.Arm.Name)
		}
	}
	if got := s.prompts(); !slices.Equal(got, want) {
		t.Errorf("prompts\n%q, want\n%q", got, want)
	}
	if want := []string{"a a:latest after 0", "b b:latest after 6"}; !slices.Equal(told, want) {
		t.Errorf("identities told: %q, want %q", told, want)
	}
	got := m.trials[a.Trials[1].Key]
	if len(got.Attempts) != 1 || got.Attempts[0].Output.Answer != "re: question i00 cot" || got.Inputs == "" {
		t.Errorf("stored %+v", got)
	}
	turn := got.Attempts[0].Turns[0]
	if _, ok := turn.Trace.Latency(); !ok || turn.Sent != results.DigestOf([]byte(talk(s.calls[1].req))) {
		t.Errorf("turn %+v has no latency or another digest of what was sent", turn)
	}
}

// Whatever is cut off, wherever: running again does what is left, in order, and
// every trial is done exactly once.
func TestResumeDoesEveryTrialOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(rt, "in_flight")
		n := rapid.IntRange(1, 8).Draw(rt, "items")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 12), 0, 4).Draw(rt, "cuts")
		hopeless := rapid.IntRange(0, 7).Draw(rt, "hopeless")
		second := arm("second", []string{"direct"}, `{{.Question}} second after {{index .Outputs "direct"}}`)
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			for run := 0; ; run++ {
				s := &server{takes: func(c call) time.Duration { return time.Duration(1+len(c.last())%3) * time.Second }}
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := errors.New("pulled the plug")
				s.reply = func(c call) (*backends.Response, error) {
					if run < len(cuts) && c.n == cuts[run] {
						cancel(stop)
					}
					if strings.HasPrefix(c.last(), fmt.Sprintf("question i%02d direct", hopeless)) {
						return nil, fail(backends.ErrContextExceeded, "too long")
					}
					return nil, nil
				}
				j := job(s, m, planned("s", "a", items(n), direct(), second), planned("s", "b", items(1), direct(), second))
				j = j.set("s", func(s *Settings) { s.InFlight = limit })
				sum, err := Run(ctx, j)
				cancel(nil)
				balanced(t, j, sum)
				if err != nil && !errors.Is(err, stop) {
					t.Fatal(err)
				}
				if limit == 1 && !inOrder(s.prompts(), j.Plan) {
					t.Fatalf("not in plan order: %q", s.prompts())
				}
				if err == nil {
					break
				}
				if run >= len(cuts) {
					t.Fatal("cut without a cut")
				}
			}
			if len(m.trials) != 2*n+2 {
				t.Fatalf("%d trials stored, want %d", len(m.trials), 2*n+2)
			}
			for k, tr := range m.trials {
				a, _ := tr.Last()
				want := ""
				if hopeless == 0 && k.Item == "i00" || k.Item == fmt.Sprintf("i%02d", hopeless) {
					want = map[string]string{"direct": string(backends.ErrContextExceeded), "second": "needs"}[k.Arm]
				}
				got := ""
				if a.Failure != nil {
					got = a.Failure.Kind
				}
				if len(tr.Attempts) != 1 || got != want {
					t.Errorf("%s: %d attempts, failure %q, want 1 and %q", k.Name(), len(tr.Attempts), got, want)
				}
			}
		})
	})
}

// inOrder reports whether prompts come in the order of the plan.
func inOrder(prompts []string, p *plan.Plan) bool {
	var order []string
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			order = append(order, t.Item.Question+" "+t.Arm.Name)
		}
	}
	at := 0
	for _, p := range prompts {
		for at < len(order) && !strings.HasPrefix(p, order[at]) {
			at++
		}
	}
	return at < len(order) || len(prompts) == 0
}

func TestStoredTrialsAreNotSentAgain(t *testing.T) {
	s, m := &server{}, newMemory()
	b := planned("s", "a", items(4), direct())
	must(t, job(s, m, plan.Block{Model: "a", Trials: b.Trials[:3]}))
	s2 := &server{}
	sum := must(t, job(s2, m, b))
	if sum.Skipped != 3 || sum.Done != 1 || !slices.Equal(s2.prompts(), []string{"question i03 direct"}) {
		t.Errorf("%+v, sent %q", sum, s2.prompts())
	}
	s3 := &server{}
	if sum := must(t, job(s3, m, b)); sum.Skipped != 4 || s3.asked != 0 {
		t.Errorf("nothing to do, yet asked the server %d times: %+v", s3.asked, sum)
	}
}

func TestOnlyWhatCanHealIsTriedAgain(t *testing.T) {
	for _, k := range []backends.Kind{backends.ErrContextExceeded, backends.ErrRefused, backends.ErrTruncated, backends.ErrStalled,
		backends.ErrMalformed, backends.ErrServer, backends.ErrCancelled} {
		t.Run(string(k), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, m := &server{}, newMemory()
				s.reply = func(c call) (*backends.Response, error) {
					if strings.HasPrefix(c.last(), "question i00") {
						e := fail(k, "it went wrong").(*backends.Error)
						e.Status, e.Partial, e.Sent = 500, "half an ans", []byte("body")
						return nil, e
					}
					return nil, nil
				}
				b := planned("s", "a", items(2), direct())
				sum := must(t, job(s, m, b))
				want := 1
				if k.CanHeal() {
					want = 3
				}
				tr := m.trials[b.Trials[0].Key]
				if len(tr.Attempts) != want || len(s.calls) != want+1 || sum.Done != 1 || !reflect.DeepEqual(sum.ByKind, map[string]int{string(k): 1}) {
					t.Fatalf("%d attempts stored, %d requests, want %d; %+v", len(tr.Attempts), len(s.calls), want, sum)
				}
				for _, a := range tr.Attempts {
					f := a.Failure
					if f.Kind != string(k) || f.Status != 500 || f.Partial != "half an ans" || !strings.Contains(f.Message, "it went wrong") {
						t.Errorf("failure %+v", f)
					}
					if len(a.Turns) != 1 || a.Turns[0].Sent != results.DigestOf([]byte("body")) {
						t.Errorf("turns %+v", a.Turns)
					}
				}
			})
		})
	}
}

func TestRetryPausesGrowAreSeededAndStayOutsideTheTraces(t *testing.T) {
	pauses := func(seed uint64) []time.Duration {
		var gaps []time.Duration
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{}, newMemory()
			s.takes = func(call) time.Duration { return 3 * time.Second }
			s.reply = func(c call) (*backends.Response, error) {
				if c.nth <= 4 {
					return nil, fail(backends.ErrServer, "busy")
				}
				return nil, nil
			}
			b := planned("s", "a", items(1), direct())
			j := job(s, m, b).set("s", func(s *Settings) { s.Retries, s.Backoff = 4, 10*time.Second })
			j.Seed = seed
			watch := &seen{}
			j.Progress = watch
			must(t, j)
			tr := m.trials[b.Trials[0].Key]
			if len(tr.Attempts) != 5 {
				t.Fatalf("%d attempts", len(tr.Attempts))
			}
			for i, a := range tr.Attempts {
				start, ok := a.Turns[0].Trace.At(0)
				if sent := s.calls[i].at.Sub(j.Clock.Origin()); !ok || start != sent {
					t.Errorf("attempt %d starts at %v, was sent at %v", i, start, sent)
				}
				if i > 0 {
					gaps = append(gaps, s.calls[i].at.Sub(s.calls[i-1].at)-3*time.Second)
				}
			}
			if d, ok := tr.Attempts[4].Turns[0].Trace.Latency(); !ok || d != 3*time.Second {
				t.Errorf("latency %v, want 3 s: the pauses are not the model's", d)
			}
			for i, e := range watch.of(attemptFailed) {
				if *e.Wait != gaps[i] {
					t.Errorf("told of a pause of %v, took %v", *e.Wait, gaps[i])
				}
			}
		})
		return gaps
	}
	gaps := pauses(1)
	for i, g := range gaps {
		base := 10 * time.Second << i
		if base > time.Minute {
			base = time.Minute
		}
		if g < base/2 || g >= base*3/2 {
			t.Errorf("pause %d is %v, want %v times 0.5 to 1.5", i+1, g, base)
		}
	}
	if again := pauses(1); !slices.Equal(gaps, again) {
		t.Errorf("same seed, other pauses: %v, %v", gaps, again)
	}
	if other := pauses(2); slices.Equal(gaps, other) {
		t.Errorf("other seed, same pauses: %v", gaps)
	}
}

func TestNeededAnswersEnterThePrompt(t *testing.T) {
	second := arm("second", []string{"direct"}, `{{.Question}} knowing <{{index .Outputs "direct"}}>`)
	b := planned("s", "a", items(1), direct(), second)
	want := []string{"question i00 direct", "question i00 knowing <re: question i00 direct>"}
	t.Run("from this run", func(t *testing.T) {
		s := &server{}
		must(t, job(s, newMemory(), b).set("s", func(s *Settings) { s.InFlight = 8 }))
		if got := s.prompts(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("from the store", func(t *testing.T) {
		m := newMemory()
		must(t, job(&server{}, m, plan.Block{Model: "a", Trials: b.Trials[:1]}))
		s := &server{}
		must(t, job(s, m, plan.Block{Model: "a", Trials: b.Trials[1:]}))
		if got := s.prompts(); !slices.Equal(got, want[1:]) {
			t.Errorf("got %q, want %q", got, want[1:])
		}
	})
	t.Run("at baseline, whatever the condition", func(t *testing.T) {
		m := newMemory()
		must(t, job(&server{}, m, plan.Block{Model: "a", Trials: b.Trials[:1]}))
		tr := b.Trials[1]
		tr.Key.Condition, tr.Condition = "sham", &perturb.Condition{Name: "sham", Kind: perturb.KindSham}
		s := &server{}
		must(t, job(s, m, plan.Block{Model: "a", Trials: []plan.Trial{tr}}))
		if got := s.prompts(); !slices.Equal(got, want[1:]) {
			t.Errorf("got %q, want %q", got, want[1:])
		}
	})
	t.Run("failed", func(t *testing.T) {
		s, m := &server{}, newMemory()
		s.reply = func(call) (*backends.Response, error) { return nil, fail(backends.ErrRefused, "no") }
		sum := must(t, job(s, m, b))
		f, _ := m.trials[b.Trials[1].Key].Last()
		if len(s.calls) != 1 || sum.ByKind["needs"] != 1 || f.Failure.Kind != "needs" || !strings.Contains(f.Failure.Message, "s/a/i00/direct/baseline") {
			t.Errorf("%d requests, %+v, failure %+v", len(s.calls), sum, f.Failure)
		}
		// The needed one gets its answer later, and so does the one that needs it.
		j := job(&server{}, m, b)
		j.RetryFailed = true
		if sum := must(t, j); sum.Done != 2 {
			t.Errorf("%+v", sum)
		}
		if tr := m.trials[b.Trials[1].Key]; len(tr.Attempts) != 2 || tr.Inputs == "" {
			t.Errorf("%+v", tr)
		}
	})
	t.Run("neither planned nor stored", func(t *testing.T) {
		_, err := Run(t.Context(), job(&server{}, newMemory(), plan.Block{Model: "a", Trials: b.Trials[1:]}))
		if err == nil || !strings.Contains(err.Error(), "needs s/a/i00/direct/baseline") {
			t.Errorf("error %v", err)
		}
	})
}

func TestAModelWithoutVisionIsRefusedBeforeAnythingIsSent(t *testing.T) {
	no := false
	s, m := &server{id: backends.Identity{Server: "ollama", Vision: &no}}, newMemory()
	pics, text := planned("s", "a", items(3, picture(8, 8, 1)), direct()), planned("text", "a", items(2), direct())
	j := job(s, m, plan.Block{Model: "a", Trials: append(pics.Trials, text.Trials...)}).set("text", func(*Settings) {})
	sum := must(t, j)
	if len(sum.Refused) != 1 || sum.Refused[0].Study != "s" || sum.Refused[0].Trials != 3 || !strings.Contains(sum.Refused[0].Reason, "cannot see") {
		t.Errorf("refused %+v", sum.Refused)
	}
	if len(m.trials) != 2 || sum.Left != 3 || sum.Done != 2 || len(sum.Stopped) != 0 {
		t.Errorf("%d stored, %+v: the study without pictures goes on, of the other nothing is stored", len(m.trials), sum)
	}
	for _, c := range s.calls {
		if len(c.req.Messages[0].Images) > 0 {
			t.Error("a picture was sent")
		}
	}
}

// A server that does not say whether a model can see says it when it is shown
// the first picture.
func TestAModelThatTurnsOutBlindIsRefused(t *testing.T) {
	for _, timed := range []bool{false, true} {
		s, m := &server{}, newMemory()
		s.reply = func(c call) (*backends.Response, error) { return nil, fail(backends.ErrNoVision, "text only") }
		j := job(s, m, planned("s", "a", items(9, picture(8, 8, 1)), direct()), planned("s", "b", items(1), direct()))
		j = j.set("s", func(s *Settings) { s.Timed = timed })
		sum := must(t, j)
		if len(m.trials) != 1 || len(s.calls) > 2+1 || len(sum.Refused) != 1 || sum.Refused[0].Trials != 9 || sum.Left != 9 {
			t.Errorf("timed %t: %d requests, %d stored, %+v", timed, len(s.calls), len(m.trials), sum)
		}
	}
	// Refused trials are not those that a server left undone.
	s, m := dies(0, 0), newMemory()
	no := false
	s.id.Vision = &no
	j := job(s, m, plan.Block{Model: "a", Trials: append(planned("s", "a", items(9, picture(8, 8, 1)), direct()).Trials, planned("text", "a", items(7), direct()).Trials...)})
	j = j.set("s", func(s *Settings) { s.Retries = 0 })
	j = j.set("text", func(*Settings) {})
	if sum := must(t, j); sum.Left != 16 || sum.Refused[0].Trials != 9 || sum.Stopped[0].Left != 7 {
		t.Errorf("%+v", sum)
	}
	// It has seen: then no_vision is about one trial.
	s, m = &server{}, newMemory()
	s.reply = func(c call) (*backends.Response, error) {
		if c.n == 2 {
			return nil, fail(backends.ErrNoVision, "what?")
		}
		return nil, nil
	}
	if sum := must(t, job(s, m, planned("s", "a", items(3, picture(8, 8, 1)), direct()))); sum.ByKind["no_vision"] != 1 || sum.Done != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestAChangedModelIsRefused(t *testing.T) {
	n, size := 4096, int64(9)
	was := backends.Identity{Server: "ollama", Version: "0.9.6", Model: "a:latest", Digest: "sha256:1", Quantisation: "Q4_K_M", Path: "a.gguf", Template: "sha256:t",
		Context: &n, Parameters: "4.3B", Bytes: &size}
	other, more := 8192, int64(10)
	for what, change := range map[string]func(*backends.Identity){
		"":                  func(*backends.Identity) {},
		"file":              func(i *backends.Identity) { i.Path = "b.gguf" },
		"parameters":        func(i *backends.Identity) { i.Parameters = "4.4B" },
		"context":           func(i *backends.Identity) { i.Context = &other },
		"chat template":     func(i *backends.Identity) { i.Template = "sha256:u" },
		"bytes of the file": func(i *backends.Identity) { i.Bytes = &more },
		"server version":    func(i *backends.Identity) { i.Version = "0.17.4" },
		"weights digest":    func(i *backends.Identity) { i.Digest = "sha256:2" },
		"quantisation":      func(i *backends.Identity) { i.Quantisation = "" },
		"synthetic":         func(i *backends.Identity) { i.Synthetic = true },
	} {
		is := was
		change(&is)
		s, m := &server{id: is}, newMemory()
		j := job(s, m, planned("s", "a", items(2), direct()), planned("s", "b", items(2), direct()))
		j.Known = map[string]backends.Identity{"a": was}
		told := 0
		j.Identified = func(context.Context, string, backends.Identity) error { told++; return nil }
		sum := must(t, j)
		if what == "" {
			if sum.Done != 4 || told != 2 {
				t.Errorf("the same model was refused: %+v", sum)
			}
			continue
		}
		if len(sum.Refused) != 1 || !strings.Contains(sum.Refused[0].Reason, what+" was ") || sum.Left != 2 || sum.Done != 2 || told != 1 {
			t.Errorf("%s: %+v", what, sum)
		}
	}
}

func TestAServerThatIsNotThereStopsItsBlockOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, alive, m := &server{}, &server{}, newMemory()
		dead.identify = func(int) error { return fail(backends.ErrUnreachable, "connection refused") }
		j := job(alive, m, planned("s", "a", items(3), direct()), planned("s", "b", items(2), direct()))
		j.Endpoints["a"] = Endpoint{Backend: dead, Model: "a"}
		sum := must(t, j)
		if len(sum.Stopped) != 1 || sum.Stopped[0].Model != "a" || sum.Stopped[0].Left != 3 || !errors.Is(sum.Stopped[0].Err, backends.ErrUnreachable) ||
			!strings.Contains(sum.Stopped[0].Err.Error(), "run the same command again") {
			t.Errorf("%+v", sum)
		}
		if dead.asked != 3 || len(dead.calls) != 0 || len(m.trials) != 2 || sum.Done != 2 || sum.Left != 3 {
			t.Errorf("asked %d times, sent %d, stored %d, %+v", dead.asked, len(dead.calls), len(m.trials), sum)
		}
	})
}

func TestIdentifyWaitsForAModelThatLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.identify = func(n int) error {
			if n < 3 {
				return fail(backends.ErrLoading, "503")
			}
			return nil
		}
		if sum := must(t, job(s, newMemory(), planned("s", "a", items(1), direct()))); sum.Done != 1 {
			t.Errorf("%+v", sum)
		}
		s = &server{}
		s.identify = func(n int) error { return fail(backends.ErrUnknownModel, "no such model") }
		if sum := must(t, job(s, newMemory(), planned("s", "a", items(1), direct()))); s.asked != 1 || len(sum.Stopped) != 1 {
			t.Errorf("asked %d times for a model that is not there, %+v", s.asked, sum)
		}
	})
}

type mute struct{ server }

func (*mute) Identify(ctx context.Context, _ string) (backends.Identity, error) {
	<-ctx.Done()
	return backends.Identity{}, &backends.Error{Kind: backends.ErrCancelled, Err: ctx.Err()}
}

func TestAServerThatNeverSaysWhoItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := job(nil, newMemory(), planned("s", "a", items(1), direct())).set("s", func(s *Settings) { s.Retries = 0 })
		j.Endpoints["a"] = Endpoint{Backend: &mute{}, Model: "a"}
		start := time.Now()
		sum := must(t, j)
		if d := time.Since(start); d != identifyTimeout || len(sum.Stopped) != 1 || !errors.Is(sum.Stopped[0].Err, backends.ErrStalled) {
			t.Errorf("after %v: %+v", d, sum)
		}
	})
}

// dies answers the first n requests; then there is nobody, until it is back.
func dies(n, back int) *server {
	s := &server{}
	s.reply = func(c call) (*backends.Response, error) {
		if c.n > n && (back == 0 || c.n < back) {
			return nil, fail(backends.ErrUnreachable, "connection refused")
		}
		return nil, nil
	}
	return s
}

func TestAServerThatDiesStopsItsBlock(t *testing.T) {
	for _, limit := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			s := dies(6, 0)
			j := job(s, m, planned("s", "a", items(40), direct()), planned("s", "b", items(1), direct())).
				set("s", func(s *Settings) { s.InFlight, s.Retries = limit, 1 })
			j.Endpoints["b"] = Endpoint{Backend: &server{}, Model: "b"}
			sum := must(t, j)
			if len(sum.Stopped) != 1 || sum.Stopped[0].Left != 34 || !errors.Is(sum.Stopped[0].Err, backends.ErrUnreachable) {
				t.Fatalf("%+v", sum)
			}
			if len(m.trials) != 7 || sum.Failed != 0 || sum.Done != 7 {
				t.Errorf("%d stored, want the 6 that were answered and the other block's: %+v", len(m.trials), sum)
			}
			if n := len(s.calls) - 6; n < 2*giveUpAfter || n > 2*giveUpAfter+2*limit {
				t.Errorf("%d requests to a dead server, want about %d", n, 2*giveUpAfter)
			}
			j.Endpoints["a"] = Endpoint{Backend: &server{}, Model: "a:latest"}
			if sum := must(t, j); sum.Done != 34 || sum.Skipped != 7 || len(m.trials) != 41 {
				t.Errorf("resumed: %+v", sum)
			}
			for k, tr := range m.trials {
				if len(tr.Attempts) != 1 {
					t.Errorf("%s has %d attempts", k.Name(), len(tr.Attempts))
				}
			}
		})
	}
}

func TestTrialsThatFoundNoServerAreFailuresOnceItIsBack(t *testing.T) {
	m := newMemory()
	second := arm("second", []string{"direct"}, `{{index .Outputs "direct"}}`)
	// No retries: requests 2 to 4 meet nobody.
	s := dies(1, 5)
	j := job(s, m, planned("s", "a", append(items(4), item("z")), direct())).set("s", func(s *Settings) { s.Retries = 0 })
	// Something needs a trial that met nobody.
	b := planned("s", "a", items(2)[1:], second)
	j.Plan.Blocks[0].Trials = slices.Insert(j.Plan.Blocks[0].Trials, 2, b.Trials...)
	sum := must(t, j)
	want := map[string]string{"i00/direct": "", "i01/direct": "unreachable", "i01/second": "needs", "i02/direct": "unreachable", "i03/direct": "unreachable", "z/direct": ""}
	if got := m.kinds(); !reflect.DeepEqual(got, want) || sum.Failed != 4 || len(sum.Stopped) != 0 {
		t.Errorf("got %v, want %v; %+v", got, want, sum)
	}
	// It is not back before the end: then they are still to be done.
	m = newMemory()
	j.Store = m
	j.Endpoints["a"] = Endpoint{Backend: dies(1, 0), Model: "a"}
	sum = must(t, j)
	if got := m.kinds(); !reflect.DeepEqual(got, map[string]string{"i00/direct": ""}) || sum.Left != 5 || len(sum.Stopped) != 1 {
		t.Errorf("got %v, %+v", got, sum)
	}
}

func TestAModelThatVanishesStopsItsBlock(t *testing.T) {
	s, m := &server{}, newMemory()
	s.reply = func(c call) (*backends.Response, error) {
		if c.n > 2 {
			return nil, fail(backends.ErrUnknownModel, "model not found")
		}
		return nil, nil
	}
	sum := must(t, job(s, m, planned("s", "a", items(9), direct())))
	if len(s.calls) != 3 || len(m.trials) != 2 || len(sum.Stopped) != 1 || sum.Left != 7 || !errors.Is(sum.Stopped[0].Err, backends.ErrUnknownModel) {
		t.Errorf("%d requests, %d stored, %+v", len(s.calls), len(m.trials), sum)
	}
}

func TestInFlightIsBoundedAndUsed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 9).Draw(rt, "in_flight")
		n := rapid.IntRange(1, 20).Draw(rt, "items")
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{takes: func(c call) time.Duration { return time.Second }}, newMemory()
			start := time.Now()
			must(t, job(s, m, planned("s", "a", items(n), direct())).set("s", func(s *Settings) { s.InFlight = limit }))
			if s.most != min(limit, n) {
				t.Fatalf("%d requests together, want %d", s.most, min(limit, n))
			}
			if d, want := time.Since(start), time.Duration((n+limit-1)/limit)*time.Second; d != want {
				t.Fatalf("took %v, want %v", d, want)
			}
			alone := 0
			for _, tr := range m.trials {
				if !slices.Contains(tr.Attempts[0].Flags, results.FlagConcurrent) {
					alone++
				}
			}
			want := 0
			if limit == 1 {
				want = n
			} else if n%limit == 1 {
				want = 1 // the last one, unless one before it is still landing
			}
			if alone > want || limit == 1 && alone < want {
				t.Fatalf("%d trials had the server to themselves, want %d of %d with %d in flight", alone, want, n, limit)
			}
		})
	})
}

func TestFlags(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		name string
		resp backends.Response
		want []results.Flag
	}{
		{"clean", backends.Response{Finish: backends.FinishStop}, nil},
		{"at the limit", backends.Response{Finish: backends.FinishLength}, []results.Flag{results.FlagTruncated}},
		{"ended otherwise", backends.Response{Finish: backends.FinishOther}, nil},
		{"warm Ollama", backends.Response{Finish: backends.FinishStop, Server: backends.Timings{Load: ms(17), Total: ms(20)}}, nil},
		{"loaded inside", backends.Response{Finish: backends.FinishStop, Server: backends.Timings{Load: ms(253), Total: ms(60_000)}}, []results.Flag{results.FlagLoadInside}},
		{"large request", backends.Response{Finish: backends.FinishStop, Server: backends.Timings{Load: ms(253)}, Sent: make([]byte, 8_000_000)}, nil},
		{"no cache", backends.Response{Finish: backends.FinishStop, Usage: backends.Usage{CachedTokens: n(0)}}, nil},
		{"cache", backends.Response{Finish: backends.FinishStop, Usage: backends.Usage{CachedTokens: n(3)}}, []results.Flag{results.FlagCacheHit}},
	} {
		s, m := &server{}, newMemory()
		s.reply = func(call) (*backends.Response, error) { r := c.resp; return &r, nil }
		b := planned("s", "a", items(1), arm("two", nil, "one", "two"))
		must(t, job(s, m, b))
		if got := m.trials[b.Trials[0].Key].Attempts[0].Flags; !slices.Equal(got, c.want) {
			t.Errorf("%s: flags %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTurnsBuildOneConversation(t *testing.T) {
	s, m := &server{}, newMemory()
	b := planned("s", "a", items(1, picture(8, 8, 1), picture(8, 8, 2)), arm("talk", nil, "look", "and {{.Type}}", "so?"))
	s.reply = func(c call) (*backends.Response, error) {
		if c.last() == "so?" && c.nth == 1 {
			return nil, fail(backends.ErrTruncated, "the stream ended")
		}
		return nil, nil
	}
	synctest.Test(t, func(t *testing.T) { must(t, job(s, m, b)) })
	tr := m.trials[b.Trials[0].Key]
	if len(tr.Attempts) != 2 || len(tr.Attempts[0].Turns) != 3 || tr.Attempts[0].Output != nil || tr.Attempts[0].Failure == nil {
		t.Fatalf("%+v", tr)
	}
	a := tr.Attempts[1]
	if len(a.Turns) != 3 || a.Turns[1].Answer != "re: and short" || a.Output.Answer != "re: so?" || len(s.calls) != 6 {
		t.Errorf("%+v", a)
	}
	var got []string
	for _, msg := range s.calls[5].req.Messages {
		got = append(got, fmt.Sprintf("%s %s %d", msg.Role, msg.Text, len(msg.Images)))
	}
	if want := []string{"user look 2", "assistant re: look 0", "user and short 0", "assistant re: and short 0", "user so? 0"}; !slices.Equal(got, want) {
		t.Errorf("conversation %q, want %q", got, want)
	}
	if n := len(s.calls[0].req.Messages); n != 1 {
		t.Errorf("the first turn's request has %d messages: it was changed after it was sent", n)
	}
}

func TestRetryFailedAppendsAttempts(t *testing.T) {
	m := newMemory()
	b := planned("s", "a", items(3), direct())
	bad := &server{reply: func(c call) (*backends.Response, error) {
		if c.n == 2 {
			return nil, fail(backends.ErrRefused, "no")
		}
		return nil, nil
	}}
	must(t, job(bad, m, b))
	again := &server{}
	if sum := must(t, job(again, m, b)); sum.Skipped != 3 || len(again.calls) != 0 {
		t.Errorf("a stored failure was repeated unasked: %+v", sum)
	}
	j := job(again, m, b)
	j.RetryFailed = true
	sum := must(t, j)
	tr := m.trials[b.Trials[1].Key]
	if sum.Skipped != 2 || sum.Done != 1 || len(again.calls) != 1 || len(tr.Attempts) != 2 || tr.Attempts[0].Failure == nil || tr.Attempts[1].Output == nil {
		t.Errorf("%+v, %+v", sum, tr)
	}
}

func TestRetryFailedRefusesToMixInputs(t *testing.T) {
	m := newMemory()
	b := planned("s", "a", items(3), direct())
	refuses := func() *server {
		return &server{reply: func(call) (*backends.Response, error) { return nil, fail(backends.ErrRefused, "no") }}
	}
	must(t, job(refuses(), m, b))
	// Settings under which nothing was answered bind nothing (issue 10, item 20).
	s := refuses()
	s.reply = func(c call) (*backends.Response, error) {
		if c.n > 1 {
			return nil, fail(backends.ErrRefused, "no")
		}
		return nil, nil
	}
	j := job(s, m, b).set("s", func(s *Settings) { s.Sampling.Temperature = 0.7 })
	j.RetryFailed = true
	if sum := must(t, j); sum.Done != 1 || sum.Failed != 2 {
		t.Errorf("%+v", sum)
	}
	// One answer binds the others.
	s = refuses()
	j = job(s, m, b).set("s", func(s *Settings) { s.Sampling.Temperature = 0.9 })
	j.RetryFailed = true
	sum, err := Run(t.Context(), j)
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "s/a/i01/direct/baseline") || len(s.calls) != 0 || sum.Left != 2 {
		t.Errorf("error %v, %d requests, %+v", err, len(s.calls), sum)
	}
}

func TestAFullDiskStopsTheRunAndLosesNothing(t *testing.T) {
	for _, limit := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{takes: func(call) time.Duration { return time.Second }}, newMemory()
			m.fails = func(n int) error {
				if n > 5 {
					return errDisk
				}
				return nil
			}
			j := job(s, m, planned("s", "a", items(30), direct()), planned("s", "b", items(3), direct())).set("s", func(s *Settings) { s.InFlight = limit })
			sum, err := Run(t.Context(), j)
			balanced(t, j, sum)
			if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "store trial s/a/") || len(m.trials) != 5 || sum.Done != 5 || len(s.calls) > 5+2*limit {
				t.Errorf("error %v, %d stored, %d requests, %+v", err, len(m.trials), len(s.calls), sum)
			}
			m.fails = nil
			if sum := must(t, j); sum.Done != 28 || sum.Skipped != 5 {
				t.Errorf("%+v", sum)
			}
		})
	}
}

func TestInterruptionStoresWhatFinishedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{takes: func(c call) time.Duration { return time.Duration(c.last()[len("question i0")]-'0'+1) * time.Second }}, newMemory()
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		j := job(s, m, planned("s", "a", items(9), direct()), planned("s", "b", items(1), direct())).set("s", func(s *Settings) { s.InFlight = 5 })
		start := time.Now()
		sum, err := Run(ctx, j)
		balanced(t, j, sum)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "run the same command again") || time.Since(start) != 3500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		want := map[string]string{"i00/direct": "", "i01/direct": "", "i02/direct": ""}
		if got := m.kinds(); !reflect.DeepEqual(got, want) || sum.Done != 3 || sum.Failed != 0 {
			t.Errorf("stored %v, %+v", got, sum)
		}
	})
}

// An answer that arrives together with Ctrl-C is an answer.
func TestAnAnswerThatBeatsTheInterruptionIsStored(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, m := &server{}, newMemory()
	s.reply = func(c call) (*backends.Response, error) {
		cancel()
		return &backends.Response{Answer: "just so", Finish: backends.FinishStop}, nil
	}
	sum, err := Run(ctx, job(s, m, planned("s", "a", items(2), direct())))
	if !errors.Is(err, context.Canceled) || sum.Done != 1 || len(m.trials) != 1 {
		t.Errorf("%v, %+v", err, sum)
	}
}

// Told that it is enough, a run finishes what is on the wire, begins nothing, and says so.
func TestEnoughIsAfterTheTrialsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{takes: func(c call) time.Duration { return time.Second }}, newMemory()
		j := job(s, m, planned("s", "a", items(9), direct()), planned("s", "b", items(1), direct())).set("s", func(s *Settings) { s.InFlight = 2 })
		var stop context.CancelFunc
		j.Enough, stop = context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer stop()
		start := time.Now()
		sum, err := Run(t.Context(), j)
		balanced(t, j, sum)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted with 6 trials to do; run the same command again") || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if sum.Done != 4 || sum.Failed != 0 || len(m.trials) != 4 {
			t.Errorf("stored %v, %+v", m.kinds(), sum)
		}
	})
}

// A server that does not come up is not waited for when it is enough.
func TestEnoughBeforeTheFirstTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{}, newMemory()
		j := job(s, m, planned("s", "a", items(2), direct()))
		var stop context.CancelFunc
		j.Enough, stop = context.WithTimeout(t.Context(), time.Second)
		defer stop()
		j.Begin = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		start := time.Now()
		if _, err := Run(t.Context(), j); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second || len(s.calls) > 0 {
			t.Errorf("after %v, %d requests: %v", time.Since(start), len(s.calls), err)
		}
	})
}

// What was enough with the last trial is a run that has nothing left.
func TestEnoughWithTheLastTrial(t *testing.T) {
	s, m := &server{}, newMemory()
	j := job(s, m, planned("s", "a", items(2), direct()))
	var enough context.CancelFunc
	j.Enough, enough = context.WithCancel(t.Context())
	s.reply = func(c call) (*backends.Response, error) {
		if len(s.calls) == 2 {
			enough()
		}
		return &backends.Response{Answer: "just so", Finish: backends.FinishStop}, nil
	}
	if sum, err := Run(t.Context(), j); err != nil || sum.Done != 2 || sum.Left != 0 {
		t.Errorf("%v, %+v", err, sum)
	}
}

func TestInterruptionDuringAPauseLeavesTheTrialUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{}, newMemory()
		s.reply = func(call) (*backends.Response, error) { return nil, fail(backends.ErrServer, "busy") }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Run(ctx, job(s, m, planned("s", "a", items(2), direct())).set("s", func(s *Settings) { s.Backoff = time.Hour }))
		if !errors.Is(err, context.DeadlineExceeded) || len(s.calls) != 1 || len(m.trials) != 0 {
			t.Errorf("%v, %d requests, %d stored", err, len(s.calls), len(m.trials))
		}
	})
}

func TestInputsThatCannotBeMadeAreFailures(t *testing.T) {
	broken := dataset.Image{Name: "gone.png", Load: func() ([]byte, error) { return nil, errors.New("no such file") }}
	text := dataset.Image{Name: "notes.png", Load: func() ([]byte, error) { return []byte("not a picture"), nil }}
	m, s := newMemory(), &server{}
	list := []*dataset.Item{item("gone", broken), item("text", text), item("good", picture(8, 8, 1))}
	b := planned("s", "a", list, direct())
	b.Trials = append(b.Trials, planned("s", "a", list[2:], arm("odd", nil, "{{index .Options 7}}")).Trials...)
	sum := must(t, job(s, m, b))
	want := map[string]string{"gone/direct": "input", "text/direct": "input", "good/direct": "", "good/odd": "input"}
	if got := m.kinds(); !reflect.DeepEqual(got, want) || len(s.calls) != 1 || sum.ByKind["input"] != 3 {
		t.Errorf("got %v, want %v; %+v", got, want, sum)
	}
	for id, says := range map[string]string{"gone": "load image 1 (gone.png): no such file", "text": "image 1 (notes.png): "} {
		for k, tr := range m.trials {
			if a, _ := tr.Last(); k.Item == id && (!strings.Contains(a.Failure.Message, says) || tr.Inputs != "") {
				t.Errorf("%s: %q, inputs %q", id, a.Failure.Message, tr.Inputs)
			}
		}
	}
}

func TestInconsistentJobsAreRefused(t *testing.T) {
	good := func() Job { return job(&server{}, newMemory(), planned("s", "a", items(2), direct())) }
	for want, spoil := range map[string]func(*Job){
		"":                             func(*Job) {},
		`model "a" is planned but has`: func(j *Job) { delete(j.Endpoints, "a") },
		`study "s" is planned but has`: func(j *Job) { delete(j.Settings, "s") },
		"in_flight is 0":               func(j *Job) { *j = j.set("s", func(s *Settings) { s.InFlight = 0 }) },
		"in_flight is 4":               func(j *Job) { *j = j.set("s", func(s *Settings) { s.InFlight, s.Timed = 4, true }) },
		"is planned twice":             func(j *Job) { b := &j.Plan.Blocks[0]; b.Trials = append(b.Trials, b.Trials[0]) },
		`in the block of model "b"`: func(j *Job) {
			j.Plan.Blocks[0].Model = "b"
			j.Endpoints["b"] = j.Endpoints["a"]
		},
	} {
		j := good()
		spoil(&j)
		_, err := Run(t.Context(), j)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestAnErrorWithoutAKindEndsTheRun(t *testing.T) {
	s := &server{reply: func(call) (*backends.Response, error) { return nil, errors.New("what is this") }}
	sum, err := Run(t.Context(), job(s, newMemory(), planned("s", "a", items(2), direct())))
	if err == nil || !strings.Contains(err.Error(), "internal error") || len(s.calls) != 1 || sum.Left != 2 {
		t.Errorf("%v, %d requests", err, len(s.calls))
	}
}

func TestAStoreThatCannotBeReadEndsTheRun(t *testing.T) {
	second := arm("second", []string{"direct"}, `{{index .Outputs "direct"}}`)
	b := planned("s", "a", items(1), direct(), second)
	m := newMemory()
	m.blind = errDisk
	s := &server{}
	sum, err := Run(t.Context(), job(s, m, b))
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "read trial s/a/i00/direct/baseline") || sum.Done != 1 {
		t.Errorf("a needed answer: %v, %+v", err, sum)
	}
	m = newMemory()
	must(t, job(&server{reply: func(call) (*backends.Response, error) { return nil, fail(backends.ErrRefused, "no") }}, m, b))
	m.blind = errDisk
	j := job(s, m, b)
	j.RetryFailed = true
	if sum, err := Run(t.Context(), j); !errors.Is(err, errDisk) || sum.Left != 2 {
		t.Errorf("a trial to be tried again: %v, %+v", err, sum)
	}
}

// What was held back is stored or reported, never both lost and counted.
func TestAFullDiskWhileReleasingWhatWasHeldBack(t *testing.T) {
	m := newMemory()
	m.fails = func(n int) error {
		if n == 3 { // the answer before, the answer after, the first one held
			return errDisk
		}
		return nil
	}
	j := job(dies(1, 4), m, planned("s", "a", items(6), direct())).set("s", func(s *Settings) { s.Retries = 0 })
	sum, err := Run(t.Context(), j)
	balanced(t, j, sum)
	if !errors.Is(err, errDisk) || sum.Done != 2 || sum.Failed != 0 || len(m.trials) != 2 {
		t.Errorf("%v, %+v, stored %v", err, sum, m.kinds())
	}
	m.fails = nil
	j.Endpoints["a"] = Endpoint{Backend: &server{}, Model: "a"}
	if sum := must(t, j); sum.Done != 4 || sum.Skipped != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestAManifestThatCannotBeWrittenEndsTheRunBeforeAnythingIsSent(t *testing.T) {
	s := &server{}
	j := job(s, newMemory(), planned("s", "a", items(2), direct()))
	j.Identified = func(context.Context, string, backends.Identity) error { return errDisk }
	if sum, err := Run(t.Context(), j); !errors.Is(err, errDisk) || len(s.calls) != 0 || sum.Left != 2 {
		t.Errorf("%v, %d requests, %+v", err, len(s.calls), sum)
	}
}

func TestInterruptionBetweenBlocksAndWhileIdentifying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{identify: func(n int) error {
			if n == 2 {
				cancel()
				return fail(backends.ErrCancelled, "")
			}
			return nil
		}}
		j := job(s, newMemory(), planned("s", "a", items(2), direct()), planned("s", "b", items(2), direct()), planned("s", "c", items(2), direct()))
		sum, err := Run(ctx, j)
		if !errors.Is(err, context.Canceled) || sum.Done != 2 || sum.Left != 4 || len(sum.Stopped) != 0 {
			t.Errorf("%v, %+v", err, sum)
		}
		if _, err := Run(ctx, j); !errors.Is(err, context.Canceled) || s.asked != 2 {
			t.Errorf("%v, asked %d times", err, s.asked)
		}
	})
}

// TestFailuresOfBeforeAreCounted: a run that has nothing left to do says so over them.
func TestFailuresOfBeforeAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{reply: func(c call) (*backends.Response, error) {
			if c.n == 1 {
				return nil, &backends.Error{Kind: backends.ErrRefused}
			}
			return nil, nil
		}}, newMemory()
		j := job(s, m, planned("s", "a", items(3), direct()))
		if sum := must(t, j); sum.Failed != 1 || sum.FailedBefore != 0 {
			t.Errorf("first: %+v", sum)
		}
		if sum := must(t, j); sum.Skipped != 3 || sum.FailedBefore != 1 || sum.Failed != 0 {
			t.Errorf("again: %+v", sum)
		}
		j.RetryFailed = true
		if sum := must(t, j); sum.Done != 1 || sum.FailedBefore != 0 {
			t.Errorf("retried: %+v", sum)
		}
	})
}

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// open makes a store with one trial per answer; the trial's item is its index.
func open(t *testing.T, answers ...string) (*store.Store, []Task) {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	r := verdictRubric(t)
	var tasks []Task
	for i, a := range answers {
		k := results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("%03d", i), Arm: "a", Condition: "baseline"}
		err := st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: results.DigestOf([]byte(a)), Attempts: []results.Attempt{{
			Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: a, Finish: "stop"}}, Output: &results.Output{Answer: a, Finish: "stop"}}}})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, Task{Key: k, Rubric: r, Case: side(a)})
	}
	return st, tasks
}

func all(tasks []Task, judges ...string) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for _, t := range tasks {
			t.Judges = judges
			if !yield(t, nil) {
				return
			}
		}
	}
}

// counting is a judge that counts what it is asked and how much at once.
type counting struct {
	name  string
	asked atomic.Int64
	now   atomic.Int64
	most  atomic.Int64
	judge func(ctx context.Context, c Case) (results.Status, error) // nil: clean
	fails backends.Kind                                             // why it is unreachable; "": it does not say
	mu    sync.Mutex
	seen  map[results.Digest]int
}

func (c *counting) Judge(ctx context.Context, r Rubric, cs Case) (results.Judgment, error) {
	st, err := cs.Stored()
	if err != nil {
		return results.Judgment{}, err
	}
	c.asked.Add(1)
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	c.mu.Lock()
	if c.seen == nil {
		c.seen = map[results.Digest]int{}
	}
	c.seen[st.Digest]++
	c.mu.Unlock()
	j := results.Judgment{Case: st.Digest, Rubric: r.Name, Judge: c.name, Status: results.StatusClean}
	if c.judge != nil {
		var err error
		if j.Status, err = c.judge(ctx, cs); err != nil {
			return j, err
		}
	}
	if j.Status.Usable() {
		j.Verdict = json.RawMessage(`{"quote":"","verdict":"no"}`)
	} else if c.fails != "" {
		j.Attempts = []results.Attempt{{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: string(c.fails), Message: "no"}}}
	}
	return j, nil
}

func TestRunJudgesEachCaseOnce(t *testing.T) {
	answers := make([]string, 40)
	for i := range answers {
		answers[i] = fmt.Sprint("answer ", i%8)
	}
	st, tasks := open(t, answers...)
	local := &counting{name: "local", judge: func(context.Context, Case) (results.Status, error) {
		runtime.Gosched() // lets the others start
		return results.StatusClean, nil
	}}
	slots := map[string]Slot{"local": {Judge: local, InFlight: 4}, "lexical": {Judge: &Lexical{Name: "lexical"}, InFlight: 2}}
	var last Progress
	tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "local", "lexical"), Judges: slots, Progress: func(p Progress) {
		if p.Done != last.Done+1 {
			t.Errorf("progress %+v after %+v", p, last)
		}
		last = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	if tally.Asked != 16 || tally.Reused != 64 || tally.Status[results.StatusClean] != 80 || last.Done != 80 || last.Failed != 0 {
		t.Errorf("tally %+v, progress %+v", tally, last)
	}
	for d, n := range local.seen {
		if n != 1 {
			t.Errorf("case %s was judged %d times", d, n)
		}
	}
	if m := local.most.Load(); m > 4 {
		t.Errorf("%d judgments at once", m)
	}
	// Every trial has both judgments.
	n := 0
	for j, err := range st.Judgments(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		if !j.Status.Usable() || j.Verdict == nil {
			t.Errorf("judgment %+v", j)
		}
		n++
	}
	if n != 80 {
		t.Errorf("%d judgments of trials, want 80", n)
	}
	// A second run asks nobody.
	tally, err = Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "local", "lexical"), Judges: slots})
	if err != nil || tally.Asked != 0 || tally.Reused != 80 || local.asked.Load() != 8 {
		t.Errorf("again: %+v, %v, %d asked", tally, err, local.asked.Load())
	}
}

// Only what could not be reached is asked again, and once per run.
func TestRunRetriesTheUnreachable(t *testing.T) {
	st, tasks := open(t, "a", "b", "a", "a", "c")
	down := true
	local := &counting{name: "local", judge: func(_ context.Context, c Case) (results.Status, error) {
		switch {
		case c.Fields.(answerFields).Answer == "c":
			return results.StatusParse, nil
		case down:
			return results.StatusUnreachable, nil
		}
		return results.StatusRepaired, nil
	}}
	slots := map[string]Slot{"local": {Judge: local, InFlight: 1}}
	run := func() Tally {
		t.Helper()
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "local"), Judges: slots})
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	first := run()
	if first.Asked != 3 || first.Status[results.StatusUnreachable] != 4 || first.Status[results.StatusParse] != 1 {
		t.Errorf("first run: %+v", first)
	}
	down = false
	second := run()
	if second.Asked != 2 || second.Status[results.StatusRepaired] != 4 || second.Status[results.StatusParse] != 1 {
		t.Errorf("second run: %+v", second)
	}
	if third := run(); third.Asked != 0 {
		t.Errorf("third run: %+v", third)
	}
}

// A stopped run keeps what is finished; going on does the rest.
// TestRunGivesUpAJudgeWithoutAConnection: what is left stays unjudged and is judged by
// a later run; a judge that answers badly, or now and then, is not given up.
func TestRunGivesUpAJudgeWithoutAConnection(t *testing.T) {
	answers := make([]string, 40)
	for i := range answers {
		answers[i] = fmt.Sprint("answer ", i)
	}
	for name, c := range map[string]struct {
		kind  backends.Kind
		every int // how often it fails
		asked int64
	}{
		"gone":     {backends.ErrUnreachable, 1, 5},
		"broken":   {backends.ErrServer, 1, 40},
		"flapping": {backends.ErrUnreachable, 2, 40},
	} {
		t.Run(name, func(t *testing.T) {
			st, tasks := open(t, answers...)
			n := 0
			bad := &counting{name: "bad", fails: c.kind, judge: func(context.Context, Case) (results.Status, error) {
				if n++; n%c.every == 0 {
					return results.StatusUnreachable, nil
				}
				return results.StatusClean, nil
			}}
			good := &counting{name: "good"}
			tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "bad", "good"), Judges: map[string]Slot{"bad": {Judge: bad, InFlight: 1}, "good": {Judge: good, InFlight: 2}}})
			if err != nil {
				t.Fatal(err)
			}
			if bad.asked.Load() != c.asked || tally.Left["bad"] != 40-int(c.asked) || good.asked.Load() != 40 || tally.Left["good"] != 0 {
				t.Errorf("asked %d and %d, %+v", bad.asked.Load(), good.asked.Load(), tally)
			}
			later := &counting{name: "bad"}
			tally, err = Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "bad", "good"), Judges: map[string]Slot{"bad": {Judge: later, InFlight: 1}, "good": {Judge: good, InFlight: 2}}})
			if err != nil || tally.Status[results.StatusClean] != 80 || len(tally.Left) != 0 {
				t.Errorf("later: %+v, %v", tally, err)
			}
		})
	}
}

func TestRunStops(t *testing.T) {
	answers := make([]string, 20)
	for i := range answers {
		answers[i] = fmt.Sprint(i)
	}
	st, tasks := open(t, answers...)
	ctx, cancel := context.WithCancel(t.Context())
	local := &counting{name: "local"}
	local.judge = func(ctx context.Context, c Case) (results.Status, error) {
		if local.asked.Load() > 7 {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return results.StatusClean, nil
	}
	slots := map[string]Slot{"local": {Judge: local, InFlight: 2}}
	tally, err := Run(ctx, RunArgs{Store: st, Tasks: all(tasks, "local"), Judges: slots})
	if !errors.Is(err, context.Canceled) || tally.Asked != 7 {
		t.Fatalf("%+v, %v", tally, err)
	}
	local.judge = nil
	tally, err = Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "local"), Judges: slots})
	if err != nil || tally.Asked != 13 || tally.Reused != 7 {
		t.Errorf("going on: %+v, %v", tally, err)
	}
}

// billed is a backend that asks for money as soon as a request has left.
type billed struct{ left func() }

func (*billed) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, nil
}

func (b *billed) Generate(ctx context.Context, _ *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	b.left()
	<-ctx.Done()
	return nil, &backends.Error{Kind: backends.ErrCancelled, Sent: []byte("{}"), Raw: []byte(`{"cost":0.5,"currency":"USD","at_most":true}`), Err: ctx.Err()}
}

// What was paid for a request that was given up counts for the budget of the next run.
func TestMoneyOfAStopIsKept(t *testing.T) {
	st, tasks := open(t, "left", "right")
	ctx, cancel := context.WithCancel(t.Context())
	slots := map[string]Slot{"hosted": {Judge: &Model{Name: "hosted", Backend: &billed{cancel}, Clock: timing.NewClock()}, InFlight: 1}}
	if _, err := Run(ctx, RunArgs{Store: st, Tasks: all(tasks, "hosted"), Judges: slots}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if paid, err := st.Costs(t.Context(), "hosted"); err != nil || paid["USD"] != .5 {
		t.Errorf("paid %v, %v", paid, err)
	}
	later := &counting{name: "hosted"}
	tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "hosted"), Judges: map[string]Slot{"hosted": {Judge: later, InFlight: 1}}})
	if err != nil || tally.Asked != 2 || tally.Status[results.StatusClean] != 2 {
		t.Errorf("going on: %+v, %v", tally, err)
	}
	if paid, err := st.Costs(t.Context(), "hosted"); err != nil || paid["USD"] != .5 {
		t.Errorf("then paid %v, %v", paid, err)
	}
}

func TestRunPassesErrorsOn(t *testing.T) {
	st, tasks := open(t, "a", "b")
	broken := errors.New("broken")
	local := &counting{name: "local", judge: func(context.Context, Case) (results.Status, error) { return "", broken }}
	if _, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "local"), Judges: map[string]Slot{"local": {Judge: local, InFlight: 1}}}); !errors.Is(err, broken) {
		t.Errorf("a judge's error: %v", err)
	}
	source := func(yield func(Task, error) bool) { yield(Task{}, broken) }
	if _, err := Run(t.Context(), RunArgs{Store: st, Tasks: source}); !errors.Is(err, broken) {
		t.Errorf("an error of the tasks: %v", err)
	}
}

// A judge whose first replies are all of no use is stopped with the last of them;
// the other judges go on. One usable reply is enough to let it go on.
func TestRunStopsAJudgeWhoseFirstRepliesAreUseless(t *testing.T) {
	var answers []string
	for i := range 30 {
		answers = append(answers, fmt.Sprint("answer ", i))
	}
	st, tasks := open(t, answers...)
	var replies atomic.Int64
	mute := &replying{name: "mute", reply: func() (results.Status, string) {
		return results.StatusParse, fmt.Sprint("prose ", replies.Add(1))
	}}
	var n atomic.Int64
	late := &replying{name: "late", reply: func() (results.Status, string) {
		if n.Add(1) == 5 {
			return results.StatusClean, "{}"
		}
		return results.StatusSchema, "[]"
	}}
	fine := &counting{name: "fine"}
	tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "mute", "late", "fine"), StopAt: 5,
		Judges: map[string]Slot{"mute": {Judge: mute, InFlight: 1}, "late": {Judge: late, InFlight: 1}, "fine": {Judge: fine, InFlight: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	want := stop{Why: Useless, Asked: 5, Status: results.StatusParse, Detail: "no verdict", Reply: "prose 5"}
	if len(tally.Stops) != 1 || tally.Stops["mute"] != want || tally.Left["mute"] != 25 || len(tally.Left) != 1 {
		t.Errorf("stopped %+v, left %v", tally.Stops, tally.Left)
	}
	hostile := stop{Status: results.StatusParse, Detail: "x\x1b[2J", Reply: "\x1b]0;a\x07\u202eb\n" + strings.Repeat("é", 700)}.String()
	if strings.ContainsAny(strings.ReplaceAll(hostile, "\n", ""), "\x1b\x07\u202e") || strings.Count(hostile, "\n") != 2 || strings.Count(hostile, "é") != 591 || !strings.Contains(hostile, "109 more") {
		t.Errorf("%q", hostile)
	}
	if n.Load() != 30 || fine.asked.Load() != 30 || replies.Load() != 5 {
		t.Errorf("asked %d, %d and %d times", n.Load(), fine.asked.Load(), replies.Load())
	}
	// A judge that was usable in an earlier run is not new.
	late.reply = func() (results.Status, string) { return results.StatusParse, "x" }
	st2, more := open(t, answers[:6]...)
	if _, err := Run(t.Context(), RunArgs{Store: st2, Tasks: all(more[:1], "fine"), Judges: map[string]Slot{"fine": {Judge: fine, InFlight: 1}}, StopAt: 2}); err != nil {
		t.Fatal(err)
	}
	late.name = "fine"
	tally, err = Run(t.Context(), RunArgs{Store: st2, Tasks: all(more, "fine"), Judges: map[string]Slot{"fine": {Judge: late, InFlight: 1}}, StopAt: 2})
	if err != nil || len(tally.Stops) != 0 || tally.Asked != 5 {
		t.Errorf("%+v %v", tally, err)
	}
}

// replying is a judge that replies.
type replying struct {
	name  string
	reply func() (results.Status, string)
}

func (r *replying) Judge(_ context.Context, rub Rubric, c Case) (results.Judgment, error) {
	st, err := c.Stored()
	if err != nil {
		return results.Judgment{}, err
	}
	j := results.Judgment{Case: st.Digest, Rubric: rub.Name, Judge: r.name}
	var text string
	if j.Status, text = r.reply(); j.Status.Usable() {
		j.Verdict = json.RawMessage(`{}`)
	} else {
		j.Detail = "no verdict"
	}
	j.Attempts = []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: text, Finish: "stop"}}, Output: &results.Output{Answer: text, Finish: "stop"}}}
	return j, nil
}

// What a judge is belongs to a judgment's key, and so does the repeat.
func TestRunJudgesAnewWhenTheJudgeChanged(t *testing.T) {
	st, tasks := open(t, "a", "b")
	j := &counting{name: "j"}
	run := func(by results.Digest, repeats, asked, reused int) {
		t.Helper()
		given := slices.Clone(tasks)
		for i := range given {
			given[i].By = map[string]results.Digest{"j": by}
		}
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(given, "j"), Judges: map[string]Slot{"j": {Judge: j, InFlight: 1, Repeats: repeats}}})
		if err != nil || tally.Asked != asked || tally.Reused != reused {
			t.Errorf("as %q, %d times: asked %d, reused %d, %v", by, repeats, tally.Asked, tally.Reused, err)
		}
	}
	run("sha256:1", 1, 2, 0)
	run("sha256:1", 1, 0, 2)
	run("sha256:2", 1, 2, 0)
	run("sha256:1", 1, 0, 2)
	run("sha256:1", 3, 4, 2)
}

// A share of the cases is judged twice: the same cases at every run, more of them with a
// greater share, none of them twice over.
func TestAShareOfTheCasesIsJudgedTwice(t *testing.T) {
	var answers []string
	for i := range 400 {
		answers = append(answers, fmt.Sprint("answer ", i))
	}
	st, tasks := open(t, answers...)
	j := &counting{name: "j"}
	run := func(share float64, seed uint64) Tally {
		t.Helper()
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j"), Judges: map[string]Slot{"j": {Judge: j, InFlight: 8, Again: share, Seed: seed}}})
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	// 400 draws with p = 0.05: 20 on average, SD 4.4; which they are is fixed by the seed.
	first := run(0.05, 7)
	again := first.Asked - 400
	if again < 10 || again > 30 {
		t.Errorf("%d of 400 cases were judged twice", again)
	}
	if tally := run(0.05, 7); tally.Asked != 0 || tally.Reused != 400+again {
		t.Errorf("again: %+v", tally)
	}
	more := run(0.2, 7)
	if n := again + more.Asked; n < 60 || n > 100 || more.Reused != 400+again {
		t.Errorf("%d of 400 cases with a greater share, %+v", n, more)
	}
	if tally := run(0.05, 8); tally.Asked == 0 {
		t.Error("another seed chooses the same cases")
	}
	twice := 0
	for v, err := range st.JudgedTwice(t.Context(), "s") {
		if err != nil || v.Item == "" || v.Judge != "j" || !v.First.Status.Usable() || string(v.Second.Verdict) == "" {
			t.Fatal(v, err)
		}
		twice++
	}
	for d, n := range j.seen {
		if n > 2 {
			t.Errorf("case %s was judged %d times", d, n)
		}
		if n == 2 {
			twice--
		}
	}
	if twice != 0 {
		t.Errorf("%d cases more are stored as judged twice than were asked", twice)
	}
	for j, err := range st.Judgments(t.Context(), "s") { // what scores are made of
		if err != nil || j.Repeat != 0 {
			t.Fatal(j, err)
		}
	}
	if n := (Slot{Repeats: 3, Again: 1}).times("x") + (Slot{Again: 1}).times("x") + (Slot{}).times("x"); n != 6 {
		t.Errorf("3, 2 and 1 times make %d", n)
	}
}

// A judge to which nothing can be sent is stopped, and what it was not asked stays open:
// nothing is stored of it, unless something was sent before.
func TestRunStopsAJudgeWhoseBudgetIsSpent(t *testing.T) {
	for _, kind := range []backends.Kind{backends.ErrBudget, backends.ErrDropped} {
		var answers []string
		for i := range 30 {
			answers = append(answers, fmt.Sprint("answer ", i%29)) // the last has the case of the first
		}
		st, tasks := open(t, answers...)
		var n atomic.Int64
		j := &counting{name: "j", fails: kind, judge: func(context.Context, Case) (results.Status, error) {
			if n.Add(1) > 10 {
				return results.StatusUnreachable, nil
			}
			return results.StatusClean, nil
		}}
		good := &counting{name: "good"}
		slots := map[string]Slot{"j": {Judge: j, InFlight: 1}, "good": {Judge: good, InFlight: 1}}
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j", "good"), Judges: slots, StopAt: 20})
		if err != nil {
			t.Fatal(err)
		}
		if stop := tally.Stops["j"]; stop.Why != Unsent || tally.Left["j"] != 19 || j.asked.Load() != 11 || good.asked.Load() != 29 || tally.Status[results.StatusUnreachable] != 0 {
			t.Errorf("%s: %+v, %d asked", kind, tally, j.asked.Load())
		}
		stored := 0
		for s, err := range st.Judgments(t.Context(), "s") {
			if err != nil || !s.Status.Usable() {
				t.Fatal(s, err)
			}
			stored++
		}
		if stored != 30+11 {
			t.Errorf("%s: %d judgments of trials are stored, want 41", kind, stored)
		}
		n.Store(-100)
		tally, err = Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j", "good"), Judges: slots, StopAt: 20})
		if err != nil || tally.Asked != 19 || len(tally.Stops) != 0 {
			t.Errorf("%s: afterwards %+v, %v", kind, tally, err)
		}
	}
}

// A judge that had verdicts and then does nothing but fail is given up for this run; one
// that fails now and then is not. All of it is taken up again.
func TestRunGivesUpAJudgeThatKeepsFailing(t *testing.T) {
	var answers []string
	for i := range 60 {
		answers = append(answers, fmt.Sprint("answer ", i))
	}
	for name, c := range map[string]struct {
		ok          func(n int64) bool
		asked, left int
	}{
		"for good":     {func(n int64) bool { return n <= 10 }, 30, 30},
		"now and then": {func(n int64) bool { return n%20 == 0 || n == 1 }, 60, 0},
	} {
		st, tasks := open(t, answers...)
		var n atomic.Int64
		j := &counting{name: "j", fails: backends.ErrServer, judge: func(context.Context, Case) (results.Status, error) {
			if !c.ok(n.Add(1)) {
				return results.StatusUnreachable, nil
			}
			return results.StatusClean, nil
		}}
		slots := map[string]Slot{"j": {Judge: j, InFlight: 1}}
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j"), Judges: slots, StopAt: 20})
		if err != nil || int(j.asked.Load()) != c.asked || tally.Left["j"] != c.left || (tally.Stops["j"].Why == Failing) != (c.left > 0) {
			t.Errorf("%s: asked %d, %+v, %v", name, j.asked.Load(), tally, err)
		}
		j.judge = nil
		if tally, err = Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j"), Judges: slots, StopAt: 20}); err != nil || tally.Status[results.StatusClean] != 60 {
			t.Errorf("%s: afterwards %+v, %v", name, tally, err)
		}
	}
}

// What was tried in vain stays with the judgment that comes of a later run: it was paid.
func TestRunKeepsTheAttemptsOfBefore(t *testing.T) {
	st, tasks := open(t, "a")
	status := results.StatusUnreachable
	j := &counting{name: "j", fails: backends.ErrServer, judge: func(context.Context, Case) (results.Status, error) { return status, nil }}
	c, err := tasks[0].Case.Stored()
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 3; want++ {
		if want == 3 {
			status = results.StatusParse
		}
		if _, err := Run(t.Context(), RunArgs{Store: st, Tasks: all(tasks, "j"), Judges: map[string]Slot{"j": {Judge: j}}}); err != nil {
			t.Fatal(err)
		}
		got, ok, err := st.Judgment(t.Context(), results.JudgmentKey{Case: c.Digest, Rubric: "side", Judge: "j"})
		if err != nil || !ok || got.Status != status || len(got.Attempts) != want {
			t.Errorf("%d attempts after run %d, %s, %v", len(got.Attempts), want, got.Status, err)
		}
	}
}

package judge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"assay/backends"
	"assay/results"
	"assay/results/text"
)

// Task is a case to be judged under a rubric by some judges.
type Task struct {
	Key    results.Key // the trial it belongs to
	Rubric Rubric
	Case   Case
	Judges []string
	By     map[string]results.Digest // what each judge is, by name (results.Version); none: not known
	Needs  []Need                    // one for each of Rubric.Needs
}

// Slot is a judge and how many of its judgments may be under way at once.
type Slot struct {
	Judge    Judge
	InFlight int // >= 1
	Repeats  int // how often it judges each case; 0: once
	// Again is the share of the cases that a judge which judges once judges twice, 0..1,
	// so that it can be compared with itself. Which ones follows from Seed and the case.
	Again float64
	Seed  uint64
}

// times is how often a case is judged.
func (s Slot) times(c results.Digest) int {
	if s.Repeats > 1 || s.Again <= 0 {
		return max(s.Repeats, 1)
	}
	h := sha256.Sum256([]byte(fmt.Sprintf("judged twice\n%d\n%s", s.Seed, c)))
	if float64(binary.BigEndian.Uint64(h[:8])>>11)/(1<<53) < s.Again {
		return 2
	}
	return 1
}

// Progress counts judgments. Failed ones have no usable verdict and are among
// those done.
type Progress struct {
	Done   int
	Failed int
}

// runStore keeps what judges are shown, and what they say.
type runStore interface {
	verdicts
	PutCase(context.Context, results.Key, results.Case) error
	PutJudgment(context.Context, results.Judgment) error
}

// RunArgs is what Run needs.
type RunArgs struct {
	Store    runStore
	Tasks    iter.Seq2[Task, error]
	Judges   map[string]Slot
	Progress func(Progress) // called after each judgment, never twice at once; nil: nobody listens
	StopAt   int            // a judge is stopped when so many replies came first of it and none was usable, or later when it failed as often in a row; 0: never
}

// Tally is what Run did.
type Tally struct {
	Asked  int                    // judgments made now
	Reused int                    // found in the store, or shared with a case judged now
	Status map[results.Status]int // of both
	Left   map[string]int         // by judge that could not be connected to, or was stopped: judgments not even tried
	Stops  map[string]stop        // by judge that was stopped
	Absent map[string]int         // by judge: cases of which it has nothing to say
	Open   map[string]int         // by judge: judgments that rest on a verdict which is still to come
}

// stop is why a judge was stopped: its last reply.
type stop struct {
	Why    why
	Asked  int // judgments that came of it in a row, none of them usable
	Status results.Status
	Detail string
	Reply  string // as it came, but for keys
}

// why is a reason to stop a judge.
type why string

const (
	Useless why = "useless" // none of its replies was a verdict, from the first on
	Failing why = "failing" // it had verdicts, and then failures alone
	Unsent  why = "unsent"  // nothing can be sent to it as things are: its budget is spent, or a setting would be lost
)

// givesUp is how many judgments in a row fail for want of a connection before a
// judge is asked no more in this run: thousands of cases would each wait for it.
const givesUp = 5

// String is the last reply on two lines, cut, with nothing in it that a terminal obeys.
func (s stop) String() string {
	const most = 600 // code points
	reply, cut := []rune(s.Reply), ""
	if n := len(reply) - most; n > 0 {
		reply, cut = reply[:most], fmt.Sprintf(" ... (%d more)", n)
	}
	return fmt.Sprintf("  the last one: %s: %s\n  as it came: %s%s\n", s.Status, text.Visible(s.Detail), strconv.QuoteToGraphic(text.VisibleLines(string(reply))), cut)
}

// Run judges every task by each of its judges and stores each judgment at once.
// A judgment that is stored is not made again, unless the judge could not be
// reached then; trials with the same case share one. A judge that cannot be
// connected to several times in a row is given up, and one whose first replies are
// all of no use, that does nothing but fail, or that nothing can be sent to is stopped:
// what is left of its cases stays unjudged, for a later Run.
// Tasks are gone through once more for each level of verdicts that rest on others.
// When ctx ends, what is under way is given up, what is finished is stored, and the
// error is ctx's.
func Run(ctx context.Context, args RunArgs) (Tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{args: args, tally: Tally{Status: map[results.Status]int{}, Left: map[string]int{}, Stops: map[string]stop{}, Absent: map[string]int{}, Open: map[string]int{}},
		pending: map[results.JudgmentKey]int{}, gone: map[results.JudgmentKey]bool{}, lost: map[string]int{}, failing: map[string]int{}, useless: map[string]int{}, heard: map[string]bool{}, free: map[string]chan struct{}{}}
	for name, s := range args.Judges {
		r.free[name] = make(chan struct{}, max(s.InFlight, 1))
	}
	var wg sync.WaitGroup
	err := r.feed(ctx, cancel, &wg)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause // a worker's error ended the feed
	}
	return r.tally, err
}

type run struct {
	args RunArgs
	free map[string]chan struct{} // by judge: one token per judgment under way

	mu      sync.Mutex
	tally   Tally
	done    Progress
	pending map[results.JudgmentKey]int  // under way, and how many other trials share it
	gone    map[results.JudgmentKey]bool // unreachable in this run: not asked again
	lost    map[string]int               // by judge: judgments in a row without a connection
	failing map[string]int               // by judge: judgments in a row without a reply
	useless map[string]int               // by judge: replies before the first usable one
	heard   map[string]bool              // judges of which a usable reply is known
}

// feed goes through the tasks level by level: what a task rests on is judged before.
func (r *run) feed(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup) error {
	deepest := 0
	for level := 0; level <= deepest; level++ {
		for t, err := range r.args.Tasks {
			if err != nil {
				return err
			}
			if t.Case.Rubric != t.Rubric.Name {
				panic(fmt.Sprintf("judge: internal error: a case of rubric %q under rubric %q", t.Case.Rubric, t.Rubric.Name))
			}
			of := t.level()
			deepest = max(deepest, of)
			if of != level {
				continue
			}
			if err := r.task(ctx, cancel, wg, t); err != nil {
				return err
			}
		}
		wg.Wait()
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return nil
}

// task starts a worker for each judgment of a task that is missing.
func (r *run) task(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, t Task) error {
	var id results.Digest
	var err error
	if len(t.Needs) == 0 { // all judges are shown the same
		if id, err = r.put(ctx, t, t.Case); err != nil {
			return err
		}
	}
	for _, name := range t.Judges {
		slot, ok := r.args.Judges[name]
		if !ok {
			panic(fmt.Sprintf("judge: internal error: no judge %q", name))
		}
		own := t
		by := slot.Judge
		if len(t.Needs) > 0 {
			shown, why, there, err := t.Shown(ctx, r.args.Store, name)
			if err != nil {
				return err
			}
			if !there {
				r.mu.Lock()
				r.tally.Open[name]++
				r.mu.Unlock()
				continue
			}
			if why != "" {
				by, slot = unmet{name, why}, Slot{}
			}
			if id, err = r.put(ctx, t, shown); err != nil {
				return err
			}
			own.Case = shown
		}
		for repeat := range slot.times(id) {
			own.Case.Repeat = repeat
			key := results.JudgmentKey{Case: id, Rubric: t.Rubric.Name, Judge: name, By: t.By[name], Repeat: repeat}
			if err := r.start(ctx, cancel, wg, key, by, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// put stores what a judge is shown of a task.
func (r *run) put(ctx context.Context, t Task, c Case) (results.Digest, error) {
	stored, err := c.Stored()
	if err != nil {
		return "", fmt.Errorf("judge: the case of %v under rubric %s does not marshal: %w", t.Key, t.Rubric.Name, err)
	}
	if err := r.args.Store.PutCase(ctx, t.Key, stored); err != nil {
		return "", fmt.Errorf("judge: storing the case of %v under rubric %s: %w", t.Key, t.Rubric.Name, err)
	}
	return stored.Digest, nil
}

// start starts a worker for a judgment that is missing.
func (r *run) start(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, id results.JudgmentKey, by Judge, t Task) error {
	if f, ok := by.(interface{ Meets(results.JudgmentKey) }); ok { // a file notes what came
		f.Meets(id)
	}
	found, before, err := r.known(ctx, id)
	if err != nil || found {
		return err
	}
	select {
	case r.free[id.Judge] <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.givenUp(id) {
		<-r.free[id.Judge]
		return nil
	}
	wg.Go(func() {
		defer func() { <-r.free[id.Judge] }()
		if err := r.judge(ctx, id, by, t, before); err != nil {
			cancel(err)
		}
	})
	return nil
}

// known says whether a judgment is stored or under way; otherwise it is now marked as
// under way. before are the attempts of a stored one that has to be made again.
func (r *run) known(ctx context.Context, id results.JudgmentKey) (found bool, before []results.Attempt, err error) {
	r.mu.Lock()
	if _, ok := r.pending[id]; ok {
		r.pending[id]++
		r.mu.Unlock()
		return true, nil, nil
	}
	gone := r.gone[id]
	r.mu.Unlock()
	j, ok, err := r.args.Store.Judgment(ctx, id)
	if err != nil {
		return false, nil, fmt.Errorf("judge: looking up a judgment of %s under rubric %s: %w", id.Judge, id.Rubric, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok && (j.Status.Usable() || j.Status == results.StatusAbstained) {
		r.heard[id.Judge] = true
	}
	if ok && (gone || !j.Status.Open()) {
		r.count(j.Status, false)
		return true, nil, nil
	}
	r.pending[id] = 0
	return false, j.Attempts, nil
}

// givenUp says whether a judge is asked no more, and if so counts what it is not asked.
func (r *run) givenUp(id results.JudgmentKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, stopped := r.tally.Stops[id.Judge]; r.lost[id.Judge] < givesUp && !stopped {
		return false
	}
	delete(r.pending, id)
	r.tally.Left[id.Judge]++
	return true
}

// lastFailure is the kind of a judgment's last attempt; "": it has none that failed.
func lastFailure(j results.Judgment) backends.Kind {
	if n := len(j.Attempts); j.Status.Open() && n > 0 && j.Attempts[n-1].Failure != nil {
		return backends.Kind(j.Attempts[n-1].Failure.Kind)
	}
	return ""
}

func (r *run) judge(ctx context.Context, id results.JudgmentKey, by Judge, t Task, before []results.Attempt) error {
	j, err := by.Judge(ctx, t.Rubric, t.Case)
	kind := lastFailure(j)
	unsent := kind == backends.ErrBudget || kind == backends.ErrDropped
	switch {
	case err == nil && unsent && len(j.Attempts) == 1: // nothing happened that could be kept
	case j.Status != "": // beside an error: what was paid until the stop
		if j.Case != id.Case || j.Rubric != id.Rubric || j.Judge != id.Judge {
			panic(fmt.Sprintf("judge: internal error: %s judged another case than it was given", id.Judge))
		}
		kept := j
		kept.By, kept.Repeat = id.By, id.Repeat
		// What was paid for failures stays known.
		kept.Attempts = slices.Concat(before, j.Attempts)
		// A finished judgment is kept even when the run is being stopped.
		if failed := r.args.Store.PutJudgment(context.WithoutCancel(ctx), kept); failed != nil {
			err = fmt.Errorf("judge: storing a judgment of %s under rubric %s: %w", id.Judge, id.Rubric, failed)
		}
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("judge: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shared := r.pending[id]
	delete(r.pending, id)
	if err != nil {
		return err
	}
	if unsent {
		r.tally.Left[id.Judge] += 1 + shared
		r.tally.Stops[id.Judge] = stop{Why: Unsent, Asked: 1, Status: j.Status, Detail: j.Detail}
		r.gone[id] = true
		return nil
	}
	if j.Status == "" {
		if id.Repeat == 0 {
			r.tally.Absent[id.Judge] += 1 + shared
		}
		return nil
	}
	if j.Status.Open() {
		r.gone[id] = true
		r.failing[id.Judge]++
	} else {
		r.failing[id.Judge] = 0
	}
	if kind == backends.ErrUnreachable { // there never was a connection
		r.lost[id.Judge]++
	} else {
		r.lost[id.Judge] = 0
	}
	r.listen(id.Judge, j, kind)
	r.count(j.Status, true)
	for range shared {
		r.count(j.Status, false)
	}
	return nil
}

// listen stops a judge whose replies were all of no use from the first one on, or that
// has failed as often in a row; r.mu is held.
func (r *run) listen(name string, j results.Judgment, kind backends.Kind) {
	if j.Status.Usable() || j.Status == results.StatusAbstained {
		r.heard[name] = true
		return
	}
	if len(j.Attempts) == 0 || kind == backends.ErrUnreachable || r.args.StopAt == 0 {
		return
	}
	s := stop{Why: Failing, Asked: r.failing[name], Status: j.Status, Detail: j.Detail}
	if !r.heard[name] {
		r.useless[name]++
		s.Why, s.Asked = Useless, r.useless[name]
	}
	if s.Asked < r.args.StopAt {
		return
	}
	switch last := j.Attempts[len(j.Attempts)-1]; {
	case last.Output != nil:
		s.Reply = last.Output.Answer
	case last.Failure != nil:
		s.Reply = last.Failure.Partial
	}
	r.tally.Stops[name] = s
}

// count notes one judgment; r.mu is held.
func (r *run) count(st results.Status, asked bool) {
	if asked {
		r.tally.Asked++
	} else {
		r.tally.Reused++
	}
	r.tally.Status[st]++
	r.done.Done++
	if !st.Usable() {
		r.done.Failed++
	}
	if r.args.Progress != nil {
		r.args.Progress(r.done)
	}
}

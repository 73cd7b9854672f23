package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay/backends"
	"assay/results"
)

// block is the trials of one model. Its fields belong to the goroutine that
// called Run, except warmed: that is the one trial's that a timed study has in
// flight.
type block struct {
	run   *run
	model string
	end   Endpoint
	id    backends.Identity
	who   results.Digest // names id in attempts
	by    served

	still *stallWatch

	held     []outcome // trials in a row that found no server, and those that needed them
	again    []*task   // answers to be timed again at the end
	due      int       // of these and of those under way: not done yet
	refused  int       // tasks of refused studies
	answers  int       // of this run
	cut      int       // of these: by the server, below the limit that was asked
	saw      bool      // a picture was accepted
	sight    *bool     // whether the model sees; nil: not known
	seen     string    // what sight rests on
	stopped  error
	warmed   map[string]*warmth // by picture size classes
	warming  sync.Mutex         // guards it under a load
	nonces   int                // used by warm-ups
	mu       sync.Mutex
	counters map[bool]*Counter // of prompts' tokens, with and without nonces
	told     bool              // that they are not counted
	named    map[string]bool   // other models that replies name; true: Job.Named was told
	cooled   atomic.Bool       // the server's process is another one: what was warmed is cold
	ready    bool              // Job.Ready was told
}

// outcome is what became of a task.
type outcome struct {
	task  *task
	trial results.Trial
	is    verdict
	err   error // the last attempt's, or why the run must end
	took  time.Duration
	limit int // how many may run together in its study
}

type verdict uint8

const (
	undone    verdict = iota // our own context ended
	done                     // answered, stored
	failure                  // failed, stored
	away                     // no server; not stored
	needsAway                // a trial it needs is away; not stored
	unknown                  // the server no longer has the model; not stored
	swapped                  // another model answers; not stored
	blind                    // the model turned out to see no pictures; not stored
	kept                     // stored before; its time cannot be taken again
	fatal                    // the run must end
)

func (b *block) stop(err error) {
	b.stopped = err
	b.run.tell(event{Kind: warning, Model: b.model, Text: err.Error()})
}

// stretch runs tasks of one study. An error ends the run; a block that has to
// stop has b.stopped set.
func (b *block) stretch(parent context.Context, undone []*task, set Settings) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	outcomes := make(chan outcome)
	queue := slices.Clone(undone)
	flying := 0
	var end error
	for {
		for ctx.Err() == nil && b.run.job.Enough.Err() == nil && flying < set.InFlight {
			t, ok := b.next(&queue)
			if !ok {
				break
			}
			flying++
			unmet, saw := b.unmet(t), b.saw
			go func() { outcomes <- b.do(ctx, t, set, unmet, saw) }()
		}
		if flying == 0 {
			break
		}
		o := <-outcomes
		flying--
		if err := b.settle(parent, o); err != nil && end == nil {
			end = err
		}
		if o.is == blind && ctx.Err() == nil {
			n := 0
			for _, t := range undone {
				if _, ok := b.run.state[t.Key]; !ok {
					n++
				}
			}
			b.refuseStudy(o.task.Key.Study, n, o.err.Error())
			cancel()
		}
		if end != nil || b.stopped != nil {
			cancel()
		}
	}
	switch {
	case end != nil:
		return end
	case parent.Err() != nil || b.stopped == nil && len(queue) > 0 && b.run.job.Enough.Err() != nil:
		return b.run.interrupted(parent)
	case ctx.Err() == nil && len(queue) > 0:
		panic("run: internal error: trials wait for each other")
	}
	return nil
}

// next takes the first task of the queue that waits for no other.
func (b *block) next(queue *[]*task) (*task, bool) {
	for i, t := range *queue {
		if !slices.ContainsFunc(t.needs, func(k results.Key) bool { _, ok := b.run.state[k]; return !ok }) {
			if i == 0 {
				*queue = (*queue)[1:] // nearly always: Delete would move all the rest
			} else {
				*queue = slices.Delete(*queue, i, i+1)
			}
			return t, true
		}
	}
	return nil, false
}

// want is a trial that has no answer where one is needed.
type want struct {
	key  results.Key
	held bool // for want of a server: it may still be done
}

// unmet is a trial that t needs and that has no answer; nil: all have one.
func (b *block) unmet(t *task) *want {
	var w *want
	for _, k := range t.needs {
		switch b.run.state[k] {
		case held:
			return &want{k, true}
		case failed:
			w = &want{k, false}
		}
	}
	return w
}

// mostNames is how many other names of a model are noted.
const mostNames = 10

// names notes that a reply names a model as it was not asked.
func (b *block) names(served string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.named[served]; !known && served != "" && served != b.end.Model && len(b.named) < mostNames {
		if b.named == nil {
			b.named = map[string]bool{}
		}
		b.named[served] = false
	}
}

// tellNames tells of names that were noted since.
func (b *block) tellNames(ctx context.Context) error {
	b.mu.Lock()
	var fresh []string
	for name, told := range b.named {
		if !told {
			b.named[name] = true
			fresh = append(fresh, name)
		}
	}
	b.mu.Unlock()
	for _, name := range slices.Sorted(slices.Values(fresh)) {
		b.run.warn(b.model, fmt.Sprintf("asked for %q, replies say that %q answered", b.end.Model, name))
		if b.run.job.Named != nil {
			if err := b.run.job.Named(context.WithoutCancel(ctx), b.model, name); err != nil {
				return fmt.Errorf("run: note who answered for model %s: %w", b.model, err)
			}
		}
	}
	return nil
}

// settle takes note of an outcome. An error ends the run.
func (b *block) settle(ctx context.Context, o outcome) error {
	r := b.run
	if err := b.tellNames(ctx); err != nil {
		return err
	}
	switch o.is {
	case undone, blind:
	case swapped:
		if b.stopped == nil {
			b.stop(o.err)
		}
	case kept:
		b.due--
		b.run.warn(b.model, o.err.Error())
	case fatal:
		return o.err
	case done, failure:
		if o.is == done && len(o.task.Item.Images) > 0 {
			b.saw = true
		}
		b.count(o)
		last, _ := o.trial.Last()
		b.cutShort(o)
		if o.is == done || last.Failure.Kind != kindNeeds && last.Failure.Kind != kindInput {
			return b.release(ctx) // there is a server
		}
	case away, needsAway:
		r.state[o.task.Key] = held
		b.held = append(b.held, o)
		n := 0
		for _, h := range b.held {
			if h.is == away {
				n++
			}
		}
		if n >= r.job.GiveUpAfter {
			b.giveUp()
		}
	case unknown:
		b.stop(fmt.Errorf("%w; finished trials are kept: run the same command again once the server has the model", o.err))
	}
	return nil
}

// How many of a block's first answers may end below the limit before it stops.
const (
	firstAnswers = 20
	mostCut      = 5
)

// cutShort stops the block where the server cuts answers before the limit that was asked.
func (b *block) cutShort(o outcome) {
	last, _ := o.trial.Last()
	if last.Output == nil {
		return
	}
	b.answers++
	if last.Output.Finish == backends.FinishLength && slices.Contains(last.Flags, results.FlagContextEnd) {
		b.cut++
		if b.answers <= firstAnswers && b.cut == mostCut && b.stopped == nil {
			b.stop(fmt.Errorf("the server cut %d of its first %d answers below the limit of %d tokens that was asked; finished trials are kept: give the server a longer context, raise the limit of answers that it has of its own, or ask for fewer (max_tokens under sampling), and run the same command again",
				b.cut, b.answers, b.run.job.Settings[o.task.Key.Study].Sampling.MaxTokens))
		}
	}
}

// count adds a stored trial to the summary.
func (b *block) count(o outcome) {
	r, t := b.run, o.task
	e := event{Kind: trialDone, Model: b.model, Key: t.Key, Took: o.took, InFlight: o.limit}
	switch {
	case !t.again:
		r.sum.Left--
		r.sum.Done++
	default:
		b.due--
		r.sum.Repeated++
	}
	last, _ := o.trial.Last()
	r.state[t.Key] = answered
	r.counts(t.Key, len(last.Invalid()) == 0 || !r.job.Settings[t.Key.Study].Timed)
	if last.Failure != nil {
		r.state[t.Key] = failed
		if t.before {
			r.sum.Skipped--
		} else {
			r.sum.Done--
		}
		r.sum.Failed++
		r.sum.ByKind[last.Failure.Kind]++
		e.Kind, e.Failure, e.Text = trialFailed, last.Failure.Kind, last.Failure.Message
	}
	r.tell(e)
	b.repeat(o)
}

// repeat puts an answer whose time does not count at the end of the block.
func (b *block) repeat(o outcome) {
	last, _ := o.trial.Last()
	lost := last.Invalid()
	set := b.run.job.Settings[o.task.Key.Study]
	if len(lost) == 0 || !set.Timed || set.fixed() && slices.ContainsFunc(lost, results.Flag.Cuts) {
		return
	}
	n := 0
	for _, a := range o.trial.Attempts {
		if len(a.Invalid()) > 0 {
			n++
		}
	}
	if n > set.RepeatsOfInvalid {
		return
	}
	t := *o.task
	t.stored, t.again = true, true
	b.again = append(b.again, &t)
	b.due++
	b.run.tell(event{Kind: trialAgain, Model: b.model, Key: t.Key, Failure: string(lost[0]), Text: "its time does not count: " + results.Words(lost)})
}

// release stores the trials that were held back: the server is there after
// all, so what they met was theirs.
func (b *block) release(ctx context.Context) error {
	for len(b.held) > 0 {
		o := b.held[0]
		if err := b.put(ctx, o.trial); err != nil {
			return err
		}
		b.held = b.held[1:]
		b.count(o)
	}
	return nil
}

// giveUp stops the block because its server is gone. The trials held back are
// dropped, so that the next run does them.
func (b *block) giveUp() {
	var n int
	var last error
	for _, o := range b.held {
		if o.is == away {
			n++
			last = o.err
		}
	}
	b.held = nil
	if kindOf(last) == backends.ErrBusy {
		b.stop(fmt.Errorf("the server was busy for %d trials in a row: %w; finished trials are kept: run the same command again when it has room", n, last))
		return
	}
	b.stop(fmt.Errorf("no server for %d trials in a row: %w; finished trials are kept: start the server and run the same command again", n, last))
}

// put stores a trial although the run's context may have ended meanwhile.
func (b *block) put(ctx context.Context, t results.Trial) error {
	var err error
	if k, ok := b.run.job.Watch.(sampleKeeper); ok && b.run.job.Settings[t.Key.Study].Timed {
		err = k.Keep()
	}
	if err == nil {
		err = b.run.job.Store.PutTrial(context.WithoutCancel(ctx), t)
	}
	if err != nil {
		if errors.As(err, new(results.Fault)) { // which says what to do
			return fmt.Errorf("run: store trial %s: %w", t.Key.Name(), err)
		}
		return fmt.Errorf("run: store trial %s: %w; what was stored before is safe: run the same command again once the store can be written", t.Key.Name(), err)
	}
	return nil
}

// Package run executes a plan against model servers and stores every trial.
//
//  1. Trials that are stored already are left out; what remains is what a run or
//     its resumption has to do.
//  2. Models run in blocks (block.go). A block begins by asking the server who it is: a
//     model that changed, or that cannot see, is refused before anything is sent.
//  3. Inside a block trials start in plan order, one at a time where the study
//     is timed, else up to Settings.InFlight together. Pictures and prompts are
//     prepared outside the clock.
//  4. Each attempt at each turn has a fresh timing.Recorder. What can heal is
//     tried again as a new attempt, after a pause that no trace sees.
//  5. A timed attempt says what the server's caches did (probe.go) and what disturbed it:
//     who else was on the wire (inflight.go), and whether somebody stood still (stall.go).
//     A trial whose time does not count is done again at the end of its block,
//     as a further attempt, up to a limit.
//  6. The server is asked again who it is whenever there is reason to (served.go);
//     a block whose model was exchanged ends.
//  7. A trial is durable before the next one takes its place. What the end of our
//     own context cut off is not stored: it is simply not done yet.
//
// progress.go shows a person how far a run is, metrics.go programs that watch it. The
// package judges nothing and computes no score.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/results"
	"assay/timing"
)

// Endpoint is where a model of bench.yaml is served.
type Endpoint struct {
	Backend   backends.Backend
	Model     string         // the server's name for it
	Think     *bool          // nil: the model's own default
	Sees      *bool          // goes before what the server says and what is found out; nil: it does not
	Options   map[string]any // sent with every request as the server's own options
	ReadsWebP bool           // false: WebP files are sent as PNG
	// Context is how many tokens the server works with at least, where its settings
	// say so and not the server; 0: what it says (Identity.Context).
	Context int
	// ContextOption is the one of Options that sets it; "": none does.
	ContextOption string
}

// Settings are a study's: InFlight is at least 1, and 1 when Timed.
type Settings struct {
	config.Study
	render.Frame              // of pictures; WebP is the endpoint's
	Examples     *render.Pool // before a question; nil: no condition has any
}

// Cold says whether every request is new to the server's caches; else they are left alone.
func (s Settings) Cold() bool { return s.Cache == "cold" }

// fixed says whether the same request gets the same answer: then one that was cut
// would be cut again, and is not asked for.
func (s Settings) fixed() bool { return s.Sampling.Seed != nil || s.Sampling.Temperature == 0 }

// watcher looks at the machine while trials run. It may also be a Thermometer.
type watcher interface {
	// Flags are what was seen between two times on the run's clock, both in the
	// past: throttled, other_process, sampler_gap. It may wait for the sample that
	// covers the end.
	Flags(from, to time.Duration) []results.Flag
}

// thermometer is a watcher that knows temperatures.
type thermometer interface {
	// Temperature is that of the hottest GPU now, in degrees Celsius; false: unknown.
	Temperature() (celsius float64, ok bool)
}

// sampleKeeper is a watcher whose samples would end with this process.
type sampleKeeper interface {
	// Keep stores what was sampled until now: durable with the trial that is stored
	// next.
	Keep() error
}

// writer keeps a trial, and who served it, which comes first. When PutTrial
// returns, the trial is durable.
type writer interface {
	PutTrial(ctx context.Context, t results.Trial) error
	PutServed(ctx context.Context, id backends.Identity) error
}

// trialStore is where trials are kept; *store.Store is one.
type trialStore interface {
	plan.Outcomes
	Trial(ctx context.Context, k results.Key) (results.Trial, bool, error)
	writer
}

// Job is what to run.
type Job struct {
	Plan      *plan.Plan
	Settings  map[string]Settings // by study
	Endpoints map[string]Endpoint // by model
	// Known is what the manifest says of each model that ran before.
	Known map[string]backends.Identity
	// Identified is told who serves a model, once per block with something to
	// do, before its first request; nil: nobody is. An error ends the run.
	Identified func(ctx context.Context, model string, id backends.Identity) error
	// Named is told, once for each, that replies of a model name another one than was
	// asked; nil: nobody is. An error ends the run.
	Named func(ctx context.Context, model, name string) error
	// Begin is told that a block with something to do begins, before its server is
	// asked anything; nil: nobody is. An error ends the run.
	Begin func(ctx context.Context, model string) error
	// Ready is told, once per block of a timed study, that the model has answered its
	// first warm-up and is in memory; nothing is on the wire until it returns. nil:
	// nobody is. An error ends the run.
	Ready func(ctx context.Context, model string) error
	// Ended is told that a block which had something to do is over, however it
	// ended; nil: nobody is.
	Ended func(model string)
	// Listener is the process that listens where a model is served, in words that
	// no other process ever has; false: it is not known, as on another machine. nil:
	// it never is.
	Listener func(ctx context.Context, model string) (string, bool)
	// Enough ends when no trial is to be begun any more, and those under way are to be
	// finished; nil: never.
	Enough      context.Context
	Store       trialStore
	Clock       timing.Clock
	Seed        uint64 // of the jitter between attempts
	RetryFailed bool   // try stored failures again: new attempts are appended to their trials
	// GiveUpAfter is how many trials in a row may find no server before their
	// block stops; 0: 5.
	GiveUpAfter int
	Progress    display // nil: nobody watches
	Air         *air    // where its requests are; nil: nobody asks
	Watch       watcher // nil: nobody looks at the machine

	// Stopped says whether a process of the model's server is stopped now; nil: that
	// is not seen.
	Stopped func(model string) bool

	wall   func() time.Time             // the wall clock beside Clock; nil: the system's
	clocks func() (timing.Clocks, bool) // nil: the system's
}

// Summary is what Run did. Done + Failed + Skipped + Left is the whole plan.
type Summary struct {
	Done    int // answered and stored by this run
	Failed  int // stored by this run as failures
	Skipped int // stored before
	// FailedBefore is how many of Skipped are failures.
	FailedBefore int
	Left         int            // still to do: refused, stopped or interrupted
	Repeated     int            // attempts at trials whose time did not count
	Invalid      int            // of all answers of timed studies: those whose time still does not count
	ByKind       map[string]int // of Failed: backends.Kind, "needs", "input"
	Refused      []refusal      // what cannot run as configured; nothing was sent
	Stopped      []stop         // blocks that ended early because of their server
	Warnings     []string       // what went wrong without costing a trial
}

// refusal is a block, or one study of it, that is not run.
type refusal struct {
	Model  string
	Study  string // "": the whole block
	Trials int    // of this plan that are left
	Reason string // what was found and what to do
}

// stop is a block that ended before its last trial.
type stop struct {
	Model string
	Left  int   // trials still to do
	Err   error // what happened and how to go on; wraps the *backends.Error
}

// ErrChanged is in the chain of the error for a stored trial that is to be
// tried again but would now be sent something else.
var ErrChanged = errors.New("inputs changed since the trial was stored")

const (
	identifyTimeout = 30 * time.Second
	giveUpAfter     = 5
)

// Run does what is left of the plan. It returns an error when it had to end
// before the plan's end: its context ended (the error wraps context.Cause), the
// store failed, a trial to be tried again would mix results (ErrChanged), or
// the job is inconsistent. Refused and stopped blocks are in the Summary, not
// errors: the other blocks go on. The Summary is right in every case.
func Run(ctx context.Context, job Job) (Summary, error) {
	sum := Summary{ByKind: map[string]int{}}
	if err := check(job); err != nil {
		return sum, err
	}
	r := &run{job: job, sum: sum, invalid: map[results.Key]bool{}, proven: map[[2]string]bool{}, pictures: render.New()}
	if r.job.Air == nil {
		r.job.Air = &air{}
	}
	if r.job.Enough == nil {
		r.job.Enough = context.Background()
	}
	if r.job.GiveUpAfter == 0 {
		r.job.GiveUpAfter = giveUpAfter
	}
	blocks, err := plan.Compare(ctx, job.Store, job.Plan.Blocks, plan.StoredRules{Mark: job.mark,
		Proves: func(o results.KeyedOutcome) bool { return !o.Failed || o.Invalids > 0 || o.Kind == KindSwapped }})
	if err != nil {
		return sum, fmt.Errorf("run: %w", err)
	}
	repeats := 0
	for i, b := range job.Plan.Blocks {
		for study := range blocks[i].Proven {
			r.proven[[2]string{study, b.Model}] = true
		}
		for at, m := range blocks[i].Marks {
			if m.Has(plan.Undone) {
				r.sum.Left++
				continue
			}
			r.sum.Skipped++
			if m.Has(plan.Failed) {
				r.sum.FailedBefore++
			}
			if m.Has(plan.Again) {
				repeats++
			}
			if m.Has(plan.Invalid) {
				r.counts(b.Trials[at].Key, false)
			}
		}
	}
	r.tell(event{Kind: runStarted, Trials: r.sum.Left + repeats, Skipped: r.sum.Skipped - repeats})
	for i, b := range job.Plan.Blocks {
		if !slices.ContainsFunc(blocks[i].Marks, func(m plan.Mark) bool { return m&(plan.Undone|plan.Again) != 0 }) {
			continue
		}
		undone, again := r.pending(b, blocks[i])
		if err := r.block(ctx, b, undone, again); err != nil {
			return r.sum, err
		}
	}
	return r.sum, nil
}

// mark says what is to be done with a stored trial.
func (job Job) mark(o results.KeyedOutcome) (m plan.Mark) {
	if o.Failed && (job.RetryFailed || o.Kind == KindSwapped) {
		return plan.Undone
	}
	set := job.Settings[o.Key.Study]
	if o.Invalid && set.Timed {
		m |= plan.Invalid
		if o.Invalids <= set.RepeatsOfInvalid && !(o.Cut && set.fixed()) {
			m |= plan.Again
		}
	}
	return m
}

// check finds what is wrong with a job before anything is sent.
func check(job Job) error {
	_, measured := job.Watch.(thermometer)
	for _, b := range job.Plan.Blocks {
		if job.Endpoints[b.Model].Backend == nil {
			return fmt.Errorf("run: model %q is planned but has no backend", b.Model)
		}
		for _, t := range b.Trials {
			set, ok := job.Settings[t.Key.Study]
			switch {
			case !ok:
				return fmt.Errorf("run: study %q is planned but has no settings", t.Key.Study)
			case set.InFlight < 1, set.Timed && set.InFlight != 1:
				return fmt.Errorf("run: study %q: in_flight is %d; expected 1 for a timed study, at least 1 for another", t.Key.Study, set.InFlight)
			case set.Cold() && !set.Timed:
				return fmt.Errorf("run: study %q: caches are kept cold in timed studies only: a nonce would be one more difference between requests", t.Key.Study)
			case set.CoolDown.Celsius != nil && !measured:
				return fmt.Errorf("run: study %q: cool-down to %g degrees, and nothing measures temperatures; expected telemetry with a GPU, or a cool-down for a time only", t.Key.Study, *set.CoolDown.Celsius)
			case t.Key.Model != b.Model:
				return fmt.Errorf("run: trial %s stands in the block of model %q", t.Key.Name(), b.Model)
			}
		}
	}
	return nil
}

// state is what is known of a trial; absent: it is not done.
type state uint8

const (
	answered state = iota + 1
	failed         // stored as a failure
	held           // failed for want of a server; not stored yet
)

// run is one call of Run. All of it but what mu guards belongs to the goroutine
// that called Run.
type run struct {
	job   Job
	sum   Summary
	state map[results.Key]state // of the trials of the block that is under way
	// invalid are the answers whose time does not count.
	invalid map[results.Key]bool
	// proven are the studies and models of which an answer was stored before: what
	// was sent for it binds what is sent for the others. Settings under which all
	// failed bind nothing.
	proven map[[2]string]bool

	mu sync.Mutex

	pictures *render.Renderer
}

// task is a trial to do.
type task struct {
	plan.Trial
	needs  []results.Key
	stored bool // it is in the store: its attempts come first
	again  bool // it has an answer, whose time does not count
	before bool // that answer is from before this run
}

// pending is what a block has left to do, in plan order, and which of its stored
// answers need another time. The block is the one that is under way from now on.
func (r *run) pending(b plan.Block, known plan.Known) (undone, again []*task) {
	r.state = map[results.Key]state{}
	note := func(k results.Key, m plan.Mark) {
		r.state[k] = answered
		if m.Has(plan.Failed) {
			r.state[k] = failed
		}
	}
	for k, m := range known.Others {
		note(k, m)
	}
	for i, t := range b.Trials {
		m := known.Marks[i]
		if m.Has(plan.Undone) {
			delete(r.state, t.Key)
			undone = append(undone, &task{Trial: t, needs: t.Needs(), stored: m.Has(plan.Stored)})
			continue
		}
		note(t.Key, m)
		if m.Has(plan.Again) {
			again = append(again, &task{Trial: t, needs: t.Needs(), stored: true, again: true, before: true})
		}
	}
	return undone, again
}

// counts notes whether an answer's time counts; nobody asks that of a study that
// is not timed.
func (r *run) counts(k results.Key, valid bool) {
	if valid {
		delete(r.invalid, k)
	} else {
		r.invalid[k] = true
	}
	r.sum.Invalid = len(r.invalid)
}

// tell passes an event on, one at a time.
func (r *run) tell(e event) {
	if r.job.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.job.Progress.Event(e)
}

// warn notes what went wrong without costing a trial.
func (r *run) warn(model, text string) {
	r.mu.Lock()
	r.sum.Warnings = append(r.sum.Warnings, model+": "+text)
	r.mu.Unlock()
	r.tell(event{Kind: warning, Model: model, Text: text})
}

// interrupted is the error of a run whose context ended, or that was told that it is enough.
func (r *run) interrupted(ctx context.Context) error {
	return fmt.Errorf("run: interrupted with %d trials to do; run the same command again to go on: %w", r.sum.Left, cmp.Or(context.Cause(ctx), context.Canceled))
}

// block runs the trials of one model, then those whose time is to be taken
// again. An error ends the run.
func (r *run) block(ctx context.Context, b plan.Block, undone, again []*task) error {
	if ctx.Err() != nil || r.job.Enough.Err() != nil {
		return r.interrupted(ctx)
	}
	early, end := context.WithCancel(ctx) // until there are trials
	defer end()
	defer context.AfterFunc(r.job.Enough, end)()
	bl := &block{run: r, model: b.Model, end: r.job.Endpoints[b.Model], again: again, due: len(again), warmed: map[string]*warmth{}}
	var stopped func() bool
	if r.job.Stopped != nil {
		stopped = func() bool { return r.job.Stopped(b.Model) }
	}
	bl.still = start(r.job.Clock, stopped)
	defer bl.still.Close()
	if r.job.Begin != nil {
		if err := r.job.Begin(early, b.Model); err != nil {
			if early.Err() != nil {
				return r.interrupted(ctx)
			}
			return err
		}
	}
	if r.job.Ended != nil {
		defer r.job.Ended(b.Model)
	}
	r.tell(event{Kind: blockStarted, Model: b.Model, Trials: len(undone) + len(again)})
	left := r.sum.Left - len(undone) // of the blocks to come
	defer func() {
		r.tell(event{Kind: blockEnded, Model: b.Model, Trials: r.sum.Left - left + bl.due})
	}()

	id, err := bl.identify(early, r.job.Settings[slices.Concat(undone, again)[0].Key.Study])
	if early.Err() != nil {
		return r.interrupted(ctx)
	}
	if err != nil {
		bl.stop(fmt.Errorf("nothing was sent: %w; run the same command again once that is mended", err))
		r.sum.Stopped = append(r.sum.Stopped, stop{Model: b.Model, Left: len(undone), Err: bl.stopped})
		return nil
	}
	bl.identified(ctx, id)
	if known, ok := r.job.Known[b.Model]; ok {
		if diff := id.ChangesFrom(known); len(diff) > 0 {
			r.refuse(refusal{Model: b.Model, Trials: len(undone), Reason: "the model is not the one of the trials in the store: " + strings.Join(diff, ", ") +
				"; serve the former one again, or give the present one a store of its own (store: in bench.yaml)"})
			return nil
		}
	}
	if think := bl.end.Think; think != nil && *think && id.Thinking != nil && !*id.Thinking {
		r.refuse(refusal{Model: b.Model, Trials: len(undone), Reason: fmt.Sprintf("%s says that model %q cannot think, and think: true asks for it; take think: true away", id.Server, bl.end.Model)})
		return nil
	}
	if why := bl.unlimited(ctx); why != "" {
		r.refuse(refusal{Model: b.Model, Trials: len(undone), Reason: why})
		return nil
	}
	bl.look(ctx, b)
	undone = bl.refuseBlind(b, undone)
	if len(undone)+len(bl.again) == 0 {
		return nil
	}
	if r.job.Identified != nil {
		if err := r.job.Identified(ctx, b.Model, id); err != nil {
			return fmt.Errorf("run: note who serves model %s: %w", b.Model, err)
		}
	}
	if err := r.job.Store.PutServed(ctx, id); err != nil {
		return fmt.Errorf("run: note who serves model %s: %w", b.Model, err)
	}
	err = bl.all(ctx, undone)
	if e := bl.letGo(ctx); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if bl.stopped == nil && len(bl.held) > 0 {
		bl.giveUp()
	}
	if bl.stopped != nil {
		r.sum.Stopped = append(r.sum.Stopped, stop{Model: b.Model, Left: r.sum.Left - left - bl.refused, Err: bl.stopped})
	}
	return nil
}

// all runs the block's tasks, then those whose time is to be taken again. An
// error ends the run.
func (bl *block) all(ctx context.Context, undone []*task) error {
	for bl.stopped == nil && len(undone)+len(bl.again) > 0 {
		if len(undone) == 0 { // nothing but times to take again
			undone, bl.again = bl.again, nil
		}
		// A study's trials stand together, and those of a level; the next has other settings.
		study := undone[0].Key.Study
		set, level, arm := bl.run.job.Settings[study], undone[0].InFlight(), undone[0].Key.Arm
		n := slices.IndexFunc(undone, func(t *task) bool {
			return t.Key.Study != study || t.InFlight() != level || level > 0 && t.Key.Arm != arm
		})
		if n < 0 {
			n = len(undone)
		}
		set.InFlight = max(set.InFlight, level)
		if err := bl.stretch(ctx, undone[:n], set); err != nil {
			return err
		}
		undone = undone[n:]
	}
	return nil
}

func (r *run) refuse(f refusal) {
	r.sum.Refused = append(r.sum.Refused, f)
	text := f.Reason
	if f.Study != "" {
		text = "study " + f.Study + ": " + text
	}
	r.tell(event{Kind: warning, Model: f.Model, Text: text})
}

// identify asks the server who it is, as often as a trial would be tried.
func (b *block) identify(ctx context.Context, set Settings) (backends.Identity, error) {
	var id backends.Identity
	err := b.retry(ctx, set, "identify "+b.model, func() error {
		var err error
		id, err = b.once(ctx)
		return err
	}, func(err error, wait time.Duration) {
		b.run.tell(event{Kind: attemptFailed, Model: b.model, Failure: string(kindOf(err)), Text: "ask who serves it: " + err.Error(), Wait: &wait})
	})
	return id, err
}

// unlimited is why the limit of an answer does not hold, where the backend can find that
// out; "": it holds, or that is not known, which is a warning.
func (b *block) unlimited(ctx context.Context) string {
	l, ok := b.end.Backend.(backends.Limiter)
	if !ok {
		return ""
	}
	_, err := l.Limits(ctx, b.end.Model, b.end.Options)
	switch {
	case errors.Is(err, backends.ErrDropped):
		return err.Error()
	case err != nil && ctx.Err() == nil:
		b.run.warn(b.model, "whether the server keeps to the limit of an answer could not be found out: "+err.Error())
	}
	return ""
}

// look finds out whether the model sees where pictures are to be shown and neither
// bench.yaml nor the server says so. That it cannot be found out is a warning.
func (b *block) look(ctx context.Context, bl plan.Block) {
	if b.sight = b.end.Sees; b.sight != nil {
		b.seen = "bench.yaml says that it does not"
		return
	}
	if b.sight = b.id.Vision; b.sight != nil {
		b.seen = b.id.Server + " says so"
		return
	}
	asks, ok := b.end.Backend.(backends.Seer)
	if !ok || !slices.ContainsFunc(bl.Trials, func(t plan.Trial) bool { return len(t.Item.Images) > 0 }) {
		return
	}
	var err error
	if b.sight, b.seen, err = asks.Sees(ctx, b.end.Model); err != nil {
		b.run.warn(b.model, "whether it sees images could not be found out: "+err.Error())
	} else if b.sight == nil && b.seen != "" {
		b.run.warn(b.model, "whether it sees images is not clear: "+b.seen)
	}
}

// refuseBlind refuses the studies that show pictures when the model cannot see, and
// returns the tasks that remain.
func (b *block) refuseBlind(bl plan.Block, undone []*task) []*task {
	if b.sight == nil || *b.sight {
		return undone
	}
	pictures := map[string]bool{}
	for _, t := range bl.Trials {
		if len(t.Item.Images) > 0 {
			pictures[t.Key.Study] = true
		}
	}
	var rest []*task
	count := map[string]int{}
	for _, t := range undone {
		if pictures[t.Key.Study] {
			count[t.Key.Study]++
		} else {
			rest = append(rest, t)
		}
	}
	for _, study := range slices.Sorted(maps.Keys(count)) {
		b.refuseStudy(study, count[study], fmt.Sprintf("model %q cannot see pictures (%s), and the study shows them; where that is wrong, say vision: true of the model in bench.yaml", b.end.Model, b.seen))
	}
	return rest
}

func (b *block) refuseStudy(study string, trials int, why string) {
	b.refused += trials
	b.run.refuse(refusal{Model: b.model, Study: study, Trials: trials, Reason: why + "; take the model out of the study, or serve one with vision"})
}

package run

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// Failure kinds that are not a backends.Kind.
const (
	kindNeeds = "needs" // a trial whose answer enters the prompt has none
	kindInput = "input" // a picture or the prompt could not be made
)

// doing is one task under way.
type doing struct {
	*block
	ctx context.Context
	t   *task
	set Settings
	in  input
	o   outcome
}

// do runs one task to its end: in a goroutine of its own, stored by itself, so
// that a store can put several trials into one write.
func (b *block) do(ctx context.Context, t *task, set Settings, unmet *want, saw bool) (o outcome) {
	start := time.Now()
	defer func() { o.took, o.limit = time.Since(start), set.InFlight }()
	d := &doing{block: b, ctx: ctx, t: t, set: set, o: outcome{task: t, trial: results.Trial{Key: t.Key}}}
	if !d.stored() || !d.inputs(unmet) {
		return d.o
	}
	if set.Timed {
		if err := d.ready(set); err != nil {
			return b.became(ctx, d.o, err, d.in, saw)
		}
		if !d.announced() {
			return d.o
		}
	}
	err := b.retry(ctx, set, t.Key.Name(), d.try, func(err error, wait time.Duration) {
		b.run.tell(event{Kind: attemptFailed, Model: b.model, Key: t.Key, Failure: string(kindOf(err)), Text: err.Error(), Wait: &wait})
	})
	if err == nil {
		if err = b.answered(t); err == nil {
			return b.store(ctx, d.o, done)
		}
	}
	return b.became(ctx, d.o, err, d.in, saw)
}

func (d *doing) add(a results.Attempt) { d.o.trial.Attempts = append(d.o.trial.Attempts, a) }

func (d *doing) unsent(kind string, err error) {
	d.add(results.Attempt{Started: now(), Failure: failureOf(kind, err)})
}

// stored reads what earlier attempts left; false: it ends here.
func (d *doing) stored() bool {
	if !d.t.stored {
		return true
	}
	old, ok, err := d.run.job.Store.Trial(d.ctx, d.t.Key)
	switch {
	case d.ctx.Err() != nil:
		return false
	case err != nil || !ok:
		d.o.is, d.o.err = fatal, fmt.Errorf("run: read trial %s, which is to be tried again (found: %t): %w", d.t.Key.Name(), ok, err)
		return false
	}
	d.o.trial = old
	return true
}

// inputs makes what is sent; false: it ends here. unmet is a trial whose answer is needed and
// that has none.
func (d *doing) inputs(unmet *want) bool {
	name := d.t.Key.Name()
	if unmet != nil {
		d.unmet(unmet)
		return false
	}
	in, err := prepare(d.ctx, d.t.Trial, d.set, d.end, d.run.job.Seed, func(k results.Key) (string, error) { return d.answer(d.ctx, k) }, d.run.pictures)
	var bad inputError
	was := d.o.trial.Inputs
	switch {
	case d.ctx.Err() != nil:
		return false
	case errors.As(err, &bad):
		d.unsent(kindInput, bad)
		d.o = d.store(d.ctx, d.o, failure)
		return false
	case err != nil:
		d.o.is, d.o.err = fatal, err
		return false
	case d.t.again && len(d.t.needs) > 0 && was != in.Digest:
		d.o.is, d.o.err = kept, fmt.Errorf("the time of %s is not taken again: an answer that its prompt holds was given anew, and is another one", name)
		return false
	case was != "" && was != in.Digest && d.run.proven[[2]string{d.t.Key.Study, d.t.Key.Model}] && !takenBack(d.o.trial, d.t):
		d.o.is, d.o.err = fatal, fmt.Errorf("run: trial %s: %w: stored %s, now %s; a picture, the prompt, the sampling, think or the server options differ: undo that, or start a new store",
			name, ErrChanged, was, in.Digest)
		return false
	}
	d.in, d.o.trial.Inputs = in, in.Digest
	return true
}

// unmet is the end of a task that needs an answer that is not there.
func (d *doing) unmet(of *want) {
	if d.t.again {
		d.o.is, d.o.err = kept, fmt.Errorf("the time of %s is not taken again: %s has no answer any more", d.t.Key.Name(), of.key.Name())
		return
	}
	if d.unsent(kindNeeds, fmt.Errorf("%s has no answer", of.key.Name())); of.held {
		d.o.is = needsAway
		return
	}
	d.o = d.store(d.ctx, d.o, failure)
}

// ready makes sure of the server and warms it up; it takes note of why not.
func (d *doing) ready(set Settings) error {
	err := d.sure(d.ctx, d.once)
	if err == nil && set.Timed {
		d.warming.Lock() // under a load, several come here
		defer d.warming.Unlock()
		if d.cooled.Swap(false) {
			d.warmed = map[string]*warmth{}
		}
		if err = d.warm(d.ctx, d.t, d.in, set); err != nil {
			err = fmt.Errorf("warm-up before it: %w", err)
		}
	}
	if kindOf(err) != "" && d.ctx.Err() == nil {
		d.unsent(string(kindOf(err)), err)
	}
	return err
}

// announced tells who waits for it, once in a block, that its server is ready; false: it ends here.
func (d *doing) announced() bool {
	if d.set.InFlight != 1 || d.block.ready || d.run.job.Ready == nil {
		return true
	}
	d.block.ready = true
	err := d.run.job.Ready(d.ctx, d.model)
	if err != nil && d.ctx.Err() == nil {
		d.o.is, d.o.err = fatal, err
	}
	return err == nil
}

// try makes one attempt.
func (d *doing) try() error {
	single := d.set
	single.Retries = 0
	if err := d.ready(single); err != nil {
		return err
	}
	if err := d.coolDown(d.ctx, d.set); err != nil {
		return err
	}
	a, err := d.attempt(d.ctx, d.t, len(d.o.trial.Attempts), d.in, d.set)
	if slices.ContainsFunc(a.Turns, func(turn results.Turn) bool { return turn.Sent != "" }) {
		a.Served = d.who
	}
	switch {
	case slices.Contains(a.Flags, results.FlagLoadInside):
		d.doubtful()
		d.cooled.Store(d.set.Timed)
		if err := d.sure(d.ctx, func(ctx context.Context) (backends.Identity, error) { return d.identify(ctx, d.set) }); err != nil {
			return err
		}
	case kindOf(err).CanHeal() && kindOf(err) != backends.ErrBusy:
		d.doubtful()
	}
	d.confirm(d.ctx, &a, d.in, d.set)
	if err == nil {
		err = d.whole(d.ctx, d.in, d.set, &a)
	}
	if d.t.Condition.DrawsNothing() {
		a.Flags = append(a.Flags, results.FlagNoChange)
	}
	d.add(a)
	return err
}

// became is what became of a task that has no answer because of err.
func (b *block) became(ctx context.Context, o outcome, err error, in input, saw bool) outcome {
	var other *swappedError
	switch {
	case ctx.Err() != nil:
		return o
	case errors.As(err, &other):
		o.is, o.err = swapped, other
		return o
	}
	return b.fail(ctx, o, err, in, saw)
}

// takenBack says whether the trial's last answer was in doubt, and so was one
// that its prompt holds.
func takenBack(was results.Trial, t *task) bool {
	last, _ := was.Last()
	return last.Failure != nil && last.Failure.Kind == KindSwapped && len(t.needs) > 0
}

// store keeps the trial and says that it did.
func (b *block) store(ctx context.Context, o outcome, is verdict) outcome {
	o.is = is
	if err := b.put(ctx, o.trial); err != nil {
		o.is, o.err = fatal, err
	}
	return o
}

// fail decides what the last error of a trial means: for the trial, its study,
// its block or the run.
func (b *block) fail(ctx context.Context, o outcome, err error, in input, saw bool) outcome {
	o.err = err
	switch k := kindOf(err); {
	case k == "":
		o.is, o.err = fatal, fmt.Errorf("run: internal error: trial %s: the backend returned an error without a kind: %w", o.task.Key.Name(), err)
	case k == backends.ErrUnreachable, k == backends.ErrLoading, k == backends.ErrBusy:
		o.is = away
	case k == backends.ErrUnknownModel:
		o.is = unknown
	case k == backends.ErrNoVision && b.id.Vision == nil && !saw && len(in.Sizes) > 0:
		o.is = blind
	default:
		return b.store(ctx, o, failure)
	}
	return o
}

// kindOf is the kind of a backend's error; "": it has none.
func kindOf(err error) backends.Kind {
	var e *backends.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func failureOf(kind string, err error) *results.Failure {
	f := &results.Failure{Kind: kind, Message: err.Error()}
	var e *backends.Error
	if errors.As(err, &e) {
		f.Status, f.Partial = e.Status, e.Partial
	}
	return f
}

// now is wall time without the monotonic reading, as the store gives it back.
func now() time.Time { return time.Now().UTC().Round(0) }

// retry tries as often as the study allows.
func (b *block) retry(ctx context.Context, set Settings, what string, try func() error, again func(error, time.Duration)) error {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", what)
	p := backends.RetryPolicy{Retries: set.Retries, First: set.Backoff, Busy: set.Timeouts.Busy, Jitter: rand.New(rand.NewPCG(b.run.job.Seed, h.Sum64()))}
	return p.Do(ctx, try, again)
}

// answer is the stored answer of a trial that another one needs.
func (b *block) answer(ctx context.Context, k results.Key) (string, error) {
	t, ok, err := b.run.job.Store.Trial(ctx, k)
	if err != nil {
		return "", fmt.Errorf("run: read trial %s, whose answer is needed: %w", k.Name(), err)
	}
	last, _ := t.Last()
	if !ok || last.Output == nil {
		return "", fmt.Errorf("run: trial %s, whose answer is needed, is gone from the store", k.Name())
	}
	return last.Output.Answer, nil
}

// attempt makes one try at all turns, the nth of its trial.
func (b *block) attempt(ctx context.Context, t *task, n int, in input, set Settings) (a results.Attempt, err error) {
	a.Started = now()
	if set.Timed {
		a.Cache = &results.Cache{Policy: results.PolicyWarm}
		if set.Cold() {
			a.Cache.Policy = results.PolicyCold
		}
	}
	b.still.Tick()
	began := b.run.moment()
	me := b.run.job.Air.Fly()
	defer func() {
		if len(a.Turns) > 0 { // a managed server may have been started again before it
			if start, ok := a.Turns[0].Trace.At(timing.Start); ok {
				a.Started = began.Wall.Add(start - began.Mono).UTC()
			}
		}
		if b.run.job.Air.Land(me) && (!set.Timed || set.InFlight == 1) {
			a.Flags = append(a.Flags, results.FlagConcurrent)
		}
		if set.Timed {
			a.Flags = append(a.Flags, b.disturbances(a, began)...)
		}
	}()
	var said []string
	var before string
	for i := range in.Prompts {
		rec := b.recorder()
		var nonce backends.Nonce
		if set.Timed && set.Cold() {
			nonce = NonceOf(b.run.job.Seed, t.Key, n, i)
			a.Cache.Nonces = append(a.Cache.Nonces, nonce)
		}
		req := in.Request(set, b.end, said, nonce)
		resp, err := b.end.Backend.Generate(ctx, req, rec)
		turn := results.Turn{Trace: rec.Trace()}
		if err != nil {
			var e *backends.Error
			if errors.As(err, &e) && e.Sent != nil {
				turn.Sent = results.DigestOf(e.Sent)
			}
			a.Turns, a.Output, a.Failure = append(a.Turns, turn), nil, failureOf(string(kindOf(err)), err)
			if a.Cache != nil {
				a.Cache.Cache, a.Cache.Calibration = backends.Cache{}, nil
			}
			return a, err
		}
		if turn.Trace.Buffered() && !slices.Contains(a.Flags, results.FlagBuffered) {
			a.Flags = append(a.Flags, results.FlagBuffered)
		}
		b.names(resp.Served)
		turn.Usage, turn.Server, turn.Sent = resp.Usage, resp.Server, results.DigestOf(resp.Sent)
		turn.Answer, turn.Reasoning, turn.Finish = resp.Answer, resp.Reasoning, resp.Finish
		a.Turns = append(a.Turns, turn)
		if a.Cache != nil {
			var class *warmth // it says nothing of times that are longer for those beside them
			if set.InFlight == 1 {
				class = b.warmed[sizeClasses(in.Sizes)]
			}
			noteCache(a.Cache, class, turn, resp.Cache)
		}
		for _, f := range append(flags(resp, set), b.overran(resp)...) {
			if !slices.Contains(a.Flags, f) {
				a.Flags = append(a.Flags, f)
			}
		}
		a.Output = &results.Output{Answer: resp.Answer, Reasoning: before + resp.Reasoning, Finish: resp.Finish}
		// What was said before the last turn led to its answer.
		for _, s := range []string{resp.Reasoning, resp.Answer} {
			if s != "" {
				before += s + "\n"
			}
		}
		said = append(said, resp.Answer)
	}
	if a.Cache != nil && a.Cache.Policy == results.PolicyCold && a.Cache.State == backends.CacheHit {
		a.Flags = append(a.Flags, results.FlagCacheHit)
	}
	return a, nil
}

func (b *block) recorder() *timing.Recorder { return timing.NewRecorder(b.run.job.Clock) }

// flags is what one turn's response says against it. In a timed study the state
// of the caches is the attempt's.
func flags(r *backends.Response, set Settings) []results.Flag {
	var f []results.Flag
	if r.Finish == backends.FinishLength {
		if n := r.Usage.CompletionTokens; n != nil && *n < set.Sampling.MaxTokens {
			f = append(f, results.FlagContextEnd)
		} else {
			f = append(f, results.FlagTruncated)
		}
	}
	if l := r.Server.Load; l != nil && *l > loadLimit(len(r.Sent)) {
		f = append(f, results.FlagLoadInside)
	}
	if len(r.Odd) > 0 {
		f = append(f, results.FlagOddFigures)
	}
	if r.Unended {
		f = append(f, results.FlagNoEndMark)
	}
	if c := r.Usage.CachedTokens; !set.Timed && c != nil && *c > 0 {
		f = append(f, results.FlagCacheHit)
	}
	return f
}

// overran flags an answer under which the context ran full, if its size is known:
// some servers then drop what they read first, and go on.
func (b *block) overran(r *backends.Response) []results.Flag {
	p, c := r.Usage.PromptTokens, r.Usage.CompletionTokens
	// Ollama raises what is smaller for some models.
	if b.end.Context < leastContext || p == nil || c == nil || *p+*c <= b.room() {
		return nil
	}
	return []results.Flag{results.FlagContextEnd}
}

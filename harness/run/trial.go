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

// do runs one task to its end: in a goroutine of its own, stored by itself, so
// that a store can put several trials into one write.
func (b *block) do(ctx context.Context, t *task, set Settings, unmet *want, saw bool) (o outcome) {
	start := time.Now()
	defer func() { o.took, o.limit = time.Since(start), set.InFlight }()
	o = outcome{task: t, trial: results.Trial{Key: t.Key}}
	if t.stored {
		old, ok, err := b.run.job.Store.Trial(ctx, t.Key)
		switch {
		case ctx.Err() != nil:
			return o
		case err != nil || !ok:
			o.is, o.err = fatal, fmt.Errorf("run: read trial %s, which is to be tried again (found: %t): %w", t.Key.Name(), ok, err)
			return o
		}
		o.trial = old
	}
	add := func(a results.Attempt) { o.trial.Attempts = append(o.trial.Attempts, a) }
	unsent := func(kind string, err error) { add(results.Attempt{Started: now(), Failure: failureOf(kind, err)}) }

	if unmet != nil && t.again {
		o.is, o.err = kept, fmt.Errorf("the time of %s is not taken again: %s has no answer any more", t.Key.Name(), unmet.key.Name())
		return o
	}
	if unmet != nil {
		unsent(kindNeeds, fmt.Errorf("%s has no answer", unmet.key.Name()))
		if unmet.held {
			o.is = needsAway
			return o
		}
		return b.store(ctx, o, failure)
	}
	in, err := prepare(ctx, t.Trial, set, b.end, b.run.job.Seed, func(k results.Key) (string, error) { return b.answer(ctx, k) }, b.run.pictures)
	var bad inputError
	switch {
	case ctx.Err() != nil:
		return o
	case errors.As(err, &bad):
		unsent(kindInput, bad)
		return b.store(ctx, o, failure)
	case err != nil:
		o.is, o.err = fatal, err
		return o
	}
	if t.again && len(t.needs) > 0 && o.trial.Inputs != in.Digest {
		o.is, o.err = kept, fmt.Errorf("the time of %s is not taken again: an answer that its prompt holds was given anew, and is another one", t.Key.Name())
		return o
	}
	if was := o.trial.Inputs; was != "" && was != in.Digest && b.run.proven[[2]string{t.Key.Study, t.Key.Model}] && !takenBack(o.trial, t) {
		o.is, o.err = fatal, fmt.Errorf("run: trial %s: %w: stored %s, now %s; a picture, the prompt, the sampling, think or the server options differ: undo that, or start a new store",
			t.Key.Name(), ErrChanged, was, in.Digest)
		return o
	}
	o.trial.Inputs = in.Digest

	// ready makes sure of the server and warms it up; it takes note of why not.
	ready := func(set Settings) error {
		err := b.sure(ctx, b.once)
		if err == nil && set.Timed {
			b.warming.Lock() // under a load, several come here
			defer b.warming.Unlock()
			if b.cooled.Swap(false) {
				b.warmed = map[string]*warmth{}
			}
			if err = b.warm(ctx, t, in, set); err != nil {
				err = fmt.Errorf("warm-up before it: %w", err)
			}
		}
		if kindOf(err) != "" && ctx.Err() == nil {
			unsent(string(kindOf(err)), err)
		}
		return err
	}
	if set.Timed {
		if err := ready(set); err != nil {
			return b.became(ctx, o, err, in, saw)
		}
		if set.InFlight == 1 && !b.ready && b.run.job.Ready != nil {
			b.ready = true
			if err := b.run.job.Ready(ctx, b.model); err != nil {
				if ctx.Err() == nil {
					o.is, o.err = fatal, err
				}
				return o
			}
		}
	}
	single := set
	single.Retries = 0
	err = b.retry(ctx, set, t.Key.Name(), func() error {
		if err := ready(single); err != nil {
			return err
		}
		if err := b.coolDown(ctx, set); err != nil {
			return err
		}
		a, err := b.attempt(ctx, t, len(o.trial.Attempts), in, set)
		for _, turn := range a.Turns {
			if turn.Sent != "" {
				a.Served = b.who
			}
		}
		switch {
		case slices.Contains(a.Flags, results.FlagLoadInside):
			b.doubtful()
			b.cooled.Store(set.Timed)
			if err := b.sure(ctx, func(ctx context.Context) (backends.Identity, error) { return b.identify(ctx, set) }); err != nil {
				return err
			}
		case kindOf(err).CanHeal() && kindOf(err) != backends.ErrBusy:
			b.doubtful()
		}
		b.confirm(ctx, &a, in, set)
		if err == nil {
			err = b.whole(ctx, in, set, &a)
		}
		if t.Condition.DrawsNothing() {
			a.Flags = append(a.Flags, results.FlagNoChange)
		}
		add(a)
		return err
	}, func(err error, wait time.Duration) {
		b.run.tell(event{Kind: attemptFailed, Model: b.model, Key: t.Key, Failure: string(kindOf(err)), Text: err.Error(), Wait: &wait})
	})
	if err == nil {
		if err = b.answered(t); err == nil {
			return b.store(ctx, o, done)
		}
	}
	return b.became(ctx, o, err, in, saw)
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
		if set.Cold {
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
		if set.Timed && set.Cold {
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

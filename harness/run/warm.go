package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// Warm-up: a model's first request, and its first picture of a new size, pay
// for what later ones do not (kernels, buffers). So before the first trial of
// each class a timed study sends one request that nobody times or stores. Its
// pictures have the trial's sizes and format and other pixels, and its prompt is
// another: no cache of the server learns anything of a trial.
//
// Where the reply leaves it to time what the caches did, calibration follows:
// the trial's own first turn twice, each time with a nonce of its own, and the
// second again exactly as it was. The nonces keep the trial itself unknown
// to the caches, and if they did not, the second fresh request would show it.
const warmPrompt = "This request only warms the server up. Reply with one word."

// warm warms the classes of a trial's pictures that this block has not seen.
// The error is for want of a server or of vision: then the trial is not sent.
// Any other is a warning.
func (b *block) warm(ctx context.Context, t *task, in input, set Settings) error {
	key := sizeClasses(in.Sizes)
	if b.warmed[key] != nil {
		return nil
	}
	m := backends.Message{Role: backends.User, Text: warmPrompt}
	first := in.First()
	for i, s := range in.Sizes {
		pic, err := standIn(s, 0, first.Images[i].MIME)
		if err != nil {
			return fmt.Errorf("run: internal error: warm-up picture: %w", err)
		}
		m.Images = append(m.Images, pic)
	}
	set.Sampling.MaxTokens = min(set.Sampling.MaxTokens, warmTokens)
	found := &warmth{}
	var cold backends.Nonce
	if set.Cold() {
		cold = b.fresh()
	}
	resp, _, err := b.untimed(ctx, set, "warm-up "+key, m, cold)
	if err == nil && resp.Usage.PromptTokens != nil && !set.Cold() {
		b.weigh(ctx, in, set)
	}
	if err == nil && resp.Cache.State == backends.CacheTimed {
		if found.Calibration, err = b.prober(set).Calibrate(ctx, key, first, in.Sizes); errors.Is(err, errBuffered) {
			found.Why, err = err.Error(), nil
			b.run.warn(b.model, found.Why)
		}
	}
	switch kindOf(err) {
	case backends.ErrUnreachable, backends.ErrLoading, backends.ErrBusy, backends.ErrUnknownModel:
		return err
	case backends.ErrNoVision:
		if b.id.Vision == nil {
			return err
		}
	case "":
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.warmed[key] = found
	if err != nil {
		found.Why = err.Error()
		b.run.warn(b.model, fmt.Sprintf("warm-up for pictures like those of %s failed; the first trial of that size may be slower: %v", t.Key.Name(), err))
	}
	return nil
}

func (b *block) prober(set Settings) prober {
	return prober{Fresh: b.fresh, Warn: func(text string) { b.run.warn(b.model, text) },
		Send: func(ctx context.Context, what string, m backends.Message, cold backends.Nonce) (*backends.Response, *timing.Recorder, error) {
			return b.untimed(ctx, set, what, m, cold)
		}}
}

// untimed sends one message that is no trial, as often as a trial would be tried.
func (b *block) untimed(ctx context.Context, set Settings, what string, m backends.Message, cold backends.Nonce) (resp *backends.Response, rec *timing.Recorder, err error) {
	req := request([]backends.Message{m}, set, b.end)
	req.Prove, req.Cold = true, cold
	err = b.retry(ctx, set, what, func() error {
		rec = b.recorder()
		resp, err = b.end.Backend.Generate(ctx, req, rec)
		return err
	}, func(err error, wait time.Duration) {
		b.run.tell(event{Kind: attemptFailed, Model: b.model, Failure: string(kindOf(err)), Text: "warm-up: " + err.Error(), Wait: &wait})
	})
	return resp, rec, err
}

// fresh is a nonce that was never used, not even by an earlier run whose warm-up
// the server may still know.
func (b *block) fresh() backends.Nonce {
	b.nonces++
	return backends.NonceOf("warm-up", b.model, strconv.Itoa(b.nonces), strconv.FormatInt(b.run.job.Clock.Origin().UnixNano(), 10))
}

// NonceOf is the nonce of one turn (from 0) of one attempt (from 0) at a trial.
func NonceOf(seed uint64, k results.Key, attempt, turn int) backends.Nonce {
	return backends.NonceOf("trial", strconv.FormatUint(seed, 10), k.Study, k.Model, k.Item, k.Arm, k.Condition,
		strconv.Itoa(k.Repeat), strconv.Itoa(attempt), strconv.Itoa(turn))
}

// confirm takes a second look at a trial that took less than fresh requests
// although it had a nonce: one more fresh request tells whether it was short, or
// the calibration long because the machine was busy.
func (b *block) confirm(ctx context.Context, a *results.Attempt, in input, set Settings) {
	const enough = 5 // fresh requests
	if a.Failure != nil || a.Cache == nil || set.InFlight > 1 || a.Cache.Policy != results.PolicyCold || a.Cache.State == backends.CacheCold {
		return
	}
	if by := a.Cache.Calibration; by == nil || doubt(by) != "" || len(by.Fresh) >= enough {
		return
	}
	m := in.First()
	set.Sampling.MaxTokens = min(set.Sampling.MaxTokens, warmTokens)
	set.Retries = 0
	resp, rec, err := b.untimed(ctx, set, "", m, b.fresh())
	if err != nil {
		return // the next trial meets the same server
	}
	x, ok := unloaded(rec.Trace(), resp.Server)
	if !ok {
		return
	}
	class := b.warmed[sizeClasses(in.Sizes)]
	c := *class.Calibration // stored attempts keep theirs
	c.Fresh = append(slices.Clone(c.Fresh), x)
	class.Calibration = &c
	again := results.Cache{Policy: a.Cache.Policy, Nonces: a.Cache.Nonces}
	for _, turn := range a.Turns {
		noteCache(&again, class, turn, backends.Cache{State: backends.CacheTimed})
	}
	a.Cache = &again
	if again.State != backends.CacheHit {
		a.Flags = slices.DeleteFunc(a.Flags, func(f results.Flag) bool { return f == results.FlagCacheHit })
	}
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/progress"
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
const (
	warmPrompt = "This request only warms the server up. Reply with one word."
	warmTokens = 7 // one less than what, in one read, hides when the first came
)

// warmth is what the warm-up of a class found.
type warmth struct {
	calibration *results.Calibration // nil: there is none
	why         string               // why not, where one is needed
}

// warm warms the classes of a trial's pictures that this block has not seen.
// The error is for want of a server or of vision: then the trial is not sent.
// Any other is a warning.
func (b *block) warm(ctx context.Context, t *task, in Input, set Settings) error {
	key := classes(in.Sizes)
	if b.warmed[key] != nil {
		return nil
	}
	m := backends.Message{Role: backends.User, Text: warmPrompt}
	for i, s := range in.Sizes {
		pic, err := madeUp(s, 0, in.Images[i].MIME)
		if err != nil {
			return fmt.Errorf("runner: internal error: warm-up picture: %w", err)
		}
		m.Images = append(m.Images, pic)
	}
	set.Sampling.MaxTokens = min(set.Sampling.MaxTokens, warmTokens)
	found := &warmth{}
	var cold backends.Nonce
	if set.Cold {
		cold = b.fresh()
	}
	resp, _, err := b.untimed(ctx, set, "warm-up "+key, m, cold)
	if err == nil && resp.Usage.PromptTokens != nil && !set.Cold {
		b.weigh(ctx, in, set)
	}
	if err == nil && resp.Cache.State == backends.CacheTimed {
		if found.calibration, err = b.calibrate(ctx, set, key, in); errors.Is(err, errBuffered) {
			found.why, err = err.Error(), nil
			b.run.warn(b.model, found.why)
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
		found.why = err.Error()
		b.run.warn(b.model, fmt.Sprintf("warm-up for pictures like those of %s failed; the first trial of that size may be slower: %v", t.Key.Name(), err))
	}
	return nil
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
		b.run.tell(progress.Event{Kind: progress.AttemptFailed, Model: b.model, Failure: string(kindOf(err)), Text: "warm-up: " + err.Error(), Wait: &wait})
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

// rounds of calibration at most. A round that leaves doubts is followed by one
// with other pixels and other words, which no cache can know whatever it goes by.
const rounds = 3

// calibrate finds out what a fresh and what a repeated answer take. A calibration
// that leaves doubts after all rounds is given with its last one; nil: the
// server does not say what is needed.
func (b *block) calibrate(ctx context.Context, set Settings, class string, in Input) (*results.Calibration, error) {
	m := backends.Message{Role: backends.User, Text: in.Prompts[0], Images: in.Images}
	var c *results.Calibration
	var counts []int
	together, asked := 0, 0
	for round := range rounds {
		if round > 0 {
			if doubt(c) == "" {
				break
			}
			var err error
			if m, err = plainMessage(in, round); err != nil {
				return nil, err
			}
		}
		c = &results.Calibration{}
		second := b.fresh()
		for i, cold := range []backends.Nonce{b.fresh(), second, second, second, second} {
			resp, rec, err := b.untimed(ctx, set, fmt.Sprintf("calibration %d.%d %s", round, i, class), m, cold)
			if err != nil {
				return nil, err
			}
			asked++
			if n, _, all := rec.Trace().FirstRead(); all && n >= warmTokens/2 {
				together++
			}
			x, ok := unloaded(rec.Trace(), resp.Server)
			switch {
			case !ok:
				return nil, nil
			case i < 2:
				c.Fresh = append(c.Fresh, x)
			case i == 2 || x < c.Repeat:
				c.Repeat, c.PromptTokens = x, resp.Usage.PromptTokens
			}
			if n := resp.Usage.PromptTokens; n != nil && round == 0 && !slices.Contains(counts, *n) {
				counts = append(counts, *n)
			}
			// That nothing is reused is believed at the third repeat only: one may have
			// been disturbed.
			if i >= 2 && float64(c.Repeat) <= likeReused*float64(slices.Min(c.Fresh)) {
				break
			}
		}
	}
	if together == asked {
		return nil, errBuffered
	}
	if len(counts) > 1 {
		b.run.warn(b.model, fmt.Sprintf("nonces of the same length cost this model %v prompt tokens: cold times differ by that", counts))
	}
	return c, nil
}

// errBuffered is that every reply to a calibration came in one read: when a first token
// came is not known, and so is not what a time says of the caches.
var errBuffered = errors.New("replies come in one piece, so that their times say nothing of the caches; " + backends.Unbuffer)

// plainMessage is as long and its pictures are as large as a trial's, and no
// trial sends it. Every n gives another one.
func plainMessage(in Input, n int) (backends.Message, error) {
	m := backends.Message{Role: backends.User, Text: fmt.Sprintf("%d. %s", n, in.Prompts[0])}
	for i, s := range in.Sizes {
		pic, err := madeUp(s, n, in.Images[i].MIME)
		if err != nil {
			return m, fmt.Errorf("runner: internal error: warm-up picture: %w", err)
		}
		m.Images = append(m.Images, pic)
	}
	return m, nil
}

// unloaded is TTFT without what the server calls loading; false: one of the two
// is not known.
func unloaded(t timing.Trace, s backends.Timings) (time.Duration, bool) {
	ttft, ok := t.TTFT()
	if !ok || s.Load == nil {
		return 0, false
	}
	return ttft - *s.Load, true
}

// What fraction of a fresh answer's time is as long as fresh, and what is so
// short that an answer came from a cache. Real servers' hits take a third and less.
const (
	likeFresh  = 0.75
	likeReused = 0.5
)

// doubt is why a calibration tells nothing of a time; "": it does. It is clear
// where a repeat is much faster than a fresh request, and where it is as slow:
// then nothing is reused that would show.
func doubt(c *results.Calibration) string {
	first, second := float64(c.Fresh[0]), float64(c.Fresh[1])
	part := float64(c.Repeat) / min(first, second)
	switch {
	case min(first, second, float64(c.Repeat)) <= 0:
		return "a first token came before the model was loaded"
	case second < likeFresh*first:
		return "a new nonce did not bring back the time of a request that was really new"
	case len(c.Fresh) > 2 && part <= likeReused && float64(c.Repeat) >= likeFresh*float64(slices.Min(c.Fresh[2:])):
		// The second was disturbed, and a later one with a nonce of its own was as fast as a repeat.
		return "a new nonce did not bring back the time of a request that was really new"
	case likeReused < part && part < likeFresh:
		return "a repeated request was hardly faster than a fresh one"
	}
	return ""
}

// timedState is what a time says of the caches, given what fresh and repeated
// answers took. A prompt of fewer tokens may take that much less; one of more
// tokens takes no less.
func timedState(c *results.Calibration, x time.Duration, tokens *int) backends.Cache {
	fresh := float64(slices.Min(c.Fresh))
	if tokens != nil && c.PromptTokens != nil && *tokens < *c.PromptTokens {
		fresh *= float64(*tokens) / float64(*c.PromptTokens)
	}
	out := backends.Cache{Field: "TTFT - load_duration", Value: fmt.Sprintf("%s ms; calibrated: fresh %s ms, repeated %s ms", ms(x), ms(c.Fresh...), ms(c.Repeat))}
	switch why := doubt(c); {
	case why != "":
		out.State, out.Reason = backends.CacheUnverified, "calibration failed: "+why
	case float64(x) >= likeFresh*fresh:
		out.State = backends.CacheCold
	case float64(c.Repeat) > likeReused*float64(slices.Min(c.Fresh)):
		out.State, out.Reason = backends.CacheUnverified, "it was faster than fresh requests, and repeated ones are not"
	case float64(x) <= likeReused*fresh:
		out.State = backends.CacheHit
	default:
		out.State, out.Reason = backends.CacheUnverified, "it took too little for a fresh request and too much for one that was answered from a cache"
	}
	return out
}

// confirm takes a second look at a trial that took less than fresh requests
// although it had a nonce: one more fresh request tells whether it was short, or
// the calibration long because the machine was busy.
func (b *block) confirm(ctx context.Context, a *results.Attempt, in Input, set Settings) {
	const enough = 5 // fresh requests
	if a.Failure != nil || a.Cache == nil || a.Cache.Policy != results.PolicyCold || a.Cache.State == backends.CacheCold {
		return
	}
	if by := a.Cache.Calibration; by == nil || doubt(by) != "" || len(by.Fresh) >= enough {
		return
	}
	m := backends.Message{Role: backends.User, Text: in.Prompts[0], Images: in.Images}
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
	class := b.warmed[classes(in.Sizes)]
	c := *class.calibration // stored attempts keep theirs
	c.Fresh = append(slices.Clone(c.Fresh), x)
	class.calibration = &c
	again := results.Cache{Policy: a.Cache.Policy, Nonces: a.Cache.Nonces}
	for _, turn := range a.Turns {
		noteCache(&again, class, turn, backends.Cache{State: backends.CacheTimed})
	}
	a.Cache = &again
	if again.State != backends.CacheHit {
		a.Flags = slices.DeleteFunc(a.Flags, func(f results.Flag) bool { return f == results.FlagCacheHit })
	}
}

// ms lists times in milliseconds.
func ms(list ...time.Duration) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)))
	}
	return strings.Join(out, ", ")
}

// noteCache adds to an attempt's cache state what one turn's response says: the
// least cold turn decides.
func noteCache(c *results.Cache, w *warmth, turn results.Turn, said backends.Cache) {
	switch {
	case said.State == "":
		said = backends.Cache{State: backends.CacheUnverified, Reason: "the server says nothing of its caches"}
	case said.State != backends.CacheTimed:
	case w == nil || w.calibration == nil:
		said = backends.Cache{State: backends.CacheUnverified, Reason: "there is no calibration to compare its time with"}
		if w != nil && w.why != "" {
			said.Reason = "the calibration failed: " + w.why
		}
	default:
		x, ok := unloaded(turn.Trace, turn.Server)
		if !ok && turn.Trace.Buffered() {
			said = backends.Cache{State: backends.CacheUnverified, Reason: "many tokens came in one read: when the first came is not known"}
			break
		}
		if !ok {
			said = backends.Cache{State: backends.CacheUnverified, Reason: "the reply has no load_duration"}
			break
		}
		said = timedState(w.calibration, x, turn.Usage.PromptTokens)
		c.Calibration = w.calibration
	}
	order := []backends.CacheState{"", backends.CacheCold, backends.CacheUnverified, backends.CacheHit}
	if slices.Index(order, said.State) > slices.Index(order, c.State) {
		c.Cache = said
	}
}

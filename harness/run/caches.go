package run

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// warmth is what the warm-up of a class found.
type warmth struct {
	Calibration *results.Calibration // nil: there is none
	Why         string               // why not, where one is needed
}

// calibrationRounds are as many as a calibration has at most. A round that leaves doubts is followed by one
// with other pixels and other words, which no cache can know whatever it goes by.
const calibrationRounds = 3

// warmTokens is how many tokens a reply has at most that nobody reads: one less than
// what, in one read, hides when the first came.
const warmTokens = 7

// prober sends what no trial is.
type prober struct {
	// Send sends one message as often as a trial would be tried; what names it.
	Send  func(ctx context.Context, what string, m backends.Message, cold backends.Nonce) (*backends.Response, *timing.Recorder, error)
	Fresh func() backends.Nonce // one that was never used
	Warn  func(string)
}

// Calibrate finds out what a fresh and what a repeated answer to a message of a class
// take, whose pictures have these sizes. A calibration that leaves doubts after all
// rounds is given with its last one; nil: the server does not say what is needed.
func (p prober) Calibrate(ctx context.Context, class string, m backends.Message, sizes []image.Point) (*results.Calibration, error) {
	trial := m
	var c *results.Calibration
	var counts []int
	together, asked := 0, 0
	for round := range calibrationRounds {
		if round > 0 {
			if doubt(c) == "" {
				break
			}
			var err error
			if m, err = plainMessage(trial, sizes, round); err != nil {
				return nil, err
			}
		}
		c = &results.Calibration{}
		second := p.Fresh()
		for i, cold := range []backends.Nonce{p.Fresh(), second, second, second, second} {
			resp, rec, err := p.Send(ctx, fmt.Sprintf("calibration %d.%d %s", round, i, class), m, cold)
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
		p.Warn(fmt.Sprintf("nonces of the same length cost this model %v prompt tokens: cold times differ by that", counts))
	}
	return c, nil
}

// errBuffered is that every reply to a calibration came in one read: when a first token
// came is not known, and so is not what a time says of the caches.
var errBuffered = errors.New("replies come in one chunk, so that their times say nothing of the caches; " + backends.Unbuffer)

// plainMessage is as long and its pictures are as large as a trial's, and no
// trial sends it. Every n gives another one.
func plainMessage(trial backends.Message, sizes []image.Point, n int) (backends.Message, error) {
	m := backends.Message{Role: backends.User, Text: fmt.Sprintf("%d. %s", n, trial.Text)}
	for i, s := range sizes {
		pic, err := standIn(s, n, trial.Images[i].MIME)
		if err != nil {
			return m, fmt.Errorf("run: internal error: warm-up picture: %w", err)
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
		return "a request with a new nonce was not as slow as a fresh one"
	case len(c.Fresh) > 2 && part <= likeReused && float64(c.Repeat) >= likeFresh*float64(slices.Min(c.Fresh[2:])):
		// The second was disturbed, and a later one with a nonce of its own was as fast as a repeat.
		return "a request with a new nonce was not as slow as a fresh one"
	case likeReused < part && part < likeFresh:
		return "a repeated request was barely faster than a fresh one"
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
		out.State, out.Reason = backends.CacheUnverified, "faster than a fresh request, although repeats are not"
	case float64(x) <= likeReused*fresh:
		out.State = backends.CacheHit
	default:
		out.State, out.Reason = backends.CacheUnverified, "too fast for a fresh request and too slow for a cached one"
	}
	return out
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
	case turn.Usage.CachedTokens != nil && *turn.Usage.CachedTokens > backends.TemplateTokens: // whatever it took
		said = backends.CacheOf("cached_tokens", turn.Usage.CachedTokens)
	case w == nil || w.Calibration == nil:
		said = backends.Cache{State: backends.CacheUnverified, Reason: "no calibration to compare its time with"}
		if w != nil && w.Why != "" {
			said.Reason = "calibration failed: " + w.Why
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
		said = timedState(w.Calibration, x, turn.Usage.PromptTokens)
		c.Calibration = w.Calibration
	}
	order := []backends.CacheState{"", backends.CacheCold, backends.CacheUnverified, backends.CacheHit}
	if slices.Index(order, said.State) > slices.Index(order, c.State) {
		c.Cache = said
	}
}

// loadLimit is the longest load duration that is still no load of the model.
// Ollama counts receiving and parsing the request as loading, so a warm model
// reports 1 to 16 ms, more for a larger picture or on a busy computer; loading
// one of 1 MB took 250 ms and more on every version tried (0.9.6 to 0.32.15).
// 200 ms and 20 ms per MB of the request lie between. The limit does not grow
// with the answer's length, which would hide a load inside a long one.
func loadLimit(sent int) time.Duration {
	return 200*time.Millisecond + time.Duration(sent)*20*time.Nanosecond
}

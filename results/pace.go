package results

import (
	"time"

	"assay/results/stats"
	"assay/timing"
)

// Paces is what an attempt's traces and its server's figures say beside TTFT and T;
// nil: it is not known, or the store is of an assay that did not keep it.
type Paces struct {
	FirstAnswer *time.Duration // FirstAnswer - Start, summed over turns
	// Quantiles of the times between the attempt's chunks (of the same turn).
	GapMedian, GapP95, GapP99 *time.Duration
	// As the server timed itself, summed over turns: reading the prompt, and writing
	// what came after the first token.
	ServerPrompt, ServerDecode *time.Duration
	CachedTokens               *int // of the prompt, which the server says it did not read again
}

// Spans are the times in the order in which they are stored.
func (p *Paces) Spans() []**time.Duration {
	return []**time.Duration{&p.FirstAnswer, &p.GapMedian, &p.GapP95, &p.GapP99, &p.ServerPrompt, &p.ServerDecode}
}

// Sum is a time over all turns; nil: one of them has none, or there is no turn.
func (a Attempt) Sum(of func(Turn) *time.Duration) *time.Duration {
	var total time.Duration
	for _, u := range a.Turns {
		d := of(u)
		if d == nil {
			return nil
		}
		total += *d
	}
	if len(a.Turns) == 0 {
		return nil
	}
	return &total
}

// Paces are those of all turns; one that a turn lacks is not known.
func (a Attempt) Paces() Paces {
	var p Paces
	if len(a.Turns) == 0 {
		return p
	}
	p.FirstAnswer = a.Sum(func(u Turn) *time.Duration {
		if d, ok := u.Trace.TimeToFirstAnswer(); ok {
			return &d
		}
		return nil
	})
	p.ServerPrompt = a.Sum(func(u Turn) *time.Duration { return u.Server.Prompt })
	p.ServerDecode = a.Sum(func(u Turn) *time.Duration { return u.Server.Decode })
	p.CachedTokens = new(int)
	var gaps []float64
	for _, u := range a.Turns {
		if n := u.Usage.CachedTokens; n == nil {
			p.CachedTokens = nil
		} else if p.CachedTokens != nil {
			*p.CachedTokens += *n
		}
		if u.Trace.Buffered() {
			return p
		}
		for _, d := range u.Trace.Gaps() {
			gaps = append(gaps, float64(d))
		}
	}
	for _, g := range []struct {
		to **time.Duration
		q  float64
	}{{&p.GapMedian, .5}, {&p.GapP95, .95}, {&p.GapP99, .99}} {
		if v, ok := stats.Quantile(gaps, g.q); ok {
			d := time.Duration(v + .5)
			*g.to = &d
		}
	}
	return p
}

// Pace is what of a trial is compared with an SLO: of several turns, their sums.
func (r Row) Pace() timing.Pace {
	p := timing.Pace{Content: !r.Failed && r.Latency != nil, TTFT: r.TTFT}
	if n := r.Decoded(); n != nil && r.Decode != nil {
		tpot := float64(*r.Decode) / float64(*n)
		p.TPOT = &tpot
	}
	return p
}

// Decoded is how many tokens came after the first chunk of each turn, at least 1; nil:
// none, or it is not known.
func (r Row) Decoded() *int {
	if r.CompletionTokens == nil || r.FirstTokens == nil || *r.CompletionTokens <= *r.FirstTokens {
		return nil
	}
	n := *r.CompletionTokens - *r.FirstTokens
	return &n
}

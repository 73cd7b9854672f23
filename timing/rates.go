package timing

import "time"

// Tokens is what is known of how many tokens a trace's text holds; nil: unknown.
type Tokens struct {
	Total *int // of the whole output, reasoning included, by the server's count
	First *int // of the first chunk
}

// Tokens sets a server's count of tokens beside the chunks of the trace. stopped
// says that the answer ended by itself: its end mark is counted and stands in no
// chunk. What the server said of the first chunk goes before all else. Where there
// are no more tokens than chunks, the first chunk holds one; where there are more,
// some chunk holds several and nothing says which, so First is unknown.
func (t Trace) Tokens(total *int, stopped bool) Tokens {
	n := Tokens{Total: total, First: t.FirstTokens}
	if n.First == nil && total != nil && len(t.Chunks) > 0 {
		visible := *total
		if stopped {
			visible--
		}
		if visible <= len(t.Chunks) {
			one := 1
			n.First = &one
		}
	}
	return n
}

// TimeToFirstAnswer is FirstAnswer - Start: the time to the first chunk after the
// reasoning; false also where the stream was Buffered.
func (t Trace) TimeToFirstAnswer() (time.Duration, bool) {
	if t.Buffered() {
		return 0, false
	}
	return t.between(Start, FirstAnswer)
}

// AtMost says that the chunk which set e shared a read with later bytes, so that e
// happened then or before. It is false for events that no chunk sets.
func (t Trace) AtMost(e Event) bool {
	if len(t.Chunks) == 0 {
		return false
	}
	switch e {
	case FirstContent:
		return t.Chunks[0].Shared
	case LastContent:
		return t.Chunks[len(t.Chunks)-1].Shared
	case FirstAnswer:
		for _, p := range t.Chunks {
			if p.Answer {
				return p.Shared
			}
		}
	}
	return false
}

// Gaps are the times between neighbouring chunks, one fewer than chunks.
func (t Trace) Gaps() []time.Duration {
	if len(t.Chunks) < 2 {
		return nil
	}
	gaps := make([]time.Duration, len(t.Chunks)-1)
	for i := range gaps {
		gaps[i] = t.Chunks[i+1].At - t.Chunks[i].At
	}
	return gaps
}

// SLO is what an answer must keep; a limit is inclusive, nil is none.
type SLO struct {
	TTFT *time.Duration `json:"ttft_ns,omitempty" yaml:"ttft"`
	TPOT *time.Duration `json:"tpot_ns,omitempty" yaml:"tpot"`
}

// Any says whether there is a limit.
func (s SLO) Any() bool { return s.TTFT != nil || s.TPOT != nil }

// Pace is what of an answer is compared with an SLO.
type Pace struct {
	Content bool           // there was any
	TTFT    *time.Duration // nil: unknown, as of a stream that was Buffered
	TPOT    *float64       // ns; nil: undefined
}

// Verdict is whether one trial kept its SLO.
type Verdict string

const (
	Within    Verdict = "within"
	Missed    Verdict = "missed"
	Undefined Verdict = "undefined"
)

// Verdict of one trial: without content or beyond one limit it is missed, whatever
// else is undefined; else it is undefined where a limit cannot be compared.
func (s SLO) Verdict(p Pace) Verdict {
	if !p.Content || s.TTFT != nil && p.TTFT != nil && *p.TTFT > *s.TTFT || s.TPOT != nil && p.TPOT != nil && *p.TPOT > float64(*s.TPOT) {
		return Missed
	}
	if s.TTFT != nil && p.TTFT == nil || s.TPOT != nil && p.TPOT == nil {
		return Undefined
	}
	return Within
}

// Throughput is the trials of one model that ran in a window of time.
type Throughput struct {
	Window   time.Duration `json:"window_ns"`           // from the first Start to the last content
	InFlight int           `json:"in_flight,omitempty"` // requests on the wire at once
	Within   int           `json:"within,omitempty"`    // trials that kept the SLO
	Unjudged int           `json:"unjudged,omitempty"`  // trials that could not be compared with it
	N        int           `json:"answers"`             // all trials
	Tokens   *int          `json:"tokens,omitempty"`    // of all trials; nil: one has no count
}

// Add counts one more trial with its tokens, nil: they are not known; all must be
// added before Tokens is read.
func (b *Throughput) Add(v Verdict, tokens *int) {
	switch v {
	case Within:
		b.Within++
	case Undefined:
		b.Unjudged++
	}
	if b.N == 0 {
		b.Tokens = new(int)
	}
	b.N++
	if b.Tokens != nil && tokens != nil {
		*b.Tokens += *tokens
	} else {
		b.Tokens = nil
	}
}

// TokenRate is tokens of all trials per second of the window.
func (b Throughput) TokenRate() (perSecond float64, why string) {
	switch {
	case b.Window <= 0:
		return 0, "empty window"
	case b.N > 0 && b.Tokens == nil:
		return 0, "a trial without token count"
	case b.N == 0:
		return 0, "no trial"
	}
	return float64(*b.Tokens) / b.Window.Seconds(), ""
}

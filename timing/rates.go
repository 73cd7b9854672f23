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

// Why a figure of this file is undefined; "" where it is defined.
const (
	noContent    = "no content"
	noCount      = "the number of tokens is unknown"
	severalFirst = "the first chunk holds several tokens, number unknown"
	noneAfter    = "no token after the first chunk"
	oneRead      = "many tokens came in one read: something buffers the stream"
)

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

// after is the decode time and the tokens that came in it.
func (t Trace) after(n Tokens) (decode time.Duration, tokens int, why string) {
	decode, ok := t.Decode()
	switch {
	case t.Buffered():
		return 0, 0, oneRead
	case !ok:
		return 0, 0, noContent
	case n.Total == nil:
		return 0, 0, noCount
	case n.First == nil:
		return 0, 0, severalFirst
	case *n.Total-*n.First < 1:
		return 0, 0, noneAfter
	}
	return decode, *n.Total - *n.First, ""
}

// TPOT is the decode time in nanoseconds per token after the first chunk
// (metrics.md section 4).
func (t Trace) TPOT(n Tokens) (ns float64, why string) {
	d, k, why := t.after(n)
	if why != "" {
		return 0, why
	}
	return float64(d) / float64(k), ""
}

// DecodeRate is tokens after the first chunk per second of decode time.
func (t Trace) DecodeRate(n Tokens) (perSecond float64, why string) {
	d, k, why := t.after(n)
	switch {
	case why != "":
		return 0, why
	case d == 0:
		return 0, "decode time 0"
	}
	return float64(k) / d.Seconds(), ""
}

// StreamRate is all tokens per second of latency.
func (t Trace) StreamRate(n Tokens) (perSecond float64, why string) {
	d, ok := t.Latency()
	switch {
	case !ok:
		return 0, noContent
	case n.Total == nil:
		return 0, noCount
	case d == 0:
		return 0, "latency 0"
	}
	return float64(*n.Total) / d.Seconds(), ""
}

// SLO is what an answer must keep; a limit is inclusive, nil is none.
type SLO struct {
	TTFT *time.Duration `json:"ttft_ns,omitempty"`
	TPOT *time.Duration `json:"tpot_ns,omitempty"`
}

// Any says whether there is a limit.
func (s SLO) Any() bool { return s.TTFT != nil || s.TPOT != nil }

// Pace is what of an answer is compared with an SLO.
type Pace struct {
	Content bool           // there was any
	TTFT    *time.Duration // nil: unknown, as of a stream that was Buffered
	TPOT    *float64       // ns; nil: undefined
}

// Pace is that of one request.
func (t Trace) Pace(n Tokens) Pace {
	ttft, ok := t.TTFT()
	p := Pace{Content: ok || t.Buffered()}
	if ok {
		p.TTFT = &ttft
	}
	if tpot, why := t.TPOT(n); why == "" {
		p.TPOT = &tpot
	}
	return p
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

// Share is the share of trials within the SLO, 0 to 1, of those that could be
// compared with it.
func (b Throughput) Share() (share float64, why string) {
	if b.N == b.Unjudged {
		return 0, "no trial that can be compared with the limits"
	}
	return float64(b.Within) / float64(b.N-b.Unjudged), ""
}

// Goodput is trials within the SLO per second. With one request in flight it says
// nothing that the latency does not.
func (b Throughput) Goodput() (perSecond float64, why string) {
	switch {
	case b.InFlight <= 1:
		return 0, "one request in flight"
	case b.Window <= 0:
		return 0, "empty window"
	}
	return float64(b.Within) / b.Window.Seconds(), ""
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

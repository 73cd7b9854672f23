package timing

import "time"

// Figures of one request and of a window as metrics.md section 4 has them, which the golden
// values hold. Tables compute them of rows, whose times are sums over turns.

// Why a figure of this file is undefined; "" where it is defined.
const (
	noContent    = "no content"
	noCount      = "the number of tokens is unknown"
	severalFirst = "the first chunk holds several tokens, number unknown"
	noneAfter    = "no token after the first chunk"
	oneRead      = "many tokens came in one read: something buffers the stream"
)

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
	case b.N == b.Unjudged:
		return 0, "no trial that can be compared with the limits"
	}
	return float64(b.Within) / b.Window.Seconds(), ""
}

package timing

import (
	"testing"
	"time"
)

// chunks is a trace of a request that began at 1 s, with chunks of so many code points
// read at these milliseconds.
func chunks(runes int, ms ...int) Trace {
	r := NewRecorder(NewClock())
	r.MarkAt(Start, time.Second)
	var p []Chunk
	for i, at := range ms {
		p = append(p, Chunk{At: time.Second + time.Duration(at)*time.Millisecond, Runes: runes, Answer: true, Shared: i+1 < len(ms) && ms[i+1] == at})
	}
	r.Chunks(p, StampsKernel)
	r.MarkAt(End, time.Minute)
	return r.Trace()
}

func times(n, at int) (list []int) {
	for range n {
		list = append(list, at)
	}
	return list
}

// TestManyTokensInOneReadHaveNoFirst: TTFT and decode time are unknown, the latency
// is not.
func TestManyTokensInOneReadHaveNoFirst(t *testing.T) {
	for name, c := range map[string]struct {
		trace    Trace
		buffered bool
	}{
		"a stream":                        {chunks(4, 10, 20, 30, 40, 50, 60, 70, 80, 90), false},
		"nothing":                         {chunks(4), false},
		"one token":                       {chunks(4, 90), false},
		"a short answer in one read":      {chunks(4, times(7, 90)...), false},
		"an answer in one read":           {chunks(4, times(8, 90)...), true},
		"a whole answer in one chunk":     {chunks(64, 90), true},
		"a phrase in one chunk":           {chunks(63, 90), false},
		"a long chunk, then more":         {chunks(64, 90, 95), false},
		"a busy computer":                 {chunks(4, append(times(15, 90), 95, 96)...), false},
		"a proxy with a small buffer":     {chunks(4, append(times(16, 90), times(16, 96)...)...), true},
		"a fast model":                    {chunks(4, append(times(16, 90), times(16, 95)...)...), false},
		"a stream that ends in one large": {chunks(4, append([]int{10}, times(40, 95)...)...), false},
	} {
		if got := c.trace.Buffered(); got != c.buffered {
			t.Errorf("%s: buffered %t", name, got)
		}
		known := len(c.trace.Chunks) > 0 && !c.buffered
		for what, of := range map[string]func() (time.Duration, bool){"TTFT": c.trace.TTFT, "decode": c.trace.Decode, "first answer": c.trace.TimeToFirstAnswer} {
			if _, ok := of(); ok != known {
				t.Errorf("%s: %s known %t, want %t", name, what, ok, known)
			}
		}
		if _, ok := c.trace.Latency(); ok != (len(c.trace.Chunks) > 0) {
			t.Errorf("%s: latency known %t", name, ok)
		}
		if !c.buffered {
			continue
		}
		n := len(c.trace.Chunks)
		one := 1
		if _, why := c.trace.TPOT(Tokens{Total: &n, First: &one}); why != oneRead {
			t.Errorf("%s: TPOT is undefined because of %q", name, why)
		}
		second := time.Second
		if v := (SLO{TTFT: &second}).Verdict(c.trace.Pace(Tokens{})); v != Undefined {
			t.Errorf("%s: a TTFT that is not known is %s", name, v)
		}
		if v := (SLO{}).Verdict(c.trace.Pace(Tokens{})); v != Within {
			t.Errorf("%s: without limits it is %s", name, v)
		}
	}
}

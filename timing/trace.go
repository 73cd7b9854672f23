package timing

import (
	"encoding/json"
	"fmt"
	"time"
)

// Trace is the finished record of one attempt at one turn.
type Trace struct {
	at     [numEvents]*time.Duration
	Stamps Stamps
	Chunks []Chunk
	// FirstTokens is how many tokens the first chunk holds, where the server said
	// so; nil: it did not. See Tokens.
	FirstTokens *int
}

// At is the time of e on the run's clock; false: it never happened.
func (t Trace) At(e Event) (time.Duration, bool) {
	if e >= numEvents || t.at[e] == nil {
		return 0, false
	}
	return *t.at[e], true
}

func (t Trace) between(from, to Event) (time.Duration, bool) {
	a, ok := t.At(from)
	if !ok {
		return 0, false
	}
	b, ok := t.At(to)
	if !ok {
		return 0, false
	}
	return b - a, true
}

// Upload is Sent - Start.
func (t Trace) Upload() (time.Duration, bool) { return t.between(Start, Sent) }

// TTFT is FirstContent - Start (metrics.md section 4); false also where the stream
// was Buffered.
func (t Trace) TTFT() (time.Duration, bool) {
	if t.Buffered() {
		return 0, false
	}
	return t.between(Start, FirstContent)
}

// Latency is T = LastContent - Start.
func (t Trace) Latency() (time.Duration, bool) { return t.between(Start, LastContent) }

// Whole is End - Start.
func (t Trace) Whole() (time.Duration, bool) { return t.between(Start, End) }

// Decode is LastContent - FirstContent; false also where the stream was Buffered.
func (t Trace) Decode() (time.Duration, bool) {
	if t.Buffered() {
		return 0, false
	}
	return t.between(FirstContent, LastContent)
}

// FirstRead is how many chunks, with how many code points, came in the same read as
// the first one; all: every chunk did.
func (t Trace) FirstRead() (chunks, runes int, all bool) {
	for _, p := range t.Chunks {
		if p.At != t.Chunks[0].At {
			return chunks, runes, false
		}
		chunks++
		runes += p.Runes
	}
	return chunks, runes, chunks > 0
}

// Buffered says that something held the stream back and let many tokens go at once,
// as proxies do: when the first of them came is not known. A whole answer in one read
// is many from 8 chunks or 64 code points on: fewer come together where a computer is
// busy. The beginning of a longer one is many from 16 chunks on, if at the pace of the
// others they took 5 ms and more; a shorter time stays within what AtMost says.
func (t Trace) Buffered() bool {
	chunks, runes, all := t.FirstRead()
	if all {
		return chunks >= 8 || runes >= 64
	}
	n := len(t.Chunks)
	return chunks >= 16 && (t.Chunks[n-1].At-t.Chunks[0].At)*time.Duration(chunks-1)/time.Duration(n-chunks) >= 5*time.Millisecond
}

type traceJSON struct {
	At          map[string]*time.Duration `json:"at_ns"`
	Stamps      Stamps                    `json:"stamps,omitempty"`
	Chunks      []Chunk                   `json:"chunks,omitempty"`
	FirstTokens *int                      `json:"first_tokens,omitempty"`
}

// MarshalJSON writes events that happened, by name, in nanoseconds on the run's clock.
func (t Trace) MarshalJSON() ([]byte, error) {
	j := traceJSON{At: map[string]*time.Duration{}, Stamps: t.Stamps, Chunks: t.Chunks, FirstTokens: t.FirstTokens}
	for e, d := range t.at {
		if d != nil {
			j.At[Event(e).String()] = d
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote; an unknown event is an error, and
// so is one without a time.
func (t *Trace) UnmarshalJSON(b []byte) error {
	var j traceJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*t = Trace{Stamps: j.Stamps, Chunks: j.Chunks, FirstTokens: j.FirstTokens}
next:
	for name, d := range j.At {
		if d == nil {
			return fmt.Errorf("timing: event %q in a trace has no time", name)
		}
		for e := Start; e < numEvents; e++ {
			if e.String() == name {
				t.at[e] = d
				continue next
			}
		}
		return fmt.Errorf("timing: unknown event %q in a trace", name)
	}
	return nil
}

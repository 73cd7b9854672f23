// Package timing holds what one request's clock saw.
//
//  1. A Clock gives one monotonic time line to a whole run.
//  2. A Recorder stamps the events of one attempt at one turn on it.
//  3. A Trace is the finished record: events, chunks, and how they were stamped.
//  4. Durations (TTFT, latency, decode time, ...) are derived from a Trace and
//     are absent, never zero, where an event did not happen.
//
// The package does no I/O.
package timing

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Clock is the run's one monotonic time line. Times on it are durations since
// its origin. The zero Clock is not usable; see NewClock.
type Clock struct{ origin time.Time }

// NewClock starts a clock whose origin is now.
func NewClock() Clock { return Clock{origin: time.Now()} }

// Now is the time since the clock's origin.
func (c Clock) Now() time.Duration { return time.Since(c.origin) }

// At carries a time.Time that has a monotonic reading onto the clock.
func (c Clock) At(t time.Time) time.Duration { return t.Sub(c.origin) }

// Origin is the wall time at which the clock started.
func (c Clock) Origin() time.Time { return c.origin }

// Event is one moment of a request.
type Event uint8

// The events of a request in their usual order. No order is promised between
// Sent and FirstByte: a server may answer before it has read everything.
const (
	Start        Event = iota // first Write on a ready connection; the body is already encoded
	Sent                      // last Write returned
	FirstByte                 // first byte of the response arrived
	FirstContent              // first non-empty chunk of reasoning or answer arrived
	FirstAnswer               // first non-empty chunk of the answer arrived
	LastContent               // last non-empty chunk arrived
	End                       // the response ended
	numEvents
)

var eventNames = [numEvents]string{"start", "sent", "first_byte", "first_content", "first_answer", "last_content", "end"}

func (e Event) String() string {
	if e >= numEvents {
		return fmt.Sprintf("event(%d)", uint8(e))
	}
	return eventNames[e]
}

// Stamps says who took the arrival times of a Trace.
type Stamps string

const (
	StampsKernel Stamps = "kernel" // SO_TIMESTAMPNS, carried to the monotonic clock
	StampsUser   Stamps = "user"   // taken after Read returned
)

// Chunk is one non-empty part of the answer as it arrived. A chunk is not a
// token: servers pack several tokens into one chunk and split tokens over two.
type Chunk struct {
	At     time.Duration `json:"at_ns"`            // arrival on the run's clock
	Lag    time.Duration `json:"lag_ns"`           // our Read minus the arrival: the instrument's own delay; 0 with StampsUser
	Runes  int           `json:"runes"`            // code points of text
	Shared bool          `json:"shared,omitempty"` // a later chunk came in the same read: At is "at most"
	Answer bool          `json:"answer,omitempty"` // false: reasoning
}

// Recorder stamps one attempt at one turn. The first mark of an event wins.
// Marks are safe from any goroutine; Chunks is called once, after the stream.
type Recorder struct {
	clock  Clock
	at     [numEvents]atomic.Int64 // ns on the clock plus one; 0: never
	chunks []Chunk
	stamps Stamps
	first  *int
}

// NewRecorder makes a recorder on the run's clock.
func NewRecorder(c Clock) *Recorder { return &Recorder{clock: c} }

// Clock is the clock that the recorder stamps on.
func (r *Recorder) Clock() Clock { return r.clock }

// Start marks the first Write of the request.
func (r *Recorder) Start() { r.Mark(Start) }

// Mark stamps e with the present time.
func (r *Recorder) Mark(e Event) { r.MarkAt(e, r.clock.Now()) }

// MarkAt stamps e with a time on the clock that was taken earlier, such as the
// kernel's arrival stamp.
func (r *Recorder) MarkAt(e Event, at time.Duration) {
	if e >= numEvents {
		panic("timing: internal error: unknown event " + e.String())
	}
	r.at[e].CompareAndSwap(0, int64(at)+1)
}

// Chunks hands over the decoded chunks in order of arrival. It marks
// FirstContent, FirstAnswer and LastContent from them.
func (r *Recorder) Chunks(p []Chunk, s Stamps) {
	r.chunks, r.stamps = p, s
	for i := range p {
		if i == 0 {
			r.MarkAt(FirstContent, p[i].At)
		}
		if p[i].Answer {
			r.MarkAt(FirstAnswer, p[i].At)
		}
	}
	if len(p) > 0 {
		r.MarkAt(LastContent, p[len(p)-1].At)
	}
}

// FirstTokens notes how many tokens the first chunk holds, as the server said.
func (r *Recorder) FirstTokens(n int) { r.first = &n }

// Trace is the record so far.
func (r *Recorder) Trace() Trace {
	t := Trace{Stamps: r.stamps, Chunks: r.chunks, FirstTokens: r.first}
	for e := range r.at {
		if v := r.at[e].Load(); v != 0 {
			d := time.Duration(v - 1)
			t.at[e] = &d
		}
	}
	return t
}

package wire

import (
	"bytes"
	"iter"
	"net/http"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"assay/backends"
	"assay/timing"
)

// Buffer is a reply as it arrived. Its methods are for use after the stream.
type Buffer struct {
	Op     string // "POST http://127.0.0.1:8080/v1/chat/completions"
	Status int
	Header http.Header
	Body   []byte        // without the transfer encoding
	Sent   []byte        // the request body
	Stamps timing.Stamps // kernel only if every read of the body had a kernel stamp

	marks   []mark
	events  bool     // the reply is an event stream
	keys    []string // spellings of the API key, which Fail leaves out
	secrets []string // those that Events and Lines leave out
}

// mark says when the bytes of the body up to end arrived.
type mark struct {
	end int
	arrival
	more bool // the end of the reply came in the same read
}

// Arrival is when the last byte of a part of the reply came in.
type Arrival struct {
	At     time.Duration // on the run's clock
	Lag    time.Duration // our read minus At; 0 where we took the stamp
	Shared bool          // later bytes came in the same read: At is "at most"
}

// Chunk is a part of the answer with this arrival.
func (a Arrival) Chunk(text string, answer bool) timing.Chunk {
	return timing.Chunk{At: a.At, Lag: a.Lag, Shared: a.Shared, Runes: utf8.RuneCountInString(text), Answer: answer}
}

// Event is one server-sent event.
type Event struct {
	Name string // field "event"; "": message
	ID   string // field "id" of this event, or of the last one before it that had any
	Data []byte // data lines joined by newlines; may be empty
	Arrival
}

// Line is one line of an NDJSON stream; blank ones are left out.
type Line struct {
	Data []byte
	Open bool // the reply ended before the newline
	Arrival
}

// IsType says whether the reply has the media type want, such as "text/event-stream".
func (t *Buffer) IsType(want string) bool {
	got, _, _ := strings.Cut(t.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(got), want)
}

// Fail makes the error for this reply.
func (t *Buffer) Fail(kind backends.Kind, message, hint string) *backends.Error {
	return &backends.Error{Kind: kind, Op: t.Op, Status: t.Status, Message: hide(message, t.keys), Hint: hint, Sent: t.Sent, After: RetryAfter(t.Status, t.Header, time.Now())}
}

// room is where the next read goes, at most 1 MiB so that limits are met in time.
func (t *Buffer) room() []byte {
	if cap(t.Body)-len(t.Body) < 16<<10 {
		t.Body = append(make([]byte, 0, 2*cap(t.Body)), t.Body...)
	}
	return t.Body[len(t.Body):min(cap(t.Body), len(t.Body)+1<<20)]
}

// Arrival is that of the byte before offset end of the body. Bytes behind it in
// the same read count as shared unless they are line ends.
func (t *Buffer) Arrival(end int) Arrival {
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].end >= end })
	if i == len(t.marks) {
		return Arrival{}
	}
	m := t.marks[i]
	shared := m.more || len(bytes.Trim(t.Body[end:m.end], "\r\n")) > 0
	if t.Stamps != timing.StampsKernel { // some reads had no kernel stamp: one kind for all
		return Arrival{At: m.at + m.lag, Shared: shared}
	}
	return Arrival{At: m.at, Lag: m.lag, Shared: shared}
}

// Lines splits the body at newlines (NDJSON).
func (t *Buffer) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for line, end := range splitLines(t.Body) {
			data := bytes.TrimSpace(line)
			if len(data) > 0 && !yield(Line{Data: clean(data, t.secrets), Open: end == len(t.Body) && !bytes.HasSuffix(t.Body, []byte("\n")), Arrival: t.Arrival(end)}) {
				return
			}
		}
	}
}

// Events splits the body into server-sent events, those with empty data too. Each
// arrived with the first byte that ends its blank line. An event without a data
// line, and one that the end of the reply cuts off, is none.
func (t *Buffer) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		s := newEvents(t.Body)
		for {
			e, end, ok := s.next()
			if !ok {
				return
			}
			e.Arrival, e.Data = t.Arrival(end), clean(e.Data, t.secrets)
			if !yield(e) {
				return
			}
		}
	}
}

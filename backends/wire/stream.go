package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"assay/backends"
	"assay/timing"
)

// Stream posts body to path once and records the reply on a buffer until it ends.
//
// It marks Start, Sent, FirstByte and End on rec; the chunks are the caller's to
// decode from the buffer and hand to rec.Chunks. scan is a cheap look at each line
// of the reply as it arrives, without its newline, until it returns true: content
// is there, so the stall timeout takes over from the first-content timeout. It
// must not keep the line. nil: any line is content.
//
// Whatever the status, a complete reply is no error here, except a redirect
// (ErrRefused). Errors are *backends.Error. Where something had arrived the buffer
// is returned beside the error, so that the caller can say what.
func (c *Client) Stream(ctx context.Context, path string, body []byte, t backends.Timeouts, rec *timing.Recorder, scan func(line []byte) bool) (*Buffer, error) {
	return c.StreamUpTo(ctx, maxResponse, path, body, t, rec, scan)
}

// StreamUpTo is Stream for a reply of most bytes, maxResponse at most: a longer one is
// cut off there, and is ErrOverlong.
func (c *Client) StreamUpTo(ctx context.Context, most int, path string, body []byte, t backends.Timeouts, rec *timing.Recorder, scan func(line []byte) bool) (*Buffer, error) {
	buffer := &Buffer{Op: c.op("POST", path), Sent: body, Stamps: timing.StampsUser, keys: c.shows, secrets: secrets(c.key, c.shows)}
	room := c.rooms.Get().(*room)
	buffer.Body, buffer.marks = room.body[:0], room.marks[:0]
	defer func() {
		room.body, room.marks = buffer.Body, buffer.marks
		buffer.Body, buffer.marks = bytes.Clone(buffer.Body), slices.Clone(buffer.marks)
		c.rooms.Put(room)
	}()
	if body == nil {
		buffer.Sent = []byte{}
	}
	req, err := c.request(ctx, "POST", path, buffer.Sent)
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	if err := writeHead(&head, req); err != nil {
		return nil, err
	}
	conn, in, err := c.connect(ctx, t.Connect, rec.Clock())
	if err != nil {
		e := &backends.Error{Kind: backends.ErrUnreachable, Op: buffer.Op, Err: err, Hint: c.whereHint()}
		switch {
		case ctx.Err() != nil:
			e.Kind, e.Err, e.Hint = backends.ErrCancelled, context.Cause(ctx), ""
		case errors.Is(err, context.DeadlineExceeded):
			e.Message = fmt.Sprintf("no connection within %v", t.Connect)
		default:
			c.distrust(e)
		}
		return nil, e
	}
	defer conn.Close()

	s := &stream{buffer: buffer, conn: conn, in: in, rec: rec, scan: scan, req: req, most: most}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	// Closing is what ends a blocked Read or Write on every kind of connection.
	defer context.AfterFunc(s.ctx, func() { conn.Close() })()
	stop := s.watch(t)
	defer stop()

	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		s.write(head.Bytes())
	}()
	err = s.read()
	conn.Close()
	<-wrote
	if err != nil {
		if !s.ended {
			rec.Mark(timing.End)
		}
		if buffer.Status == 0 {
			return nil, err
		}
		return buffer, err
	}
	if err := c.redirected(buffer.Op, buffer.Status, buffer.Header); err != nil {
		err.Sent = buffer.Sent
		return buffer, err
	}
	return buffer, nil
}

// writeHead writes the request line and header fields only: the body is sent
// from where it lies, not through net/http's copy of 32 KiB at a time.
func writeHead(w *bytes.Buffer, req *http.Request) error {
	req.Header.Set("Accept", "*/*")
	fmt.Fprintf(w, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", req.Method, req.URL.RequestURI(), req.URL.Host, req.ContentLength)
	if err := req.Header.Write(w); err != nil {
		return err
	}
	w.WriteString("\r\n")
	return nil
}

// room is room for a buffer under way. It is used again, so that no memory is
// asked for while the clock runs; the finished buffer is a copy.
type room struct {
	body  []byte
	marks []mark
}

func newRoom() any { return &room{make([]byte, 0, 64<<10), make([]mark, 0, 1<<10)} }

// firstWrite is how much of the body goes out with the head, in bytes; the rest
// is sent from where it lies.
const firstWrite = 16 << 10

// stream is one request under way.
type stream struct {
	buffer *Buffer
	conn   net.Conn
	in     reader
	rec    *timing.Recorder
	req    *http.Request
	scan   func([]byte) bool
	ctx    context.Context
	cancel context.CancelCauseFunc

	found   atomic.Bool  // content was seen
	last    atomic.Int64 // when the last read after that returned, on the clock
	content func()       // called once when content is seen
	frame   framing
	line    int // where the line under way begins
	mark    endMark
	ended   bool
	most    int // bytes of body; 0: maxResponse
}

// timeout is why a stream was given up.
type timeout string

func (e timeout) Error() string { return string(e) }

// watch starts the timers of t and returns what stops them. The stall timer
// looks back at the last read when it fires, so a read costs no timer.
func (s *stream) watch(t backends.Timeouts) (stop func()) {
	var timers []*time.Timer
	after := func(d time.Duration, f func()) *time.Timer {
		tm := time.AfterFunc(d, f)
		timers = append(timers, tm)
		return tm
	}
	s.content = func() {}
	if t.Total > 0 {
		after(t.Total, func() { s.cancel(timeout(fmt.Sprintf("the reply took longer than %v in all", t.Total))) })
	}
	if t.FirstContent > 0 {
		after(t.FirstContent, func() {
			if !s.found.Load() {
				s.cancel(timeout(fmt.Sprintf("no content within %v", t.FirstContent)))
			}
		})
	}
	if t.Stall > 0 {
		s.content = func() {
			var tm *time.Timer
			armed := make(chan struct{})
			tm = after(t.Stall, func() {
				<-armed
				idle := s.rec.Clock().Now() - time.Duration(s.last.Load())
				if idle >= t.Stall {
					s.cancel(timeout(fmt.Sprintf("nothing more within %v", t.Stall)))
					return
				}
				tm.Reset(t.Stall - idle)
			})
			close(armed)
		}
	}
	return func() {
		for _, tm := range timers {
			tm.Stop()
		}
	}
}

// write sends the request. An error needs no report: a server that hung up may
// still have answered, and if not the reader fails too.
func (s *stream) write(head []byte) {
	body := s.buffer.Sent
	n := min(len(body), firstWrite)
	first := slices.Concat(head, body[:n])
	// No memory is asked for from here on: the garbage collector could make the
	// request wait behind its Start.
	if t, ok := s.in.(tlsReader); ok {
		t.raw.begin.Store(s.rec)
	} else {
		s.rec.Start()
	}
	if _, err := s.conn.Write(first); err != nil {
		return
	}
	if body = body[n:]; len(body) > 0 {
		if _, err := s.conn.Write(body); err != nil {
			return
		}
	}
	s.rec.Mark(timing.Sent)
}

// read records the reply until its end.
func (s *stream) read() error {
	rest, err := s.head()
	if err != nil {
		return err
	}
	t := s.buffer
	copy(t.room()[:len(rest.b)], rest.b)
	n, at := len(rest.b), rest.at
	for {
		done, err := s.take(n, at)
		if err != nil {
			return err
		}
		if done {
			s.end(at)
			return nil
		}
		n, at, err = s.in.read(t.room())
		if err != nil {
			if errors.Is(err, io.EOF) && s.frame.mode == untilClose {
				s.end(at)
				return nil
			}
			return s.broken(err)
		}
	}
}

// take adds the n bytes just read behind the buffer's end to it.
func (s *stream) take(n int, at arrival) (done bool, err error) {
	t := s.buffer
	p := t.Body[len(t.Body) : len(t.Body)+n]
	m, done, err := s.frame.feed(p)
	if err != nil {
		return false, t.Fail(backends.ErrMalformed, err.Error(), "")
	}
	from := len(t.Body)
	if m > 0 {
		t.Body = t.Body[:from+m]
		if i := len(t.marks) - 1; at.raw > 0 && i >= 0 && t.marks[i].raw == at.raw {
			t.marks[i].end, t.marks[i].more = from+m, done // another record of the same raw read
		} else {
			t.marks = append(t.marks, mark{end: from + m, arrival: at, more: done})
		}
		if len(t.marks) == 1 {
			t.Stamps = at.stamps()
		} else if !at.kernel {
			t.Stamps = timing.StampsUser
		}
	}
	if s.found.Load() {
		s.last.Store(int64(at.at + at.lag))
	} else {
		s.look(from, at)
	}
	if t.events && !done {
		done = s.mark.in(t.Body, s.line)
	}
	i := bytes.LastIndexByte(t.Body[from:], '\n')
	if i < 0 {
		i = bytes.LastIndexByte(t.Body[from:], '\r')
	}
	if i >= 0 {
		s.line = from + i + 1
	}
	if len(t.Body)-s.line > maxLine {
		return false, t.Fail(backends.ErrMalformed, fmt.Sprintf("a line is longer than %d bytes", maxLine), "")
	}
	if s.most > 0 && s.most < maxResponse && len(t.Body) > s.most {
		if line := len(t.Body) - s.line; line > s.most/2 {
			return false, t.Fail(backends.ErrMalformed, fmt.Sprintf("a line is longer than %d bytes", line-1), "")
		}
		return false, t.Fail(backends.ErrOverlong, fmt.Sprintf("the reply was cut off after %d bytes", s.most), "does the server heed the limit of tokens?")
	}
	if len(t.Body) > maxResponse {
		return false, t.Fail(backends.ErrMalformed, fmt.Sprintf("the reply is longer than %d bytes", maxResponse), "")
	}
	return done, nil
}

// look scans the lines that end in the bytes from offset from on.
func (s *stream) look(from int, at arrival) {
	for body := s.buffer.Body; ; {
		end := lineEnd(body[from:])
		if end < 0 {
			return
		}
		end += from
		if end > s.line && (s.scan == nil || s.scan(body[s.line:end])) {
			s.last.Store(int64(at.at + at.lag))
			s.found.Store(true)
			s.content()
			return
		}
		from, s.line = end+1, end+1
	}
}

// lineEnd is where the first line of b ends; -1: nowhere yet.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if j := bytes.IndexByte(b[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

// endMark finds the event "[DONE]", behind which nothing is waited for: some
// servers and proxies keep the connection open.
type endMark struct{ behind int } // its data line, once that is there; 0: not yet

// in says whether body, whose last looked-at line begins at from, has the event.
func (m *endMark) in(body []byte, from int) bool {
	for {
		if m.behind == 0 {
			i := bytes.Index(body[from:], []byte("[DONE]"))
			if i < 0 {
				return false
			}
			begin := 1 + max(bytes.LastIndexByte(body[:from+i], '\n'), bytes.LastIndexByte(body[:from+i], '\r'))
			end := lineEnd(body[begin:])
			if end < 0 {
				return false // the search begins at this line again
			}
			from = begin + end + 1
			value, isData := bytes.CutPrefix(body[begin:begin+end], []byte("data:"))
			if !isData || string(bytes.TrimSpace(value)) != "[DONE]" {
				continue
			}
			m.behind = from
		}
		rest := body[m.behind:]
		if body[m.behind-1] == '\r' {
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		if len(rest) == 0 {
			return false
		}
		if rest[0] == '\n' || rest[0] == '\r' {
			return true
		}
		from, m.behind = m.behind, 0 // another line of the same event
	}
}

func (s *stream) end(at arrival) {
	s.ended = true
	s.rec.MarkAt(timing.End, at.at)
}

// rest is what came behind the head in the same read.
type rest struct {
	b  []byte
	at arrival
}

// head reads up to the end of the header fields and parses them.
func (s *stream) head() (rest, error) {
	t := s.buffer
	buf := make([]byte, 0, 4<<10)
	for {
		if cap(buf)-len(buf) < 1<<10 {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n, at, err := s.in.read(buf[len(buf):cap(buf)])
		if n > 0 {
			s.rec.MarkAt(timing.FirstByte, at.at)
			buf = buf[:len(buf)+n]
		}
		if !bytes.HasPrefix(buf, []byte("HTTP/")) && (len(buf) >= 5 || !bytes.HasPrefix([]byte("HTTP/"), buf)) {
			what, hint := notHTTP(buf)
			return rest{}, t.Fail(backends.ErrMalformed, what, hint)
		}
		for {
			i := headEnd(buf)
			if i < 0 {
				break
			}
			resp, perr := http.ReadResponse(bufio.NewReader(bytes.NewReader(buf[:i])), s.req)
			if perr != nil {
				return rest{}, t.Fail(backends.ErrMalformed, "the head of the reply cannot be read: "+perr.Error(), "is this the right port?")
			}
			if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
				buf = buf[i:]
				continue
			}
			t.Status, t.Header = resp.StatusCode, resp.Header
			t.events = t.IsType("text/event-stream")
			if coded := encoded(t.Header); coded != "" {
				return rest{}, t.Fail(backends.ErrMalformed, coded, encodedHint)
			}
			s.frame = newFraming(resp)
			return rest{buf[i:], at}, nil
		}
		if err != nil {
			return rest{}, s.broken(err)
		}
		if len(buf) > maxHead {
			return rest{}, t.Fail(backends.ErrMalformed, fmt.Sprintf("the head of the reply is longer than %d bytes", maxHead), "")
		}
	}
}

// headEnd is where the body begins; -1: not yet known.
func headEnd(b []byte) int {
	for i := 0; ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return -1
		}
		i += j + 1
		if bytes.HasPrefix(b[i:], []byte("\r\n")) {
			return i + 2
		}
		if bytes.HasPrefix(b[i:], []byte("\n")) {
			return i + 1
		}
	}
}

// broken turns a failed read into the error it means.
func (s *stream) broken(err error) error {
	t := s.buffer
	cause := context.Cause(s.ctx)
	var to timeout
	switch {
	case errors.As(cause, &to):
		e := t.Fail(backends.ErrStalled, string(to), "")
		e.Err = err
		return e
	case cause != nil:
		e := t.Fail(backends.ErrCancelled, "", "")
		e.Err = cause
		return e
	}
	what := "the connection ended before any reply"
	if t.Status != 0 {
		what = fmt.Sprintf("the connection ended after %d bytes, before the end of the reply", len(t.Body))
	}
	if !errors.Is(err, io.EOF) {
		what += " (" + strings.TrimPrefix(err.Error(), "read ") + ")"
	}
	e := t.Fail(backends.ErrTruncated, what, "look into the server's log")
	e.Err = err
	return e
}

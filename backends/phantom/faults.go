package phantom

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"
)

// strike decides what goes wrong with a reply. A request that is sent again may
// fare better.
func (s *server) strike(t *take, reply *Reply) {
	if len(t.reader.Faults) == 0 && t.reader.Jitter == 0 {
		return
	}
	sent := sentDigest(t.body)
	s.mu.Lock()
	again := s.seen[sent]
	s.seen[sent]++
	s.mu.Unlock()
	t.pace = NewSource(binary.LittleEndian.Uint64([]byte(sent[len(sent)-8:])) ^ s.options.Seed + uint64(again))
	t.fault = t.reader.Strikes(t.pace.Unit())
	if !t.stream && !t.fault.Whole() {
		t.fault = ""
	}
	if t.fault == FaultSplitUTF8 {
		const plain, foreign = "radiograph", "radiograph (Röntgen)"
		thinking, answer := strings.Replace(reply.Thinking, plain, foreign, 1), strings.Replace(reply.Answer, plain, foreign, 1)
		if thinking == reply.Thinking && answer == reply.Answer {
			t.fault = "" // there is nothing to cut
		}
		reply.Thinking, reply.Answer = thinking, answer
	}
}

// record writes the truth behind a reply.
func (s *server) record(t *take, reply Reply) {
	if _, judge := s.judges[t.reader.Name]; judge || s.options.Ledger == nil {
		return
	}
	line := append(encode(Entry{Sent: sentDigest(t.body), Protocol: s.options.Protocol, Reader: t.reader.Name, Fault: t.fault, Cut: t.cut, Truth: reply.Truth}), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.options.Ledger.Write(line); err != nil && s.unwritten == nil {
		s.unwritten = fmt.Errorf("phantom: write ledger: %w", err)
	}
}

// sink sends the chunks of a stream, with what goes wrong with it.
type sink struct {
	ctx     context.Context
	t       *take
	n       int // chunks so far
	write   func([]byte) error
	reset   func()
	blank   []byte // what clients have to overlook
	problem []byte // an error in band
	long    string // how a line without end begins
}

var (
	errEnded  = errors.New("phantom: the stream has ended in an error, as planned")
	errBroken = errors.New("phantom: the stream is broken off, as planned")
	errGone   = errors.New("phantom: the connection was reset, as planned")
)

const longLine = 100 << 20

func (s *sink) send(b []byte) error {
	s.n++
	late := s.n > 1+len(s.t.chunks)/2 // far enough into the stream
	switch kind := s.t.fault; {
	case kind == faultComments && s.n > 1:
		if err := s.write(s.blank); err != nil {
			return err
		}
	case kind == faultSlowDrip && s.n <= 4:
		for i := range b {
			if err := s.write(b[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	case kind == FaultSplitUTF8:
		if i := bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
			if err := s.write(b[:i+1]); err != nil {
				return err
			}
			b = b[i+1:]
		}
	case !late:
	case kind == FaultErrorInBand:
		if err := s.write(s.problem); err != nil {
			return err
		}
		return errEnded
	case kind == FaultEarlyClose:
		return errBroken
	case kind == FaultStall:
		<-s.ctx.Done()
		return errBroken
	case kind == FaultReset:
		s.reset()
		return errGone
	case kind == FaultLongLine:
		part := bytes.Repeat([]byte("x"), 1<<20)
		err := s.write([]byte(s.long))
		for n := 0; err == nil && n < longLine && s.ctx.Err() == nil; n += len(part) {
			err = s.write(part)
		}
		return errBroken
	}
	return s.write(b)
}

// ended reports whether a stream is over because of err. A connection that
// should break breaks here.
func (s *sink) ended(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, errEnded), errors.Is(err, errGone):
		return true
	}
	panic(http.ErrAbortHandler) // the client is gone, or the server is: no end mark
}

// flushed writes to a response without delay.
func flushed(w http.ResponseWriter) func([]byte) error {
	flush := http.NewResponseController(w)
	return func(b []byte) error {
		if _, err := w.Write(b); err != nil {
			return err
		}
		return flush.Flush()
	}
}

// reset ends a response's connection with RST.
func reset(w http.ResponseWriter) func() {
	return func() {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			linger(conn)
			conn.Close()
		}
	}
}

// linger makes closing a connection forget what was not sent, and say RST.
func linger(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
}

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
	t.fault = t.reader.strikes(t.pace.Unit())
	if !t.stream && !t.fault.whole() {
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
	*http.ResponseController
	w       http.ResponseWriter
	ctx     context.Context
	t       *take
	n       int    // chunks so far
	blank   string // what clients have to overlook
	long    string // how a line without end begins
	problem []byte // an error in band
}

func (s *server) sink(w http.ResponseWriter, r *http.Request, t *take, long string, problem []byte) *sink {
	return &sink{ResponseController: http.NewResponseController(w), w: w, ctx: r.Context(), t: t, blank: s.protocol.blank, long: long, problem: problem}
}

// write writes without delay.
func (s *sink) write(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.Flush()
}

var (
	errEnded  = errors.New("phantom: the stream has ended in an error, as planned")
	errBroken = errors.New("phantom: the stream is broken off, as planned")
)

const longLine = 100 << 20

func (s *sink) send(b []byte) error {
	s.n++
	late := s.n > 1+len(s.t.chunks)/2 // far enough into the stream
	switch kind := s.t.fault; {
	case kind == faultComments && s.n > 1:
		if err := s.write([]byte(s.blank)); err != nil {
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
		if conn, _, err := s.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0) // it forgets what was not sent, and says RST
			}
			conn.Close()
		}
		return errBroken
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
	if err != nil && !errors.Is(err, errEnded) {
		panic(http.ErrAbortHandler) // the client is gone, or the server is: no end mark
	}
	return err != nil
}

// Fault is something that goes wrong with a reply, and how often.
type Fault struct {
	Kind FaultKind
	Rate float64 // of replies; of several faults, at most one strikes
}

// FaultKind is what goes wrong.
type FaultKind string

// The faults. Those marked with * break no rule of the protocol: a client must
// read the reply as if nothing had happened.
const (
	FaultErrorInBand FaultKind = "error-in-band" // the stream ends in an error
	faultRoleFirst   FaultKind = "role-first"    // * a first chunk without text, long before the others
	faultManyTokens  FaultKind = "many-tokens"   // * eight tokens to a chunk
	FaultSplitUTF8   FaultKind = "split-utf8"    // * letters are cut between two writes
	faultComments    FaultKind = "comments"      // * comments between events, or empty lines
	FaultNoUsage     FaultKind = "no-usage"      // * nothing is counted
	faultSlowDrip    FaultKind = "slow-drip"     // * every byte by itself
	FaultEarlyClose  FaultKind = "early-close"   // the connection ends in the middle
	FaultStall       FaultKind = "stall"         // nothing more comes, and the connection stays
	FaultLongLine    FaultKind = "long-line"     // a line of 100 MB
	FaultWrongType   FaultKind = "wrong-type"    // status 200 and a web page
	FaultReset       FaultKind = "reset"         // RST in the middle
	FaultLoading     FaultKind = "loading"       // 503
	FaultInternal    FaultKind = "internal"      // 500
)

// FaultKinds are all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultErrorInBand, faultRoleFirst, faultManyTokens, FaultSplitUTF8, faultComments, FaultNoUsage, faultSlowDrip,
		FaultEarlyClose, FaultStall, FaultLongLine, FaultWrongType, FaultReset, FaultLoading, FaultInternal}
}

// whole reports whether the fault can strike a reply that is no stream.
func (k FaultKind) whole() bool {
	return k == FaultWrongType || k == FaultLoading || k == FaultInternal
}

// strikes is the fault that u, uniform in 0..1, stands for; "": none.
func (p Profile) strikes(u float64) FaultKind {
	for _, f := range p.Faults {
		if u -= f.Rate; u < 0 {
			return f.Kind
		}
	}
	return ""
}

// Pack keeps a trace in few bytes: it has thousands of times.

package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"assay/results"
	"assay/timing"
)

// A trace is stored as
//
//	1 byte   version, 2
//	string   stamps: its length and bytes
//	1 byte   how many events follow
//	 each    event, then its time
//	uvarint  how many chunks follow
//	 each    code points<<2 | shared<<1 | answer, arrival since the chunk before, lag
//	uvarint  tokens in the first chunk as the server said, plus one; 0: it did not
//
// Lengths and code points are uvarints, times are zigzag varints in nanoseconds.
// Version 1 has no last line.
const traceVersion = 2

func trace(t timing.Trace) []byte {
	b := make([]byte, 0, 64+9*len(t.Chunks))
	b = append(b, traceVersion)
	b = binary.AppendUvarint(b, uint64(len(t.Stamps)))
	b = append(b, t.Stamps...)
	count := len(b)
	b = append(b, 0)
	for e := timing.Start; e <= timing.End; e++ {
		if at, ok := t.At(e); ok {
			b[count]++
			b = append(b, byte(e))
			b = binary.AppendVarint(b, int64(at))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(t.Chunks)))
	var last time.Duration
	for _, p := range t.Chunks {
		if p.Runes < 0 {
			panic("store: internal error: a chunk of negative length")
		}
		head := uint64(p.Runes) << 2
		if p.Shared {
			head |= 2
		}
		if p.Answer {
			head |= 1
		}
		b = binary.AppendUvarint(b, head)
		b = binary.AppendVarint(b, int64(p.At-last))
		b = binary.AppendVarint(b, int64(p.Lag))
		last = p.At
	}
	if t.FirstTokens == nil {
		return append(b, 0)
	}
	if *t.FirstTokens < 0 {
		panic("store: internal error: a chunk of a negative number of tokens")
	}
	return binary.AppendUvarint(b, uint64(*t.FirstTokens)+1)
}

var errDamaged = fmt.Errorf("%w: its trace is damaged", results.FaultDamaged)

// readTrace reads what Trace wrote.
func readTrace(b []byte) (timing.Trace, error) {
	r := traceReader{b: b}
	version := r.byte()
	if r.bad || version < 1 || version > traceVersion {
		return timing.Trace{}, fmt.Errorf("%w: version %d", errDamaged, version)
	}
	stamps := timing.Stamps(r.bytes(r.uvarint()))
	// The clock does not matter: every time is given.
	rec := timing.NewRecorder(timing.NewClock())
	for n := r.byte(); n > 0 && !r.bad; n-- {
		e, at := timing.Event(r.byte()), time.Duration(r.varint())
		if e > timing.End || at < 0 {
			return timing.Trace{}, fmt.Errorf("%w: event %d at %d", errDamaged, uint8(e), at)
		}
		rec.MarkAt(e, at)
	}
	t := rec.Trace()
	t.Stamps = stamps
	n := r.uvarint()
	if n > uint64(len(r.b)) { // a chunk takes three bytes or more
		return timing.Trace{}, fmt.Errorf("%w: %d chunks in %d bytes", errDamaged, n, len(r.b))
	}
	if n > 0 {
		t.Chunks = make([]timing.Chunk, n)
	}
	var last time.Duration
	for i := range t.Chunks {
		head := r.uvarint()
		last += time.Duration(r.varint())
		t.Chunks[i] = timing.Chunk{At: last, Lag: time.Duration(r.varint()), Runes: int(head >> 2), Shared: head&2 != 0, Answer: head&1 != 0}
	}
	if version > 1 {
		if first := r.uvarint(); first > math.MaxInt32 {
			return timing.Trace{}, fmt.Errorf("%w: %d tokens in a chunk", errDamaged, first-1)
		} else if first > 0 {
			n := int(first - 1)
			t.FirstTokens = &n
		}
	}
	if r.bad || len(r.b) > 0 {
		return timing.Trace{}, fmt.Errorf("%w: its length is wrong", errDamaged)
	}
	return t, nil
}

// traceReader takes values off the front of b; bad: it ran out.
type traceReader struct {
	b   []byte
	bad bool
}

func (r *traceReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *traceReader) byte() byte {
	if p := r.bytes(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *traceReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *traceReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

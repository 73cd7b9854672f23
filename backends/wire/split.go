package wire

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// splitLines gives each line without its newline and the offset behind it.
// What follows the last newline is a line too.
func splitLines(b []byte) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		for from := 0; from < len(b); {
			end := len(b)
			line := b[from:]
			if i := bytes.IndexByte(line, '\n'); i >= 0 {
				line, end = line[:i], from+i+1
			}
			if !yield(line, end) {
				return
			}
			from = end
		}
	}
}

// eventReader reads a body as an event stream (WHATWG HTML, "Server-sent events").
// Lines end at CRLF, LF or CR. What the end of the body cuts off, a line or an
// event without its blank line, is left out.
type eventReader struct {
	body  []byte
	from  int     // where the next line begins
	lf    int     // the first LF from there on, len(body) where there is none; -1: not yet looked for
	sent  string  // the last id that was sent
	id    string  // the last id before a blank line
	retry *uint64 // milliseconds; nil: none was sent
}

func newEvents(body []byte) *eventReader {
	e := &eventReader{body: body, lf: -1}
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		e.from = len("\ufeff")
	}
	return e
}

// line is the next complete line and the offset of the byte that ends it.
func (s *eventReader) line() (line []byte, end int, ok bool) {
	if s.lf < s.from && s.lf < len(s.body) {
		s.lf = len(s.body)
		if i := bytes.IndexByte(s.body[s.from:], '\n'); i >= 0 {
			s.lf = s.from + i
		}
	}
	end = s.lf
	if i := bytes.IndexByte(s.body[s.from:end], '\r'); i >= 0 {
		end = s.from + i
	}
	if end == len(s.body) {
		return nil, 0, false
	}
	line, s.from = s.body[s.from:end], end+1
	if s.body[end] == '\r' && end+1 < len(s.body) && s.body[end+1] == '\n' {
		s.from++
	}
	return line, end, true
}

// next is the next event that has data, and the offset behind the first byte that
// ends its blank line: with that byte the event is known.
func (s *eventReader) next() (e Event, end int, ok bool) {
	lines := 0
	for {
		line, at, ok := s.line()
		if !ok {
			return Event{}, 0, false
		}
		if len(line) == 0 {
			s.id = s.sent
			if lines > 0 {
				e.Data, e.ID = decodeUTF8(e.Data), s.id
				return e, at + 1, true
			}
			e = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if lines == 0 {
				e.Data = value[:len(value):len(value)]
			} else {
				e.Data = append(append(e.Data, '\n'), value...)
			}
			lines++
		case "event":
			e.Name = string(decodeUTF8(value))
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				s.sent = string(decodeUTF8(value))
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 63); err == nil && value[0] != '+' {
				s.retry = &ms
			}
		}
	}
}

// decodeUTF8 puts U+FFFD for each maximal part of a sequence that is none.
func decodeUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out, err := unicode.UTF8.NewDecoder().Bytes(b)
	if err != nil {
		panic("wire: internal error: UTF-8 does not decode: " + err.Error())
	}
	return out
}

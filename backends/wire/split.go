package wire

import (
	"bytes"
	"iter"
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

// splitEvents gives each server-sent event and the offset behind its last data
// line (WHATWG HTML, "Interpreting an event stream"). Lines end in LF or CRLF;
// a lone CR, which no model server sends, is not a line end, because JSON with
// a stray CR would be cut by it. An event that the end of the stream cuts is
// given too, marked Open.
func splitEvents(b []byte) iter.Seq2[Event, int] {
	return func(yield func(Event, int) bool) {
		var e Event
		lines, at := 0, 0
		body := bytes.TrimPrefix(b, []byte("\ufeff"))
		skip := len(b) - len(body)
		for line, end := range splitLines(body) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(line) == 0 {
				if lines > 0 && !yield(e, at) {
					return
				}
				e, lines = Event{}, 0
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
				at = skip + end
			case "event":
				e.Name = string(value)
			}
		}
		if lines > 0 {
			e.Open = true
			yield(e, at)
		}
	}
}

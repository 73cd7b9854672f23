package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeded fails a fuzz test whose committed corpus is gone.
func seeded(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", f.Name(), "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds under testdata/fuzz/%s (%v)", f.Name(), err)
	}
}

// FuzzFraming holds the streaming decoder against net/http's: whatever the
// boundaries of the reads, what net/http reads as a complete chunked body comes
// out the same, and an incomplete one is never called complete.
func FuzzFraming(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, wireBytes []byte, size uint8) {
		head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(wireBytes))), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, werr := io.ReadAll(resp.Body)
		fr := newFraming(resp)
		var got []byte
		var done bool
		var gerr error
		step := int(size)%16 + 1
		for from := 0; from < len(wireBytes) && !done && gerr == nil; from += step {
			part := bytes.Clone(wireBytes[from:min(from+step, len(wireBytes))])
			var n int
			n, done, gerr = fr.feed(part)
			got = append(got, part[:n]...)
		}
		if werr == nil && (gerr != nil || !done || !bytes.Equal(got, want)) {
			t.Fatalf("net/http reads %q, we read %q, done %t, error %v", want, got, done, gerr)
		}
		// net/http counts chunk overhead and refuses bare line ends; we may go on.
		if werr == io.ErrUnexpectedEOF && done {
			t.Fatalf("net/http says cut, we say complete: %q", got)
		}
	})
}

// FuzzEvents holds the splitter against the standard's rules, read byte by byte
// in the plainest way.
func FuzzEvents(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		type event struct {
			name, data, id string
			end            int
		}
		var want []event
		var name, id, data string
		hasData := false
		text := bytes.TrimPrefix(body, []byte("\ufeff"))
		skip := len(body) - len(text)
		line := ""
		for i := 0; i < len(text); i++ {
			if text[i] != '\r' && text[i] != '\n' {
				line += string(text[i : i+1])
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "":
				if hasData {
					want = append(want, event{name, data, id, skip + i + 1})
				}
				name, data, hasData = "", "", false
			case field == "event":
				name = value
			case field == "data" && hasData:
				data += "\n" + value
			case field == "data":
				data, hasData = value, true
			case field == "id" && !strings.Contains(value, "\x00"):
				id = value
			}
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			line = ""
		}
		s := newEvents(body)
		for _, w := range want {
			e, end, ok := s.next()
			fix := func(s string) string { return string(decodeUTF8([]byte(s))) }
			if !ok || e.Name != fix(w.name) || string(e.Data) != fix(w.data) || e.ID != fix(w.id) || end != w.end {
				t.Fatalf("%t: event %q %q %q complete at %d, want %+v", ok, e.Name, e.Data, e.ID, end, w)
			}
			if !utf8.Valid(e.Data) {
				t.Fatalf("data %q", e.Data)
			}
		}
		if e, _, ok := s.next(); ok {
			t.Fatalf("event %q too many", e.Data)
		}
		n := 0
		for range (&Buffer{Body: body, marks: []mark{{end: len(body)}}}).Events() {
			n++
		}
		if n != len(want) {
			t.Fatalf("the buffer has %d events, want %d", n, len(want))
		}
	})
}

// FuzzLines checks that the NDJSON splitter loses nothing but white space.
func FuzzLines(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		buffer := &Buffer{Body: body, marks: []mark{{end: len(body)}}}
		var got []byte
		open := 0
		for l := range buffer.Lines() {
			if len(l.Data) == 0 || bytes.IndexByte(l.Data, '\n') >= 0 || !bytes.Equal(bytes.TrimSpace(l.Data), l.Data) {
				t.Fatalf("line %q", l.Data)
			}
			if open > 0 {
				t.Fatal("a line follows the one that was not ended")
			}
			if l.Open {
				open++
			}
			got = append(append(got, l.Data...), '\n')
		}
		var want []byte
		for line := range bytes.SplitSeq(body, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(append(want, line...), '\n')
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("lines %q, want %q", got, want)
		}
	})
}

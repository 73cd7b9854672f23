package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
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

// FuzzEvents checks the SSE splitter against the stream's own lines.
func FuzzEvents(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		tape := &Tape{Body: body, marks: []mark{{end: len(body)}}}
		var lines [][]byte // the values of data lines, by a plain reading of the rules
		for line := range bytes.SplitSeq(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if name, value, _ := bytes.Cut(line, []byte(":")); string(name) == "data" {
				lines = append(lines, bytes.TrimPrefix(value, []byte(" ")))
			}
		}
		var joined [][]byte
		last := -1
		for e, end := range splitEvents(body) {
			if end <= last || end > len(body) {
				t.Fatalf("event %q ends at %d, the one before at %d, the body at %d", e.Data, end, last, len(body))
			}
			last = end
			joined = append(joined, bytes.Split(e.Data, []byte("\n"))...)
		}
		if !bytes.Equal(bytes.Join(lines, []byte("\n")), bytes.Join(joined, []byte("\n"))) || len(lines) != len(joined) {
			t.Fatalf("data lines %q, events hold %q", lines, joined)
		}
		n := 0
		for e := range tape.Events() {
			if n++; e.Open && bytes.HasSuffix(body, []byte("\n\n")) {
				t.Fatalf("event %q is open in a body that ends with a blank line", e.Data)
			}
		}
	})
}

// FuzzLines checks that the NDJSON splitter loses nothing but white space.
func FuzzLines(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		tape := &Tape{Body: body, marks: []mark{{end: len(body)}}}
		var got []byte
		open := 0
		for l := range tape.Lines() {
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

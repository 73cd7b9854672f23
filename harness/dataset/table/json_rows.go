package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSONRows is what is done with a table.
type JSONRows struct {
	Bad    func(line int, column, want, got string) // notes a problem
	Header string                                   // what a file begins with, in words
	Comma  rune                                     // between cells; 0: a comma
	Exact  bool                                     // cells keep their outer space
	// Names are the names that the columns of CSV go by, of their titles without outer space;
	// false: no row is read.
	Names func(header []string) (names []string, ok bool)
	// Row takes in the cells of a row of CSV, without outer space, by name: the first of a name.
	Row func(line int, cells map[string]string)
	// Object takes in a line of JSON. NaN, Infinity and -Infinity, which Python writes, are
	// numbers (json.Number) there.
	Object func(line int, object map[string]any)
}

// Read reads a table. Lines count from 1. Blank lines are passed over.
func (r JSONRows) Read(content []byte) {
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(content, []byte(BOM))); len(trimmed) > 0 && trimmed[0] == '{' {
		r.Lines(content)
		return
	}
	r.Table(content)
}

// Lines reads JSON lines, whatever stands in the first.
func (r JSONRows) Lines(content []byte) {
	line := 0
	for text := range bytes.Lines(bytes.TrimPrefix(content, []byte(BOM))) {
		if line++; len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		v, issues := parsePython(bytes.TrimSuffix(text, []byte("\n")))
		for _, x := range issues {
			r.Bad(line, x.Path, x.Want, x.Got)
		}
		object, ok := v.(map[string]any)
		switch {
		case ok:
			r.Object(line, object)
		case len(issues) == 0:
			r.Bad(line, "$", "an object", Kind(v))
		}
	}
}

// Table reads CSV, whatever stands in the first line.
func (r JSONRows) Table(content []byte) {
	content = bytes.TrimPrefix(content, []byte(BOM))
	if at := notUTF8(content); at >= 0 {
		r.Bad(1+bytes.Count(content[:at], []byte("\n")), "", "text in UTF-8", fmt.Sprintf("the byte %#x", content[at]))
		return
	}
	in := csv.NewReader(bytes.NewReader(content))
	if in.FieldsPerRecord = -1; r.Comma != 0 {
		in.Comma = r.Comma
	}
	header, err := in.Read()
	if err != nil {
		r.Bad(1, "", r.Header, "nothing")
		return
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	names, ok := r.Names(header)
	if !ok {
		return
	}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var bent *csv.ParseError
		if errors.As(err, &bent) { // where a row ends is no longer known
			r.Bad(bent.Line, "", "separated values, a text with a quote in it between quotes", bent.Err.Error())
			return
		}
		line, _ := in.FieldPos(0)
		if len(fields) != len(header) {
			r.Bad(line, "", fmt.Sprintf("%d fields, as the first row has", len(header)), strconv.Itoa(len(fields)))
			continue
		}
		cells := map[string]string{}
		for i, v := range fields {
			if !r.Exact {
				v = strings.TrimSpace(v)
			}
			if _, twice := cells[names[i]]; !twice {
				cells[names[i]] = v
			}
		}
		r.Row(line, cells)
	}
}

// notUTF8 is where a text is not UTF-8; -1: nowhere.
func notUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// Known notes which columns stand twice, or are none of those that are known (nil: any may
// be), and says whether all is well.
func (r JSONRows) Known(names, known []string) bool {
	ok := true
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			r.Bad(1, name, "each column once", "it again")
			ok = false
		case known != nil && !slices.Contains(known, name):
			r.Bad(1, name, "one of "+strings.Join(known, ", "), "an unknown column")
			ok = false
		}
	}
	return ok
}

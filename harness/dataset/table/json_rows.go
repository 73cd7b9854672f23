package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// JSONRows is what is done with a table.
type JSONRows struct {
	Bad    func(line int, column, want, got string) // notes a problem
	Header string                                   // what a file begins with, in words
	// Names are the names that the columns of CSV go by, of their titles without outer space;
	// false: no row is read.
	Names func(header []string) (names []string, ok bool)
	// Row takes in the cells of a row of CSV, without outer space, by name: the first of a name.
	Row func(line int, cells map[string]string)
	// Object takes in a line of JSON.
	Object func(line int, object map[string]any)
}

// Read reads a table. Lines count from 1. Blank lines are passed over.
func (r JSONRows) Read(content []byte) {
	content = bytes.TrimPrefix(content, []byte(BOM))
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '{' {
		r.lines(content)
		return
	}
	r.table(content)
}

func (r JSONRows) lines(content []byte) {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, issues := ParseJSON(line)
		for _, x := range issues {
			r.Bad(i+1, x.Path, x.Want, x.Got)
		}
		object, ok := v.(map[string]any)
		switch {
		case ok:
			r.Object(i+1, object)
		case len(issues) == 0:
			r.Bad(i+1, "$", "an object", Kind(v))
		}
	}
}

func (r JSONRows) table(content []byte) {
	in := csv.NewReader(bytes.NewReader(content))
	header, err := in.Read()
	if err != nil {
		r.Bad(1, "", r.Header, "none")
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
		if errors.As(err, &bent) {
			r.Bad(bent.Line, "", fmt.Sprintf("%d fields of CSV", len(header)), bent.Err.Error())
			if !errors.Is(err, csv.ErrFieldCount) {
				return // where a row ends is no longer known
			}
			continue
		}
		line, _ := in.FieldPos(0)
		cells := map[string]string{}
		for i, v := range fields {
			if _, twice := cells[names[i]]; !twice {
				cells[names[i]] = strings.TrimSpace(v)
			}
		}
		r.Row(line, cells)
	}
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

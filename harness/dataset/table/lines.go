package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// EachLine gives the lines of a file to do, with their numbers from 1 and a function that
// notes what is wrong with them. Lines that are blank, or longer than most bytes, are
// problems and are not given. Of a file that is one JSON array, its elements are given, each
// with the line on which it begins. The error is for a file that cannot be read, or holds
// no lines at all.
func EachLine(file string, in io.Reader, most int, do func(row int, line []byte, bad func(column, want, got string))) (problems []Problem, err error) {
	bad := func(row int, column, want, got string) {
		problems = append(problems, Problem{File: file, Row: row, Column: column, Want: want, Got: got})
	}
	r := bufio.NewReaderSize(in, 1<<16)
	start, err := r.Peek(len(BOM))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for _, m := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(start, []byte(m)) {
			return nil, fmt.Errorf("%s is UTF-16: save it as UTF-8", file)
		}
	}
	if bytes.HasPrefix(start, []byte(BOM)) {
		bad(1, "", "UTF-8 without a byte order mark", "one at the start of the file (the line is read all the same)")
		r.Discard(len(BOM))
	}
	if isArray(r) {
		any := false
		err := elements(r, most, func(row, size int, text []byte) bool {
			if any = true; size > most {
				bad(row, "", fmt.Sprintf("an element of at most %d bytes", most), fmt.Sprint(size))
			} else {
				do(row, text, func(column, want, got string) { bad(row, column, want, got) })
			}
			return true
		}, func(row int, want, got string) { bad(row, "", want, got) })
		switch {
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		case !any:
			return nil, fmt.Errorf("%s is empty: expected objects in its array", file)
		}
		return problems, nil
	}
	row, text := 0, false
	for {
		line, n, err := next(r, most)
		if len(line) == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s, line %d: %w", file, row+1, err)
		}
		row++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		blank := len(bytes.TrimSpace(line)) == 0
		text = text || !blank
		switch {
		case len(line) > most:
			bad(row, "", fmt.Sprintf("a line of at most %d bytes", most), fmt.Sprintf("%d", n))
		case blank:
			bad(row, "", "a JSON object", "a blank line")
		default:
			do(row, line, func(column, want, got string) { bad(row, column, want, got) })
		}
	}
	if !text {
		return nil, fmt.Errorf("%s is empty: expected one JSON object per line", file)
	}
	return problems, nil
}

// isArray says whether what comes is a JSON array and no line of its own.
func isArray(r *bufio.Reader) bool {
	start, _ := r.Peek(1 << 12) // an error is one of reading, too
	return bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("["))
}

// elements gives the elements of a JSON array to do until that is false, each with the line
// that it begins on, and wrong what is wrong between them. One that is no JSON is told by
// who parses it, and the next one is found all the same.
func elements(r *bufio.Reader, most int, do func(row, size int, text []byte) (more bool), wrong func(row int, want, got string)) error {
	var one []byte
	line, from, size, depth, n, begun, quoted, escaped := 1, 0, 0, 0, 0, false, false, false
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			if len(one) > 0 && !do(from, size, one) {
				return nil
			}
			wrong(line, "] at the end of the array", "the end of the file")
			return nil
		}
		if err != nil {
			return err
		}
		if c == '\n' {
			line++
		}
		if len(one) == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			continue
		}
		if !begun { // with the [ of the array
			begun = true
			continue
		}
		if depth == 0 && !quoted && (c == ',' || c == ']') {
			switch {
			case len(one) > 0 && !do(from, size, one):
				return nil
			case len(one) == 0 && (c == ',' || n > 0):
				wrong(line, "an object between two commas", "nothing")
			}
			if c == ']' {
				rest, err := io.ReadAll(io.LimitReader(r, 1<<12))
				if rest = bytes.TrimSpace(rest); len(rest) > 0 {
					wrong(line, "nothing after the array", Quote(string(rest)))
				}
				return err
			}
			n++
			one, size = one[:0], 0
			continue
		}
		switch {
		case quoted:
			quoted = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if len(one) == 0 {
			from = line
		}
		if size++; len(one) <= most {
			one = append(one, c)
		}
	}
}

// FirstBytes is the first line or element of a file that EachLine would give; nil: none.
func FirstBytes(in io.Reader, most int) (first []byte) {
	r := bufio.NewReaderSize(in, 1<<16)
	if start, err := r.Peek(len(BOM)); err == nil && bytes.Equal(start, []byte(BOM)) {
		r.Discard(len(BOM))
	}
	if isArray(r) {
		elements(r, most, func(_, _ int, text []byte) bool { first = text; return false }, func(int, string, string) {})
		return first
	}
	for {
		line, n, err := next(r, most)
		if line = bytes.TrimSpace(line); len(line) > 0 && n <= most {
			return line
		}
		if err != nil {
			return nil
		}
	}
}

// next reads a line with its end. Of one that is longer than most it keeps
// some more than that; n is its whole length in bytes, without its end.
func next(r *bufio.Reader, most int) (line []byte, n int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += len(part)
		if len(line) <= most {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			end := part[len(bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))):]
			return line, n - len(end), err
		}
	}
}

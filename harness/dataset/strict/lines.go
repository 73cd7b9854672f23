package strict

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// EachLine gives the lines of a file to do, with their numbers from 1 and a function that
// notes what is wrong with them. Lines that are blank, or longer than most bytes, are
// problems and are not given. The error is for a file that cannot be read, or holds
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

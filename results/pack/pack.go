// Package pack keeps many values in few columns: what a store takes to be read is by
// the column, and a trace has thousands of times.
package pack

import (
	"fmt"
	"strconv"
	"strings"

	"assay/results"
)

// Columns is one SQL expression that holds several columns as text: reading a
// column of a row costs more than all else that is done with it, and a million
// trials have ten million of them. A column is its length in bytes, a colon and
// its text, or - for NULL; a name with an exclamation mark is never NULL.
func Columns(columns string) string {
	var parts []string
	for _, c := range strings.Split(columns, ",") {
		c, never := strings.CutSuffix(strings.TrimSpace(c), "!")
		text := "octet_length(" + c + ")||':'||" + c
		if !never {
			text = "coalesce(" + text + ",'-')"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "||")
}

// Row reads what Columns made, column by column. Texts are parts of what was
// read: who keeps one clones it.
type Row struct {
	Rest string // what is still to be read
	Err  error  // the first; a results.Fault
}

// Text is the next column; false: NULL.
func (u *Row) Text() (string, bool) {
	if strings.HasPrefix(u.Rest, "-") {
		u.Rest = u.Rest[1:]
		return "", false
	}
	length, rest, found := strings.Cut(u.Rest, ":")
	n, err := strconv.Atoi(length)
	if !found || err != nil || n < 0 || n > len(rest) {
		if u.Err == nil {
			u.Err = fmt.Errorf("%w: a row reads %.200q", results.FaultDamaged, u.Rest)
		}
		u.Rest = ""
		return "", false
	}
	u.Rest = rest[n:]
	return rest[:n], true
}

// Int is the next column; false: NULL.
func (u *Row) Int() (int64, bool) {
	s, ok := u.Text()
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && u.Err == nil {
		u.Err = fmt.Errorf("%w: %.20q is no number", results.FaultDamaged, s)
	}
	return v, err == nil
}

// Number is the next number, or nil.
func Number[T ~int | ~int64](u *Row) *T {
	v, ok := u.Int()
	if !ok {
		return nil
	}
	t := T(v)
	return &t
}

// Bool is the next column, 0 or 1; nil: NULL.
func Bool(u *Row) *bool {
	v, ok := u.Int()
	if !ok {
		return nil
	}
	b := v != 0
	return &b
}

// Text is the next text, or nil.
func Text(u *Row) *string {
	s, ok := u.Text()
	if !ok {
		return nil
	}
	return &s
}

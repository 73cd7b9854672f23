package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"assay/results"
)

// packed is one SQL expression that holds several columns as text: reading a
// column of a row costs more than all else that is done with it, and a million
// trials have ten million of them. A column is its length in bytes, a colon and
// its text, or - for NULL; a name with an exclamation mark is never NULL.
func packed(columns string) string {
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

// unpacker reads what packed made, column by column. Texts are parts of what was
// read: who keeps one clones it.
type unpacker struct {
	rest string
	err  error
}

// text is the next column; false: NULL.
func (u *unpacker) text() (string, bool) {
	if strings.HasPrefix(u.rest, "-") {
		u.rest = u.rest[1:]
		return "", false
	}
	length, rest, found := strings.Cut(u.rest, ":")
	n, err := strconv.Atoi(length)
	if !found || err != nil || n < 0 || n > len(rest) {
		if u.err == nil {
			u.err = fmt.Errorf("%w: a row reads %.200q", results.FaultDamaged, u.rest)
		}
		u.rest = ""
		return "", false
	}
	u.rest = rest[n:]
	return rest[:n], true
}

// int is the next column; false: NULL.
func (u *unpacker) int() (int64, bool) {
	s, ok := u.text()
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && u.err == nil {
		u.err = fmt.Errorf("%w: %.20q is no number", results.FaultDamaged, s)
	}
	return v, err == nil
}

// key is the columns of keyColumns.
func (u *unpacker) key(n interner) results.Key {
	next := func() string { s, _ := u.text(); return n.of(s) }
	k := results.Key{Study: next(), Model: next(), Item: next(), Arm: next(), Condition: next()}
	repeat, _ := u.int()
	k.Repeat = int(repeat)
	return k
}

// opt is the next number, or nil.
func opt[T ~int | ~int64](u *unpacker) *T {
	v, ok := u.int()
	if !ok {
		return nil
	}
	t := T(v)
	return &t
}

// yes is the next column, 0 or 1; nil: NULL.
func yes(u *unpacker) *bool {
	v, ok := u.int()
	if !ok {
		return nil
	}
	b := v != 0
	return &b
}

// textOf is the next text, or nil.
func textOf(u *unpacker) *string {
	s, ok := u.text()
	if !ok {
		return nil
	}
	return &s
}

package viewer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// filterOp compares a column with values.
type filterOp string

const (
	Is        filterOp = "is"      // one of the values, texts or numbers
	not       filterOp = "not"     // none of them
	least     filterOp = "least"   // a number, at least the value
	most      filterOp = "most"    // a number, at most the value
	holds     filterOp = "holds"   // a text with one of the values in it, whatever its case
	isMissing filterOp = "missing" // no value; the values do not matter
	Known     filterOp = "known"   // a value; likewise
)

// ops are all of them.
func ops() []filterOp { return []filterOp{Is, not, least, most, holds, isMissing, Known} }

// Filter is what a trial must be like.
type Filter struct {
	Column string
	Op     filterOp
	Values []string
}

// query says which trials, and in which order.
type query struct {
	Where []Filter
	Words string // each occurs in the answer or the reasoning; the last may be a beginning
	Sort  string // a column; "": Key order
	Down  bool   // largest first; trials without a value are last either way
}

// selection is the trials of a query.
type selection struct {
	table *Table
	rows  []uint32 // in Key order
	sort  int      // a column; -1: none
	down  bool
}

// selects finds trials. The error says what of the query cannot be read.
func (t *Table) selects(q query) (*selection, error) {
	s := &selection{table: t, sort: -1, down: q.Down}
	if q.Sort != "" {
		if s.sort = t.place(q.Sort); s.sort < 0 {
			return nil, fmt.Errorf("there is no column %q to sort by", q.Sort)
		}
	}
	var masks [][]bool
	var by []int
	for _, w := range q.Where {
		at := t.place(w.Column)
		if at < 0 {
			return nil, fmt.Errorf("there is no column %q", w.Column)
		}
		mask, err := t.of[at].fits(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Column, err)
		}
		masks, by = append(masks, mask), append(by, at)
	}
	in, err := t.find(q.Words)
	if err != nil {
		return nil, err
	}
	if in == nil {
		if len(masks) == 0 {
			s.rows = make([]uint32, t.Rows)
			for i := range s.rows {
				s.rows[i] = uint32(i)
			}
			return s, nil
		}
		in = make([]bool, t.Rows)
		for i := range in {
			in[i] = true
		}
	}
	for i, mask := range masks {
		switch c := &t.of[by[i]]; {
		case c.small != nil:
			narrow(in, c.small, mask)
		case c.wide != nil:
			narrow(in, c.wide, mask)
		default:
			narrow(in, c.long, mask)
		}
	}
	n := 0
	for _, ok := range in {
		if ok {
			n++
		}
	}
	s.rows = make([]uint32, 0, n)
	for i, ok := range in {
		if ok {
			s.rows = append(s.rows, uint32(i))
		}
	}
	return s, nil
}

func narrow[T uint8 | uint16 | uint32](in []bool, codes []T, mask []bool) {
	for i, code := range codes {
		in[i] = in[i] && mask[code]
	}
}

// fits says of each cell of the column whether it meets a filter.
func (c *column) fits(w Filter) ([]bool, error) {
	mask := make([]bool, c.size())
	known := func(code int) bool {
		return code < len(c.numbers) || c.others[code-len(c.numbers)].Kind == Text
	}
	switch w.Op {
	case isMissing, Known:
		for i := range mask {
			mask[i] = known(i) == (w.Op == Known)
		}
		return mask, nil
	case Is, not:
		for _, v := range w.Values {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				if at, ok := slices.BinarySearch(c.numbers, f); ok {
					mask[at] = true
				}
			}
			if at, ok := slices.BinarySearchFunc(c.others, Cell{Kind: Text, Text: v}, compare); ok {
				mask[len(c.numbers)+at] = true
			}
		}
		if w.Op == not {
			for i := range mask {
				mask[i] = !mask[i] && known(i)
			}
		}
		return mask, nil
	case holds:
		if len(w.Values) > mostWords {
			return nil, fmt.Errorf("expected at most %d values, found %d", mostWords, len(w.Values))
		}
		var parts []string
		for _, v := range w.Values {
			parts = append(parts, strings.ToLower(v))
		}
		for i, o := range c.others {
			whole := strings.ToLower(o.Text)
			mask[len(c.numbers)+i] = o.Kind == Text && slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(whole, part) })
		}
		return mask, nil
	case least, most:
		if len(w.Values) != 1 {
			return nil, fmt.Errorf("expected one number, found %d values", len(w.Values))
		}
		v, err := strconv.ParseFloat(w.Values[0], 64)
		if err != nil || math.IsNaN(v) {
			return nil, fmt.Errorf("expected a number, found %q", w.Values[0])
		}
		for i, x := range c.numbers {
			mask[i] = w.Op == least && x >= v || w.Op == most && x <= v
		}
		return mask, nil
	}
	return nil, fmt.Errorf("expected one of %v, found %q", ops(), w.Op)
}

// mostWords are words that are looked for: each takes a look at all trials.
const mostWords = 200

// mostBeginnings are words that the last one of a search may be the beginning of; of more, some
// would be left out without a word.
const mostBeginnings = 20_000

// find is the trials with all words; nil: there are none to look for.
func (t *Table) find(said string) ([]bool, error) {
	var list []string
	eachWord(said, nil, func(w []byte) { list = append(list, string(w)) })
	switch {
	case len(list) == 0:
		return nil, nil
	case len(list) > mostWords:
		return nil, fmt.Errorf("expected at most %d words, found %d", mostWords, len(list))
	}
	var in []bool
	for i, word := range list {
		rows := make([]bool, t.Rows)
		if t.words != nil {
			if err := t.words.mark(word, rows); err != nil {
				return nil, fmt.Errorf("searching for %q: %w", word, err)
			}
			if i == len(list)-1 && len(t.words.at[word]) == 0 {
				from, _ := slices.BinarySearch(t.words.list, word)
				for n := from; n < len(t.words.list) && strings.HasPrefix(t.words.list[n], word); n++ {
					if n-from == mostBeginnings {
						return nil, fmt.Errorf("expected a longer beginning of a word than %q, found more than %d words that begin so", word, mostBeginnings)
					}
					if err := t.words.mark(t.words.list[n], rows); err != nil {
						return nil, fmt.Errorf("searching for %q: %w", word, err)
					}
				}
			}
		}
		if in == nil {
			in = rows
			continue
		}
		for k := range in {
			in[k] = in[k] && rows[k]
		}
	}
	return in, nil
}

// Len is how many trials there are.
func (s *selection) Len() int { return len(s.rows) }

// Page is the rows of the selection from its nth on, in its order.
func (s *selection) Page(n, count int) []int {
	n = min(max(n, 0), len(s.rows))
	count = min(max(count, 0), len(s.rows)-n)
	out := make([]int, 0, count)
	if s.sort < 0 {
		for _, r := range s.rows[n : n+count] {
			out = append(out, int(r))
		}
		return out
	}
	key := s.key()
	keys := make([]uint64, len(s.rows))
	for i, r := range s.rows {
		keys[i] = key(r)
	}
	// Only the page is put in order.
	nth(keys, n)
	rest := keys[n:]
	nth(rest, count)
	slices.Sort(rest[:count])
	for _, k := range rest[:count] {
		out = append(out, int(uint32(k)))
	}
	return out
}

// key is what rows are ordered by: the cell, then Key order. Cells without a value come
// last either way.
func (s *selection) key() func(row uint32) uint64 {
	c := &s.table.of[s.sort]
	values := c.size()
	for values > len(c.numbers) && c.others[values-1-len(c.numbers)].Kind != Text {
		values--
	}
	return func(row uint32) uint64 {
		code := c.code(int(row))
		if s.down && code < values {
			code = values - 1 - code
		}
		return uint64(code)<<32 | uint64(row)
	}
}

// nth moves the n smallest keys, which all differ, to the front.
func nth(keys []uint64, n int) {
	for len(keys) > 12 && n > 0 && n < len(keys) {
		a, b, c := keys[0], keys[len(keys)/2], keys[len(keys)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(keys)-1
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i, j = i+1, j-1
			}
		}
		switch { // keys[:j+1] <= pivot <= keys[i:]
		case n <= j:
			keys = keys[:j+1]
		case n >= i:
			keys, n = keys[i:], n-i
		default:
			return
		}
	}
	slices.Sort(keys)
}

// Place is where a row stands in the selection's order; false: it is not in it.
func (s *selection) Place(row int) (int, bool) {
	if _, ok := slices.BinarySearch(s.rows, uint32(row)); !ok {
		return 0, false
	}
	if s.sort < 0 {
		at, _ := slices.BinarySearch(s.rows, uint32(row))
		return at, true
	}
	key := s.key()
	own, before := key(uint32(row)), 0
	for _, r := range s.rows {
		if key(r) < own {
			before++
		}
	}
	return before, true
}

// count is how often a cell occurs.
type count struct {
	Cell Cell
	N    int
}

// Counts are the cells of a column among the selection's trials, in order; nil: there is
// no such column, or it has more than most different cells.
func (s *selection) Counts(name string, most int) []count {
	at := s.table.place(name)
	if at < 0 || s.table.of[at].size() > most {
		return nil
	}
	c := &s.table.of[at]
	n := make([]int, c.size())
	for _, r := range s.rows {
		n[c.code(int(r))]++
	}
	var out []count
	for code, n := range n {
		out = append(out, count{c.cell(code), n})
	}
	return out
}

// Sum is the sum of a column's numbers among the selection's trials, and how many there are.
func (s *selection) Sum(name string) (sum float64, n int) {
	at := s.table.place(name)
	if at < 0 {
		return 0, 0
	}
	c := &s.table.of[at]
	for _, r := range s.rows {
		if code := c.code(int(r)); code < len(c.numbers) {
			sum, n = sum+c.numbers[code], n+1
		}
	}
	return sum, n
}

package viewer

import (
	"encoding/json"
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
	where string // of the columns of trial; no text of a query is in it
	args  []any
	lists bool // it is also of the columns of combo
	order string
}

// selects finds trials. The error says what of the query cannot be read.
func (t *Table) selects(q query) (*selection, error) {
	s := &selection{table: t, where: "1", lists: true, order: "id"}
	if q.Sort != "" {
		at := t.place(q.Sort)
		if at < 0 {
			return nil, fmt.Errorf("there is no column %q to sort by", q.Sort)
		}
		s.order = orderBy(column(at), q.Down)
	}
	for _, w := range q.Where {
		at := t.place(w.Column)
		if at < 0 {
			return nil, fmt.Errorf("there is no column %q", w.Column)
		}
		where, args, err := t.fits(column(at), w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Column, err)
		}
		s.where, s.args, s.lists = s.where+" AND "+where, append(s.args, args...), s.lists && slices.Contains(t.Lists, at)
	}
	match, err := t.match(wordsOf(q.Words))
	if err != nil {
		return nil, err
	}
	if match != "" {
		s.where, s.args, s.lists = s.where+" AND id IN (SELECT rowid FROM words WHERE words MATCH ?)", append(s.args, match), false
	}
	return s, nil
}

// orderBy puts values first, then reasons, then trials without a cell; equal ones in Key order.
func orderBy(c string, down bool) string {
	up := c + " NULLS LAST, id"
	if down {
		return "iif(" + c + " < x'', " + c + ", NULL) DESC, " + up
	}
	return up
}

// fits is a filter of a column of trial as SQL, with what is bound to it.
func (t *Table) fits(c string, w Filter) (where string, args []any, err error) {
	known := c + " < x''" // numbers are less than texts, and these than blobs
	switch w.Op {
	case Known:
		return known, nil, nil
	case isMissing:
		return "(" + c + " IS NULL OR " + c + " >= x'')", nil, nil
	case Is, not:
		for _, v := range w.Values {
			if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsNaN(f) {
				args = append(args, f)
			}
			args = append(args, v)
		}
		in := " IN (" + strings.TrimPrefix(strings.Repeat(", ?", len(args)), ", ") + ")"
		if w.Op == not {
			return known + " AND " + c + " NOT" + in, args, nil
		}
		return c + in, args, nil
	case holds:
		if len(w.Values) > mostWords {
			return "", nil, fmt.Errorf("expected at most %d values, found %d", mostWords, len(w.Values))
		}
		all, err := t.Texts(w.Column)
		if err != nil {
			return "", nil, err
		}
		found := slices.DeleteFunc(all, func(text string) bool {
			text = strings.ToLower(text)
			return !slices.ContainsFunc(w.Values, func(v string) bool { return strings.Contains(text, strings.ToLower(v)) })
		})
		list, err := json.Marshal(found)
		return c + " IN (SELECT value FROM json_each(?))", []any{string(list)}, err
	case least, most:
		if len(w.Values) != 1 {
			return "", nil, fmt.Errorf("expected one number, found %d values", len(w.Values))
		}
		v, err := strconv.ParseFloat(w.Values[0], 64)
		if err != nil || math.IsNaN(v) {
			return "", nil, fmt.Errorf("expected a number, found %q", w.Values[0])
		}
		if w.Op == least {
			return c + " >= ? AND " + c + " < ''", []any{v}, nil
		}
		return c + " <= ?", []any{v}, nil
	}
	return "", nil, fmt.Errorf("expected one of %v, found %q", ops(), w.Op)
}

// mostWords are words that are looked for: each takes a look at all trials.
const mostWords = 200

// match is the words of a search for FTS5; "": there are none.
func (t *Table) match(list []string) (string, error) {
	if len(list) > mostWords {
		return "", fmt.Errorf("expected at most %d words, found %d", mostWords, len(list))
	}
	var all []string
	for _, w := range list {
		all = append(all, `"`+w+`"`) // letters and digits alone
	}
	if len(all) > 0 {
		whole, last := false, len(all)-1
		if err := t.each(func([]any) { whole = true }, "SELECT rowid FROM words WHERE words MATCH ? LIMIT 1", all[last]); err != nil {
			return "", err
		}
		if !whole {
			all[last] += "*"
		}
	}
	return strings.Join(all, " AND "), nil
}

// Len is how many trials there are.
func (s *selection) Len() (n int, err error) {
	ask := "SELECT count(*) FROM trial WHERE "
	if s.lists {
		ask = "SELECT coalesce(sum(n), 0) FROM combo WHERE "
	}
	err = s.table.each(func(v []any) { n = int(v[0].(int64)) }, ask+s.where, s.args...)
	return n, err
}

// Page is the trials of the selection from its nth on, in its order.
func (s *selection) Page(n, count int) ([]Trial, error) {
	var rows []int
	err := s.table.each(func(v []any) { rows = append(rows, int(v[0].(int64))) },
		"SELECT id FROM trial WHERE "+s.where+" ORDER BY "+s.order+" LIMIT ? OFFSET ?", append(slices.Clone(s.args), max(count, 0), max(n, 0))...)
	var out []Trial
	for _, row := range rows {
		if err != nil {
			break
		}
		var x Trial
		x, err = s.table.Trial(row)
		out = append(out, x)
	}
	return out, err
}

// Place is where a trial stands in the selection's order; false: it is not in it.
func (s *selection) Place(row int) (at int, found bool, err error) {
	err = s.table.each(func(v []any) { at, found = int(v[0].(int64)), true },
		"SELECT n - 1 FROM (SELECT id, row_number() OVER (ORDER BY "+s.order+") AS n FROM trial WHERE "+s.where+") WHERE id = ?", append(slices.Clone(s.args), row)...)
	return at, found, err
}

// count is how often a cell occurs.
type count struct {
	Cell Cell
	N    int
}

// Counts are the cells of each list among the selection's trials, in order, and how many trials
// it has in all.
func (s *selection) Counts() (of map[string][]count, all int, err error) {
	t := s.table
	of = map[string][]count{}
	for i, at := range t.Lists {
		list := make([]count, len(t.lists[i]))
		for k, c := range t.lists[i] {
			list[k].Cell = c
		}
		of[t.Columns[at].Name] = list
	}
	ask := "SELECT id, n FROM combo WHERE " + s.where
	if !s.lists {
		ask = "SELECT combo, count(*) FROM trial WHERE " + s.where + " GROUP BY combo"
	}
	err = t.each(func(v []any) {
		id, n := v[0].(int64), int(v[1].(int64))
		all += n
		for i, at := range t.Lists {
			of[t.Columns[at].Name][t.combos[id][i]].N += n
		}
	}, ask, s.args...)
	return of, all, err
}

// Sums are those of columns' numbers among the selection's trials.
func (s *selection) Sums(names ...string) ([]sum, error) {
	out := make([]sum, len(names))
	var asked []string
	for i, name := range names {
		at := s.table.place(name)
		out[i] = s.table.Sums[at]
		c := column(at)
		asked = append(asked, "total("+c+") FILTER (WHERE "+c+" < ''), count(*) FILTER (WHERE "+c+" < '')")
	}
	if s.where == "1" || len(names) == 0 {
		return out, nil
	}
	err := s.table.each(func(v []any) {
		for i := range out {
			out[i] = sum{v[2*i].(float64), int(v[2*i+1].(int64))}
		}
	}, "SELECT "+strings.Join(asked, ", ")+" FROM trial WHERE "+s.where, s.args...)
	return out, err
}

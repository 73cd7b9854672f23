// Address keeps what a page shows in its address, so that every view is a link.

package viewer

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/results"
)

const mostPage = 1_000_000

// view is a table of trials as an address has it:
//
//	study=S  q=words  OP.COLUMN=VALUE (again for another value)  sort=COLUMN or -COLUMN
//	show=COLUMN (again for each)  page=N
//
// A form adds a filter by fcol, fop and fval.
type view struct {
	Study string
	Query query
	Show  []string
	Page  int // from 1
}

// parseView reads an address. Empty values are fields of a form that were left alone.
func parseView(q url.Values) (view, error) {
	v := view{Study: q.Get("study"), Page: 1, Query: query{Words: strings.TrimSpace(q.Get("q"))}}
	var names []string
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		op, column, ok := strings.Cut(name, ".")
		if !ok || !slices.Contains(ops(), filterOp(op)) {
			continue
		}
		values := slices.DeleteFunc(slices.Clone(q[name]), func(s string) bool { return s == "" })
		if len(values) > 0 {
			v.Query.Where = append(v.Query.Where, Filter{Column: column, Op: filterOp(op), Values: values})
		}
	}
	if column, op := q.Get("fcol"), filterOp(q.Get("fop")); column != "" && (q.Get("fval") != "" || op == isMissing || op == Known) {
		values := []string{q.Get("fval")}
		if values[0] == "" {
			values[0] = "1"
		}
		v.Query.Where = append(v.Query.Where, Filter{Column: column, Op: op, Values: values})
	}
	v.Query.Sort, v.Query.Down = strings.CutPrefix(q.Get("sort"), "-")
	for _, name := range q["show"] {
		if name != "" && !slices.Contains(v.Show, name) {
			v.Show = append(v.Show, name)
		}
	}
	if p := q.Get("page"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > mostPage {
			return v, fmt.Errorf("page: expected a number from 1, found %q", p)
		}
		v.Page = n
	}
	return v, nil
}

// Values is the address of the view.
func (v view) Values() url.Values {
	q := url.Values{"study": {v.Study}}
	if v.Query.Words != "" {
		q.Set("q", v.Query.Words)
	}
	for _, w := range v.Query.Where {
		name := string(w.Op) + "." + w.Column
		q[name] = append(q[name], w.Values...)
	}
	if v.Query.Sort != "" {
		q.Set("sort", map[bool]string{true: "-"}[v.Query.Down]+v.Query.Sort)
	}
	if len(v.Show) > 0 {
		q["show"] = v.Show
	}
	if v.Page > 1 {
		q.Set("page", strconv.Itoa(v.Page))
	}
	return q
}

// Without is the view without its nth filter, from its first page on.
func (v view) Without(n int) view {
	v.Query.Where = slices.Delete(slices.Clone(v.Query.Where), n, n+1)
	v.Page = 1
	return v
}

// At is the view on another page.
func (v view) At(page int) view { v.Page = page; return v }

// sayFilter is a filter in words.
func sayFilter(f Filter) string {
	list := strings.Join(f.Values, " or ")
	switch f.Op {
	case Is:
		return "is " + list
	case not:
		return "is not " + list
	case least:
		return "at least " + list
	case most:
		return "at most " + list
	case holds:
		return "contains " + list
	case isMissing:
		return "is missing"
	}
	return "is known"
}

// addressKey names a trial in an address.
func addressKey(k results.Key) url.Values {
	return url.Values{"study": {k.Study}, "model": {k.Model}, "item": {k.Item}, "arm": {k.Arm}, "condition": {k.Condition}, "repeat": {strconv.Itoa(k.Repeat)}}
}

// keyOf is the trial that an address names.
func keyOf(q url.Values) (results.Key, error) {
	k := results.Key{Study: q.Get("study"), Model: q.Get("model"), Item: q.Get("item"), Arm: q.Get("arm"), Condition: q.Get("condition")}
	n, err := strconv.Atoi(q.Get("repeat"))
	if k.Repeat = n; q.Has("repeat") && err != nil || n < 0 {
		return k, fmt.Errorf("repeat: expected a number from 0, found %q", q.Get("repeat"))
	}
	return k, nil
}

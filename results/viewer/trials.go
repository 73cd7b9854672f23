package viewer

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/results"
	"assay/results/columns"
	"assay/results/index"
	"assay/results/stats"
	"assay/results/text"
	"assay/results/viewer/graph"
)

const (
	pageRows  = 50
	mostFacet = 60 // different values of a column that is offered as a list
	mostPage  = 1_000_000
)

// view is a table of trials as an address has it:
//
//	study=S  q=words  OP.COLUMN=VALUE (again for another value)  sort=COLUMN or -COLUMN
//	show=COLUMN (again for each)  page=N
//
// A form adds a filter by fcol, fop and fval.
type view struct {
	study string
	query index.Query
	show  []string
	page  int // from 1
}

// viewOf reads an address. Empty values are fields of a form that were left alone.
func viewOf(q url.Values) (view, error) {
	v := view{study: q.Get("study"), page: 1, query: index.Query{Words: strings.TrimSpace(q.Get("q"))}}
	var names []string
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		op, column, ok := strings.Cut(name, ".")
		if !ok || !slices.Contains(index.Ops(), index.Op(op)) {
			continue
		}
		values := slices.DeleteFunc(slices.Clone(q[name]), func(s string) bool { return s == "" })
		if len(values) > 0 {
			v.query.Where = append(v.query.Where, index.Filter{Column: column, Op: index.Op(op), Values: values})
		}
	}
	if column, op := q.Get("fcol"), index.Op(q.Get("fop")); column != "" && (q.Get("fval") != "" || op == index.Missing || op == index.Known) {
		values := []string{q.Get("fval")}
		if values[0] == "" {
			values[0] = "1"
		}
		v.query.Where = append(v.query.Where, index.Filter{Column: column, Op: op, Values: values})
	}
	v.query.Sort, v.query.Down = strings.CutPrefix(q.Get("sort"), "-")
	v.show = slices.DeleteFunc(slices.Clone(q["show"]), func(s string) bool { return s == "" })
	if p := q.Get("page"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > mostPage {
			return v, bad("page: expected a number from 1, found %q", p)
		}
		v.page = n
	}
	return v, nil
}

// values is the address of the view.
func (v view) values() url.Values {
	q := url.Values{"study": {v.study}}
	if v.query.Words != "" {
		q.Set("q", v.query.Words)
	}
	for _, w := range v.query.Where {
		name := string(w.Op) + "." + w.Column
		q[name] = append(q[name], w.Values...)
	}
	if v.query.Sort != "" {
		q.Set("sort", map[bool]string{true: "-"}[v.query.Down]+v.query.Sort)
	}
	if len(v.show) > 0 {
		q["show"] = v.show
	}
	if v.page > 1 {
		q.Set("page", strconv.Itoa(v.page))
	}
	return q
}

// without is the view without its nth filter, from its first page on.
func (v view) without(n int) view {
	v.query.Where = slices.Delete(slices.Clone(v.query.Where), n, n+1)
	v.page = 1
	return v
}

func (v view) at(page int) view { v.page = page; return v }

type trialsPage struct {
	head
	Note     string
	Words    string
	Facets   []facet
	Chips    []chip
	Columns  []columns.Column // all of them
	Ops      []index.Op
	Sort     string
	Down     bool
	Hidden   []field // of the form, that no input of it has
	Heads    []headCell
	Rows     []trialRow
	N, All   int
	From, To int
	Summary  []string
	Prev     template.URL
	Next     template.URL
	Clear    template.URL
	Save     template.URL
	SaveMost int
	Finds    []foundTrials
	Show     map[string]bool
}

type field struct{ Name, Value string }

type facet struct {
	Name, Field string
	Options     []option
}

type option struct {
	Value, Text string
	N           int
	Chosen      bool
}

type chip struct {
	Text string
	Link template.URL
}

type headCell struct {
	columns.Column
	Link    template.URL
	Sorted  string // "ascending", "descending" or ""
	Numeric bool
}

type trialRow struct {
	Link  template.URL
	Cells []tableCell
}

type tableCell struct {
	Text, Why string
	Numeric   bool
	Tick      string // "right", "wrong" or ""
}

// selected is a study's table and the trials of a view.
func (r *Run) selected(v view) (*index.Table, *index.Selection, error) {
	t, st := r.table(v.study)
	if t == nil {
		switch {
		case st.problem != "":
			return nil, nil, errors.New(st.problem)
		case st.at.IsZero():
			return nil, nil, problem{http.StatusServiceUnavailable, fmt.Errorf("the trials are being indexed: %d of %s so far; load the page again", st.done, st.making)}
		}
		return nil, nil, missing("no trials of a study %q are stored; there are: %s", v.study, strings.Join(r.studies(), ", "))
	}
	s, err := t.Select(v.query)
	if err != nil {
		return nil, nil, problem{http.StatusBadRequest, err}
	}
	return t, s, nil
}

func (v *Viewer) trials(w http.ResponseWriter, req *http.Request, r *Run) error {
	q := req.URL.Query()
	asked, err := viewOf(q)
	if err != nil {
		return err
	}
	if asked.study == "" {
		if names := r.studies(); len(names) > 0 {
			asked.study = names[0]
		}
	}
	t, s, err := r.selected(asked)
	if err != nil {
		return err
	}
	usual := slices.DeleteFunc(slices.Clone(r.Shown), func(name string) bool { return !t.Known(name) })
	if len(asked.show) == len(usual) && !slices.ContainsFunc(asked.show, func(name string) bool { return !slices.Contains(usual, name) }) {
		asked.show = nil
	}
	if q.Has("fcol") { // the address of what is shown, without the form's fields
		http.Redirect(w, req, string(r.Link("trials", asked.values())), http.StatusSeeOther)
		return nil
	}
	h, err := r.head(req.Context(), "Trials of "+asked.study, asked.study)
	if err != nil {
		return err
	}
	page := trialsPage{head: h, Words: asked.query.Words, Columns: t.Columns, Ops: index.Ops(), Sort: asked.query.Sort, Down: asked.query.Down, N: s.Len(), All: t.Rows, Show: map[string]bool{},
		Clear: r.Trials(asked.study), Save: r.Link("save", asked.at(1).values()), SaveMost: mostSaved, Finds: r.finds(t).Finds}
	_, st := r.table("")
	if now, err := r.Store.Revision(req.Context()); err == nil && now != st.revision {
		page.Note = "The store has changed since " + st.at.UTC().Format("15:04:05") + " UTC; these are the trials of then."
	}
	shown := asked.show
	if len(shown) == 0 {
		shown = usual
	}
	shown = slices.DeleteFunc(slices.Clone(shown), func(name string) bool { return !t.Has(name) })
	if asked.query.Sort != "" && !slices.Contains(shown, asked.query.Sort) {
		shown = append(shown, asked.query.Sort)
	}
	for _, name := range shown {
		page.Show[name] = true
	}
	page.facets(r, t, asked)
	for i, f := range asked.query.Where {
		page.Chips = append(page.Chips, chip{words(f.Column) + " " + said(f), r.Link("trials", asked.without(i).values())})
	}
	if asked.query.Words != "" {
		rest := asked
		rest.query.Words, rest.page = "", 1
		page.Chips = append(page.Chips, chip{"words: " + asked.query.Words, r.Link("trials", rest.values())})
	}
	for _, name := range shown {
		c := t.Columns[slices.IndexFunc(t.Columns, func(c columns.Column) bool { return c.Name == name })]
		to := asked.at(1)
		to.query.Sort, to.query.Down = name, asked.query.Sort == name && !asked.query.Down
		cell := headCell{Column: c, Link: r.Link("trials", to.values()), Numeric: c.Kind == columns.Number || c.Kind == columns.Integer}
		if asked.query.Sort == name {
			cell.Sorted = map[bool]string{true: "descending", false: "ascending"}[asked.query.Down]
		}
		page.Heads = append(page.Heads, cell)
	}
	first := (asked.page - 1) * pageRows
	for i, row := range s.Page(first, pageRows) {
		kq := keyQuery(t.Key(row))
		kq.Set("in", asked.at(1).values().Encode())
		kq.Set("at", strconv.Itoa(first+i))
		tr := trialRow{Link: r.Link("trial", kq)}
		for _, c := range page.Heads {
			tr.Cells = append(tr.Cells, cellOf(r, c, t.Cell(row, c.Name)))
		}
		page.Rows = append(page.Rows, tr)
	}
	page.From, page.To = min(first+1, s.Len()), first+len(page.Rows)
	for _, c := range page.Heads {
		if sum, n := s.Sum(c.Name); c.Numeric && c.Name != index.KeyRepeat && n > 0 {
			page.Summary = append(page.Summary, fmt.Sprintf("mean %s %s (n = %d)", title(c.Column), graph.Number(round(sum/float64(n))), n))
		}
	}
	if asked.page > 1 {
		page.Prev = r.Link("trials", asked.at(asked.page-1).values())
	}
	if page.To < s.Len() {
		page.Next = r.Link("trials", asked.at(asked.page+1).values())
	}
	v.page(w, http.StatusOK, "trials.html", page)
	return nil
}

func round(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// said is a filter in words.
func said(f index.Filter) string {
	list := strings.Join(f.Values, " or ")
	switch f.Op {
	case index.Is:
		return "is " + list
	case index.Not:
		return "is not " + list
	case index.Least:
		return "at least " + list
	case index.Most:
		return "at most " + list
	case index.Holds:
		return "contains " + list
	case index.Missing:
		return "is missing"
	}
	return "is known"
}

// cellOf is a value as a table shows it.
func cellOf(r *Run, c headCell, v index.Cell) tableCell {
	out := tableCell{Numeric: c.Numeric}
	switch v.Kind {
	case index.Number:
		out.Text = graph.Number(v.Number)
		if c.Name == r.Right && (v.Number == 0 || v.Number == 1) {
			out.Tick = map[bool]string{true: "right", false: "wrong"}[v.Number == 1]
		}
	case index.Text:
		out.Text = text.Visible(v.Text)
	case index.Lacking:
		out.Text, out.Why = "–", text.Visible(v.Text)
	}
	return out
}

// facets are the lists to choose from, each with how many trials a choice leaves.
func (p *trialsPage) facets(r *Run, t *index.Table, asked view) {
	inputs := map[string]bool{"study": true, "q": true, "sort": true, "page": true, "show": true}
	for _, name := range r.Facets {
		if !t.Has(name) || t.Distinct(name) > mostFacet || t.Distinct(name) < 2 {
			continue
		}
		field := string(index.Is) + "." + name
		others := asked.query
		others.Sort, others.Where = "", slices.DeleteFunc(slices.Clone(asked.query.Where), func(f index.Filter) bool { return f.Column == name && f.Op == index.Is })
		s, err := t.Select(others)
		if err != nil {
			continue
		}
		f := facet{Name: words(name), Field: field}
		values := 0
		for _, c := range s.Counts(name, mostFacet) {
			if c.Cell.Kind != index.Text && c.Cell.Kind != index.Number {
				continue
			}
			values++
			o := option{Value: c.Cell.Text, N: c.N}
			if c.Cell.Kind == index.Number {
				o.Value = strconv.FormatFloat(c.Cell.Number, 'g', -1, 64)
			}
			o.Text = text.Visible(o.Value)
			if named, ok := map[string]string{"0": "no", "1": "yes"}[o.Value]; ok && c.Cell.Kind == index.Number && name != index.KeyRepeat {
				o.Text = named
			}
			o.Chosen = slices.ContainsFunc(asked.query.Where, func(w index.Filter) bool {
				return w.Column == name && w.Op == index.Is && slices.Contains(w.Values, o.Value)
			})
			if c.N > 0 || o.Chosen {
				f.Options = append(f.Options, o)
			}
		}
		if values == 0 {
			continue
		}
		inputs[field] = true
		p.Facets = append(p.Facets, f)
	}
	for name, values := range asked.values() {
		for _, value := range values {
			if !inputs[name] {
				p.Hidden = append(p.Hidden, field{name, value})
			}
		}
	}
	slices.SortFunc(p.Hidden, func(a, b field) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
}

// neighbours are the trials before and after one in a view; "": there is none.
func (r *Run) neighbours(k results.Key, in string, at int) (prev, next template.URL, place string) {
	q, err := url.ParseQuery(in)
	if err != nil {
		return "", "", ""
	}
	asked, err := viewOf(q)
	if asked.study == "" {
		asked.study = k.Study
	}
	if err != nil || asked.study != k.Study {
		return "", "", ""
	}
	t, s, err := r.selected(asked)
	if err != nil {
		return "", "", ""
	}
	row, ok := t.Row(k)
	if !ok {
		return "", "", ""
	}
	if found := s.Page(at, 1); len(found) != 1 || found[0] != row { // the list has changed
		if at, ok = s.Place(row); !ok {
			return "", "", ""
		}
	}
	link := func(at int) template.URL {
		found := s.Page(at, 1)
		if at < 0 || len(found) != 1 {
			return ""
		}
		kq := keyQuery(t.Key(found[0]))
		if in != "" {
			kq.Set("in", in)
		}
		kq.Set("at", strconv.Itoa(at))
		return r.Link("trial", kq)
	}
	return link(at - 1), link(at + 1), fmt.Sprintf("%d of %s", at+1, stats.Count(s.Len(), "trial", "trials"))
}

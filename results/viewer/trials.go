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
	"assay/results/text"
)

const (
	pageRows  = 50
	mostFacet = 60 // different values of a column that is offered as a list
)

type trialsPage struct {
	head
	Note     string
	Words    string
	Facets   []facet
	Chips    []chip
	Columns  []results.FileColumn // all of them
	Ops      []filterOp
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
	results.FileColumn
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
func (r *Run) selected(v view) (*Table, *selection, error) {
	t, st := r.table(v.Study)
	if t == nil {
		switch {
		case st.problem != "":
			return nil, nil, errors.New(st.problem)
		case st.at.IsZero():
			return nil, nil, problem{http.StatusServiceUnavailable, fmt.Errorf("the trials are being indexed: %d of %s so far; load the page again", st.done, st.making)}
		}
		return nil, nil, missing("no trials of a study %q are stored; there are: %s", v.Study, strings.Join(r.studies(), ", "))
	}
	s, err := t.selects(v.Query)
	if err != nil {
		return nil, nil, problem{http.StatusBadRequest, err}
	}
	return t, s, nil
}

func (v *viewer) trials(w http.ResponseWriter, req *http.Request, r *Run) error {
	q := req.URL.Query()
	asked, err := parseView(q)
	if err != nil {
		return wrong(err)
	}
	if asked.Study == "" {
		if names := r.studies(); len(names) > 0 {
			asked.Study = names[0]
		}
	}
	t, s, err := r.selected(asked)
	if err != nil {
		return err
	}
	asked.Show = slices.DeleteFunc(asked.Show, func(name string) bool { return !t.Has(name) })
	usual := slices.DeleteFunc(slices.Clone(r.Shown), func(name string) bool { return !t.known(name) })
	if len(asked.Show) == len(usual) && !slices.ContainsFunc(asked.Show, func(name string) bool { return !slices.Contains(usual, name) }) {
		asked.Show = nil
	}
	if q.Has("fcol") { // the address of what is shown, without the form's fields
		http.Redirect(w, req, string(r.Link("trials", asked.Values())), http.StatusSeeOther)
		return nil
	}
	h, err := r.head(req.Context(), "Trials of "+asked.Study, asked.Study)
	if err != nil {
		return err
	}
	page := trialsPage{head: h, Words: asked.Query.Words, Columns: t.Columns, Ops: ops(), Sort: asked.Query.Sort, Down: asked.Query.Down, All: t.Rows, Show: map[string]bool{},
		Clear: r.Trials(asked.Study), Save: r.Link("save", asked.At(1).Values()), SaveMost: mostSaved, Finds: r.findsIn(asked.Study).Finds}
	_, st := r.table("")
	if now, err := r.Store.Revision(req.Context()); err == nil && now != st.revision {
		page.Note = "The store has changed since " + st.at.UTC().Format("15:04:05") + " UTC; these are the trials of then."
	}
	shown := asked.Show
	if len(shown) == 0 {
		shown = usual
	}
	if asked.Query.Sort != "" && !slices.Contains(shown, asked.Query.Sort) {
		shown = append(shown, asked.Query.Sort)
	}
	for _, name := range shown {
		page.Show[name] = true
	}
	if err := page.facets(r, t, s, asked); err != nil {
		return err
	}
	for i, f := range asked.Query.Where {
		page.Chips = append(page.Chips, chip{words(f.Column) + " " + sayFilter(f), r.Link("trials", asked.Without(i).Values())})
	}
	if asked.Query.Words != "" {
		rest := asked
		rest.Query.Words, rest.Page = "", 1
		page.Chips = append(page.Chips, chip{"words: " + asked.Query.Words, r.Link("trials", rest.Values())})
	}
	for _, name := range shown {
		c := t.Columns[slices.IndexFunc(t.Columns, func(c results.FileColumn) bool { return c.Name == name })]
		to := asked.At(1)
		to.Query.Sort, to.Query.Down = name, asked.Query.Sort == name && !asked.Query.Down
		cell := headCell{FileColumn: c, Link: r.Link("trials", to.Values()), Numeric: c.Kind == results.NumberColumn || c.Kind == results.IntegerColumn}
		if asked.Query.Sort == name {
			cell.Sorted = map[bool]string{true: "descending", false: "ascending"}[asked.Query.Down]
		}
		page.Heads = append(page.Heads, cell)
	}
	first := (asked.Page - 1) * pageRows
	found, err := s.Page(first, pageRows)
	if err != nil {
		return err
	}
	for i, x := range found {
		kq := addressKey(x.Key)
		kq.Set("in", asked.At(1).Values().Encode())
		kq.Set("at", strconv.Itoa(first+i))
		tr := trialRow{Link: r.Link("trial", kq)}
		for _, c := range page.Heads {
			tr.Cells = append(tr.Cells, cellOf(r, c, x.Cell(c.Name)))
		}
		page.Rows = append(page.Rows, tr)
	}
	page.From, page.To = min(first+1, page.N), first+len(page.Rows)
	var numeric []string
	for _, c := range page.Heads {
		if c.Numeric && c.Name != KeyRepeat {
			numeric = append(numeric, c.Name)
		}
	}
	sums, err := s.Sums(numeric...)
	if err != nil {
		return err
	}
	for i, name := range numeric {
		if x := sums[i]; x.N > 0 {
			page.Summary = append(page.Summary, fmt.Sprintf("mean %s %s (n = %d)", title(t.Columns[t.place(name)]), meanOver(x.Sum, x.N), x.N))
		}
	}
	if asked.Page > 1 {
		page.Prev = r.Link("trials", asked.At(asked.Page-1).Values())
	}
	if page.To < page.N {
		page.Next = r.Link("trials", asked.At(asked.Page+1).Values())
	}
	v.page(w, http.StatusOK, "trials.html", page)
	return nil
}

// cellOf is a value as a table shows it.
func cellOf(r *Run, c headCell, v Cell) tableCell {
	out := tableCell{Numeric: c.Numeric}
	switch v.Kind {
	case Number:
		out.Text = graphNumber(v.Number)
		if c.Name == r.Right && (v.Number == 0 || v.Number == 1) {
			out.Tick = map[bool]string{true: "right", false: "wrong"}[v.Number == 1]
		}
	case Text:
		out.Text = text.Visible(v.Text)
	case Lacking:
		out.Text, out.Why = "–", text.Visible(v.Text)
	}
	return out
}

// facets are the lists to choose from, each with how many trials a choice leaves; chosen
// are the trials of the view.
func (p *trialsPage) facets(r *Run, t *Table, chosen *selection, asked view) error {
	counts, n, err := chosen.Counts()
	if err != nil {
		return err
	}
	p.N = n
	inputs := map[string]bool{"study": true, "q": true, "sort": true, "page": true, "show": true}
	for _, name := range r.Facets {
		cells := counts[name]
		if len(cells) > mostFacet || len(cells) < 2 {
			continue
		}
		field := string(Is) + "." + name
		own := func(f Filter) bool { return f.Column == name && f.Op == Is }
		if slices.ContainsFunc(asked.Query.Where, own) { // a list counts what its own choice leaves out, too
			others := asked.Query
			others.Sort, others.Where = "", slices.DeleteFunc(slices.Clone(asked.Query.Where), own)
			s, err := t.selects(others)
			if err != nil {
				return err
			}
			all, _, err := s.Counts()
			if err != nil {
				return err
			}
			cells = all[name]
		}
		f := facet{Name: words(name), Field: field}
		values := 0
		for _, c := range cells {
			if c.Cell.Kind != Text && c.Cell.Kind != Number {
				continue
			}
			values++
			o := option{Value: c.Cell.Text, N: c.N}
			if c.Cell.Kind == Number {
				o.Value = strconv.FormatFloat(c.Cell.Number, 'g', -1, 64)
			}
			o.Text = text.Visible(o.Value)
			if named, ok := map[string]string{"0": "no", "1": "yes"}[o.Value]; ok && c.Cell.Kind == Number && name != KeyRepeat {
				o.Text = named
			}
			o.Chosen = slices.ContainsFunc(asked.Query.Where, func(w Filter) bool {
				return w.Column == name && w.Op == Is && slices.Contains(w.Values, o.Value)
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
	for name, values := range asked.Values() {
		for _, value := range values {
			if !inputs[name] {
				p.Hidden = append(p.Hidden, field{name, value})
			}
		}
	}
	slices.SortFunc(p.Hidden, func(a, b field) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return nil
}

// neighbours are the trials before and after one in a view; "": there is none.
func (r *Run) neighbours(k results.Key, in string, at int) (prev, next template.URL, place string, err error) {
	q, err := url.ParseQuery(in)
	if err != nil {
		return "", "", "", nil
	}
	asked, err := parseView(q)
	if asked.Study == "" {
		asked.Study = k.Study
	}
	if err != nil || asked.Study != k.Study {
		return "", "", "", nil
	}
	t, s, err := r.selected(asked)
	if err != nil {
		return "", "", "", nil // the page is of a trial, whatever the view is
	}
	at = max(at, 0)
	near, err := s.Page(at-1, 3)
	if err != nil {
		return "", "", "", err
	}
	if own := min(at, 1); len(near) <= own || near[own].Key != k { // the list has changed
		x, found, err := t.Find(k)
		if err == nil && found {
			at, found, err = s.Place(x.Row)
		}
		if err != nil || !found {
			return "", "", "", err
		}
		if near, err = s.Page(at-1, 3); err != nil {
			return "", "", "", err
		}
	}
	link := func(to int) template.URL {
		i := to - max(at-1, 0)
		if i < 0 || i >= len(near) {
			return ""
		}
		kq := addressKey(near[i].Key)
		if in != "" {
			kq.Set("in", in)
		}
		kq.Set("at", strconv.Itoa(to))
		return r.Link("trial", kq)
	}
	n, err := s.Len()
	return link(at - 1), link(at + 1), fmt.Sprintf("%d of %s", at+1, results.Count(n, "trial", "trials")), err
}

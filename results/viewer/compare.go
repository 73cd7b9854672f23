package viewer

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"assay/results"
)

// comparer puts runs beside each other, from their indexes.
type comparer interface {
	Compare(ctx context.Context, a, b *Run, times bool, tell func(done, of int)) (*Comparison, error)
	// Items are all items of which a score changed, those first that changed most.
	Items(ctx context.Context, a, b *Run, at Place) ([]Item, error)
}

// Compare makes the comparisons that pages ask for, one after the other, until ctx ends.
func (v *viewer) Compare(ctx context.Context) { v.keeper.Work(ctx, v.made) }

func (v *viewer) made(ctx context.Context, p storePair, tell func(done, of int)) (*Comparison, error) {
	a, b := v.named(p.A), v.named(p.B)
	if a == nil || b == nil || v.Comparer == nil {
		return nil, errors.New("these runs cannot be compared here")
	}
	return v.Comparer.Compare(ctx, a, b, p.Times, tell)
}

// named is the run of a name; nil: there is none.
func (v *viewer) named(name string) *Run {
	i := slices.IndexFunc(v.runs, func(r *Run) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return v.runs[i]
}

// Table is the index of a study's trials; nil: there is none yet.
func (r *Run) Table(study string) *Table {
	t, _ := r.table(study)
	return t
}

type comparePage struct {
	head
	page
	Runs  []*Run
	Pairs []pairLine
	Made  *Comparison // of the pair whose rows are shown; nil: none yet
}

// pairLine is B beside A.
type pairLine struct {
	Name        string
	Link        template.URL
	Chosen      bool
	State, Fail string
	*Comparison
}

func (v *viewer) compare(w http.ResponseWriter, req *http.Request) error {
	asked, err := parsePair(req.URL.Query())
	if err != nil {
		return wrong(err)
	}
	page := comparePage{head: head{Title: "Compare runs"}, page: page{pairView: asked}, Runs: v.runs}
	var runs []*Run
	for _, name := range append([]string{asked.A}, asked.B...) {
		r := v.named(name)
		if r == nil && name != "" {
			return missing("there is no run %q here", name)
		}
		if r != nil {
			runs = append(runs, r)
		}
	}
	if page.head, err = headOf(req.Context(), page.Title, runs...); err != nil {
		return err
	}
	if asked.A != "" {
		for _, b := range asked.B {
			line := v.pair(asked, b)
			page.Live = page.Live || line.State != ""
			if page.Pairs = append(page.Pairs, line); b == asked.Show {
				page.Made = line.Comparison
			}
		}
	}
	if page.Made != nil {
		page.page = asked.PageOf(page.Made)
	}
	v.page(w, http.StatusOK, "compare.html", page)
	return nil
}

// headOf a page of several runs.
func headOf(ctx context.Context, title string, runs ...*Run) (head, error) {
	out := head{Title: title}
	for _, r := range runs {
		h, err := r.head(ctx, "", "")
		if err != nil {
			return out, err
		}
		out.Synthetic = out.Synthetic || h.Synthetic
	}
	return out, nil
}

// pair is how far the comparison with b is.
func (v *viewer) pair(asked pairView, b string) pairLine {
	line := pairLine{Name: b, Link: link("", asked.Beside(b).Values()), Chosen: b == asked.Show}
	var at [2]int64
	for i, name := range []string{asked.A, b} {
		_, st := v.named(name).table("")
		if st.problem != "" {
			line.Fail = "the trials of " + name + " cannot be indexed: " + st.problem
			return line
		}
		if at[i] = st.revision; st.at.IsZero() {
			line.State = "the trials of " + name + " are being indexed"
			return line
		}
	}
	st := v.keeper.Ask(asked.Pair(b), at)
	if st.Err != nil {
		line.Fail = st.Err.Error()
	}
	line.Comparison, line.State = st.Made, st.Words()
	return line
}

type changedPage struct {
	head
	changed
}

// row is the pair and the row that an address is about, and its items that changed.
func (v *viewer) row(req *http.Request) (a, b *Run, at Place, items []Item, err error) {
	q := req.URL.Query()
	a, b, at = v.named(q.Get("a")), v.named(q.Get("b")), placeOf(q)
	if a == nil || b == nil || v.Comparer == nil {
		return a, b, at, nil, missing("there are no runs %q and %q here", q.Get("a"), q.Get("b"))
	}
	for _, r := range []*Run{a, b} {
		if _, _, err := r.selected(view{Study: at.Study}); err != nil {
			return a, b, at, nil, err
		}
	}
	items, err = v.Comparer.Items(req.Context(), a, b, at)
	return a, b, at, items, err
}

func (v *viewer) changed(w http.ResponseWriter, req *http.Request) error {
	asked, err := parsePair(req.URL.Query())
	if err != nil {
		return wrong(err)
	}
	a, b, at, items, err := v.row(req)
	if err != nil {
		return err
	}
	h, err := headOf(req.Context(), "Items that changed", a, b)
	if err != nil {
		return err
	}
	page := changedPage{h, changedOf(a.Name, b.Name, at, items, asked.Page)}
	v.page(w, http.StatusOK, "changed.html", page)
	return nil
}

// besidePage is the trials of both runs of one item that changed.
type besidePage struct {
	head
	beside
	Sides []side
}

type side struct {
	Letter string
	Run    *Run
	Link   template.URL
	Trial  trialView
}

func (v *viewer) beside(w http.ResponseWriter, req *http.Request) error {
	a, b, at, items, err := v.row(req)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(req.URL.Query().Get("n"))
	if err != nil || n < 0 || n >= len(items) {
		return missing("expected the number of an item that changed, from 0 to %d, found %q", len(items)-1, req.URL.Query().Get("n"))
	}
	h, err := headOf(req.Context(), items[n].Item+" in both runs", a, b)
	if err != nil {
		return err
	}
	h.Pictures = true
	page := besidePage{head: h, beside: besideOf(a.Name, b.Name, at, items, n)}
	for i, r := range []*Run{a, b} {
		k := results.Key{Study: at.Study, Model: at.Model, Item: items[n].Item, Arm: at.Arm, Condition: at.Condition, Repeat: items[n].Repeat}
		if i == 1 {
			k.Model = items[n].Other
		}
		t, err := v.whole(req.Context(), r, k, false)
		if err != nil {
			return err
		}
		page.Sides = append(page.Sides, side{[]string{"A", "B"}[i], r, r.Link("trial", addressKey(k)), t})
	}
	v.page(w, http.StatusOK, "beside.html", page)
	return nil
}

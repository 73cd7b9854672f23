// Pair has comparisons of runs for pages: it keeps them, made one after the
// other while pages go on (keeper.go), and cuts them to what an address asks for.

package viewer

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// Comparison is two runs beside each other, B less A.
type Comparison struct {
	Notes               []string // what differs between the runs, besides what they found
	Pairs, OnlyA, OnlyB int      // trials
	Rows                []Row
	Changed, Worse      int // rows beyond noise, and those of them in the bad direction
}

// Place says which score of which trials: those of a model in an arm under a condition.
type Place struct {
	Study, Model, Arm, Condition, Score, Judge string
}

// Row is a score, in words.
type Row struct {
	Place
	A, B, Difference string
	Chance           string   // corrected for all rows
	P                *float64 // the same
	Items, Up, Down  int      // items compared, and those whose score rose or fell
	Direction        string   // beyond noise: better, worse or changed; "": within noise
}

// Item is one whose score changed.
type Item struct {
	Item   string
	Repeat int    // the first that has the score in both
	Other  string // what B calls the model
	A, B   string
}

// Values are the place as an address has it.
func (p Place) Values() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"study": p.Study, "model": p.Model, "arm": p.Arm, "condition": p.Condition, "score": p.Score, "judge": p.Judge} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// placeOf is the place in an address.
func placeOf(q url.Values) Place {
	return Place{q.Get("study"), q.Get("model"), q.Get("arm"), q.Get("condition"), q.Get("score"), q.Get("judge")}
}

// pairView is what a page shows:
//
//	a=RUN  b=RUN (again for another)  show=RUN  times=1  all=1  order=p
//	study=S  model=M  arm=A  condition=C  score=S  page=N
type pairView struct {
	A     string
	B     []string
	Show  string // of B, the one whose rows are shown
	Times bool   // times and energies although the machines differ
	All   bool   // rows within noise too
	Order string // p: the least likely first; "": as planned
	Only  Place  // of it, what is not empty
	Page  int    // from 1
}

// parsePair reads an address.
func parsePair(q url.Values) (pairView, error) {
	v := pairView{A: q.Get("a"), Show: q.Get("show"), Times: q.Get("times") == "1", All: q.Get("all") == "1", Order: q.Get("order"), Only: placeOf(q), Page: 1}
	for _, b := range q["b"] {
		if b != "" && b != v.A && !slices.Contains(v.B, b) {
			v.B = append(v.B, b)
		}
	}
	if !slices.Contains(v.B, v.Show) {
		v.Show = ""
		if len(v.B) > 0 {
			v.Show = v.B[0]
		}
	}
	if v.Order != "" && v.Order != "p" {
		return v, fmt.Errorf("order: expected p or nothing, found %q", v.Order)
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
func (v pairView) Values() url.Values {
	q := v.Only.Values()
	for name, s := range map[string]string{"a": v.A, "show": v.Show, "order": v.Order} {
		if s != "" {
			q.Set(name, s)
		}
	}
	q["b"] = v.B
	if len(v.B) < 2 {
		q.Del("show")
	}
	for name, on := range map[string]bool{"times": v.Times, "all": v.All} {
		if on {
			q.Set(name, "1")
		}
	}
	if v.Page > 1 {
		q.Set("page", strconv.Itoa(v.Page))
	}
	return q
}

// At is the view on another page.
func (v pairView) At(page int) pairView { v.Page = page; return v }

// Beside is the view with the rows of another run.
func (v pairView) Beside(b string) pairView { v.Show, v.Page = b, 1; return v }

// Pair is the comparison whose rows are shown.
func (v pairView) Pair(b string) storePair { return storePair{v.A, b, v.Times} }

// Cut is the rows of a comparison that the view is of, on all of its pages.
func (v pairView) Cut(rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		if (v.All || r.Direction != "") && fits(r.Place, v.Only, "") {
			out = append(out, r)
		}
	}
	if v.Order == "p" {
		slices.SortStableFunc(out, func(x, y Row) int {
			if x.P == nil || y.P == nil {
				return cmp.Compare(btoi(x.P == nil), btoi(y.P == nil))
			}
			return cmp.Compare(*x.P, *y.P)
		})
	}
	return out
}

// fields of a place that rows are chosen by.
func fields(p *Place) []struct {
	name string
	of   *string
} {
	return []struct {
		name string
		of   *string
	}{{"study", &p.Study}, {"model", &p.Model}, {"arm", &p.Arm}, {"condition", &p.Condition}, {"score", &p.Score}, {"judge", &p.Judge}}
}

// fits says whether a place is what only has of it, but for one field.
func fits(p, only Place, but string) bool {
	want := fields(&only)
	for i, f := range fields(&p) {
		if w := *want[i].of; f.name != but && w != "" && w != *f.of {
			return false
		}
	}
	return true
}

// pairFacet is a list to choose rows by.
type pairFacet struct {
	Name    string
	Options []pairOption
}

// pairOption is a value with how many rows it leaves.
type pairOption struct {
	Value  string
	N      int
	Chosen bool
}

// Facets are the lists with more than one value.
func (v pairView) Facets(rows []Row) (out []pairFacet) {
	for i, f := range fields(&Place{}) {
		n := map[string]int{}
		for _, r := range rows {
			if value := *fields(&r.Place)[i].of; value != "" {
				n[value] += btoi((v.All || r.Direction != "") && fits(r.Place, v.Only, f.name))
			}
		}
		if len(n) < 2 {
			continue
		}
		facet := pairFacet{Name: f.name}
		for value, n := range n {
			facet.Options = append(facet.Options, pairOption{value, n, value == *fields(&v.Only)[i].of})
		}
		slices.SortFunc(facet.Options, func(a, b pairOption) int { return cmp.Compare(a.Value, b.Value) })
		out = append(out, facet)
	}
	return out
}

package viewer

import (
	"html/template"
	"maps"
	"net/url"
	"strconv"
)

// pairPageRows are the rows and the items of a page.
const pairPageRows = 100

// page is the rows of a comparison that a view shows.
type page struct {
	pairView
	Facets     []pairFacet
	Rows       []linkedRow
	N, From    int          // rows of all pages, and before this one
	Within     template.URL // with rows within noise, or without them
	Prev, Next template.URL
}

// linkedRow is a row with the page of its items that changed; "": none did.
type linkedRow struct {
	Row
	Items template.URL
}

// link is the address of a page of comparisons.
func link(page string, queries ...url.Values) template.URL {
	all := url.Values{}
	for _, q := range queries {
		maps.Copy(all, q)
	}
	return template.URL("/compare" + page + "?" + all.Encode())
}

func pair(a, b string) url.Values { return url.Values{"a": {a}, "b": {b}} }

// PageOf is what the view shows of a comparison.
func (v pairView) PageOf(c *Comparison) page {
	rows := v.Cut(c.Rows)
	p := page{pairView: v, Facets: v.Facets(c.Rows), N: len(rows)}
	var to int
	p.From, to = ends(v.Page, len(rows))
	for _, r := range rows[p.From:to] {
		l := linkedRow{Row: r}
		if r.Up+r.Down > 0 {
			l.Items = link("/items", pair(v.A, v.Show), r.Place.Values())
		}
		p.Rows = append(p.Rows, l)
	}
	if v.Page > 1 {
		p.Prev = link("", v.At(v.Page-1).Values())
	}
	if to < len(rows) {
		p.Next = link("", v.At(v.Page+1).Values())
	}
	other := v.At(1)
	other.All = !v.All
	p.Within = link("", other.Values())
	return p
}

// ends are where the rows of a page begin and end, of n.
func ends(page, n int) (from, to int) {
	from = min((page-1)*pairPageRows, n)
	return from, min(from+pairPageRows, n)
}

// changed is the items of which a score changed, a page of them.
type changed struct {
	Place
	A, B       string
	Up         template.URL
	Items      []linkedItem
	N, From    int
	Prev, Next template.URL
}

// linkedItem is an item with the page of its trials in both runs.
type linkedItem struct {
	Item
	Link template.URL
}

// changedOf is a page of items, from 1.
func changedOf(a, b string, at Place, items []Item, page int) changed {
	c := changed{Place: at, A: a, B: b, Up: link("", pair(a, b)), N: len(items)}
	var to int
	c.From, to = ends(page, len(items))
	for n := c.From; n < to; n++ {
		c.Items = append(c.Items, linkedItem{items[n], trialLink(a, b, at, n)})
	}
	link := func(page int) template.URL {
		return link("/items", pair(a, b), at.Values(), url.Values{"page": {strconv.Itoa(page)}})
	}
	if page > 1 {
		c.Prev = link(page - 1)
	}
	if to < len(items) {
		c.Next = link(page + 1)
	}
	return c
}

func trialLink(a, b string, at Place, n int) template.URL {
	return link("/trial", pair(a, b), at.Values(), url.Values{"n": {strconv.Itoa(n)}})
}

// beside is an item that changed, among the others.
type beside struct {
	Place
	Item           Item
	N, Of          int // from 1
	Up, Prev, Next template.URL
}

// besideOf is the nth item, from 0.
func besideOf(a, b string, at Place, items []Item, n int) beside {
	out := beside{Place: at, Item: items[n], N: n + 1, Of: len(items), Up: link("/items", pair(a, b), at.Values())}
	if n > 0 {
		out.Prev = trialLink(a, b, at, n-1)
	}
	if n+1 < len(items) {
		out.Next = trialLink(a, b, at, n+1)
	}
	return out
}

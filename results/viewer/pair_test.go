package viewer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAViewIsItsAddress: read again, an address is the same view.
func TestAViewIsItsAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z&= ü+%]{1,4}`)
		v := pairView{A: name.Draw(t, "a"), Times: rapid.Bool().Draw(t, "times"), All: rapid.Bool().Draw(t, "all"), Order: rapid.SampledFrom([]string{"", "p"}).Draw(t, "order"), Page: rapid.IntRange(1, 9).Draw(t, "page"),
			Only: Place{Study: name.Draw(t, "study"), Score: name.Draw(t, "score")}}
		v.B = rapid.SliceOfNDistinct(name.Filter(func(s string) bool { return s != v.A }), 1, 3, func(s string) string { return s }).Draw(t, "b")
		v.Show = rapid.SampledFrom(v.B).Draw(t, "show")
		q, err := url.ParseQuery(v.Values().Encode())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsePair(q); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%+v becomes %+v (%v)", v, got, err)
		}
	})
	for _, bad := range []string{"page=0", "page=x", "order=q"} {
		q, _ := url.ParseQuery(bad)
		if _, err := parsePair(q); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	// A run is not put beside itself, nor another one twice.
	if v, err := parsePair(url.Values{"a": {"x"}, "b": {"x", "y", "", "y"}}); err != nil || fmt.Sprintf("%v %s", v.B, v.Show) != "[y] y" {
		t.Errorf("%+v, %v", v, err)
	}
}

func rows() (out []Row) {
	p := func(v float64) *float64 { return &v }
	for i, r := range []struct {
		model, score, direction string
		p                       *float64
	}{{"m", "accuracy", "worse", p(.01)}, {"m", "tokens", "", p(.5)}, {"m", "steps", "", nil}, {"n", "accuracy", "better", p(.001)}, {"n", "tokens", "", p(1)}} {
		out = append(out, Row{Place: Place{Study: "s", Model: r.model, Score: r.score}, Direction: r.direction, P: r.p, Up: i})
	}
	return out
}

// TestRowsOfAView: what changed beyond noise comes alone unless all is asked for; lists say
// how many rows a choice leaves.
func TestRowsOfAView(t *testing.T) {
	names := func(v pairView) string {
		s := ""
		for _, r := range v.Cut(rows()) {
			s += r.Model + "." + r.Score + " "
		}
		return s
	}
	for want, v := range map[string]pairView{
		"m.accuracy n.accuracy ":                           {Page: 1},
		"m.accuracy m.tokens m.steps n.accuracy n.tokens ": {All: true},
		"n.accuracy m.accuracy m.tokens n.tokens m.steps ": {All: true, Order: "p"},
		"m.tokens n.tokens ":                               {All: true, Only: Place{Score: "tokens"}},
		"":                                                 {Only: Place{Score: "tokens"}},
	} {
		if got := names(v); got != want {
			t.Errorf("%+v: %s", v, got)
		}
	}
	f := pairView{Only: Place{Model: "m"}}.Facets(rows())
	if fmt.Sprint(f) != "[{model [{m 1 true} {n 1 false}]} {score [{accuracy 1 false} {steps 0 false} {tokens 0 false}]}]" {
		t.Errorf("lists: %v", f)
	}
}

// TestPagesOfRowsAndItems: each row and each item is on one page, in order, and pages lead
// to each other.
func TestPagesOfRowsAndItems(t *testing.T) {
	c := &Comparison{}
	var items []Item
	for i := range 250 {
		c.Rows = append(c.Rows, Row{Place: Place{Score: fmt.Sprint(i)}, Up: i % 2})
		items = append(items, Item{Item: fmt.Sprint(i)})
	}
	for page, n := range map[int]int{1: 100, 2: 100, 3: 50, 4: 0} {
		p := pairView{A: "a", B: []string{"b"}, Show: "b", All: true, Page: page}.PageOf(c)
		d := changedOf("a", "b", Place{}, items, page)
		if len(p.Rows) != n || len(d.Items) != n || (p.Prev == "") != (page == 1) || (p.Next == "") != (page > 2) || (d.Prev == "") != (page == 1) || (d.Next == "") != (page > 2) {
			t.Errorf("page %d: %d rows, %d items, %q, %q", page, len(p.Rows), len(d.Items), p.Prev, p.Next)
		}
		if n > 0 && (p.Rows[0].Score != fmt.Sprint((page-1)*100) || d.Items[n-1].Item.Item != fmt.Sprint((page-1)*100+n-1) || p.Rows[0].Items != "" || p.Rows[1].Items == "") {
			t.Errorf("page %d begins with %+v", page, p.Rows[0])
		}
	}
	for n, want := range map[int][2]bool{0: {false, true}, 7: {true, true}, 249: {true, false}} {
		if b := besideOf("a", "b", Place{}, items, n); b.N != n+1 || b.Item.Item != fmt.Sprint(n) || (b.Prev != "") != want[0] || (b.Next != "") != want[1] {
			t.Errorf("item %d: %+v", n, b)
		}
	}
}

// TestComparisonsAreKept: one is made once, again when the trials are others, at most a
// tenth of the time, and the one asked for last first.
func TestComparisonsAreKept(t *testing.T) {
	now := time.Unix(0, 0)
	k := newKeeper(func() time.Time { return now })
	var made []string
	maker := func(_ context.Context, p storePair, tell func(int, int)) (*Comparison, error) {
		tell(1, 3)
		if st := k.Ask(p, [2]int64{1, 1}); !st.Waiting || st.Words() != "compared: 1 of 3 models" {
			t.Errorf("while it is made: %+v", st)
		}
		made = append(made, p.B)
		now = now.Add(time.Second)
		if p.B == "bad" {
			return nil, errors.New("other data")
		}
		return &Comparison{Pairs: len(made)}, nil
	}
	ask := func(b string, revision int64) status { return k.Ask(storePair{A: "a", B: b}, [2]int64{revision, 1}) }
	run := func() {
		for k.Step(t.Context(), maker) {
		}
	}
	if st := ask("x", 1); st.Made != nil || st.Words() != "waits to be compared" {
		t.Errorf("%+v", st)
	}
	ask("bad", 1)
	run()
	run()
	if fmt.Sprint(made) != "[bad x]" {
		t.Errorf("made: %v", made)
	}
	if st := ask("x", 1); st.Made == nil || st.Words() != "" || st.Old {
		t.Errorf("%+v", st)
	}
	if st := ask("bad", 1); st.Err == nil || st.Waiting {
		t.Errorf("%+v", st)
	}
	now = now.Add(8 * time.Second)
	if st := ask("x", 2); st.Waiting || !st.Old || st.Made == nil || st.Words() == "" {
		t.Errorf("nine seconds after one that took one: %+v", st)
	}
	now = now.Add(2 * time.Second)
	if st := ask("x", 2); !st.Waiting || st.Made == nil {
		t.Errorf("after ten: %+v", st)
	}
	run()
	if st := ask("x", 2); st.Old || st.Made.Pairs != 3 {
		t.Errorf("%+v", st)
	}
	for i := range 2 * mostKept {
		ask(fmt.Sprint(i), 1)
		run()
	}
	if len(k.kept) != mostKept || len(k.order) != mostKept {
		t.Errorf("%d are kept, %d in order", len(k.kept), len(k.order))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask("late", 1)
	if k.Step(ctx, maker) || !ask("late", 1).Waiting {
		t.Error("one that was broken off is there")
	}
}

package plan

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
)

func items(n int, types ...string) *dataset.Dataset {
	d := &dataset.Dataset{Name: "set"}
	for i := range n {
		d.Items = append(d.Items, dataset.Item{ID: fmt.Sprintf("item-%d", i), Type: types[i%len(types)]})
	}
	return d
}

func conditions(names ...string) []*perturb.Condition {
	list := []perturb.Condition{perturb.Baseline()}
	for _, n := range names {
		list = append(list, perturb.Condition{Name: n})
	}
	return shared(list)
}

func shared(list []perturb.Condition) (out []*perturb.Condition) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// drawn is a request of any shape that can be planned.
func drawn(t *rapid.T) Request {
	req := Request{Seed: rapid.Uint64().Draw(t, "seed")}
	for i := range rapid.IntRange(1, 4).Draw(t, "models") {
		req.Models = append(req.Models, fmt.Sprintf("model-%d", i))
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "studies") {
		st := render.Protocol{Name: fmt.Sprintf("study-%d", i)}
		for j := range rapid.IntRange(1, 5).Draw(t, "arms") {
			a := render.Arm{Name: fmt.Sprintf("arm-%d", j)}
			for k := range j { // an arm may need those before it
				if rapid.IntRange(0, 3).Draw(t, "need") == 0 {
					a.Needs = append(a.Needs, fmt.Sprintf("arm-%d", k))
				}
			}
			st.Arms = append(st.Arms, a)
		}
		if most := rapid.IntRange(0, 6).Draw(t, "conditions"); most > 0 {
			st.Conditions = func(_ uint64, it dataset.Item) ([]*perturb.Condition, []render.Missing) { // not the same for each item
				return conditions([]string{"sham", "a", "b", "c", "d", "e"}[:len(it.Type)%most]...), nil
			}
		}
		s := Study{Protocol: st, Study: config.Study{Repeats: rapid.IntRange(1, 3).Draw(t, "repeats"), PerType: rapid.IntRange(0, 5).Draw(t, "per type")},
			Set: items(rapid.IntRange(0, 30).Draw(t, "items"), "single", "bool", "multiple")}
		for _, a := range st.Arms {
			s.Arms = append(s.Arms, a.Name)
		}
		s.Arms = rapid.Permutation(s.Arms).Draw(t, "order of arms")
		s.Models = rapid.Permutation(req.Models).Draw(t, "order of models")[:rapid.IntRange(1, len(req.Models)).Draw(t, "models of the study")]
		req.Studies = append(req.Studies, s)
	}
	return req
}

func drawnFilter(t *rapid.T, req Request) Filter {
	f := Filter{Limit: rapid.IntRange(0, 10).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "filter models") {
		f.Models = req.Models[:1]
	}
	if rapid.Bool().Draw(t, "filter studies") {
		f.Studies = []string{req.Studies[len(req.Studies)-1].Protocol.Name}
	}
	return f
}

func made(t rapid.TB, req Request, f Filter) *Plan {
	t.Helper()
	p, err := Make(req, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func keys(p *Plan) []results.Key {
	var out []results.Key
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			out = append(out, t.Key)
		}
	}
	return out
}

func TestSameRequestSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		f := drawnFilter(t, req)
		if a, b := made(t, req, f), made(t, req, f); !reflect.DeepEqual(a, b) {
			t.Fatalf("two plans of one request differ:\n%v\n%v", keys(a), keys(b))
		}
	})
}

// The draws are part of what a stored run rests on, so they may not change
// with a version either.
func TestOrderIsPinned(t *testing.T) {
	s := Study{Protocol: render.Protocol{Name: "cot", Arms: []render.Arm{{Name: "direct"}, {Name: "cot"}}}, Set: items(8, "single", "bool"),
		Study: config.Study{Models: []string{"m"}, Arms: []string{"direct", "cot"}, PerType: 2, Repeats: 1}}
	var got []string
	for _, k := range keys(made(t, Request{Seed: 7, Models: []string{"m"}, Studies: []Study{s}}, Filter{})) {
		got = append(got, k.Item+"/"+k.Arm)
	}
	want := "item-4/direct item-4/cot item-2/cot item-2/direct item-7/cot item-7/direct item-5/direct item-5/cot"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestEveryTrialIsPlannedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		want := map[results.Key]bool{}
		for i := range req.Studies {
			s := &req.Studies[i]
			s.PerType = 0
			for _, m := range s.Models {
				for _, it := range s.Set.Items {
					list := conditions()
					if s.Protocol.Conditions != nil {
						list, _ = s.Protocol.Conditions(req.Seed, it)
					}
					for _, c := range list {
						for _, a := range s.Arms {
							for r := range s.Repeats {
								want[results.Key{Study: s.Protocol.Name, Model: m, Item: it.ID, Arm: a, Condition: c.Name, Repeat: r}] = true
							}
						}
					}
				}
			}
		}
		p := made(t, req, Filter{})
		for _, b := range p.Blocks {
			for _, tr := range b.Trials {
				if !want[tr.Key] {
					t.Fatalf("planned twice or never asked for: %+v", tr.Key)
				}
				delete(want, tr.Key)
				if tr.Key.Model != b.Model || tr.Item.ID != tr.Key.Item || tr.Arm.Name != tr.Key.Arm || tr.Condition.Name != tr.Key.Condition {
					t.Fatalf("a trial is not what its key says: %+v", tr)
				}
			}
		}
		if len(want) > 0 {
			t.Fatalf("not planned: %v", want)
		}
	})
}

func TestNeedsComeFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		for _, b := range made(t, req, drawnFilter(t, req)).Blocks {
			done := map[results.Key]bool{}
			for _, tr := range b.Trials {
				for _, need := range tr.Arm.Needs {
					k := tr.Key
					k.Arm, k.Condition = need, "baseline"
					if !done[k] {
						t.Fatalf("%+v stands before %+v, which it needs", tr.Key, k)
					}
				}
				done[tr.Key] = true
			}
		}
	})
}

// Blocks are comparable: every model of a study has the same trials in the same order,
// repeats one after another and the trials of an item next to each other.
func TestBlocksAreAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		p := made(t, req, drawnFilter(t, req))
		orders := map[string][]results.Key{}
		for _, b := range p.Blocks {
			mine := map[string][]results.Key{}
			for _, tr := range b.Trials {
				k := tr.Key
				k.Model = ""
				mine[k.Study] = append(mine[k.Study], k)
			}
			for name, order := range mine {
				if other, ok := orders[name]; ok && !slices.Equal(order, other) {
					t.Fatalf("study %s has two orders", name)
				}
				orders[name] = order
			}
		}
		for _, order := range orders {
			type visit struct {
				item   string
				repeat int
			}
			left := map[visit]bool{}
			for i, k := range order {
				v := visit{k.Item, k.Repeat}
				if left[v] {
					t.Fatalf("item %s is visited twice in repeat %d", k.Item, k.Repeat)
				}
				if i > 0 && order[i-1].Repeat > k.Repeat {
					t.Fatal("repeats are mixed")
				}
				if i+1 < len(order) && (order[i+1].Item != k.Item || order[i+1].Repeat != k.Repeat) {
					left[v] = true
				}
			}
		}
		var names []string
		for _, b := range p.Blocks {
			names = append(names, b.Model)
		}
		if !slices.IsSortedFunc(names, func(a, b string) int {
			return slices.Index(req.Models, a) - slices.Index(req.Models, b)
		}) {
			t.Fatalf("blocks %v do not follow %v", names, req.Models)
		}
	})
}

// Over every n items in a row, each of n arms is first once; over all, the
// counts of any two arms differ by at most one.
func TestArmsAreBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Study{Protocol: render.Protocol{Name: "s"}, Set: items(rapid.IntRange(1, 60).Draw(t, "items"), "single"), Study: config.Study{Models: []string{"m"}, Repeats: rapid.IntRange(1, 3).Draw(t, "repeats")}}
		for j := range rapid.IntRange(1, 5).Draw(t, "arms") {
			name := fmt.Sprintf("arm-%d", j)
			s.Protocol.Arms, s.Arms = append(s.Protocol.Arms, render.Arm{Name: name}), append(s.Arms, name)
		}
		p := made(t, Request{Seed: rapid.Uint64().Draw(t, "seed"), Models: s.Models, Studies: []Study{s}}, Filter{})
		n := len(s.Arms)
		first := make([]map[string]int, s.Repeats)
		for i, tr := range p.Blocks[0].Trials {
			if i%n == 0 {
				r := tr.Key.Repeat
				if first[r] == nil {
					first[r] = map[string]int{}
				}
				first[r][tr.Key.Arm]++
			}
		}
		for r, counts := range first {
			for _, a := range s.Arms {
				if least := len(s.Set.Items) / n; counts[a] < least || counts[a] > least+1 {
					t.Fatalf("repeat %d: %v over %d items", r, counts, len(s.Set.Items))
				}
			}
		}
	})
}

// Two seeds, or two repeats, do not share an order of many items.
func TestOrderDependsOnSeedAndRepeat(t *testing.T) {
	s := Study{Protocol: render.Protocol{Name: "s", Arms: []render.Arm{{Name: "a"}, {Name: "b"}}}, Set: items(50, "single"), Study: config.Study{Models: []string{"m"}, Arms: []string{"a", "b"}, Repeats: 2}}
	order := func(seed uint64) (one, two []string) {
		for _, k := range keys(made(t, Request{Seed: seed, Models: s.Models, Studies: []Study{s}}, Filter{})) {
			if k.Repeat == 0 {
				one = append(one, k.Item+k.Arm)
			} else {
				two = append(two, k.Item+k.Arm)
			}
		}
		return one, two
	}
	a1, a2 := order(1)
	b1, _ := order(2)
	if slices.Equal(a1, a2) || slices.Equal(a1, b1) {
		t.Error("the order of items is not drawn")
	}
	sorted := slices.Clone(a1)
	slices.Sort(sorted)
	if slices.Equal(sorted, a1) {
		t.Error("items stand in the data set's order")
	}
}

// A smaller selection or limit is the beginning of a larger one, so what is
// stored stays of use.
func TestSmallerPlansAreWithinLargerOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		few, more := keys(made(t, req, Filter{Limit: limit})), keys(made(t, req, Filter{Limit: limit + 1}))
		all := keys(made(t, req, Filter{}))
		in := func(small, large []results.Key, what string) {
			t.Helper()
			has := map[results.Key]bool{}
			for _, k := range large {
				has[k] = true
			}
			for _, k := range small {
				if !has[k] {
					t.Fatalf("%s: %+v is planned with less and not with more", what, k)
				}
			}
		}
		in(few, more, "limit")
		in(more, all, "no limit")
		larger := req
		larger.Studies = slices.Clone(req.Studies)
		for i := range larger.Studies {
			if larger.Studies[i].PerType > 0 {
				larger.Studies[i].PerType++
			}
			larger.Studies[i].Repeats++
		}
		in(all, keys(made(t, larger, Filter{})), "selection and repeats")

		// In a study of one repeat, a limit is where the whole run begins.
		for _, s := range req.Studies {
			s.Repeats = 1
			one := Request{Seed: req.Seed, Models: req.Models, Studies: []Study{s}}
			for i, b := range made(t, one, Filter{Limit: limit}).Blocks {
				whole := made(t, one, Filter{}).Blocks[i].Trials
				if !reflect.DeepEqual(b.Trials, whole[:len(b.Trials)]) {
					t.Fatalf("a limit of %d is not the beginning", limit)
				}
			}
		}
	})
}

func TestSelectionPerType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		for _, sel := range made(t, req, Filter{}).Studies {
			s := req.Studies[slices.IndexFunc(req.Studies, func(s Study) bool { return s.Protocol.Name == sel.Study })]
			have, chosen := map[string]int{}, map[string]int{}
			for _, it := range s.Set.Items {
				have[it.Type]++
			}
			last := -1
			for _, it := range sel.Items {
				chosen[it.Type]++
				at := slices.IndexFunc(s.Set.Items, func(o dataset.Item) bool { return o.ID == it.ID })
				if at <= last {
					t.Fatal("selected items do not keep the data set's order")
				}
				last = at
			}
			for typ, n := range have {
				if s.PerType > 0 {
					n = min(n, s.PerType)
				}
				if chosen[typ] != n {
					t.Fatalf("%d items of type %s, want %d", chosen[typ], typ, n)
				}
			}
		}
	})
}

// Nothing disappears: the trials planned and those left out are all there are.
func TestWhatIsLeftOutIsCounted(t *testing.T) {
	st := render.Protocol{Name: "s", Arms: []render.Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	st.Conditions = func(_ uint64, it dataset.Item) ([]*perturb.Condition, []render.Missing) {
		if it.Type == "bool" {
			return conditions("sham"), nil
		}
		return conditions(), nil
	}
	set := items(10, "single", "bool") // 5 of each: 5*1 + 5*2 = 15 trials per arm, model and repeat
	set.Problems = []dataset.Problem{
		{File: "rows.jsonl", Row: 17, Column: "image", Want: "a file", Got: "none at x.png"},
		{File: "rows.jsonl", Row: 17, Column: "answer", Want: "text", Got: "nothing"},
		{File: "types.xlsx", Want: "a table", Got: "nothing"},
	}
	req := Request{Seed: 3, Models: []string{"m", "n", "o"}, Studies: []Study{
		{Protocol: st, Set: set, Study: config.Study{Models: []string{"m", "n"}, Arms: []string{"a", "b"}, PerType: 3, Repeats: 2}},
		{Protocol: render.Protocol{Name: "t", Arms: st.Arms[:1]}, Set: set, Study: config.Study{Models: []string{"o", "n"}, Arms: []string{"a"}, Repeats: 1}},
	}}
	show := func(p *Plan) string {
		var out []string
		for _, l := range p.LeftOut {
			n := "?"
			if l.Trials != nil {
				n = fmt.Sprint(*l.Trials)
			}
			out = append(out, fmt.Sprintf("%s | %s | %s | %s", l.Study, l.What, l.Why, n))
		}
		return strings.Join(out, "\n")
	}
	rows := func(study, trials string) string {
		return study + " | rows.jsonl:17 | image: expected a file, found none at x.png; answer: expected text, found nothing | " + trials + "\n" +
			study + " | types.xlsx | expected a table, found nothing | ?\n"
	}
	p := made(t, req, Filter{})
	// Study s: 3 single and 3 bool items are 9 trials per arm, model and repeat.
	if n := len(keys(p)); n != 9*2*2*2+10*2 {
		t.Errorf("%d trials", n)
	}
	want := rows("s", "?") + // its items are not alike
		"s | model o | not listed in models of the study | 36\n" +
		"s | arm c | not listed in arms of the study | 36\n" +
		"s | 2 items of type single | select.per_type is 3 | 16\n" +
		"s | 2 items of type bool | select.per_type is 3 | 32\n" +
		rows("t", "2") + "t | model m | not listed in models of the study | 10"
	if got := show(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	p = made(t, req, Filter{Limit: 4, Models: []string{"n"}, Studies: []string{"t"}})
	if n := len(keys(p)); n != 4 || len(p.Blocks) != 1 || len(p.Studies) != 1 {
		t.Errorf("%d trials, %d blocks, %d studies", n, len(p.Blocks), len(p.Studies))
	}
	if got := show(p); !strings.HasPrefix(got, "s | study s | not asked for this time | ") ||
		!strings.HasSuffix(got, "t | model o | not asked for this time | 4\nt | 6 items | limit is 4 | 6") {
		t.Errorf("got\n%s", got)
	}
}

func TestMakeRefuses(t *testing.T) {
	arms := []render.Arm{{Name: "direct"}, {Name: "cot"}, {Name: "after", Needs: []string{"cot"}}, {Name: "one", Needs: []string{"two"}}, {Name: "two", Needs: []string{"one"}}}
	valid := func() Request {
		return Request{Seed: 1, Models: []string{"honest", "silent"}, Studies: []Study{{Protocol: render.Protocol{Name: "cot", Arms: arms},
			Set: items(3, "single"), Study: config.Study{Models: []string{"honest"}, Arms: []string{"direct", "cot"}, Repeats: 1}}}}
	}
	made(t, valid(), Filter{})
	for _, c := range []struct {
		name   string
		change func(*Request, *Filter)
		want   string
	}{
		{"filter: model", func(r *Request, f *Filter) { f.Models = []string{"honets"} }, `unknown model "honets": expected one of honest, silent; did you mean honest?`},
		{"filter: study", func(r *Request, f *Filter) { f.Studies = []string{"Cto"} }, `unknown study "Cto": expected one of cot`},
		{"filter: both", func(r *Request, f *Filter) { f.Models, f.Studies = []string{"x", "y"}, []string{"coot"} },
			"unknown model \"x\": expected one of honest, silent\nunknown model \"y\": expected one of honest, silent\nunknown study \"coot\": expected one of cot; did you mean cot?"},
		{"filter: limit", func(r *Request, f *Filter) { f.Limit = -1 }, "limit: expected at least 1 item, or 0 for all, found -1"},
		{"arm", func(r *Request, f *Filter) { r.Studies[0].Arms = []string{"dirct"} }, `unknown arm "dirct": expected one of direct, cot, after, one, two; did you mean direct?`},
		{"no arm", func(r *Request, f *Filter) { r.Studies[0].Arms = nil }, "expected at least one arm"},
		{"model", func(r *Request, f *Filter) { r.Studies[0].Models = []string{"slient"} }, `unknown model "slient"`},
		{"needs", func(r *Request, f *Filter) { r.Studies[0].Arms = []string{"direct", "after"} }, "arm after needs the output of arm cot, which is not selected; add cot to arms"},
		{"needs in a circle", func(r *Request, f *Filter) { r.Studies[0].Arms = []string{"two", "one"} }, "arm two needs its own output, through [one]"},
		{"repeats", func(r *Request, f *Filter) { r.Studies[0].Repeats = 0 }, "found 0 repeats"},
		{"same ID", func(r *Request, f *Filter) { r.Studies[0].Set.Items[2].ID = "item-0" }, `found "item-0" twice or empty`},
		{"no ID", func(r *Request, f *Filter) { r.Studies[0].Set.Items[2].ID = "" }, "twice or empty"},
		{"same condition", func(r *Request, f *Filter) {
			r.Studies[0].Protocol.Conditions = func(uint64, dataset.Item) ([]*perturb.Condition, []render.Missing) {
				return conditions("sham", "sham"), nil
			}
		}, "item item-0: expected each condition once, found sham again"},
		{"no baseline", func(r *Request, f *Filter) {
			r.Studies[0].Protocol.Conditions = func(uint64, dataset.Item) ([]*perturb.Condition, []render.Missing) {
				return conditions("sham")[1:], nil
			}
		}, "item item-0: expected the baseline as its first condition"},
	} {
		req, f := valid(), Filter{}
		c.change(&req, &f)
		if _, err := Make(req, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawn(t)
		p := made(t, req, drawnFilter(t, req))
		cells := map[Count]int{}
		for _, k := range keys(p) {
			cells[Count{Study: k.Study, Model: k.Model, Arm: k.Arm, Condition: k.Condition}]++
		}
		for _, c := range Counts(p) {
			n := c.Trials
			c.Trials = 0
			if n == 0 || cells[c] != n {
				t.Fatalf("%+v: %d trials, counted %d", c, cells[c], n)
			}
			delete(cells, c)
		}
		if len(cells) > 0 {
			t.Fatalf("not counted: %v", cells)
		}
	})
}

func TestEstimateGuessesNothing(t *testing.T) {
	s := Study{Protocol: render.Protocol{Name: "s", Arms: []render.Arm{{Name: "a"}, {Name: "b"}}}, Set: items(5, "single"), Study: config.Study{Models: []string{"m", "n"}, Arms: []string{"a", "b"}, Repeats: 1}}
	p := made(t, Request{Seed: 1, Models: s.Models, Studies: []Study{s}}, Filter{})
	known, unknown := Estimate(p, func(k results.Key) (time.Duration, bool) {
		return 3 * time.Second, k.Model == "m" && k.Arm == "a"
	})
	if known != 15*time.Second || unknown != 15 {
		t.Errorf("got %v and %d unknown, want 15s and 15", known, unknown)
	}
}

// A condition that an item cannot have, and a question that the study does not
// ask, are left out in words.
func TestWhatCannotBeIsLeftOut(t *testing.T) {
	st := render.Protocol{Name: "s", Types: []string{"binary", "spatial"}, Arms: []render.Arm{{Name: "a"}, {Name: "b"}}}
	st.Conditions = func(_ uint64, it dataset.Item) ([]*perturb.Condition, []render.Missing) {
		if it.Type == "binary" {
			return conditions("sham"), []render.Missing{{Condition: "VO-BB", Why: "no region"}, {Condition: "VH-BB", Why: "no region"}, {Condition: "TB-LA-", Why: "one option"}}
		}
		return conditions("sham", "VO-BB", "VH-BB", "TB-LA-"), nil
	}
	p := made(t, Request{Seed: 3, Models: []string{"m", "n"}, Studies: []Study{
		{Protocol: st, Set: items(9, "binary", "spatial", "single"), Study: config.Study{Models: []string{"m", "n"}, Arms: []string{"a", "b"}, Repeats: 1}}}}, Filter{})
	var got []string
	for _, l := range p.LeftOut {
		got = append(got, fmt.Sprintf("%s: %s (%d)", l.What, l.Why, *l.Trials))
	}
	want := []string{"3 items of type single: the study asks questions of type binary, spatial (0)",
		"3 items under VO-BB, VH-BB: no region (24)", "3 items under TB-LA-: one option (12)"}
	if !slices.Equal(got, want) {
		t.Errorf("left out %q, want %q", got, want)
	}
	if n := len(p.Blocks[0].Trials); n != 2*(3*2+3*5) {
		t.Errorf("%d trials", n)
	}
}

// underConditions is a study whose arm "write" is asked at the baseline alone, and
// whose arm "ask" needs it under one condition.
func underConditions(missing bool, arms ...string) Study {
	st := render.Protocol{Name: "s", Arms: []render.Arm{
		{Name: "ask", Under: func(_ *dataset.Item, c *perturb.Condition) ([]string, bool) {
			if c.Name == "own" {
				return []string{"write"}, true
			}
			return nil, true
		}},
		{Name: "write", Under: func(_ *dataset.Item, c *perturb.Condition) ([]string, bool) { return nil, c.Name == "baseline" }},
	}}
	st.Conditions = func(uint64, dataset.Item) ([]*perturb.Condition, []render.Missing) {
		if missing {
			return conditions("own"), []render.Missing{{Condition: "told", Why: "no text", Arms: []string{"ask"}}}
		}
		return conditions("told", "own"), nil
	}
	return Study{Protocol: st, Set: items(5, "single"), Study: config.Study{Models: []string{"m"}, Arms: arms, Repeats: 2}}
}

// TestArmsUnderConditions: an arm stands under the conditions that it is asked
// under, after those that it needs there, and what is left out is counted so.
func TestArmsUnderConditions(t *testing.T) {
	request := func(s Study) Request { return Request{Seed: 5, Models: []string{"m"}, Studies: []Study{s}} }
	p := made(t, request(underConditions(false, "ask", "write")), Filter{})
	cells, done := map[string]int{}, map[results.Key]bool{}
	for _, tr := range p.Blocks[0].Trials {
		cells[tr.Key.Arm+" "+tr.Key.Condition]++
		done[tr.Key] = true
		needs := tr.Needs()
		if (len(needs) == 1) != (tr.Key.Condition == "own") {
			t.Errorf("%v needs %v", tr.Key, needs)
		}
		for _, k := range needs {
			if k.Arm != "write" || k.Condition != "baseline" || k.Repeat != tr.Key.Repeat || !done[k] {
				t.Errorf("%v stands before %v, or needs another", tr.Key, k)
			}
		}
	}
	if want := map[string]int{"ask baseline": 10, "ask told": 10, "ask own": 10, "write baseline": 10}; !reflect.DeepEqual(cells, want) {
		t.Errorf("%v, want %v", cells, want)
	}
	left := func(p *Plan) (out []string) {
		for _, l := range p.LeftOut {
			out = append(out, fmt.Sprintf("%s: %s (%d)", l.What, l.Why, *l.Trials))
		}
		return out
	}
	if got, want := left(made(t, request(underConditions(true, "ask", "write")), Filter{})), []string{"5 items under told: no text (10)"}; !slices.Equal(got, want) {
		t.Errorf("left out %q, want %q", got, want)
	}
	if got, want := left(made(t, request(underConditions(true, "write")), Filter{})), []string{"arm ask: not listed in arms of the study (20)", "5 items under told: no text (0)"}; !slices.Equal(got, want) {
		t.Errorf("left out %q, want %q", got, want)
	}
	_, err := Make(request(underConditions(false, "ask")), Filter{})
	if want := "plan study s: condition own of arm ask needs the output of arm write, which is not selected; add write to arms, or leave the condition out"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// M3CoTBench and TAIX-VQA are smaller than this.
func large() Request {
	var names []string
	for i := range 11 {
		names = append(names, fmt.Sprintf("VB-%d", i))
	}
	list := conditions(names...)
	st := render.Protocol{Name: "s", Arms: []render.Arm{{Name: "structured"}}, Conditions: func(uint64, dataset.Item) ([]*perturb.Condition, []render.Missing) { return list, nil }}
	return Request{Seed: 1, Models: []string{"m"}, Studies: []Study{{Protocol: st, Set: items(6592, "binary", "ordinal", "comparative", "spatial"),
		Study: config.Study{Models: []string{"m"}, Arms: []string{"structured"}, Repeats: 1}}}}
}

const largest = 200 << 20 // bytes that planning large may allocate

func TestLargePlanFits(t *testing.T) {
	req := large()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := made(t, req, Filter{})
	runtime.ReadMemStats(&after)
	if n := len(p.Blocks[0].Trials); n != 6592*12 {
		t.Errorf("%d trials", n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > largest {
		t.Errorf("%d MB allocated, want at most %d", used>>20, largest>>20)
	}
}

func BenchmarkMake6592x12(b *testing.B) {
	req := large()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Make(req, Filter{}); err != nil {
			b.Fatal(err)
		}
	}
}

// cases are so many made cases of four images, each under seven conditions of its own.
func cases(t testing.TB, n int) Request {
	t.Helper()
	d, err := dataset.Open(dataset.Source{Kind: dataset.KindPhantom, Name: "cases", Seed: 1, Items: n, Size: 256, Images: 4})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Items {
		for k := range d.Items[i].Images {
			d.Items[i].Images[k].Load = func() ([]byte, error) {
				t.Error("planning loads a picture")
				return nil, nil
			}
		}
	}
	st := render.Protocol{Name: "s", Arms: []render.Arm{{Name: "mcq"}}, Conditions: func(_ uint64, it dataset.Item) ([]*perturb.Condition, []render.Missing) {
		list := []perturb.Condition{perturb.Baseline(), perturb.Reorder(1), perturb.Downscaled(128)}
		for k := range it.Images {
			list = append(list, perturb.LeaveOut(k+1))
		}
		return shared(list), nil
	}}
	return Request{Seed: 1, Models: []string{"m"}, Studies: []Study{{Protocol: st, Set: d, Study: config.Study{Models: []string{"m"}, Arms: []string{"mcq"}, Repeats: 1}}}}
}

func TestManyCasesFit(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	req := cases(t, 10_000)
	p := made(t, req, Filter{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(p.Blocks[0].Trials); n != 70_000 {
		t.Errorf("%d trials", n)
	}
	// What is held, of cases and plan together.
	used := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	if t.Logf("%d MB held", used); used > 200 {
		t.Errorf("%d MB held, want at most 200", used)
	}
	runtime.KeepAlive(req)
	runtime.KeepAlive(p)
}

// BenchmarkMake10000Cases prints seconds and bytes of planning 10,000 cases under seven
// conditions: go test ./harness/plan -run xxx -bench Cases
func BenchmarkMake10000Cases(b *testing.B) {
	req := cases(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Make(req, Filter{})
		if err != nil || len(p.Blocks[0].Trials) != 70_000 {
			b.Fatal(err)
		}
	}
}

package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Make plans every trial that the request and the filter leave. An error says
// what in them names nothing or cannot be ordered.
func Make(req Request, f Filter) (*Plan, error) {
	if err := f.check(req); err != nil {
		return nil, err
	}
	p := &Plan{Narrowed: f.Limit > 0 || f.Shard.Of > 0 || len(f.Models) > 0 || len(f.Studies) > 0}
	blocks := make(map[string][]Trial)
	for _, s := range req.Studies {
		d, err := newDraft(req, f, s)
		if err != nil {
			return nil, fmt.Errorf("plan study %s: %w", s.Protocol.Name, err)
		}
		p.LeftOut = append(p.LeftOut, d.leftOut...)
		if len(d.models) == 0 || len(d.items) == 0 {
			continue
		}
		p.Studies = append(p.Studies, d.selection())
		slots := d.sequence(req.Seed)
		for _, m := range d.models {
			trials := slices.Grow(blocks[m], len(slots))
			for _, sl := range slots {
				trials = append(trials, Trial{
					Key: results.Key{Study: d.name, Model: m, Item: sl.item.ID, Arm: sl.arm.Name,
						Condition: sl.condition.Name, Repeat: sl.repeat},
					Item: sl.item, Arm: sl.arm, Condition: sl.condition,
				})
			}
			blocks[m] = trials
		}
	}
	for _, m := range req.Models {
		if len(blocks[m]) > 0 {
			p.Blocks = append(p.Blocks, Block{Model: m, Trials: blocks[m]})
		}
	}
	return p, nil
}

// check finds the names of a filter that the request does not have.
func (f Filter) check(req Request) error {
	var studies []string
	for _, s := range req.Studies {
		studies = append(studies, s.Protocol.Name)
	}
	var errs []error
	if f.Limit < 0 {
		errs = append(errs, fmt.Errorf("limit: expected at least 1 item, or 0 for all, found %d", f.Limit))
	}
	for _, m := range f.Models {
		errs = append(errs, unknown("model", m, req.Models))
	}
	for _, s := range f.Studies {
		errs = append(errs, unknown("study", s, studies))
	}
	return errors.Join(errs...)
}

// draft is a study on its way into the plan.
type draft struct {
	name       string
	repeats    int
	models     []string      // that take part and pass the filter
	arms       []*render.Arm // selected
	items      []*dataset.Item
	known      []*dataset.Item // of all shards
	conditions map[*dataset.Item][]*perturb.Condition
	missing    map[*dataset.Item][]render.Missing
	leftOut    []LeftOut
}

func newDraft(req Request, f Filter, s Study) (*draft, error) {
	d := &draft{name: s.Protocol.Name, repeats: s.Repeats, conditions: make(map[*dataset.Item][]*perturb.Condition, len(s.Set.Items)),
		missing: map[*dataset.Item][]render.Missing{}}
	if s.Repeats < 1 || s.PerType < 0 {
		return nil, fmt.Errorf("expected at least 1 repeat and no negative selection, found %d repeats and %d per type", s.Repeats, s.PerType)
	}
	for _, m := range s.Models {
		if err := unknown("model", m, req.Models); err != nil {
			return nil, err
		}
	}
	if err := d.selectArms(s); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(s.Set.Items))
	all := make([]*dataset.Item, 0, len(s.Set.Items))
	foreign := map[string]int{} // items by type, of types that the study does not ask
	types := s.Protocol.Types
	if types != nil && !s.Set.Synthetic {
		types = slices.Concat(types, s.Protocol.Own)
	}
	for i := range s.Set.Items {
		it := &s.Set.Items[i]
		if it.ID == "" || seen[it.ID] {
			return nil, fmt.Errorf("data set %s: expected a different ID for each item, found %q twice or empty; number the rows", s.Set.Name, it.ID)
		}
		seen[it.ID] = true
		if types != nil && !slices.Contains(types, it.Type) {
			foreign[it.Type]++
			continue
		}
		all = append(all, it)
		if err := d.condition(req.Seed, s, it); err != nil {
			return nil, err
		}
	}
	d.problems(s)
	if len(foreign) > 0 {
		n := 0
		for _, k := range foreign {
			n += k
		}
		d.leave(fmt.Sprintf("%d items of type %s", n, strings.Join(slices.Sorted(maps.Keys(foreign)), ", ")),
			"the study asks questions of type "+strings.Join(types, ", "), 0)
	}
	chosen, passed := d.perType(req.Seed, s.PerType, all)
	d.items = chosen
	if f.Limit > 0 && f.Limit < len(chosen) {
		first := d.order(req.Seed, 0, chosen)[:f.Limit]
		d.items = slices.DeleteFunc(slices.Clone(chosen), func(it *dataset.Item) bool { return !slices.Contains(first, it) })
	}
	limited := len(d.items)
	d.known = d.items
	if from, to := f.Shard.of(limited); to-from < limited {
		mine := map[*dataset.Item]bool{}
		for _, it := range d.order(req.Seed, 0, d.items)[from:to] {
			mine[it] = true
		}
		d.items = slices.DeleteFunc(slices.Clone(d.items), func(it *dataset.Item) bool { return !mine[it] })
	}

	// What is left out is counted as what would be added by letting it in.
	for _, m := range req.Models {
		switch {
		case !slices.Contains(s.Models, m):
			d.leave("model "+m, "not listed in models of the study", d.trials(d.items, 1))
			d.leftOut[len(d.leftOut)-1].Unlisted = true
		case len(f.Models) > 0 && !slices.Contains(f.Models, m):
			d.leave("model "+m, "not asked for this time", d.trials(d.items, 1))
		default:
			d.models = append(d.models, m)
		}
	}
	if len(f.Studies) > 0 && !slices.Contains(f.Studies, d.name) {
		d.leftOut = nil
		d.leave("study "+d.name, "not asked for this time", d.trials(d.items, len(d.models)))
		d.models = nil
		return d, nil
	}
	for i := range s.Protocol.Arms {
		if a := &s.Protocol.Arms[i]; !slices.Contains(s.Arms, a.Name) {
			d.leave("arm "+a.Name, "not listed in arms of the study", d.cells(d.items, a)*d.repeats*len(d.models))
			d.leftOut[len(d.leftOut)-1].Unlisted = true
		}
	}
	d.rows(s)
	for _, g := range passed {
		d.leave(fmt.Sprintf("%d items of type %s", len(g.items), g.name), fmt.Sprintf("select.per_type is %d", s.PerType), d.trials(g.items, len(d.models)))
	}
	d.lacking()
	if n := len(chosen) - limited; n > 0 {
		d.leave(fmt.Sprintf("%d items", n), fmt.Sprintf("limit is %d", f.Limit), d.trials(chosen, len(d.models))-d.trials(d.known, len(d.models)))
	}
	if n := limited - len(d.items); n > 0 {
		d.leave(fmt.Sprintf("%d items", n), fmt.Sprintf("this is shard %s", f.Shard), d.trials(d.known, len(d.models))-d.trials(d.items, len(d.models)))
	}
	return d, nil
}

func (d *draft) leave(what, why string, trials int) {
	d.leftOut = append(d.leftOut, LeftOut{Study: d.name, What: what, Why: why, Trials: &trials})
}

// trials counts what items are to so many models.
func (d *draft) trials(items []*dataset.Item, models int) int {
	n := 0
	for _, a := range d.arms {
		n += d.cells(items, a)
	}
	return n * d.repeats * models
}

// cells counts the conditions of items that an arm is asked under.
func (d *draft) cells(items []*dataset.Item, a *render.Arm) int {
	n := 0
	for _, it := range items {
		if a.Under == nil {
			n += len(d.conditions[it])
			continue
		}
		for i := range d.conditions[it] {
			if _, asked := a.NeedsUnder(it, d.conditions[it][i]); asked {
				n++
			}
		}
	}
	return n
}

// selectArms finds the arms and checks that what they need is there and can come first.
func (d *draft) selectArms(s Study) error {
	if len(s.Arms) == 0 {
		return errors.New("expected at least one arm, found none")
	}
	var names []string
	for _, a := range s.Protocol.Arms {
		names = append(names, a.Name)
	}
	for _, name := range s.Arms {
		if err := unknown("arm", name, names); err != nil {
			return err
		}
		d.arms = append(d.arms, &s.Protocol.Arms[slices.Index(names, name)])
	}
	for _, a := range d.arms {
		for _, need := range a.Needs {
			if d.arm(need) == nil {
				return fmt.Errorf("arm %s needs the output of arm %s, which is not selected; add %s to arms", a.Name, need, need)
			}
		}
	}
	// Every round takes out the arms that need nothing which is left.
	left := slices.Clone(d.arms)
	for len(left) > 0 {
		rest := slices.DeleteFunc(slices.Clone(left), func(a *render.Arm) bool {
			return !slices.ContainsFunc(left, func(b *render.Arm) bool { return slices.Contains(a.Needs, b.Name) })
		})
		if len(rest) == len(left) {
			return fmt.Errorf("arm %s needs its own output, through %v", left[0].Name, left[0].Needs)
		}
		left = rest
	}
	return nil
}

func (d *draft) arm(name string) *render.Arm {
	if i := slices.IndexFunc(d.arms, func(a *render.Arm) bool { return a.Name == name }); i >= 0 {
		return d.arms[i]
	}
	return nil
}

// condition asks the study for the conditions of an item.
func (d *draft) condition(seed uint64, s Study, it *dataset.Item) error {
	base := perturb.Baseline()
	list := []*perturb.Condition{&base}
	if s.Protocol.Conditions != nil {
		var missing []render.Missing
		if list, missing = s.Protocol.Conditions(seed, *it); len(missing) > 0 {
			d.missing[it] = missing
		}
	}
	for i, c := range list {
		if slices.ContainsFunc(list[:i], func(b *perturb.Condition) bool { return b.Name == c.Name }) {
			return fmt.Errorf("item %s: expected each condition once, found %s again", it.ID, c.Name)
		}
	}
	if len(list) == 0 || list[0].Name != perturb.Baseline().Name && list[0].Kind != perturb.KindShots {
		return fmt.Errorf("item %s: expected the baseline as its first condition, found %d others", it.ID, len(list))
	}
	for _, a := range d.arms {
		for _, c := range list {
			needs, asked := a.NeedsUnder(it, c)
			for _, need := range needs {
				if asked && d.arm(need) == nil {
					return fmt.Errorf("condition %s of arm %s needs the output of arm %s, which is not selected; add %s to arms, or leave the condition out", c.Name, a.Name, need, need)
				}
			}
		}
	}
	d.conditions[it] = list
	return nil
}

// lacking leaves out the conditions that items cannot have, by reason.
func (d *draft) lacking() {
	type reason struct {
		conditions []string
		items      map[*dataset.Item]bool
		cells      int
	}
	var order []string
	reasons := map[string]*reason{}
	for _, it := range d.items {
		for _, m := range d.missing[it] {
			r := reasons[m.Why]
			if r == nil {
				r = &reason{items: map[*dataset.Item]bool{}}
				reasons[m.Why], order = r, append(order, m.Why)
			}
			if !slices.Contains(r.conditions, m.Condition) {
				r.conditions = append(r.conditions, m.Condition)
			}
			r.items[it] = true
			r.cells += d.lost(m)
		}
	}
	for _, why := range order {
		r := reasons[why]
		d.leave(fmt.Sprintf("%d items under %s", len(r.items), strings.Join(r.conditions, ", ")), why, r.cells*d.repeats*len(d.models))
	}
}

// lost is how many arms are not asked because a condition does not exist.
func (d *draft) lost(m render.Missing) int {
	n := 0
	for _, a := range d.arms {
		if m.Arms == nil || slices.Contains(m.Arms, a.Name) {
			n++
		}
	}
	return n
}

// rows counts the trials of rows that the loader could not use, where all others are as many.
func (d *draft) rows(s Study) {
	if len(d.items) == 0 || s.PerType > 0 {
		return
	}
	one := d.trials(d.items[:1], len(d.models))
	for i := range d.items {
		if d.trials(d.items[i:i+1], len(d.models)) != one {
			return
		}
	}
	lost := map[string]bool{}
	for _, p := range s.Set.Problems {
		lost[fmt.Sprintf("%s:%d", p.File, p.Row)] = p.Row > 0
	}
	for i := range d.leftOut {
		if lost[d.leftOut[i].What] {
			d.leftOut[i].Trials = &one
		}
	}
}

// problems leaves out the rows that the loader could not use.
func (d *draft) problems(s Study) {
	at := make(map[string]int, len(s.Set.Problems))
	for _, p := range s.Set.Problems {
		what := p.File
		if p.Row > 0 {
			what = fmt.Sprintf("%s:%d", p.File, p.Row)
		}
		why := fmt.Sprintf("expected %s, found %s", p.Want, p.Got)
		if p.Column != "" {
			why = p.Column + ": " + why
		}
		if i, again := at[what]; again {
			d.leftOut[i].Why += "; " + why
			continue
		}
		at[what] = len(d.leftOut)
		d.leftOut = append(d.leftOut, LeftOut{Study: d.name, What: what, Why: why})
	}
}

// group is the items of one type.
type group struct {
	name  string
	items []*dataset.Item
}

// perType chooses n items of each type, all when n is 0, in the data set's
// order, and says which were passed over.
func (d *draft) perType(seed uint64, n int, items []*dataset.Item) (chosen []*dataset.Item, passed []group) {
	if n == 0 {
		return items, nil
	}
	var types []group
	for _, it := range items {
		i := slices.IndexFunc(types, func(g group) bool { return g.name == it.Type })
		if i < 0 {
			i, types = len(types), append(types, group{name: it.Type})
		}
		types[i].items = append(types[i].items, it)
	}
	in := make(map[*dataset.Item]bool, len(items))
	for _, g := range types {
		ranked := ranking(g.items, func(it *dataset.Item) rank { return rankOf(seed, "select", d.name, it.ID) })
		for _, it := range ranked[:min(n, len(ranked))] {
			in[it] = true
		}
		if len(ranked) > n {
			passed = append(passed, group{g.name, ranked[n:]})
		}
	}
	for _, it := range items {
		if in[it] {
			chosen = append(chosen, it)
		}
	}
	return chosen, passed
}

func (d *draft) selection() Selection {
	sel := Selection{Study: d.name, Items: d.items, Known: d.known}
	for _, a := range d.arms {
		sel.Arms = append(sel.Arms, a.Name)
	}
	seen := map[string]bool{}
	for _, it := range d.items {
		for _, c := range d.conditions[it] {
			if !seen[c.Name] {
				seen[c.Name] = true
				sel.Conditions = append(sel.Conditions, c.Name)
			}
		}
	}
	return sel
}

// order is the order of items in one repeat.
func (d *draft) order(seed uint64, repeat int, items []*dataset.Item) []*dataset.Item {
	return ranking(items, func(it *dataset.Item) rank { return rankOf(seed, "order", d.name, fmt.Sprint(repeat), it.ID) })
}

// slot is a trial of no model yet.
type slot struct {
	item      *dataset.Item
	arm       *render.Arm
	condition *perturb.Condition
	repeat    int
}

// sequence is the study's trials in the order in which every model has them.
// Items in a row share one drawn order of the arms, turned by one arm from each
// item, and each condition inside it, to the next; so over every run of as many
// items as there are arms, each arm stands in each place equally often.
func (d *draft) sequence(seed uint64) []slot {
	slots := make([]slot, 0, d.trials(d.items, 1))
	var arms []*render.Arm
	for repeat := range d.repeats {
		for i, it := range d.order(seed, repeat, d.items) {
			turn := i % len(d.arms)
			if turn == 0 {
				arms = ranking(d.arms, func(a *render.Arm) rank {
					return rankOf(seed, "arms", d.name, fmt.Sprint(repeat), fmt.Sprint(i), a.Name)
				})
			}
			slots = d.inItem(slots, seed, it, repeat, arms, turn)
		}
	}
	// Levels of load run one after the other, and at each one arm after the other: what
	// is beside a request is then like it.
	slices.SortStableFunc(slots, func(a, b slot) int {
		m, n := a.condition.InFlight(), b.condition.InFlight()
		if m == 0 && n == 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(slices.Index(d.arms, a.arm), slices.Index(d.arms, b.arm)))
	})
	return slots
}

// inItem appends the trials of one item.
func (d *draft) inItem(slots []slot, seed uint64, it *dataset.Item, repeat int, arms []*render.Arm, turn int) []slot {
	planned := d.conditions[it]
	type cell struct{ arm, condition string }
	done := make(map[cell]bool, len(arms)*len(planned))
	var put func(a *render.Arm, c *perturb.Condition)
	put = func(a *render.Arm, c *perturb.Condition) {
		if done[cell{a.Name, c.Name}] {
			return // it came early, because another needs it
		}
		done[cell{a.Name, c.Name}] = true
		needs, asked := a.NeedsUnder(it, c)
		if !asked {
			return
		}
		for _, need := range needs {
			put(d.arm(need), planned[0])
		}
		slots = append(slots, slot{it, a, c, repeat})
	}
	conditions := ranking(planned, func(c *perturb.Condition) rank {
		return rankOf(seed, "conditions", d.name, fmt.Sprint(repeat), it.ID, c.Name)
	})
	for j, c := range conditions {
		for k := range arms {
			put(arms[(turn+j+k)%len(arms)], c)
		}
	}
	return slots
}

// rank is where a draw puts something.
type rank [sha256.Size]byte

// rankOf draws by hashing: the parts with their lengths, after the seed.
func rankOf(seed uint64, parts ...string) rank {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 128), seed)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return sha256.Sum256(b)
}

// ranking is list in the order of its ranks.
func ranking[T any](list []T, of func(T) rank) []T {
	type ranked struct {
		rank rank
		at   int
	}
	rs := make([]ranked, len(list))
	for i, v := range list {
		rs[i] = ranked{of(v), i}
	}
	slices.SortFunc(rs, func(a, b ranked) int {
		return cmp.Or(bytes.Compare(a.rank[:], b.rank[:]), cmp.Compare(a.at, b.at))
	})
	out := make([]T, len(list))
	for i, r := range rs {
		out[i] = list[r.at]
	}
	return out
}

// unknown is an error when name is not among names.
func unknown(kind, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("unknown %s %q: expected one of %s%s", kind, name, strings.Join(names, ", "), text.DidYouMean(name, names))
}

package rating

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// showing is a case as a rater comes upon it.
type showing struct {
	Case        string `json:"case"`
	Repeat      int    `json:"repeat,omitempty"` // 1: he has seen it before
	Calibration bool   `json:"calibration,omitempty"`
}

// showingOrder is what the nth rater sees, from 0: calibration cases, the same for all; then
// all cases in an order of chance, in which each group (model and condition) is spread
// evenly; a tenth of them come again without a word, far behind. Every second rater has
// the order of the one before him backwards, so that over a pair no case comes early.
func showingOrder(s *Study, rater int) []showing {
	var out []showing
	for _, c := range s.Calibration {
		out = append(out, showing{Case: c.Name, Calibration: true})
	}
	main := spread(s.Cases, rand.New(rand.NewPCG(s.Seed, uint64(rater/2))))
	if rater%2 == 1 {
		slices.Reverse(main)
	}
	return append(out, again(main, rand.New(rand.NewPCG(s.Seed^0x9e3779b97f4a7c15, uint64(rater))))...)
}

// spread puts cases in an order of chance: the kth of a group of m is somewhere in the
// kth mth of it.
func spread(cases []Case, r *rand.Rand) []showing {
	byGroup := map[string][]Case{}
	var groups []string
	for _, c := range cases {
		if byGroup[c.Group] == nil {
			groups = append(groups, c.Group)
		}
		byGroup[c.Group] = append(byGroup[c.Group], c)
	}
	slices.Sort(groups)
	type placed struct {
		Case
		at float64
	}
	var all []placed
	for _, g := range groups {
		list := byGroup[g]
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for k, c := range list {
			all = append(all, placed{c, (float64(k) + r.Float64()) / float64(len(list))})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(all); i++ { // two answers to one item would be compared
		for j := i + 1; j < len(all) && all[i].Item == all[i-1].Item; j++ {
			if all[j].Item != all[i-1].Item {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	var out []showing
	for _, p := range all {
		out = append(out, showing{Case: p.Name})
	}
	return out
}

// again adds a tenth of the cases a second time: some of the first half, at places in
// the last third.
func again(main []showing, r *rand.Rand) []showing {
	n := len(main)
	if n < 3 {
		return main
	}
	type repeat struct{ of, before int }
	var list []repeat
	for _, of := range r.Perm((n + 1) / 2)[:(n+9)/10] {
		first := 2 * n / 3
		list = append(list, repeat{of, first + 1 + r.IntN(n-first)})
	}
	slices.SortFunc(list, func(a, b repeat) int { return cmp.Or(cmp.Compare(b.before, a.before), cmp.Compare(a.of, b.of)) })
	out := slices.Clone(main)
	for _, x := range list {
		out = slices.Insert(out, x.before, showing{Case: main[x.of].Case, Repeat: 1})
	}
	return out
}

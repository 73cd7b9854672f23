package stats

import (
	"cmp"
	"math"
	"slices"
)

// TauOf is tau-b as a statistic of resampled cases, for Bootstrap.Stat and
// Paired. A resample takes O(n log k), k being the levels of the side that has
// fewer. It is not safe for use by several goroutines.
func TauOf(x, y []float64) func(idx []int) (float64, bool) {
	if len(x) != len(y) {
		panic("stats: internal error: ratings of different cases")
	}
	p := newPairs(x, y)
	times := make([]int32, len(x))
	return func(idx []int) (float64, bool) {
		clear(times)
		for _, i := range idx {
			times[p.place[i]]++
		}
		c, d, tx, ty := p.count(times)
		pairs := len(idx) * (len(idx) - 1) / 2
		if pairs == tx || pairs == ty {
			return 0, false
		}
		return clamp(float64(c-d) / math.Sqrt(float64(pairs-tx)) / math.Sqrt(float64(pairs-ty))), true
	}
}

// pairs counts pairs of cases in and out of order (Knight 1966, with a Fenwick
// tree in place of the merge).
type pairs struct {
	place []int32 // of each case in the order of the side with more levels
	level []int32 // on the other side, by place
	ends  []int32 // of the runs of places that are tied
	at    []int32 // cases by level, of those passed
	tree  []int32 // nil: there are few levels
}

// few levels are added up faster than a tree is walked.
const fewLevels = 12

func newPairs(x, y []float64) *pairs {
	rx, nx := ranks(x)
	ry, ny := ranks(y)
	if ny > nx {
		rx, ry, nx, ny = ry, rx, ny, nx
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(rx[a], rx[b]), cmp.Compare(ry[a], ry[b])) })
	p := &pairs{place: make([]int32, len(x)), level: make([]int32, len(x)), at: make([]int32, ny)}
	for to, i := range order {
		p.place[i], p.level[to] = int32(to), int32(ry[i])
		if to+1 == len(order) || rx[order[to+1]] != rx[i] {
			p.ends = append(p.ends, int32(to+1))
		}
	}
	if ny > fewLevels {
		p.tree = make([]int32, ny+1)
	}
	return p
}

// count counts pairs of cases that occur so often, by place: in order, out of
// order, tied on one side and tied on the other. The order of the sides is not that
// of x and y.
func (p *pairs) count(times []int32) (concordant, discordant, tiedOne, tiedOther int) {
	clear(p.at)
	clear(p.tree)
	var start, total int32
	for _, end := range p.ends {
		if end == start+1 { // tied with no other
			if w := times[start]; w != 0 {
				level := p.level[start]
				below := p.below(level)
				concordant += int(w) * int(below)
				discordant += int(w) * int(total-below-p.at[level])
				p.pass(level, w)
				total += w
				tiedOne += int(w) * int(w-1) / 2
			}
			start = end
			continue
		}
		var here int32
		for i := start; i < end; i++ {
			if w := times[i]; w != 0 {
				below := p.below(p.level[i])
				concordant += int(w) * int(below)
				discordant += int(w) * int(total-below-p.at[p.level[i]])
				here += w
			}
		}
		if here > 0 {
			for i := start; i < end; i++ {
				if w := times[i]; w != 0 {
					p.pass(p.level[i], w)
				}
			}
			total += here
			tiedOne += int(here) * int(here-1) / 2
		}
		start = end
	}
	for _, n := range p.at {
		tiedOther += int(n) * int(n-1) / 2
	}
	return concordant, discordant, tiedOne, tiedOther
}

// below is how many of those passed have a lower level.
func (p *pairs) below(level int32) (n int32) {
	if p.tree == nil {
		for _, k := range p.at[:level] {
			n += k
		}
		return n
	}
	for i := level; i > 0; i &= i - 1 {
		n += p.tree[i]
	}
	return n
}

func (p *pairs) pass(level, w int32) {
	p.at[level] += w
	if p.tree == nil {
		return
	}
	for i := level + 1; int(i) < len(p.tree); i += i & -i {
		p.tree[i] += w
	}
}

// ranks numbers the distinct values of v in order from 0.
func ranks(v []float64) (rank []int, levels int) {
	s := slices.Clone(v)
	slices.Sort(s)
	s = slices.Compact(s)
	for _, x := range v {
		at, _ := slices.BinarySearch(s, x)
		rank = append(rank, at)
	}
	return rank, len(s)
}

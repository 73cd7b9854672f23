package render

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/perturb"
)

// considered is how many candidates a draw looks at: the seed's first ones.
const considered = 1024

// Pool is what answered examples before a question are drawn from: items with an answer that
// every arm can show. Nothing of an item is ever among its own examples, nor another question
// about one of its pictures. It does not change, and may be read by several.
type Pool struct {
	Frame Frame // how pictures of examples are sent

	candidates []candidate // in the seed's order
	place      map[*dataset.Item]int
	showing    map[string][]int // candidates by what a picture shows
	draw       uint64
}

type candidate struct {
	item *dataset.Item
	rank uint64
}

// PoolSource is where a study's examples come from.
type PoolSource struct {
	Seed      uint64
	Study     Protocol
	Arms      []string // selected; an example can be shown in all of them
	Questions []dataset.Item
	Name      string // of the data set of examples
	Examples  []dataset.Item
	Frame     Frame
	Most      int // examples of an item
}

// NewPool is the pool of a study's examples. The error says why there are too few.
func NewPool(s PoolSource) (*Pool, error) {
	p := &Pool{Frame: s.Frame, showing: map[string][]int{}, place: map[*dataset.Item]int{}, draw: hash(s.Seed, "draw", s.Study.Name)}
	unfit := map[string]int{}
	place := hash(s.Seed, "pool", s.Study.Name)
	for i := range s.Examples {
		it := &s.Examples[i]
		if why := s.unfit(*it); why != "" {
			unfit[why]++
			continue
		}
		p.candidates = append(p.candidates, candidate{it, hash(0, it.ID)})
	}
	slices.SortStableFunc(p.candidates, func(a, b candidate) int {
		return cmp.Compare(mix(place^a.rank), mix(place^b.rank))
	})
	for i, c := range p.candidates {
		p.place[c.item] = i
		for _, s := range named(c.item) {
			p.showing[s] = append(p.showing[s], i)
		}
	}
	return p, p.check(s, unfit)
}

// unfit says why an item is no example; "": it can be one.
func (s PoolSource) unfit(it dataset.Item) string {
	for _, a := range s.Study.Arms {
		if !slices.Contains(s.Arms, a.Name) {
			continue
		}
		if a.Example == nil {
			return "no form in arm " + a.Name
		}
		if _, err := a.Example(it); err != nil {
			return err.Error()
		}
	}
	return ""
}

// check is the error of a pool in which an item does not find enough.
func (p *Pool) check(s PoolSource, unfit map[string]int) error {
	few, least, first := 0, 0, ""
	for i := range s.Questions {
		if n := len(p.candidates) - len(p.kin(&s.Questions[i])); n < s.Most {
			if few++; first == "" || n < least {
				least, first = n, s.Questions[i].ID
			}
		}
	}
	if few == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "expected %d examples that show nothing of the question, found %d for item %s, and too few for %d of %d items, in data set %s, where %d of %d items can be examples",
		s.Most, least, first, few, len(s.Questions), s.Name, len(p.candidates), len(s.Examples))
	for _, why := range slices.Sorted(maps.Keys(unfit)) {
		fmt.Fprintf(&b, "; %d have %s", unfit[why], why)
	}
	b.WriteString("; ask for fewer shots, for other arms, or name another data set under shots_from")
	return errors.New(b.String())
}

// For are the k examples of an item, in the order in which they are shown; those of fewer
// are the first of these. Fewer than k: there are not more.
func (p *Pool) For(it *dataset.Item, k int) []*dataset.Item {
	own := p.kin(it)
	from := mix(p.draw ^ hash(0, it.ID))
	type drawn struct {
		at   int
		rank uint64
	}
	var list []drawn
	for i, c := range p.candidates {
		if own[i] {
			continue
		}
		if list = append(list, drawn{i, mix(from ^ c.rank)}); len(list) == considered {
			break
		}
	}
	slices.SortFunc(list, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.rank, b.rank), a.at-b.at) })
	var out []*dataset.Item
	for _, d := range list[:min(k, len(list))] {
		out = append(out, p.candidates[d.at].item)
	}
	return out
}

// Of are the examples of an item under a condition; none where it has none. A nil Pool
// has none to give.
func (p *Pool) Of(it *dataset.Item, c *perturb.Condition) ([]*dataset.Item, error) {
	if c == nil || c.Kind != perturb.KindShots {
		return nil, nil
	}
	k := int(c.Level)
	var list []*dataset.Item
	if p != nil {
		list = p.For(it, k)
	}
	if len(list) < k {
		return nil, fmt.Errorf("expected %d examples for item %s, found %d that show nothing of it", k, it.ID, len(list))
	}
	return list, nil
}

// kin are the candidates that show something of an item: itself, and others that share a
// picture with it, also by way of third ones.
func (p *Pool) kin(it *dataset.Item) map[int]bool {
	out := map[int]bool{}
	if i, ok := p.place[it]; ok {
		out[i] = true
	}
	for _, s := range named(it) {
		for _, i := range p.showing[s] {
			out[i] = true
		}
	}
	return out
}

// named are an item's pictures, and what is shared by all that show one of them.
func named(it *dataset.Item) []string {
	if it.Picture == "" {
		return it.Sums
	}
	return append(it.Sums[:len(it.Sums):len(it.Sums)], it.Picture)
}

func hash(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, seed) // a hash takes everything
	for _, w := range words {
		fmt.Fprintf(h, "%q", w)
	}
	return mix(h.Sum64())
}

// mix spreads a number over all of 64 bits: the finalizer of SplitMix64 (Steele, Lea and
// Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

package agree

import (
	"encoding/binary"
	"slices"
	"strings"

	"assay/results"
)

// Parts of a study's rated answers: a judge is chosen by the first, and the second says
// how good it is.
const (
	dev  = "dev"
	test = "test"
	both = "all"
)

// split puts rated answers into parts, half of each model and condition into either.
// Where an answer was put before, it stays. It says whether anything is new.
func (d *data) split(old results.Split) (results.Split, bool) {
	s := results.Split{Seed: old.Seed, Parts: map[string]string{}}
	if old.Parts == nil {
		s.Seed = d.seed
	}
	for name, part := range old.Parts {
		s.Parts[name] = part
	}
	rank := func(u unit) string {
		return string(results.DigestOf(binary.LittleEndian.AppendUint64(nil, s.Seed), []byte("split"), []byte(u.name)))
	}
	order := make([]*unit, len(d.units))
	for i := range d.units {
		order[i] = &d.units[i]
	}
	slices.SortFunc(order, func(a, b *unit) int {
		if c := strings.Compare(a.stratum, b.stratum); c != 0 {
			return c
		}
		return strings.Compare(rank(*a), rank(*b))
	})
	count := map[string]map[string]int{"": {}}
	for _, u := range d.units {
		if count[u.stratum+"\n"] == nil {
			count[u.stratum+"\n"] = map[string]int{}
		}
		if p, ok := s.Parts[u.name]; ok {
			count[u.stratum+"\n"][p]++
			count[""][p]++
		}
	}
	news := false
	for _, u := range order {
		part, ok := s.Parts[u.name]
		if !ok {
			news = true
			here, all := count[u.stratum+"\n"], count[""]
			part = dev
			// The smaller half of its stratum; of equal ones the smaller half of all.
			if here[dev] > here[test] || here[dev] == here[test] && all[dev] > all[test] {
				part = test
			}
			here[part]++
			all[part]++
			s.Parts[u.name] = part
		}
		u.part = part
	}
	return s, news
}

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
)

// Split puts rated answers into parts, half of each model and condition into either.
// Where an answer was put before, it stays. It says whether anything is new.
func (d *set) Split(old results.Split) (results.Split, bool) {
	s := results.Split{Seed: old.Seed, Parts: map[string]string{}}
	if old.Parts == nil {
		s.Seed = d.Seed
	}
	for name, part := range old.Parts {
		s.Parts[name] = part
	}
	rank := func(u ratedUnit) string {
		return string(results.DigestOf(binary.LittleEndian.AppendUint64(nil, s.Seed), []byte("split"), []byte(u.Name)))
	}
	order := make([]*ratedUnit, len(d.Units))
	for i := range d.Units {
		order[i] = &d.Units[i]
	}
	slices.SortFunc(order, func(a, b *ratedUnit) int {
		if c := strings.Compare(a.Stratum, b.Stratum); c != 0 {
			return c
		}
		return strings.Compare(rank(*a), rank(*b))
	})
	count := map[string]map[string]int{"": {}}
	for _, u := range d.Units {
		if count[u.Stratum+"\n"] == nil {
			count[u.Stratum+"\n"] = map[string]int{}
		}
		if p, ok := s.Parts[u.Name]; ok {
			count[u.Stratum+"\n"][p]++
			count[""][p]++
		}
	}
	news := false
	for _, u := range order {
		part, ok := s.Parts[u.Name]
		if !ok {
			news = true
			here, all := count[u.Stratum+"\n"], count[""]
			part = dev
			// The smaller half of its stratum; of equal ones the smaller half of all.
			if here[dev] > here[test] || here[dev] == here[test] && all[dev] > all[test] {
				part = test
			}
			here[part]++
			all[part]++
			s.Parts[u.Name] = part
		}
		u.Part = part
	}
	return s, news
}

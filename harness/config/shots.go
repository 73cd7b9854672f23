package config

import (
	"strconv"
)

// maxShots is the most examples before a question.
const maxShots = 64

// shots are the numbers of examples before a question, one or an ascending list, and where
// the examples are from.
func (c *checker) shots(st *Study, s section, known StudyKind) {
	n, from := s.get("shots"), s.get("shots_from")
	if !known.FewShot || len(st.Levels) > 0 {
		s.none("study "+known.Name+" shows no examples, or not in a load sweep", "remove the key", "shots", "shots_from")
		return
	}
	s.asks("shots", Rule{Type: Whole, Least: "0", Most: strconv.Itoa(maxShots), Default: "0"})
	if n != nil {
		list, bad := ascending(n, 0, maxShots)
		if bad == nil && len(list) == 0 {
			bad = n
		}
		if bad != nil {
			c.Errorf(bad.At, JoinPath(s.path, "shots"), "expected a whole number from 0 to %d, or several from few to many, as [0, 1, 4], found %s", maxShots, bad.Found())
		} else if list[len(list)-1] > 0 { // none alone is what there is without the key
			st.Shots = list
		}
	}
	if w, ok := s.text("shots_from"); ok && c.refer(&c.datasets, w) {
		if st.ShotsFrom = w.text; n == nil {
			s.wrong("shots_from", from, "expected the key shots beside it, found none; add it, or remove shots_from")
		}
	}
}

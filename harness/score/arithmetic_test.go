package score

import "testing"

func TestMajority(t *testing.T) {
	for _, c := range []struct {
		hits, known  float64
		hit, decided bool
	}{{0, 0, false, false}, {1, 1, true, true}, {0, 1, false, true}, {1, 2, false, false}, {2, 3, true, true}, {1, 3, false, true}} {
		hit, decided := majority(c.hits, c.known)
		if decided != c.decided || decided && hit != c.hit {
			t.Errorf("%v of %v: %v, %v", c.hits, c.known, hit, decided)
		}
	}
}

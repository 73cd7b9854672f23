package pull

import "testing"

// However many slices there are, no merge has more open than a process may, and two
// levels are enough for a million trials in slices of 25.
func TestGroups(t *testing.T) {
	for _, n := range []int{0, 1, 199, 200, 201, 1000, 5000, 10_000, 40_000} {
		size := groupOf(n)
		groups := (n + size - 1) / max(size, 1)
		if size < 1 || size > 200 || groups > 201 || n <= 200 && groups > 1 {
			t.Errorf("%d slices: %d at once, %d groups", n, size, groups)
		}
	}
}

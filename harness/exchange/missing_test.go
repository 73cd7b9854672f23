package exchange

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMissing: reasons stand as encoding/json writes them, those of one row and no other.
func TestMissing(t *testing.T) {
	m := newMissing()
	rapid.Check(t, func(t *rapid.T) {
		for range 3 {
			why := rapid.MapOfN(rapid.StringN(0, 3, -1), rapid.SampledFrom([]string{"the trial failed", "a < b & \"c\"", "", "\xff\u2028"}), 0, 5).Draw(t, "why")
			for _, name := range slices.Sorted(maps.Keys(why)) {
				m.add(name, why[name])
			}
			got := m.take()
			if len(why) == 0 {
				if got != nil {
					t.Fatalf("%v of nothing", got)
				}
				continue
			}
			want, err := json.Marshal(why)
			if err != nil || got != string(want) {
				t.Fatalf("%v, want %s (%v)", got, want, err)
			}
		}
	})
}

package change

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestChangesKeepBothTexts: parts that were not added are the text before, and those that
// were not taken away the text now.
func TestChangesKeepBothTexts(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "side", " ", "\n", ".", "Größe", "left"})
	rapid.Check(t, func(t *rapid.T) {
		before, now := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "before"), ""), strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "now"), "")
		var a, b strings.Builder
		parts := Of(before, now)
		for _, p := range parts {
			if !p.Added {
				a.WriteString(p.Text)
			}
			if !p.Removed {
				b.WriteString(p.Text)
			}
		}
		if a.String() != before || b.String() != now {
			t.Fatalf("%q, %q: %+v", before, now, parts)
		}
		if before == now && slices.ContainsFunc(parts, func(p Part) bool { return p.Added || p.Removed }) {
			t.Fatalf("%q is changed to itself: %+v", now, parts)
		}
	})
	if got := Of("One two three.", "One four three."); fmt.Sprint(got) != "[{One  false false} {two false true} {four true false} { three. false false}]" {
		t.Errorf("got %v", got)
	}
}

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

// TestChangesOfLongTexts: too long to compare word by word, they are told as what went and what came.
func TestChangesOfLongTexts(t *testing.T) {
	words := func(with string) string {
		var b strings.Builder
		for i := range mostWords {
			fmt.Fprint(&b, with, i, " ")
		}
		return b.String()
	}
	before, now := words("a"), words("b")
	want := []Part{{Text: "It says: "}, {Text: strings.TrimSpace(before), Removed: true}, {Text: strings.TrimSpace(now), Added: true}, {Text: " end."}}
	if got := Of("It says: "+before+"end.", "It says: "+now+"end."); !slices.Equal(got, want) {
		t.Errorf("%d parts: %.200v", len(got), got)
	}
}

package text

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
		parts := Changes(before, now)
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
	if got := Changes("One two three.", "One four three."); fmt.Sprint(got) != "[{One  false false} {two false true} {four true false} { three. false false}]" {
		t.Errorf("got %v", got)
	}
}

// TestChangesOfLongTexts: where words differ throughout, a stretch went and one came, not 4,000.
func TestChangesOfLongTexts(t *testing.T) {
	words := func(with string) string {
		var b strings.Builder
		for i := range 4000 {
			fmt.Fprint(&b, with, i, " ")
		}
		return b.String()
	}
	before, now := words("a"), words("b")
	want := []Part{{Text: "It says: "}, {Text: strings.TrimSpace(before), Removed: true}, {Text: strings.TrimSpace(now), Added: true}, {Text: " end."}}
	if got := Changes("It says: "+before+"end.", "It says: "+now+"end."); !slices.Equal(got, want) {
		t.Errorf("%d parts: %.200v", len(got), got)
	}
}

// TestExcerpt: a few words around what differs.
func TestExcerpt(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"Is it large? Look.", "Is it large? I think so. Look.", "Is it large? +[I think so. ]Look."},
		{"Is it large? Look.", "Is it small? Look.", "Is it -[large]+[small]? Look."},
		{"1 2 3 4 5 6 7 8 9 x 1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8 9 y 1 2 3 4 5 6 7 8 9", "… 3 4 5 6 7 8 9 -[x]+[y] 1 2 3 4 5 6 7  …"},
		{"a b", "a b c", "a b+[ c]"},
		{"", "a", "+[a]"},
	} {
		got := ""
		for _, x := range Excerpt(Changes(c.a, c.b)) {
			switch {
			case x.Removed:
				got += "-[" + x.Text + "]"
			case x.Added:
				got += "+[" + x.Text + "]"
			default:
				got += x.Text
			}
		}
		if got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

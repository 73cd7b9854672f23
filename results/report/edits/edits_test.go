package edits

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"same", "same", ""},
		{"", "b", ""},
		{"a", "", ""},
		{"Is it large? Look.", "Is it large? I think so. Look.", "Is it large? +[I think so. ]Look."},
		{"Is it large? Look.", "Is it small? Look.", "Is it -[large? ]+[small? ]Look."},
		{"1 2 3 4 5 6 7 8 9 x 1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8 9 y 1 2 3 4 5 6 7 8 9", "… 2 3 4 5 6 7 8 9 -[x ]+[y ]1 2 3 4 5 6 7 8  …"},
		{"a b", "a b c", "a -[b]+[b c]"},
	} {
		got := ""
		for _, x := range Of(c.a, c.b) {
			switch {
			case x.Gone:
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

// Taken out of the first and put into the second: what is short enough to be shown whole
// is both of them.
func TestBothCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c d", "e"}), 1, 5)
		a, b := strings.Join(words.Draw(t, "a"), " "), strings.Join(words.Draw(t, "b"), " ")
		before, after := "", ""
		for _, x := range Of(a, b) {
			if !x.Added {
				before += x.Text
			}
			if !x.Gone {
				after += x.Text
			}
		}
		if a == b {
			before, after = a, b
		}
		if len(strings.Fields(a)) <= 8 && len(strings.Fields(b)) <= 8 && (before != a || after != b) {
			t.Fatalf("%q and %q are read as %q and %q", a, b, before, after)
		}
	})
}

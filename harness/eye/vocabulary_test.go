package eye

import (
	"slices"
	"testing"
)

// Words are found whole, what is none is spelled in bytes, and both read back as they were. The
// model's own vocabulary was made so: tokens of control, bytes, then words.
func TestNewVocabulary(t *testing.T) {
	v := NewVocabulary([]string{" left", "Grüße"})
	for _, c := range []struct {
		text string
		n    int // tokens
	}{{" left", 1}, {"Grüße", 1}, {"xyz", 3}, {"ü\x00\xff", 4}, {"", 0}} {
		ids := v.Tokens(c.text)
		back := ""
		for _, id := range ids {
			back += v.text(id)
			if id < controls {
				t.Errorf("%q has the token of control %s", c.text, v.Texts[id])
			}
		}
		if len(ids) != c.n || back != c.text {
			t.Errorf("%q: tokens %v read back as %q, want %d", c.text, ids, back, c.n)
		}
	}
	m, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	own := m.words
	if again := NewVocabulary(nil); !slices.Equal(again.Texts, own.Texts[:len(again.Texts)]) {
		t.Error("the model's vocabulary begins otherwise")
	}
}

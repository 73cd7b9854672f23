package results

import (
	"testing"
)

func TestDigestKeepsPartsApart(t *testing.T) {
	seen := map[Digest]string{}
	for _, parts := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {}, {""}} {
		var in [][]byte
		name := "parts"
		for _, p := range parts {
			in = append(in, []byte(p))
			name += " " + p + "|"
		}
		d := DigestOf(in...)
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have the same digest", name, other)
		}
		seen[d] = name
	}
	// As documented: each part after its length, eight bytes, least first.
	if d := DigestOf([]byte("a")); d != "sha256:ae6121c88ba555f64c3d812123eb799d128015541f850c5e9bf1d54c08ad8481" {
		t.Errorf("digest of one part: %s", d)
	}
}

package results

import (
	"testing"
	"time"
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

// Every field of a key tells trials apart.
func TestTrialsAreKnownByTheirWholeKey(t *testing.T) {
	st := openStore(t)
	base := Key{Study: "s", Model: "m", Item: "i", Arm: "a", Condition: "c"}
	keys := []Key{base, base, base, base, base, base, base}
	keys[1].Repeat, keys[2].Repeat = 1, 2
	keys[3].Condition, keys[4].Arm, keys[5].Item, keys[6].Model = "d", "b", "j", "n"
	for i, k := range keys {
		if err := st.PutTrial(t.Context(), answered(k, string(rune('A'+i)), time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range keys {
		got, ok, err := st.Trial(t.Context(), k)
		if err != nil || !ok || got.Key != k || got.Attempts[0].Output.Answer != string(rune('A'+i)) {
			t.Errorf("trial %+v: %+v, %v, %v", k, got, ok, err)
		}
	}
}

package judge

import "testing"

// What a judgment is known by: rubric and fields, and nothing else.
func TestCaseDigest(t *testing.T) {
	digest := func(rubric string, fields any) string {
		t.Helper()
		c, err := Case{Rubric: rubric, Fields: fields}.Stored()
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Digest)
	}
	one := map[string]string{"answer": "A"}
	if digest("precision", one) != digest("precision", map[string]string{"answer": "A"}) {
		t.Error("the same case has two digests")
	}
	seen := map[string]string{}
	for name, d := range map[string]string{
		"precision of A": digest("precision", one), "recall of A": digest("recall", one),
		"precision of B": digest("precision", map[string]string{"answer": "B"}), "moved letter": digest("precisio", "n"), "whole": digest("precision", ""),
	} {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s are one case", name, other)
		}
		seen[d] = name
	}
}

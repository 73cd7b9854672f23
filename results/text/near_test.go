package text

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"direct", "cot", "structured", "as-ollama"}
	for word, want := range map[string]string{
		"dirct": "direct", "dierct": "direct", "DIRECT": "direct", "cto": "cot", "coot": "cot", "ct": "cot",
		"strctred": "structured", "stru": "", "as_olama": "as-ollama", "": "", "mcq": "",
	} {
		if got, ok := nearest(word, names); got != want || ok != (want != "") {
			t.Errorf("nearest(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}

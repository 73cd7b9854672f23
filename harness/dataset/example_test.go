package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesAreReadAlike: every example is sniffed, has nothing wrong with it, and
// holds the same questions about the same pictures.
func TestExamplesAreReadAlike(t *testing.T) {
	var first *Dataset
	for _, kind := range ExampleKinds() {
		dir := filepath.Join(t.TempDir(), kind)
		path, err := WriteExample(kind, dir)
		if err != nil {
			t.Fatal(err)
		}
		sniffed, err := sniff(path)
		if err != nil || sniffed != kind {
			t.Errorf("%s is sniffed as %q, %v", kind, sniffed, err)
		}
		d, err := Open(Source{Kind: kind, Name: "x", Path: path})
		if err != nil || len(d.Problems) > 0 || len(d.Items) != 6 {
			t.Fatalf("%s: %v, %+v", kind, err, d)
		}
		if damaged := Damaged(d); damaged != nil {
			t.Errorf("%s: %v", kind, damaged)
		}
		if first == nil {
			first = d
		}
		if d.Digest != first.Digest {
			t.Errorf("%s has the digest %s, %s has %s:\n%+v\n%+v", kind, d.Digest, first.Kind, first.Digest, d.Items, first.Items)
		}
		if !strings.Contains(strings.Join(d.Guesses, "; "), "types of questions: single 2 (they have options), binary 2 (the answer is yes or no), short 2 (they have no options)") {
			t.Errorf("%s: guesses %q", kind, d.Guesses)
		}
		if _, err := WriteExample(kind, dir); !os.IsExist(err) {
			t.Errorf("%s again: %v", kind, err)
		}
	}
	for i, want := range []string{TypeSingle, TypeSingle} {
		if it := first.Items[i]; it.Type != want || len(it.Options) < 2 || it.Options[0].Label != "A" || strings.Contains(it.Question, "A. ") || it.Task == "" {
			t.Errorf("item %d: %+v", i, it)
		}
	}
}

package curate

import (
	"path/filepath"
	"testing"

	"assay/harness/dataset"
)

// TestKeptTableIsReadAgain: what is kept of a table of questions, whose tasks are its own,
// is read again as it was.
func TestKeptTableIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	path, err := dataset.WriteExample(dataset.KindCSV, filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(dataset.Source{Kind: dataset.KindCSV, Name: "mine", Path: path})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Filter(d, Settings{Duplicates: DuplicateKinds()[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Write(filepath.Join(dir, "kept"), "")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := dataset.Open(dataset.Source{Kind: files.Kind, Name: "mine", Path: files.Path})
	if err != nil || len(kept.Problems) > 0 || len(kept.Items) != len(r.Kept) {
		t.Fatalf("%v: %+v", err, kept)
	}
	if len(r.Kept) == len(d.Items) && kept.Digest != d.Digest {
		t.Errorf("digest %s, was %s:\n%+v\n%+v", kept.Digest, d.Digest, kept.Items, d.Items)
	}
}

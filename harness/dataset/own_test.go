package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/harness/dataset/library"
	"assay/harness/dataset/questions"
)

// TestOwnTable: the pictures of a table lie in its folder, unless others are permitted,
// and what is read is as in plain JSON lines.
func TestOwnTable(t *testing.T) {
	dir := t.TempDir()
	_, a, _ := datasettest.Picture(0)
	put := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("in/pics/a.png", a)
	put("in/cut.png", a[:len(a)/2])
	secret := put("secret.png", a)
	if err := os.Symlink(secret, filepath.Join(dir, "in", "link.png")); err != nil {
		t.Fatal(err)
	}
	path := put("in/mine.csv", []byte("nr,scan,question,A,B,answer\nx1,pics/a.png,Which?,left,right,right\nx2,../secret.png,q,l,r,A\nx3,link.png,q,l,r,A\nx4,"+secret+",q,l,r,A\nx5,none.png,q,l,r,A\nx6,cut.png,q,l,r,A\n"))
	s := Source{Kind: KindCSV, Name: "mine", Path: path, Columns: questions.Mapping{"id": {"nr"}, "image": {"scan"}}}
	d, err := Open(s, library.New())
	if err != nil || len(d.Items) != 1 || len(d.Problems) != 5 {
		t.Fatalf("%v: %+v", err, d)
	}
	for i, want := range []string{"allow_outside", "a link to", "a file elsewhere", "no such file", "cut.png"} {
		if p := d.Problems[i]; p.Row != i+3 || p.Column != "scan" || !strings.Contains(p.Error(), want) {
			t.Errorf("problem %d is %v, want %s", i, p, want)
		}
	}
	it := d.Items[0]
	if it.ID != "x1" || it.Type != TypeSingle || it.Answer != "B" || !slices.Equal(it.Options, []Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}) {
		t.Errorf("the item is %+v", it)
	}
	if b, err := it.Images[0].Load(); err != nil || len(b) != len(a) {
		t.Errorf("its picture: %v", err)
	}
	if len(d.Guesses) == 0 {
		t.Error("nothing was guessed")
	}
	s.Outside = true
	if d, err := Open(s, library.New()); err != nil || len(d.Items) != 4 {
		t.Errorf("with allow_outside: %v, %+v", err, d.Problems)
	}
	plain := put("in/plain.jsonl", []byte(`{"id":"x1","images":["pics/a.png"],"question":"Which?","type":"single","options":[{"label":"A","text":"left"},{"label":"B","text":"right"}],"answer":"B"}`+"\n"))
	other := put("in/other.jsonl", []byte(`{"id":"x1","image":"pics/a.png","question":"Which?","options":["left","right"],"answer":"right"}`+"\n"))
	for _, path := range []string{plain, other} {
		if same, err := Open(Source{Kind: KindJSONL, Name: "x", Path: path}, library.New()); err != nil || same.Digest != d.Digest {
			t.Errorf("%s: %v, digest %s, want %s", path, err, same.Digest, d.Digest)
		}
		if kind, err := Sniff(path, library.New()); kind != KindJSONL || err != nil {
			t.Errorf("%s is %s, %v", path, kind, err)
		}
	}
	if kind, err := Sniff(s.Path, library.New()); kind != KindCSV || err != nil {
		t.Errorf("it is sniffed as %q, %v", kind, err)
	}
}

//go:build unix

package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/harness/dataset/table"
)

// TestPicturesFromElsewhere: a data set that somebody sent reads its own pictures
// and no other file of the machine, by whatever path.
func TestPicturesFromElsewhere(t *testing.T) {
	away, dir := t.TempDir(), t.TempDir()
	_, picture, _ := datasettest.Picture(0)
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(away, "private.png"), picture)
	write(filepath.Join(dir, "own.png"), picture)
	link(filepath.Join(away, "private.png"), filepath.Join(dir, "linked.png"))
	link(away, filepath.Join(dir, "folder"))
	link("own.png", filepath.Join(dir, "alias.png"))
	link("/dev/zero", filepath.Join(dir, "zero.png"))
	link("circle.png", filepath.Join(dir, "circle.png"))
	if err := os.Mkdir(filepath.Join(dir, "sub.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "big.png"))
	if err == nil {
		err = big.Truncate(table.MaxPicture + 1) // of holes
		big.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path    string
		got     string // "": it is read
		allowed bool   // with allow_outside
	}{
		{"own.png", "", true},
		{"alias.png", "", true},
		{"linked.png", "a link to " + filepath.Join(away, "private.png"), true},
		{"folder/private.png", "a link to " + filepath.Join(away, "private.png"), true},
		{filepath.Join(away, "private.png"), "a file elsewhere", true},
		{"../" + filepath.Base(away) + "/private.png", "", false},
		{"zero.png", "a link to /dev/zero", false},
		{"sub.png", "found a folder", false},
		{"big.png", "at most 256 MB, found 256 MB", false},
		{"circle.png", "too many links", false},
		{"none.png", "no such file", false},
		{"pipe.png", "found a pipe", false},
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.png"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, outside := range []bool{false, true} {
			path := filepath.Join(dir, "set.jsonl")
			write(path, []byte(`{"id":"x","images":["`+c.path+`"],"question":"Which?\nA. one\nB. two","type":"single","answer":"B"}`+"\n"))
			d, err := Open(Source{Kind: KindJSONL, Name: "mine", Path: path, Outside: outside})
			if err != nil {
				t.Fatal(err)
			}
			readable := c.got == "" && c.allowed || outside && c.allowed || outside && strings.HasPrefix(c.path, "../")
			switch {
			case readable && (len(d.Items) != 1 || len(d.Problems) > 0):
				t.Errorf("%s, allow_outside %v: %v", c.path, outside, d.Problems)
			case readable:
				if b, err := d.Items[0].Images[0].Load(); err != nil || len(b) != len(picture) {
					t.Errorf("%s, allow_outside %v: %v", c.path, outside, err)
				}
			case len(d.Items) != 0 || len(d.Problems) != 1:
				t.Errorf("%s, allow_outside %v: it was read", c.path, outside)
			case !outside && !strings.Contains(d.Problems[0].Error(), c.got):
				t.Errorf("%s: %v, want %q", c.path, d.Problems[0], c.got)
			}
		}
	}
	// A picture that became a link after it was checked.
	path := filepath.Join(dir, "set.jsonl")
	write(path, []byte(`{"id":"x","images":["own.png"],"question":"Which?\nA. one\nB. two","type":"single","answer":"B"}`+"\n"))
	d, err := JSONL("mine", path)
	if err != nil || len(d.Items) != 1 {
		t.Fatal(err, d.Problems)
	}
	os.Remove(filepath.Join(dir, "own.png"))
	link(filepath.Join(away, "private.png"), filepath.Join(dir, "own.png"))
	if _, err := d.Items[0].Images[0].Load(); err == nil || !strings.Contains(err.Error(), "a link to") {
		t.Errorf("a link took the picture's place: %v", err)
	}
	// What is to be the list itself.
	for _, bad := range []string{"pipe.png", "sub.png"} {
		if _, err := JSONL("mine", filepath.Join(dir, bad)); err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("%s as a data set: %v", bad, err)
		}
	}
	if _, err := sniff(filepath.Join(dir, "pipe.png")); err == nil {
		t.Error("a pipe was sniffed at")
	}
}

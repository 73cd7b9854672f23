package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFileThatChangedGivesNoPicture: pictures that are not kept any more, as of a disk that is full, are
// made again of the file as it was, and of no other.
func TestAFileThatChangedGivesNoPicture(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h, err := newHelper(fake("works"))
	if err != nil {
		t.Fatal(err)
	}
	now := file("1.2.840.10008.1.2.1", dicomFilm()...)
	load, _, _, err := h.Picture(func() ([]byte, string) { return now, "" })
	if err != nil {
		t.Fatal(err)
	}
	first := must(load())
	lose := func() {
		open, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		lost := 0
		for _, fd := range open {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir) {
				if err := os.Truncate(fd, 0); err != nil {
					t.Fatal(err)
				}
				lost++
			}
		}
		if lost != 1 {
			t.Errorf("%d files of kept pictures", lost)
		}
	}
	lose()
	if again := must(load()); !bytes.Equal(again, first) {
		t.Error("another picture of the same file")
	}
	now = file("1.2.840.10008.1.2.1") // without what it said of its pixels
	lose()
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "has changed since the data set was opened") {
		t.Errorf("of another file: %v", err)
	}
}

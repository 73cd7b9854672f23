package table

import (
	"path/filepath"
	"testing"
)

// TestPathsOfWindows: a table that was made on Windows is told what to change.
func TestPathsOfWindows(t *testing.T) {
	if filepath.Separator == '\\' {
		t.Skip("this is Windows")
	}
	dir := t.TempDir()
	for name, want := range map[string]string{`img\a.png`: "no such file; write / between folders", "img/a.png": "no such file"} {
		if _, _, got := (Folder{Path: dir}).Read(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
}

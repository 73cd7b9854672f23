package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPackageIsOver2000Lines counts lines without tests by package. One that grows
// further is two nouns: the second gets a package of its own.
func TestNoPackageIsOver2000Lines(t *testing.T) {
	const most = 2000
	root := filepath.Join("..", "..")
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		lines[filepath.Dir(path)] += bytes.Count(b, []byte("\n"))
		return err
	})
	if err != nil || len(lines) < 80 {
		t.Fatalf("%d packages, %v", len(lines), err)
	}
	for dir, n := range lines {
		if n > most {
			t.Errorf("%s has %d lines without tests, want at most %d: give a noun of it a package of its own", filepath.ToSlash(dir), n, most)
		}
	}
}

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/judge"
)

// A kind of judge is one file and one entry of the table: its name and its maker
// stand nowhere else. A model is asked as models are, and rules need no file of
// their own beside their rubrics'.
func TestAJudgeKindTouchesTwoFiles(t *testing.T) {
	root := "../.."
	for _, k := range judge.Kinds() {
		if len(k.Keys) == 0 {
			continue
		}
		maker := k.Name + "Kind()"
		var files []string
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil && (strings.Contains(string(b), maker) || strings.Contains(string(b), `Kind == "`+k.Name+`"`) || strings.Contains(string(b), `Kind != "`+k.Name+`"`)) {
				files = append(files, filepath.Base(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 2 || !slices.Contains(files, "kinds.go") {
			t.Errorf("kind %s touches %v, want its own file and the table", k.Name, files)
		}
	}
}

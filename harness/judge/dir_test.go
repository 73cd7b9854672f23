package judge_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/judge"
	"assay/results"
	"assay/timing"
)

// TestAnyWorkingDirectory judges in folders whose names are no URLs.
func TestAnyWorkingDirectory(t *testing.T) {
	for _, name := range []string{"100% done", "a%zz", "tab\tand\x7f", "plain"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			for rubric, r := range allRubrics(t) {
				m := &judge.Model{Name: "m", Backend: says(`{}`), Clock: timing.NewClock()}
				got, err := m.Judge(t.Context(), r, cases()[rubric])
				if err != nil || got.Status != results.StatusSchema {
					t.Errorf("%s: %s, %v", rubric, got.Status, err)
				}
			}
		})
	}
}

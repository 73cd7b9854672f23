package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/results"
	"assay/results/store"
)

// TestTarget: a store is never replaced, whatever its name and by whatever link; nor is a link,
// a pipe or a device.
func TestTarget(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	st, err := store.Open(t.Context(), at("rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"old.csv": "a,b\n", "empty.csv": "", "like.csv": "SQLite format 3"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{"rows.csv", "old.csv"} {
		if err := os.Symlink(at(to), at("link-"+to)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"rows.csv": "found a store", "link-rows.csv": "found a store", ".": "found the folder", "none/a.csv": "found none; make it first", "old.csv/a.csv": "found none; make it first",
		"old.csv": "", "link-old.csv": "", "empty.csv": "", "like.csv": "", "new.csv": "",
	} {
		real, open, err := results.Target(at(name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err == nil && (open || filepath.Base(real) != strings.TrimPrefix(name, "link-")) {
			t.Errorf("%s: %s, %v", name, real, open)
		}
	}
	if real, open, err := results.Target(os.DevNull); real != os.DevNull || !open || err != nil {
		t.Error(real, open, err)
	}
}

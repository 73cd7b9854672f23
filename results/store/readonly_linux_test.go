package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"assay/results"
)

// TestInAFolderThatCannotBeWritten: a store that was sent, on a disk of somebody else's, is
// whole there, too, and can be saved and joined into one elsewhere.
func TestInAFolderThatCannotBeWritten(t *testing.T) {
	path, to := repairMade(t, 4), t.TempDir()
	ctx := context.Background()
	at := filepath.Join(t.TempDir(), "run.sqlite")
	open, err := Open(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := open.PutManifest(ctx, results.Manifest{Name: "open"}); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(filepath.Dir(path), "killed.sqlite")
	for _, part := range []string{"", "-wal"} {
		b, err := os.ReadFile(at + part)
		if err != nil || len(b) == 0 {
			t.Fatal(len(b), err)
		}
		if err := os.WriteFile(killed+part, b, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Dir(filepath.Dir(path)), filepath.Dir(path)} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
	}
	for file, mode := range map[string]os.FileMode{path: 0o444, filepath.Dir(to): 0o755, to: 0o777} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 { // root may write everywhere; this thread is somebody else with files
		runtime.LockOSThread()
		defer syscall.Setfsuid(0)
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := Check(ctx, path); err != nil || !found.Whole || found.Trials != 4 {
		t.Errorf("checked: %+v, %v", found, err)
	}
	if _, err := Check(ctx, killed); !errors.Is(err, results.FaultReadOnly) {
		t.Error("what a killed run left there is not known to be damaged:", err)
	}
	if saved, err := Salvage(ctx, path, filepath.Join(to, "saved.sqlite")); err != nil || saved.Lost() {
		t.Errorf("saved: %+v, %v", saved, err)
	}
	if _, err := Stores(ctx, filepath.Join(to, "merged.sqlite"), []string{path}, func(int) {}); err != nil {
		t.Error("merged:", err)
	}
}

//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/results"
)

// TestWhatIsNoFileIsRefused at once: a FIFO would be waited for.
func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, what := range map[string]string{dir: "a folder", fifo: "a FIFO", "/dev/full": "a device", "/dev/null": "a device"} {
		_, e1 := Open(bg, path)
		_, e2 := OpenReader(bg, path)
		for _, err := range []error{e1, e2} {
			if !errors.Is(err, results.FaultForeign) || !strings.Contains(err.Error(), "it is "+what) || !strings.Contains(err.Error(), "bench.yaml") {
				t.Errorf("%s: %v", path, err)
			}
		}
		if _, err := os.Stat(path + ".lock"); err == nil {
			t.Errorf("%s: a lock was left", path)
		}
	}
}

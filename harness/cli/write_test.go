package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWriteFile: what is written is for its owner alone, also where a file was that all may
// read; a device stays what it is.
func TestWriteFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte("old and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	device, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(os.DevNull, device.Mode().Perm()) }) // of root, if this fails
	for path, mode := range map[string]os.FileMode{path: 0o600, path + "l": 0o600, os.DevNull: device.Mode()} {
		if err := writeFile(path, func(w io.Writer) error {
			if info, err := os.Stat(path); err != nil || info.Mode() != mode {
				t.Errorf("%s is %v while it is written, expected %v", path, info.Mode(), mode)
			}
			_, err := io.WriteString(w, "new")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != mode {
			t.Errorf("%s is %v, expected %v", path, info.Mode(), mode)
		}
		if b, err := os.ReadFile(path); path != os.DevNull && (err != nil || string(b) != "new") {
			t.Errorf("%s holds %q, %v", path, b, err)
		}
	}
}

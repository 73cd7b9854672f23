package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Target says whether a file may be made at path, or replaced: nil, or an error that says
// where else. What is replaced is never a store, or another SQLite file, nor a folder; "-" is
// the standard output.
func Target(path string) error {
	if path == "-" {
		return nil
	}
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !st.IsDir() {
		return fmt.Errorf("expected a folder %s to write %s into, found none; make it first", dir, filepath.Base(path))
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("expected a file to write, found the folder %s; name a file in it", path)
	case !st.Mode().IsRegular():
		return nil // a pipe or a device: nothing is lost
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // writing it says why
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == magic {
		return fmt.Errorf("expected a file that may be replaced, found a store or another SQLite file in %s; name another one", path)
	}
	return nil
}

package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Target is the file that is to be made, or replaced, at path: where its links end. open says
// that it is a pipe or a device, which is written to and not replaced. The error says where
// else: a store, or another SQLite file, is never replaced, nor is a folder.
func Target(path string) (real string, open bool, err error) {
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !st.IsDir() {
		return "", false, fmt.Errorf("expected a folder %s to write %s into, found none; make it first", dir, filepath.Base(path))
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return path, false, nil
	case err != nil:
		return "", false, err
	case st.IsDir():
		return "", false, fmt.Errorf("expected a file to write, found the folder %s; name a file in it", path)
	case !st.Mode().IsRegular():
		return path, true, nil
	}
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return "", false, err
	}
	f, err := os.Open(real)
	if err != nil {
		return real, false, nil // writing it says why
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == magic {
		return "", false, fmt.Errorf("expected a file that may be replaced, found a store or another SQLite file in %s; name another one", path)
	}
	return real, false, nil
}

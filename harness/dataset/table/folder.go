// Folder gives out the files of a data set that somebody else may have
// made: regular ones, and of those only what lies inside of its folder.

package table

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The most that is read of one file, in bytes: a 16-bit picture of 100 million
// pixels, and a table of texts.
const (
	MaxPicture = 256 << 20
	MaxTable   = 1 << 30
)

// Folder gives out the files of a data set: regular ones, and of those only what
// lies inside it once every link is followed.
type Folder struct {
	Path    string
	Outside bool // files elsewhere are allowed
}

// Read reads the picture at path. want and got are for a Problem; got is "" when
// all is well.
func (f Folder) Read(path string) (data []byte, want, got string) {
	want = "a regular file inside " + f.Path + " (allow_outside: true permits others)"
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		got = "no such file"
		if filepath.Separator != '\\' && strings.Contains(path, `\`) { // a table made on Windows
			got += "; write / between folders"
		}
		return nil, "an image file " + path, got
	case err != nil:
		return nil, "a readable image file", err.Error()
	}
	if !f.Outside && !f.holds(real) {
		if real == filepath.Clean(path) {
			return nil, want, "a file elsewhere"
		}
		return nil, want, "a link to " + real
	}
	data, err = readRegular(real, MaxPicture)
	if err != nil {
		return nil, "a readable image file", err.Error()
	}
	return data, "", ""
}

// holds says whether a path without links is inside the folder.
func (f Folder) holds(path string) bool {
	top, err := filepath.EvalSymlinks(f.Path)
	if err == nil {
		top, err = filepath.Abs(top)
	}
	if err != nil {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// OpenRoot opens a file that is one: opening a pipe waits for ever, and
// reading a device may have no end.
func OpenRoot(path string, most int64) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info, most); err != nil {
		return nil, err
	}
	// Somebody may have put a pipe there since.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info, most)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info fs.FileInfo, most int64) error {
	what := ""
	switch m := info.Mode(); {
	case m.IsRegular():
	case m.IsDir():
		what = "a folder"
	case m&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "something else (" + m.String() + ")"
	}
	if what != "" {
		return fmt.Errorf("%s: expected a regular file, found %s", path, what)
	}
	if info.Size() > most {
		return fmt.Errorf("%s: expected at most %d MB, found %d MB", path, most>>20, info.Size()>>20)
	}
	return nil
}

// readRegular reads a regular file of at most so many bytes.
func readRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRoot(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if int64(len(data)) > most { // it grows
		return nil, fmt.Errorf("%s: expected at most %d MB, found more", path, most>>20)
	}
	return data, nil
}

package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/perturb"
)

// Places of the two files in a helper's command.
const (
	placeIn  = "{in}"
	placeOut = "{out}"
)

// example is a command that works, for messages.
const example = `dicom: [dcm2pnm, +on2, +Wm, "{in}", "{out}"] (Debian, Ubuntu: apt install dcmtk)`

// limits of one file.
const (
	within  = time.Minute
	largest = 256 << 20 // bytes of a picture
)

// helper is a program that makes pictures of DICOM files. A nil Helper makes none.
type helper struct {
	command []string
	within  time.Duration
	largest int64
	made    tempFile
}

// newHelper is the helper that a command names; nil for none. The error says what to install.
func newHelper(command []string) (*helper, error) {
	if len(command) == 0 {
		return nil, nil
	}
	if err := check(command); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("dicom: expected a program that can be run, found no %s; install it (dcm2pnm and dcmj2pnm: apt install dcmtk; gdcmconv: apt install libgdcm-tools), or give its path", command[0])
	}
	return &helper{command: command, within: within, largest: largest}, nil
}

// check says what a command lacks.
func check(command []string) error {
	for _, place := range []string{placeIn, placeOut} {
		if !slices.ContainsFunc(command[1:], func(w string) bool { return strings.Contains(w, place) }) {
			return fmt.Errorf("dicom: expected %s in the arguments, where the helper finds a file's name, found none; write %s", place, example)
		}
	}
	return nil
}

// wanted is what should stand where there is a DICOM file that gives no picture.
const wanted = "a DICOM file of which the helper makes a picture"

// Picture is what the helper makes of the file that read gives: how to get it again, the
// digest of its bytes, and how it was made. gone says why there is no file. The error
// names no file and repeats nothing that the helper printed.
func (h *helper) Picture(read func() (file []byte, gone string)) (load func() ([]byte, error), sum [sha256.Size]byte, made string, err error) {
	file, gone := read()
	switch {
	case gone != "":
		return nil, sum, "", errors.New("none that can be read")
	case !is(file):
		return nil, sum, "", errors.New("another file, with a name as of DICOM")
	case h == nil:
		return nil, sum, "", errors.New("a DICOM file, and no helper that reads it; add to the data set " + example)
	}
	first, err := h.run(file)
	if err != nil {
		return nil, sum, "", err
	}
	sum = sha256.Sum256(first)
	made = describeDICOM(file).String() + "; made by " + strings.Join(append([]string{filepath.Base(h.command[0])}, h.command[1:]...), " ")
	load = h.made.Once(func() ([]byte, error) {
		if first != nil { // what was made just now
			defer func() { first = nil }()
			return first, nil
		}
		file, gone := read()
		if gone != "" {
			return nil, errors.New("a DICOM file of the data set cannot be read any more: start again")
		}
		again, err := h.run(file)
		if err == nil && sha256.Sum256(again) != sum {
			err = errors.New("a DICOM file or its helper has changed since the data set was opened: start again")
		}
		return again, err
	})
	_, err = load()
	return load, sum, made, err
}

// run makes a picture.
func (h *helper) run(file []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "assay-dicom-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.dcm"), filepath.Join(dir, "out.png")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		return nil, errors.New("a DICOM file that there is no room to copy: free some in " + os.TempDir())
	}
	ctx, stop := context.WithTimeout(context.Background(), h.within)
	defer stop()
	args := make([]string, len(h.command)-1)
	for i, w := range h.command[1:] {
		args[i] = strings.NewReplacer(placeIn, in, placeOut, out).Replace(w)
	}
	cmd := exec.CommandContext(ctx, h.command[0], args...)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DCMDICTPATH", "SYSTEMROOT"} {
		if v, ok := os.LookupEnv(name); ok { // no more: a helper needs no keys of servers
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	// Its streams are nobody's: what it prints may name a person.
	err = cmd.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("a DICOM file of which the helper had made no picture after %v", h.within)
	case errors.As(err, &failed):
		return nil, fmt.Errorf("a DICOM file that the helper could not read (%v); run it by hand to see why", failed.ProcessState)
	case err != nil:
		return nil, fmt.Errorf("a helper that cannot be started: %s", filepath.Base(h.command[0]))
	}
	info, err := os.Lstat(out)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, errors.New("a DICOM file of which the helper wrote no file, and said that all was well; some write it beside " + placeOut + ", or only with a suffix")
	case info.Size() > h.largest:
		return nil, fmt.Errorf("a DICOM file of which the helper made %d MB, where at most %d are read", info.Size()>>20, h.largest>>20)
	}
	pic, err := os.ReadFile(out)
	if err != nil {
		return nil, errors.New("a DICOM file of which the helper's picture cannot be read")
	}
	if _, _, _, err := perturb.Config(pic); err != nil {
		return nil, errors.New("a DICOM file of which the helper made no readable PNG or TIFF")
	}
	return pic, nil
}

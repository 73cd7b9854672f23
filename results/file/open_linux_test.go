package file

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A process that may open no more files is told that, and not to look for permissions.
func TestTooManyFilesAreOpen(t *testing.T) {
	want := Schema{Steps: []string{"CREATE TABLE a (b)"}}
	path := filepath.Join(t.TempDir(), "s.sqlite")
	f, err := Open(t.Context(), path, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = uint64(len(open) - 1) // the folder itself was one
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	_, err = OpenReader(t.Context(), path, want)
	if e := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), "too many files are open") || !strings.Contains(err.Error(), "ulimit -n") || strings.Contains(err.Error(), "permission") {
		t.Errorf("%v", err)
	}
}

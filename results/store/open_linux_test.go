package store

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
	f, err := OpenFile(t.Context(), path, want)
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
	few := was
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var held []*os.File
	for err = nil; err == nil; { // also the numbers that others left free
		var one *os.File
		if one, err = os.Open(os.DevNull); err == nil {
			held = append(held, one)
		}
	}
	_, err = openFileReader(t.Context(), path, want)
	if e := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); e != nil {
		t.Fatal(e)
	}
	for _, one := range held {
		one.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "too many files are open") || !strings.Contains(err.Error(), "ulimit -n") || strings.Contains(err.Error(), "permission") {
		t.Errorf("%v", err)
	}
}

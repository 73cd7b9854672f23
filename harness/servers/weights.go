package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"assay/backends"
	"assay/harness/machine"
	"assay/results"
)

// weights are the digests of files that servers of this machine name as their weights.
type weights struct {
	mu sync.Mutex
	of map[string]*digested // by path
}

// digested is what a file was, or all parts of it, and its digest once done is closed.
type digested struct {
	was    []os.FileInfo
	done   chan struct{}
	digest string
	err    error
}

// digest is that of a file at a path of a server; "": the server is not known to be on this
// machine, or the file cannot be read here. It is kept as long as inode, size and time
// stay. A large file takes long: where ctx ends before, the next call finds more of it done.
func (w *weights) digest(ctx context.Context, c backends.Server, path string) (string, error) {
	at := machine.ThisMachine().Locate(ctx, c)
	if path == "" || at.Place != results.PlaceLocal || at.Forwarded {
		return "", nil
	}
	var files []string
	for _, p := range asSeenBy(at.Server.PID, path) {
		if files = parts(p); files != nil {
			break
		}
	}
	if files == nil {
		return "", nil
	}
	var is []os.FileInfo
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || !info.Mode().IsRegular() {
			return "", nil
		}
		is = append(is, info)
	}
	w.mu.Lock()
	d := w.of[path]
	if d == nil || !slices.EqualFunc(d.was, is, func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	}) {
		d = &digested{was: is, done: make(chan struct{})}
		go func() {
			defer close(d.done)
			d.digest, d.err = sum(files)
		}()
		if w.of == nil {
			w.of = map[string]*digested{}
		}
		w.of[path] = d
	}
	w.mu.Unlock()
	select {
	case <-d.done:
		return d.digest, d.err
	case <-ctx.Done():
		return "", &backends.Error{Kind: backends.ErrLoading, Op: "read " + path, Message: "its digest takes longer", Hint: "try again", Err: context.Cause(ctx)}
	}
}

// asSeenBy are the paths at which a file that a process names may be read here: through
// the process, whose folder or container may be another, and as it stands.
func asSeenBy(pid int, path string) (at []string) {
	if pid > 0 && filepath.IsAbs(path) {
		at = append(at, fmt.Sprintf("/proc/%d/root%s", pid, path))
	} else if pid > 0 {
		at = append(at, fmt.Sprintf("/proc/%d/cwd/%s", pid, path))
	}
	if filepath.IsAbs(path) {
		at = append(at, path)
	}
	return at
}

var part = regexp.MustCompile(`-\d{5}-of-(\d{5})\.gguf$`)

// parts are the files of weights of which one is named; nil: it cannot be read.
func parts(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	f.Close()
	m := part.FindStringSubmatchIndex(path)
	if m == nil {
		return []string{path}
	}
	all, _ := filepath.Glob(path[:m[0]] + "-?????-of-" + path[m[2]:])
	return all
}

// sum is the digest of files, one after the other.
func sum(files []string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		f, err := os.Open(name)
		if err == nil {
			_, err = io.Copy(h, f)
			f.Close()
		}
		if err != nil {
			return "", &backends.Error{Kind: backends.ErrServer, Op: "read the weights", Err: err, Message: err.Error()}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

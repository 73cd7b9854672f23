package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/results"
)

// all is all that a report reads of a store, and every trial whole; an error where
// something cannot be read.
func all(path string) (any, error) {
	s, err := OpenReader(bg, path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	man, _, err := s.Manifest(bg)
	if err != nil {
		return nil, err
	}
	read := []any{man}
	for r, err := range s.JudgedRows(bg, "", false) {
		if err != nil {
			return nil, err
		}
		read = append(read, r)
	}
	for tr, err := range s.Trials(bg, "") {
		if err != nil {
			return nil, err
		}
		read = append(read, tr)
	}
	return read, nil
}

// TestNoDamageIsReadAsNumbers: whatever happens to bytes of a store, all that can be
// read is what was written, or reading fails.
func TestNoDamageIsReadAsNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutManifest(bg, results.Manifest{Name: "guarded"}); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		k := key(fmt.Sprint(i))
		c := results.Case{Digest: results.DigestOf(fmt.Append(nil, i)), Rubric: "accuracy", Fields: []byte(`{}`)}
		if err := errors.Join(s.PutTrial(bg, answered(k, strings.Repeat("word ", 10*i), time.Second)), s.PutCase(bg, k, c),
			s.PutJudgment(bg, results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", Status: results.StatusClean, Verdict: []byte(`{"verdict":"correct"}`)})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := all(path)
	if err != nil {
		t.Fatal(err)
	}
	if sums := want.([]any)[0].(results.Manifest).Checksums; sums == "" {
		t.Error("the manifest does not say what guards the store")
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pages := len(good) / pageSize
	kinds := map[string]func(b []byte) []byte{
		"a bit":             func(b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b },
		"a bit of the head": func(b []byte) []byte { b[rng.IntN(100)] ^= 1 << rng.IntN(8); return b },
		"a digit": func(b []byte) []byte {
			at := rng.IntN(len(b))
			if i := bytes.IndexAny(b[at:], "0123456789"); i >= 0 {
				b[at+i] ^= 1
			} else {
				b[at] ^= 1
			}
			return b
		},
		"an empty sector": func(b []byte) []byte { clear(b[rng.IntN(len(b)/512)*512:][:512]); return b },
		"an empty page":   func(b []byte) []byte { clear(b[rng.IntN(pages)*pageSize:][:pageSize]); return b },
		"pages swapped": func(b []byte) []byte {
			x, y := rng.IntN(pages)*pageSize, rng.IntN(pages)*pageSize
			copy(b[x:], good[y:y+pageSize])
			copy(b[y:], good[x:x+pageSize])
			return b
		},
		"cut": func(b []byte) []byte { return b[:rng.IntN(pages)*pageSize] },
	}
	damaged, failed := 0, 0
	for name, do := range kinds {
		for range 40 {
			b := do(bytes.Clone(good))
			if bytes.Equal(b, good) {
				continue
			}
			if len(b) == 0 {
				continue // a new store
			}
			bad := filepath.Join(t.TempDir(), "bad.sqlite")
			if err := os.WriteFile(bad, b, 0o600); err != nil {
				t.Fatal(err)
			}
			damaged++
			got, err := all(bad)
			switch {
			case err == nil && !reflect.DeepEqual(got, want):
				t.Errorf("%s: something else was read, and nothing said", name)
			case err != nil:
				failed++
				if !errors.Is(err, results.FaultDamaged) && !errors.Is(err, results.FaultForeign) && !errors.Is(err, results.FaultNewer) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if failed < damaged/2 {
		t.Errorf("of %d damaged stores only %d were found out", damaged, failed)
	}
	t.Logf("%d damaged stores: %d refused, %d damaged where nothing is read", damaged, failed, damaged-failed)
}

// killed makes a store at path whose writer was killed after n trials: its log is
// left, and its file is marked.
func killed(t *testing.T, path string, n int) {
	t.Helper()
	cmd, lines := child(t, "write", path, "GENERATION=k")
	for range n {
		if !lines.Scan() {
			t.Fatal("the writer ended")
		}
	}
	cmd.Process.Kill()
	for lines.Scan() {
	}
	cmd.Wait()
}

// TestAnotherProgramFoldsTheLog: whoever looks with another program at a store whose
// run was killed folds its log into the file, without checksums. That is no damage;
// damage is found all the same afterwards.
func TestAnotherProgramFoldsTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	killed(t, path, 30)
	db := openSqlite(path) // the other program
	var n int
	if err := db.QueryRow("SELECT count(*) FROM trial").Scan(&n); err != nil || n < 30 {
		t.Fatal(n, err)
	}
	if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	scan := func() scanned {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out, err := scan(f)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if s := scan(); s.Bare == 0 || len(s.Bad) > 0 {
		t.Fatalf("the other program left %+v", s)
	}
	folded, err := all(path)
	if err != nil || len(folded.([]any)) != 1+2*n {
		t.Errorf("read: %v", err)
	}
	// A page of zeros is lost, though pages without checksums are taken now.
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for p := range len(good) / pageSize {
		b, bad := bytes.Clone(good), filepath.Join(t.TempDir(), "bad.sqlite")
		clear(b[p*pageSize:][:pageSize])
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		switch read, err := all(bad); {
		case err == nil && !reflect.DeepEqual(read, folded):
			t.Errorf("without page %d something else was read, and nothing said", p+1)
		case strings.Contains(fmt.Sprint(err), "does not match its checksum"):
			lost++
		}
	}
	if lost < 5 {
		t.Errorf("of pages of zeros %d were noticed by their checksums", lost)
	}
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.PutTrial(bg, answered(key("more"), "x", time.Second)), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s := scan(); s.Bare > 0 || len(s.Bad) > 0 {
		t.Errorf("after the next writer: %+v", s)
	}
	if read, err := all(path); err != nil || len(read.([]any)) != 3+2*n {
		t.Errorf("read: %v", err)
	}
	// A page without a checksum is damage now.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for p := 1; p < len(b)/pageSize; p++ {
		clear(b[(p+1)*pageSize-pageReserve:][:pageReserve])
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := all(path); !errors.Is(err, results.FaultDamaged) {
		t.Errorf("pages without checksums: %v", err)
	}
}

// TestDamagedLog: damage to the log of a killed run, which SQLite takes for its end,
// is found; a log that breaks off, as a power cut leaves it, is none.
func TestDamagedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	killed(t, path, 20)
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	store, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const frame = 24 + pageSize
	try := func(log []byte) error {
		path := filepath.Join(t.TempDir(), "run.sqlite")
		if err := errors.Join(os.WriteFile(path, store, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := all(path)
		w, e := Open(bg, path)
		if errors.Is(err, results.FaultDamaged) != errors.Is(e, results.FaultDamaged) {
			t.Errorf("a reader: %v; a writer: %v", err, e)
		}
		if e == nil {
			w.Close()
		}
		return err
	}
	frames := (len(log) - 32) / frame
	for _, at := range []int{9, 32 + 5, 32 + 100, 32 + frames/4*frame + 10, 32 + frames/3*frame + 2000} {
		bad := bytes.Clone(log)
		bad[at] ^= 4
		if err := try(bad); !errors.Is(err, results.FaultDamaged) || !strings.Contains(err.Error(), "write-ahead log") {
			t.Errorf("byte %d of the log: %v", at, err)
		}
	}
	for _, end := range []int{0, 20, 32, 32 + frames/3*frame, 32 + frames/2*frame + 700} {
		if err := try(log[:end]); err != nil && !errors.Is(err, results.FaultForeign) {
			t.Errorf("cut after %d bytes: %v", end, err)
		}
	}
}

// TestOneWriterPerFile: a store is one file, whatever names it has.
func TestOneWriterPerFile(t *testing.T) {
	dir := t.TempDir()
	path, hard, soft := filepath.Join(dir, "run.sqlite"), filepath.Join(dir, "hard.sqlite"), filepath.Join(dir, "soft.sqlite")
	cmd, lines := child(t, "hold", path)
	if !lines.Scan() || lines.Text() != "held" {
		t.Fatalf("the child said %q", lines.Text())
	}
	if err := errors.Join(os.Link(path, hard), os.Symlink(path, soft)); err != nil {
		t.Fatal(err)
	}
	// With all that lies beside it, as cp -al does.
	copied := filepath.Join(dir, "copied.sqlite")
	if err := errors.Join(os.Link(path, copied), os.Link(path+"-wal", copied+"-wal")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hard, soft, copied} {
		if s, err := Open(bg, name); !errors.Is(err, results.FaultInUse) {
			t.Errorf("%s beside a writer: %v %v", name, s, err)
		}
	}
	if _, err := OpenReader(bg, hard); !errors.Is(err, results.FaultInUse) || !strings.Contains(err.Error(), "another of its names") {
		t.Errorf("what is in the writer's log cannot be read by another name: %v", err)
	}
	if err := errors.Join(os.Remove(copied), os.Remove(copied+"-wal")); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	// Its log is beside the first name: by the second it would be lost, and spoil the
	// file later.
	if s, err := Open(bg, hard); !errors.Is(err, results.FaultInUse) || !strings.Contains(err.Error(), "another of its names") {
		t.Errorf("after the writer was killed: %v %v", s, err)
	}
	s, err := Open(bg, soft)
	if err != nil {
		t.Fatal(err)
	}
	if s2, err := Open(bg, hard); !errors.Is(err, results.FaultInUse) {
		t.Errorf("in one process: %v %v", s2, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(soft + ".lock"); err == nil {
		t.Error("the lock is beside the link, not beside the file")
	}
	// A backup by a hard link can be read, and after a clean end written.
	want, err := all(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(hard); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of the backup %v, %v", got, err)
	}
	if s, err = Open(bg, hard); err != nil {
		t.Fatal(err)
	}
	s.Close()
	one, err1 := os.Stat(path)
	two, err2 := os.Stat(hard)
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(one, two) {
		t.Errorf("the names are no longer of one file: %v", err)
	}
}

// TestTheStoreIsItsOwners: nobody else reads a store, nor what lies beside it.
func TestTheStoreIsItsOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "run.sqlite")
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.PutTrial(bg, answered(key("1"), "x", time.Second)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, dir) {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", filepath.Base(name), st.Mode())
		}
	}
}

// TestStoresWithoutChecksums of older versions are read and written as ever; one
// whose checksums are switched off is damaged.
func TestStoresWithoutChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.sqlite")
	oldStore(t, path, 1)
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.PutManifest(bg, results.Manifest{Name: "old", Checksums: "some"}), s.PutTrial(bg, answered(key("2"), "x", time.Second)), s.Close()); err != nil {
		t.Fatal(err)
	}
	read, err := all(path)
	if err != nil || read.([]any)[0].(results.Manifest).Checksums != "" {
		t.Errorf("%v %v", read, err)
	}
	b := filled(t)
	b[20] = 0
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if id := binary.BigEndian.Uint32(b[68:]); id != sqliteApplicationIDSums {
		t.Errorf("application ID %x", id)
	}
	if _, err := all(path); !errors.Is(err, results.FaultDamaged) {
		t.Errorf("without its checksums: %v", err)
	}
}

// TestWhatIsStoredSurvivesAPowerCut: the writer syncs at every commit.
func TestWhatIsStoredSurvivesAPowerCut(t *testing.T) {
	s := openStore(t)
	var synchronous int
	var journal string
	if err := s.file.Put(bg, "asking", true, func(t *Tx) error {
		_, err := t.Scan("PRAGMA synchronous", nil, &synchronous)
		if err == nil {
			_, err = t.Scan("PRAGMA journal_mode", nil, &journal)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const full = 2
	if synchronous != full || journal != "wal" {
		t.Errorf("synchronous is %d, journal_mode %s; want %d, wal", synchronous, journal, full)
	}
}

// TestATrialLosesNoAttempts: one with fewer attempts than are stored was made by
// somebody who did not know of them, and replaces nothing.
func TestATrialLosesNoAttempts(t *testing.T) {
	s := openStore(t)
	two := answered(key("1"), "second", time.Second)
	two.Attempts = append(failed(key("1"), "stalled").Attempts, two.Attempts...)
	if err := s.PutTrial(bg, two); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTrial(bg, answered(key("1"), "other", time.Second)); err == nil || !strings.Contains(err.Error(), "stored with 2 attempts") || !strings.Contains(err.Error(), "one with 1") {
		t.Errorf("replaced by one with fewer attempts: %v", err)
	}
	if got, _, err := s.Trial(bg, key("1")); err != nil || !reflect.DeepEqual(got, two) {
		t.Errorf("now stored: %+v, %v", got, err)
	}
	same := two
	same.Attempts = append(two.Attempts[:1:1], answered(key("1"), "third", time.Second).Attempts...)
	if err := s.PutTrial(bg, same); err != nil {
		t.Errorf("as many attempts: %v", err)
	}
	if got, _, err := s.Trial(bg, key("1")); err != nil || !reflect.DeepEqual(got, same) {
		t.Errorf("now stored: %+v, %v", got, err)
	}
}

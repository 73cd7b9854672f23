package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/results"

	"github.com/ncruces/go-sqlite3/vfs"
)

// TestMain lets the test binary serve as the other process of a test.
func TestMain(m *testing.M) {
	switch path := os.Getenv("STORE_OF_CHILD"); {
	case path == "":
		flag.Parse()
		if flag.Lookup("test.bench").Value.String() == "" {
			debug.SetGCPercent(400) // what tests make is small and soon gone; benchmarks collect as the program does
		}
		os.Exit(m.Run())
	case os.Getenv("CHILD") == "hold":
		hold(path)
	default:
		writeForever(path)
	}
}

// child starts this binary again on the store at path.
func child(t *testing.T, what, path string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "STORE_OF_CHILD="+path, "CHILD="+what), env...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // open until the test ends
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// hold opens the store, says so, and waits to be killed, or for the test to end: of select
// with no cases the runtime makes a deadlock, and lets go of the store, as soon as nothing
// else is to be done.
func hold(path string) {
	s, err := Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := s.PutTrial(context.Background(), answered(key("held"), "x", time.Second)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}

// writeForever writes trials from four goroutines and prints each item when it is stored.
func writeForever(path string) {
	s, err := Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := make(chan string)
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				item := fmt.Sprintf("%s-%d-%d", os.Getenv("GENERATION"), w, i)
				if err := s.PutTrial(context.Background(), answered(key(item), item, time.Second)); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				out <- item
			}
		}()
	}
	for item := range out {
		os.Stdout.WriteString(item + "\n")
	}
}

// TestKillNine: the writer is killed at random moments; whatever it had said to
// be stored is there afterwards, whole, and nothing is there twice.
func TestKillNine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	said := map[string]bool{}
	for generation := range 8 {
		cmd, lines := child(t, "write", path, fmt.Sprintf("GENERATION=%d", generation))
		for n := 1 + rand.IntN(60); n > 0 && lines.Scan(); n-- {
			said[lines.Text()] = true
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			said[lines.Text()] = true
		}
		cmd.Wait()
	}
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stored := 0
	for tr, err := range s.Trials(bg, "") {
		if err != nil {
			t.Fatal(err)
		}
		stored++
		delete(said, tr.Key.Item)
		if last, _ := tr.Last(); len(tr.Attempts) != 1 || last.Output == nil || last.Output.Answer != tr.Key.Item || len(last.Turns) != 1 || len(last.Turns[0].Trace.Chunks) != 2 {
			t.Errorf("torn: %+v", tr)
		}
	}
	if len(said) > 0 || stored < 8 {
		t.Errorf("%d trials stored; lost: %v", stored, said)
	}
	if got := plain(t, s, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
	if got := plain(t, s, "PRAGMA foreign_key_check"); got != "" {
		t.Error(got)
	}
}

// TestSecondProcess: it is told so, may read, and is let in when the first is
// killed: no stale lock stays.
func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	cmd, lines := child(t, "hold", path)
	if !lines.Scan() || lines.Text() != "held" {
		t.Fatalf("the child said %q", lines.Text())
	}
	if s, err := Open(bg, path); !errors.Is(err, results.FaultInUse) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "wait for the other process") {
		t.Errorf("got %v %v", s, err)
	}
	r, err := OpenReader(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	if got := collect(t, r.Rows(bg, "cot")); len(got) != 1 || got[0].Key.Item != "held" {
		t.Errorf("read %+v", got)
	}
	if err := r.PutTrial(bg, answered(key("1"), "x", time.Second)); !errors.Is(err, results.FaultReading) {
		t.Errorf("a reader wrote: %v", err)
	}
	collect(t, r.Judgments(bg, "cot"))
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	s, err := Open(bg, path)
	if err != nil {
		t.Fatalf("after the other process was killed: %v", err)
	}
	if _, ok, err := s.Trial(bg, key("held")); !ok || err != nil {
		t.Error(ok, err)
	}
	if again, err := Open(bg, path); !errors.Is(err, results.FaultInUse) {
		t.Errorf("a second time in one process: %v %v", again, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	for i := range 2 { // closing gives the lock back
		s, err := Open(bg, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.PutTrial(bg, answered(key(fmt.Sprint(i)), "x", time.Second)); err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if err := s.PutTrial(bg, answered(key("late"), "x", time.Second)); !errors.Is(err, results.FaultClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the WAL was left behind: %v", err)
		}
	}
	if _, err := OpenReader(bg, path+".none"); !errors.Is(err, results.FaultMissing) || !strings.Contains(err.Error(), "assay run") {
		t.Errorf("got %v", err)
	}
}

// filled is the bytes of a closed store with some trials.
func filled(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := s.PutTrial(bg, answered(key(fmt.Sprint(i)), strings.Repeat("word ", 500), time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamagedFiles: what is not a sound store is refused, or fails where the
// damage is met, with words that say what can be done; and it is not touched.
func TestDamagedFiles(t *testing.T) {
	good := filled(t)
	for _, c := range []struct {
		name  string
		bytes []byte
	}{
		{"text", []byte(strings.Repeat("this is no database at all\n", 300))},
		{"short", []byte("SQLite")},
		{"header only", good[:100]},
		{"half a page", good[:2048]},
		{"one page", good[:4096]},
		{"half", good[:len(good)/8192*4096]},
		{"last page cut", good[:len(good)-4096]},
		{"last bytes cut", good[:len(good)-7]},
		{"header overwritten", append(bytes.Repeat([]byte{0xa5}, 16), good[16:]...)},
		{"schema overwritten", append(append(append([]byte{}, good[:100]...), bytes.Repeat([]byte{0xa5}, 3996)...), good[4096:]...)},
		{"all but the schema overwritten", append(append([]byte{}, good[:4096]...), bytes.Repeat([]byte{0xa5}, len(good)-4096)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.sqlite")
			if err := os.WriteFile(path, c.bytes, 0o644); err != nil {
				t.Fatal(err)
			}
			use := func(s *Store, err error) error {
				if err != nil {
					return err
				}
				defer s.Close()
				for _, err := range s.Trials(bg, "") {
					if err != nil {
						return err
					}
				}
				return nil
			}
			for name, err := range map[string]error{"Open": use(Open(bg, path)), "OpenReader": use(OpenReader(bg, path))} {
				if !errors.Is(err, results.FaultDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "assay store salvage") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	// Cut anywhere, a store opens and reads whole, or is refused: never less than
	// was stored.
	for cut := 0; cut < len(good); cut += 1 + len(good)/37 {
		path := filepath.Join(t.TempDir(), "run.sqlite")
		if err := os.WriteFile(path, good[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(bg, path)
		if cut == 0 { // an empty file is a new store
			if err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, results.FaultDamaged) {
			t.Errorf("the first %d of %d bytes: %v", cut, len(good), err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestDamagedTrace: a trace that does not decode is damage, not a panic.
func TestDamagedTrace(t *testing.T) {
	s := openStore(t)
	if err := s.PutTrial(bg, answered(key("1"), "x", time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Put(bg, "damaging", true, func(t *Tx) error { return t.Exec("UPDATE turn SET trace = x'0105'") }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Trial(bg, key("1")); !errors.Is(err, results.FaultDamaged) || !strings.Contains(err.Error(), "trace") {
		t.Errorf("got %v", err)
	}
	if got := collect(t, s.Rows(bg, "")); len(got) != 1 {
		t.Errorf("the rows do not need the trace: %+v", got)
	}
}

// TestForeignAndNewer: other programs' files and later schemas are left alone.
func TestForeignAndNewer(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		want      results.Fault
		words     string
	}{
		{"foreign", "CREATE TABLE photos (id)", results.FaultForeign, "another path"},
		{"foreign with a version", "PRAGMA user_version = 1", results.FaultForeign, "another path"},
		{"newer", fmt.Sprintf("CREATE TABLE trial (x); PRAGMA application_id = %d; PRAGMA user_version = %d", sqliteApplicationID, len(schema())+1), results.FaultNewer, fmt.Sprintf("version %d", len(schema())+1)},
		{"no version", fmt.Sprintf("PRAGMA application_id = %d", sqliteApplicationID), results.FaultDamaged, "assay store salvage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.sqlite")
			db := openSqlite(path)
			if _, err := db.Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, e1 := Open(bg, path)
				_, e2 := OpenReader(bg, path)
				for _, err := range []error{e1, e2} {
					if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
						t.Errorf("got %v", err)
					}
				}
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// TestFolderThatCannotBeWritten: /proc holds no new files, not even for root.
func TestFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/proc/run.sqlite", "/proc/x/run.sqlite", filepath.Join(file, "run.sqlite")} {
		if _, err := Open(bg, path); !errors.Is(err, results.FaultReadOnly) || !strings.Contains(err.Error(), "bench.yaml") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestReadFromReadOnlyFolder: an archived store can be read.
func TestReadFromReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.sqlite")
	if err := os.WriteFile(path, filled(t), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	r, err := OpenReader(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(collect(t, r.Trials(bg, ""))); n != 40 {
		t.Errorf("%d trials", n)
	}
}

// TestDiskFull: the error says so, what was stored stays, and there is room again
// when there is room again.
func TestDiskFull(t *testing.T) {
	s := openStore(t)
	limit := func(pages string) {
		t.Helper()
		if err := s.file.Put(bg, "limiting", true, func(t *Tx) error {
			return t.Exec("PRAGMA max_page_count = " + pages)
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit("60")
	big := strings.Repeat("word ", 4000)
	stored := 0
	var err error
	for err == nil && stored < 1000 {
		if err = s.PutTrial(bg, answered(key(fmt.Sprint(stored)), big, time.Second)); err == nil {
			stored++
		}
	}
	if !errors.Is(err, results.FaultFull) || !strings.Contains(err.Error(), "free some space") || stored == 0 {
		t.Errorf("after %d trials: %v", stored, err)
	}
	if n := len(collect(t, s.Trials(bg, ""))); n != stored {
		t.Errorf("%d trials, want the %d that were stored", n, stored)
	}
	limit("1000000")
	if err := s.PutTrial(bg, answered(key("more"), big, time.Second)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestDiskFullUnderWhatNobodyWaitsFor: a case is queued and not waited for; the
// judgment that lacks it says why it is not there.
func TestDiskFullUnderWhatNobodyWaitsFor(t *testing.T) {
	s := openStore(t)
	if err := s.PutTrial(bg, answered(key("a"), "left", time.Second)); err != nil {
		t.Fatal(err)
	}
	c := results.Case{Digest: results.DigestOf([]byte("c")), Rubric: "accuracy", Fields: json.RawMessage(`"` + strings.Repeat("word ", 40000) + `"`)}
	if err := s.file.Put(bg, "limiting", true, func(t *Tx) error {
		var n int
		if _, err := t.Scan("PRAGMA page_count", nil, &n); err != nil {
			return err
		}
		return t.Exec(fmt.Sprint("PRAGMA max_page_count = ", n+4))
	}); err != nil {
		t.Fatal(err)
	}
	// Where the writer was quick, the case's own call says so already, and nothing is left
	// to say to the next one.
	err := s.PutCase(bg, key("a"), c)
	if err == nil {
		err = s.PutJudgment(bg, results.Judgment{Case: c.Digest, Rubric: c.Rubric, Judge: "j", Status: results.StatusParse, Detail: "x"})
	}
	if !errors.Is(err, results.FaultFull) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("%v", err)
	}
}

// TestMigration brings a store of every older schema to the present one, through
// Open and through OpenReader, with its content.
func TestMigration(t *testing.T) {
	if len(schema()) < 2 {
		t.Fatal("there is nothing to migrate from")
	}
	for old := 1; old < len(schema()); old++ {
		made := filepath.Join(t.TempDir(), "run.sqlite")
		want := oldStore(t, made, old)
		b, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		for name, open := range map[string]func(context.Context, string) (*Store, error){"Open": Open, "OpenReader": OpenReader} {
			path := filepath.Join(t.TempDir(), "run.sqlite")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := open(bg, path)
			if err != nil {
				t.Fatalf("%s from schema %d: %v", name, old, err)
			}
			if got := collect(t, s.Trials(bg, "")); !reflect.DeepEqual(got, want) {
				t.Errorf("%s from schema %d: got %+v\nwant %+v", name, old, got, want)
			}
			if got := plain(t, s, "SELECT answer, latency_ms FROM v_trials"); got != "left|2000" {
				t.Errorf("%s from schema %d: %q", name, old, got)
			}
			if got := plain(t, s, "PRAGMA user_version"); got != fmt.Sprint(len(schema())) {
				t.Errorf("schema %s", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// openSqlite is the file as another program has it.
func openSqlite(path string) *sql.DB {
	otherProgram()
	db, err := sql.Open("sqlite3", URI(path, "vfs=other", "_pragma=foreign_keys(0)"))
	if err != nil {
		panic(err)
	}
	return db
}

// otherProgram registers a VFS that knows nothing of checksums.
var otherProgram = sync.OnceFunc(func() { vfs.Register("other", noSums{vfs.Find("").(vfs.VFSFilename)}) })

type noSums struct{ vfs.VFSFilename }

func (v noSums) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := v.VFSFilename.OpenFilename(name, flags)
	return f, flags &^ vfs.OPEN_MAIN_DB, err
}

// The application IDs of stores without and with checksums of their pages: "ASSY", "ASYS".
const (
	sqliteApplicationID     = 0x41535359
	sqliteApplicationIDSums = 0x41535953
)

// oldStore makes a store of schema 1 by hand, brings it to schema version old,
// and says what is in it.
func oldStore(t *testing.T, path string, old int) []results.Trial {
	t.Helper()
	want := answered(key("1"), "left", 2*time.Second)
	db := openSqlite(path)
	defer db.Close()
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{schema()[0], nil},
		{`INSERT INTO trial (id, study, model, item, arm, condition, repeat, inputs, attempts, outcome, ttft_ns, latency_ns)
			VALUES (7, 'cot', 'm', '1', 'direct', 'baseline', 0, ?, 1, 'answer', 1000000000, 2000000000)`, []any{string(want.Inputs)}},
		{"INSERT INTO attempt (id, trial, n, started_ns, outcome) VALUES (3, 7, 0, ?, 'answer')", []any{want.Attempts[0].Started.UnixNano()}},
		{"INSERT INTO turn (attempt, n, answer, finish, prompt_tokens, completion_tokens, trace) VALUES (3, 0, 'left', 'stop', 100, 11, ?)", []any{trace(want.Attempts[0].Turns[0].Trace)}},
		{fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", sqliteApplicationID), nil},
	} {
		if _, err := db.Exec(q.sql, q.args...); err != nil {
			t.Fatalf("%s: %v", q.sql, err)
		}
	}
	steps := append(schema()[1:old:old], fmt.Sprintf("PRAGMA user_version = %d", old))
	if _, err := db.Exec("BEGIN;\n" + strings.Join(steps, ";\n") + ";\nCOMMIT"); err != nil { // as the program migrates
		t.Fatal(err)
	}
	return []results.Trial{want}
}

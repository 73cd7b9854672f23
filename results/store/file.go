// File is an SQLite file that one process writes and others read.
//
//  1. OpenFile makes and locks it, refuses what is damaged or is none of ours, and brings
//     it to the present schema; openFileReader reads it while another process writes.
//  2. Put queues changes, which one writer groups into transactions.
//  3. Query reads. Errors say what was attempted, and what to do about it.
//
// It knows nothing of what is in its tables.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"assay/results"
)

// File is one SQLite file. Any number of goroutines may use it; one process at a
// time may write to it, others may read.
type File struct {
	path  string
	want  Schema
	real  string  // the file's own; "": opened for reading
	lock  *sql.DB // nil: opened for reading
	held  *sql.Conn
	write *sql.DB // nil: opened for reading
	read  *sql.DB
	uri   string // of connections that read
	sums  bool   // its pages have checksums; of a store that is written to

	mu     sync.RWMutex // held for reading while an operation is queued
	closed bool
	queue  chan op
	ended  chan struct{} // closed when the writer has finished
	late   lateError
}

// Schema is what the tables of a file are to be.
type Schema struct {
	Steps  []string // SQL from each version to the next; as many as there are versions
	Remade int      // version before which tables are made anew: a file of before is copied first
	New    string   // SQL that makes in an empty file what the first At steps make, sooner; "": the steps do
	At     int
}

// An application ID marks the file as ours in SQLite's header: "ASSY", and "ASYS"
// where its pages have checksums. A file of the second kind without them is damaged.
const (
	applicationID     = 0x41535359
	applicationIDSums = 0x41535953
)

// readCache, in KiB per reading connection, holds the inner pages of a million trials.
const readCache = "_pragma=cache_size(-24576)"

// OpenFile opens or creates the store at path for writing, migrating an older
// schema. Only one process may have it open so; the lock ends with the process,
// however that ends. The error is a Fault where the file cannot be used, and
// says what can be done.
func OpenFile(ctx context.Context, path string, want Schema) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	f := &File{path: path, want: want}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the store %s: %w: %v; give another path under store: in bench.yaml", path, results.FaultReadOnly, err)
	}
	abs = target(abs)
	if err := f.openWriter(ctx, abs); err != nil {
		err = f.Fail("opening it", err)
		f.closeFiles()
		return nil, err
	}
	f.read = open(abs, VFS(), "_pragma=query_only(1)", "_pragma=busy_timeout(10000)", readCache)
	f.uri = URI(abs, VFS(), "mode=ro")
	f.queue, f.ended = make(chan op, 256), make(chan struct{})
	conn, err := f.write.Conn(ctx)
	if err != nil {
		err = f.Fail("opening it", err)
		f.closeFiles()
		return nil, err
	}
	go f.writer(conn)
	return f, nil
}

// openFileReader opens an existing store for reading, also while a run writes to it.
// A store of an older schema is migrated first, which needs the lock that Open
// takes.
func openFileReader(ctx context.Context, path string, want Schema) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("reading the store %s: %w; assay run makes it", path, results.FaultMissing)
	}
	f := &File{path: path, want: want}
	abs = target(abs)
	if err := sound(abs); err != nil {
		return nil, f.Fail("reading it", err)
	}
	how := readersOf(ctx, abs)
	f.read = open(abs, append(how, "_pragma=busy_timeout(10000)", readCache)...)
	f.uri = URI(abs, how...)
	old, err := version(ctx, f.read, abs, len(want.Steps))
	if err == nil && old == 0 {
		err = results.FaultForeign
	}
	if err != nil {
		err = f.Fail("reading it", err)
		f.closeFiles()
		return nil, err
	}
	if old < len(want.Steps) {
		f.closeFiles()
		w, err := OpenFile(ctx, path, want)
		if err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return openFileReader(ctx, path, want)
	}
	return f, nil
}

// openDamaged is a file for Query and One, whatever state it is in; nothing is written.
func openDamaged(path string) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("reading the store %s: %w", path, err)
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("reading the store %s: %w", path, results.FaultMissing)
	}
	// With writable_schema SQLite reads the pages that a file was cut to; mode=ro
	// keeps it from writing any. The driver takes our checksums for its own.
	return &File{path: path, read: open(abs, "mode=ro", "immutable=1", "_pragma=checksum_verification(0)", "_pragma=writable_schema(1)")}, nil
}

// readersOf is the parameters of URI that a store is read with. Where SQLite cannot make
// what stands beside a WAL file, as in a folder that cannot be written or on a full
// disk, one that was closed properly is read as it stands.
func readersOf(ctx context.Context, abs string) []string {
	how := []string{VFS(), "mode=ro"}
	db := open(abs, how...)
	defer db.Close()
	var n int
	err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	if log, none := os.Stat(abs + "-wal"); cannotOpen(err) && (none != nil || log.Size() == 0) {
		how[1] = "immutable=1"
	}
	return how
}

// URI is the name of the file at an absolute path for SQLite, with parameters.
func URI(path string, params ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	// The driver would begin every transaction as a writer, and make times of texts that look like some.
	u := url.URL{Scheme: "file", Path: p, RawQuery: strings.Join(append(slices.Clip(params), "_txlock=deferred", "_timefmt=sqlite"), "&")}
	return u.String()
}

// blankFile makes an empty file of a schema.
func blankFile(ctx context.Context, path string, want Schema) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := create(abs); err != nil {
		return fmt.Errorf("making the store %s: %w: %w", path, results.FaultReadOnly, err)
	}
	db := open(abs, VFS(), Writer)
	defer db.Close()
	db.SetMaxOpenConns(1)
	return migrate(ctx, db, want, 0, true)
}

func open(path string, params ...string) *sql.DB {
	if !slices.ContainsFunc(params, func(p string) bool { return strings.Contains(p, "busy_timeout") }) {
		params = append(slices.Clip(params), "_pragma=busy_timeout(0)") // the driver's is a minute
	}
	db, err := openURI(URI(path, params...))
	if err != nil {
		panic("store: internal error: " + err.Error()) // no file is touched yet
	}
	return db
}

func (f *File) openWriter(ctx context.Context, abs string) error {
	if err := sound(abs); err != nil {
		return err
	}
	// One lock is a transaction held open on a file of its own: SQLite's locks end with
	// the process on every system, and the store itself stays readable. It belongs to
	// the name; Writer locks the file, which may have several.
	if err := reserve(abs + ".lock"); err != nil {
		return fmt.Errorf("%w: %w", results.FaultReadOnly, err)
	}
	f.lock = open(abs+".lock", VFS(), "_pragma=busy_timeout(0)")
	f.lock.SetMaxOpenConns(1)
	var err error
	if f.held, err = f.lock.Conn(ctx); err != nil {
		return err
	}
	if _, err := f.held.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		if code(err) == sqlite3.BUSY {
			return results.FaultInUse
		}
		return err
	}
	// We have it now: whoever was stopping has stopped.
	_ = os.Remove(abs + stoppingEnd)
	f.real = abs
	if err := create(abs); err != nil {
		return fmt.Errorf("%w: %w", results.FaultReadOnly, err)
	}
	f.write = open(abs, VFS(), Writer, "_pragma=busy_timeout(10000)", "_pragma=foreign_keys(1)", "_pragma=synchronous(FULL)")
	f.write.SetMaxOpenConns(1)
	old, err := version(ctx, f.write, abs, len(f.want.Steps))
	if err != nil {
		return err
	}
	// Only now: a file that is refused must stay as it is.
	if _, err := f.write.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	f.sums = hasSums(abs)
	if err := keep(ctx, f.write, abs, old, f.want.Remade); err != nil {
		return err
	}
	return migrate(ctx, f.write, f.want, old, f.sums)
}

// stoppingEnd is of the file beside a store that says who has it and is stopping.
const stoppingEnd = ".stopping"

// MarkStopping says to others that this process, which writes to the store, is about
// to close it. Closing it, or opening it after a kill, takes that back.
func (f *File) MarkStopping() {
	if f.real != "" {
		_ = os.WriteFile(f.real+stoppingEnd, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
	}
}

// Stopping is the process that writes to the store at path and is about to close it;
// false: there is none, or it does not say so.
func Stopping(path string) (pid int, ok bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return 0, false
	}
	b, err := os.ReadFile(target(abs) + stoppingEnd)
	if err != nil {
		return 0, false
	}
	_, err = fmt.Sscan(string(b), &pid)
	return pid, err == nil
}

// reserve makes an empty file that its owner alone can read, unless there is a file.
func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// target is where the symbolic links of a path end, also where nothing is there yet:
// what lies beside a store belongs to the file, not to the link.
func target(abs string) string {
	const most = 40 // links, as Linux has it
	for range most {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real
		}
		to, err := os.Readlink(abs)
		if err != nil {
			if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
				return filepath.Join(dir, filepath.Base(abs))
			}
			return abs
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(abs), to)
		}
		abs = to
	}
	return abs
}

// sound refuses what cannot be a store before SQLite touches it, or waits for it for
// ever: a folder, a FIFO, a device; and a damaged log, which SQLite would cut off in
// silence.
func sound(abs string) error {
	st, err := os.Stat(abs)
	if err != nil {
		return nil // none yet, or opening it will say why
	}
	if !st.Mode().IsRegular() {
		what := "a device"
		switch m := st.Mode(); {
		case m.IsDir():
			what = "a folder"
		case m&os.ModeNamedPipe != 0:
			what = "a FIFO"
		case m&os.ModeSocket != 0:
			what = "a socket"
		}
		return fmt.Errorf("%w: it is %s", results.FaultForeign, what)
	}
	var damage *logDamage
	if err := log(abs + "-wal"); errors.As(err, &damage) {
		return fmt.Errorf("%w: %w", results.FaultDamaged, err)
	}
	return nil
}

// migrate brings the schema from version old to the present one, in one transaction.
func migrate(ctx context.Context, db *sql.DB, want Schema, old int, sums bool) error {
	if old == len(want.Steps) {
		return nil
	}
	var referred bool
	err := db.QueryRowContext(ctx, "PRAGMA foreign_keys").Scan(&referred)
	if err == nil && referred {
		err = foreignKeys(ctx, db, false)
		defer foreignKeys(ctx, db, true)
	}
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if old == 0 && want.New != "" {
		if _, err := tx.ExecContext(ctx, want.New); err != nil {
			return fmt.Errorf("making schema %d: %w", want.At, err)
		}
		old = want.At
	}
	for i, step := range want.Steps[old:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migrating from schema %d to %d: %w", old+i, old+i+1, err)
		}
	}
	id := applicationID
	if sums {
		id = applicationIDSums
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", id, len(want.Steps))); err != nil {
		return err
	}
	return tx.Commit()
}

// foreignKeys switches what SQLite does about them. It has no effect within a
// transaction, and with them on a table that is made anew takes what refers to it
// along.
func foreignKeys(ctx context.Context, db *sql.DB, on bool) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA foreign_keys = %t", on))
	return err
}

// keep copies the file of a store of an older schema beside it, and is done when the
// copy is durable.
func keep(ctx context.Context, db *sql.DB, path string, old, remade int) (err error) {
	if old == 0 || old >= remade {
		return nil
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to := fmt.Sprintf("%s.schema-%d", path, old)
	defer func() {
		if err != nil {
			_ = os.Remove(to)
			if errors.Is(err, syscall.ENOSPC) {
				err = fmt.Errorf("%w: keeping a copy of the older store at %s: %w", results.FaultFull, to, err)
			}
		}
	}()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("%w: keeping a copy of the older store: %w", results.FaultReadOnly, err)
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// version is the schema version of the file; 0: it is new and empty.
func version(ctx context.Context, db *sql.DB, path string, latest int) (int, error) {
	var app, version, objects int
	var page int64
	err := db.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema), page_size
		FROM pragma_application_id, pragma_user_version, pragma_page_size`).Scan(&app, &version, &objects, &page)
	// SQLite takes a last page that was cut for one that ends in zeros.
	if st, e := os.Stat(path); err == nil && e == nil && st.Size()%page != 0 {
		err = fmt.Errorf("%w: it ends within a page, after %d bytes", results.FaultDamaged, st.Size())
	}
	switch {
	case err != nil:
		return 0, err
	case app == 0 && version == 0 && objects == 0:
		return 0, nil
	case app != applicationID && app != applicationIDSums:
		return 0, results.FaultForeign
	case app == applicationIDSums && !hasSums(path):
		return 0, fmt.Errorf("%w: its pages should have checksums, and have none", results.FaultDamaged)
	case version > latest:
		return 0, fmt.Errorf("%w: its schema is version %d, this one knows up to %d", results.FaultNewer, version, latest)
	case version < 1:
		return 0, fmt.Errorf("%w: its schema version is %d", results.FaultDamaged, version)
	}
	return version, nil
}

// Checksummed says whether the pages of a file that is written to have checksums.
func (f *File) Checksummed() bool { return f.sums }

// Close waits for what is being written, and closes the file.
func (f *File) Close() error {
	var err error
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	if f.queue != nil {
		close(f.queue)
	}
	f.mu.Unlock()
	if f.queue != nil {
		<-f.ended
		err = f.late.take()
	}
	if e := f.closeFiles(); err == nil && e != nil {
		err = f.Fail("closing it", e)
	}
	return err
}

// closeFiles closes the writer last but for the lock, so that it is the one that
// folds the WAL into the file, while nobody else can begin to write.
func (f *File) closeFiles() error {
	var errs []error
	if f.real != "" {
		// After the lock: until then others wait.
		defer os.Remove(f.real + stoppingEnd)
	}
	if f.held != nil {
		// Not closed by its pool while it is out; the lock stays until that closes.
		defer f.held.Close()
	}
	for _, db := range []*sql.DB{f.read, f.write, f.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// code is SQLite's primary result code; 0: err is not from SQLite.
func code(err error) (c sqlite3.ErrorCode) {
	errors.As(err, &c)
	return c
}

// extended is SQLite's whole result code; 0: err is not from SQLite.
func extended(err error) (c sqlite3.ExtendedErrorCode) {
	errors.As(err, &c)
	return c
}

func cannotOpen(err error) bool {
	return code(err) == sqlite3.CANTOPEN || code(err) == sqlite3.READONLY || extended(err) == sqlite3.IOERR_SHMSIZE
}

// outOfFiles says whether this process may not open the few files that a store is.
func outOfFiles() bool {
	for range 4 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		}
		defer f.Close()
	}
	return false
}

// Fail names the store, what was attempted, and what to do about it.
func (f *File) Fail(attempt string, err error) error {
	switch code(err) {
	case sqlite3.CANTOPEN:
		if outOfFiles() {
			err = fmt.Errorf("too many files are open: %v", err)
			return &results.Trouble{Path: f.path, Err: fmt.Errorf("store %s: %s: %w; allow more (ulimit -n 4096), or merge some of the stores first, and what that makes with the rest", f.path, attempt, err)}
		}
		err = fmt.Errorf("%w: %v", results.FaultReadOnly, err)
	case sqlite3.NOTADB, sqlite3.CORRUPT:
		err = fmt.Errorf("%w: %v", results.FaultDamaged, err)
	case sqlite3.ERROR:
		// Our statements are right: what they speak of is not there.
		err = fmt.Errorf("%w: its tables are not those of its schema: %v", results.FaultDamaged, err)
	case sqlite3.IOERR:
		switch extended(err) {
		case sqlite3.IOERR_DATA:
			err = fmt.Errorf("%w: a page does not match its checksum", results.FaultDamaged)
		case sqlite3.IOERR_SHMSIZE:
			err = fmt.Errorf("%w: %v", results.FaultFull, err)
		default:
			err = fmt.Errorf("%w: %v", results.FaultDisk, err)
		}
	case secondName:
		err = fmt.Errorf("%w: a run that has not ended writes, or wrote, to this file under another of its names", results.FaultInUse)
	case sqlite3.FULL:
		err = fmt.Errorf("%w: %v", results.FaultFull, err)
	case sqlite3.READONLY, sqlite3.PERM:
		err = fmt.Errorf("%w: %v", results.FaultReadOnly, err)
	case sqlite3.BUSY, sqlite3.LOCKED:
		err = fmt.Errorf("%w: %v", results.FaultInUse, err)
	}
	hint := ""
	for _, h := range []struct {
		fault results.Fault
		hint  string
	}{
		{results.FaultDamaged, "restore a copy, or save what is whole with: assay store salvage " + f.path + " NEW.sqlite"},
		{results.FaultFull, "free some space and run again: what was stored is safe"},
		{results.FaultDisk, "look for a full or failing disk (df, dmesg) and run again: what was stored is safe"},
		{results.FaultReadOnly, "check the permissions of the file and of its folder, or give another path under store: in bench.yaml"},
		{results.FaultInUse, "wait for the other process, or give another path under store: in bench.yaml"},
		{results.FaultNewer, "use that version, or give another path under store: in bench.yaml"},
		{results.FaultForeign, "give another path under store: in bench.yaml"},
	} {
		if errors.Is(err, h.fault) {
			hint = "; " + h.hint
			break
		}
	}
	return &results.Trouble{Path: f.path, Err: fmt.Errorf("store %s: %s: %w%s", f.path, attempt, err, hint)}
}

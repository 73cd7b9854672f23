package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/results"
)

// Saved is what Salvage copied.
type Saved struct {
	From      string         `json:"from"`
	To        string         `json:"to"`
	Checksums bool           `json:"checksums"` // of From: without them a changed value is not told from a true one
	Tables    []checkedTable `json:"tables"`
}

// checkedTable is what was saved of a table.
type checkedTable struct {
	Name string `json:"table"`
	Rows int64  `json:"rows"` // saved
	// Unreadable is how many keys could not be looked up: at most so many rows are lost,
	// or of a table with several rows a key, more.
	Unreadable int64 `json:"unreadable"`
	// Dropped is how many rows were read and left out, since they had lost a part.
	Dropped int64 `json:"dropped"`
}

// Lost says whether anything was.
func (s Saved) Lost() bool {
	for _, t := range s.Tables {
		if t.Unreadable > 0 || t.Dropped > 0 {
			return true
		}
	}
	return false
}

// salvagedEvent is of a store that Salvage made.
const salvagedEvent results.EventKind = "salvaged"

// Salvage copies what can be read of the store at from into a new store at to. A row
// on a page that does not match its checksum cannot be read. It changes nothing at
// from.
func Salvage(ctx context.Context, from, to string) (Saved, error) {
	out := Saved{From: from, To: to}
	fail := func(err error) (Saved, error) {
		return out, fmt.Errorf("salvaging the store %s: %w", from, err)
	}
	if st, err := os.Stat(from); err != nil {
		return fail(results.FaultMissing)
	} else if !st.Mode().IsRegular() {
		return fail(fmt.Errorf("%w: it is no regular file", results.FaultForeign))
	}
	if _, err := os.Lstat(to); err == nil {
		return fail(fmt.Errorf("%s is there already; give the path of a new file", to))
	}
	src, err := reading(ctx, from)
	if err != nil {
		return fail(err)
	}
	defer src.Close()
	src.SetMaxOpenConns(1)
	var version int
	if err := src.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version < 1 {
		return fail(fmt.Errorf("%w: its first page, which says where everything is, cannot be read (%v); restore a copy", results.FaultDamaged, err))
	}
	real, err := absolute(from)
	if err != nil {
		return fail(err)
	}
	out.Checksums = hasSums(real)
	if err := newBlank(ctx, to, version); err != nil {
		return fail(err)
	}
	if err := out.copyTo(ctx, src); err != nil {
		return fail(errors.Join(err, remove(to)))
	}
	// Brings an older schema to the present one.
	st, err := Open(ctx, to)
	if err != nil {
		return fail(err)
	}
	err = st.PutEvent(ctx, results.Event{At: time.Now(), Kind: salvagedEvent, Subject: filepath.Base(from), Text: out.words()})
	return out, errors.Join(err, st.Close())
}

// words are what an event says of a salvage.
func (s *Saved) words() string {
	var lost []string
	for _, t := range s.Tables {
		if t.Unreadable+t.Dropped > 0 {
			lost = append(lost, fmt.Sprintf("%s: %d unreadable, %d dropped", t.Name, t.Unreadable, t.Dropped))
		}
	}
	if len(lost) == 0 {
		return "everything was saved"
	}
	return strings.Join(lost, "; ")
}

// remove takes back a store that could not be filled.
func remove(path string) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *Saved) copyTo(ctx context.Context, src *sql.DB) error {
	abs, err := filepath.Abs(s.To)
	if err != nil {
		return err
	}
	dst, err := openURI(URI(abs, VFS(), Writer, "_pragma=foreign_keys(0)"))
	if err != nil {
		return err
	}
	defer dst.Close()
	dst.SetMaxOpenConns(1)
	// Scores are made anew of what is saved; of what was added some may be lost, and is to be brought again.
	names, err := column(ctx, dst, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('score_bundle', 'score_chunk', 'score_set', 'revision', 'added') ORDER BY rowid")
	if err != nil {
		return err
	}
	conn, err := dst.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, name := range names {
		t, err := newTable(ctx, conn, name)
		if err != nil {
			return err
		}
		if err := t.copyAll(ctx, src, conn); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		s.Tables = append(s.Tables, checkedTable{Name: name, Unreadable: t.unreadable})
	}
	for i := range s.Tables {
		if s.Tables[i].Rows, err = count(ctx, conn, s.Tables[i].Name); err != nil {
			return err
		}
	}
	if err := drop(ctx, conn, names); err != nil {
		return err
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		n, err := count(ctx, conn, t.Name)
		if err != nil {
			return err
		}
		t.Dropped, t.Rows = t.Rows-n, n
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// column is the texts of a query.
func column(ctx context.Context, q queryer, query string) ([]string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func count(ctx context.Context, conn *sql.Conn, name string) (n int64, err error) {
	err = conn.QueryRowContext(ctx, "SELECT count(*) FROM "+name).Scan(&n)
	return n, err
}

// repairTable is one that is being copied, by ranges of a number that its rows have.
type repairTable struct {
	name       string
	key        string // one row may share it with others
	columns    []string
	unreadable int64
}

func newTable(ctx context.Context, conn *sql.Conn, name string) (*repairTable, error) {
	t := &repairTable{name: name, key: "rowid"}
	rowid, err := column(ctx, conn, "SELECT 1 FROM pragma_table_list('"+name+"') WHERE wr = 0")
	if err != nil {
		return nil, err
	}
	if t.columns, err = column(ctx, conn, "SELECT name FROM pragma_table_info('"+name+"') ORDER BY cid"); err != nil || len(rowid) > 0 {
		return t, err
	}
	whole, err := column(ctx, conn, "SELECT name FROM pragma_table_info('"+name+"') WHERE type = 'INTEGER' AND \"notnull\" = 1 ORDER BY cid LIMIT 1")
	if err != nil || len(whole) == 0 {
		return nil, errors.Join(err, fmt.Errorf("table %s has no number to go by", name))
	}
	t.key = whole[0]
	return t, nil
}

func (t *repairTable) copyAll(ctx context.Context, src *sql.DB, conn *sql.Conn) error {
	list := strings.Join(t.columns, ", ")
	put, err := conn.PrepareContext(ctx, "INSERT OR IGNORE INTO "+t.name+" ("+list+") VALUES (?"+strings.Repeat(", ?", len(t.columns)-1)+")")
	if err != nil {
		return err
	}
	defer put.Close()
	get := "SELECT " + t.key + ", " + list + " FROM " + t.name + " WHERE " + t.key + " BETWEEN ? AND ? ORDER BY " + t.key
	var top sql.NullInt64
	if err := src.QueryRowContext(ctx, "SELECT max("+t.key+") FROM "+t.name).Scan(&top); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// As many as the file could hold.
		var pages int64
		if err := src.QueryRowContext(ctx, "SELECT page_count FROM pragma_page_count, sqlite_schema LIMIT 1").Scan(&pages); err != nil {
			return fmt.Errorf("%w: the pages that say where its tables are cannot be read; restore a copy", results.FaultDamaged)
		}
		top = sql.NullInt64{Int64: pages * 64, Valid: true}
	}
	if !top.Valid {
		return nil
	}
	return t.copy(ctx, src, conn, put, get, 0, top.Int64)
}

// copy saves the rows with keys from lo to hi; around what cannot be read it halves
// the range.
func (t *repairTable) copy(ctx context.Context, src *sql.DB, conn *sql.Conn, put *sql.Stmt, get string, lo, hi int64) error {
	reached, unread, err := t.copyRange(ctx, src, put, get, lo, hi)
	if err != nil || unread == nil {
		return err
	}
	if lo = max(lo, reached); lo == hi {
		t.unreadable++
		return t.forget(ctx, conn, lo)
	}
	mid := lo + (hi-lo)/2
	return errors.Join(t.copy(ctx, src, conn, put, get, lo, mid), t.copy(ctx, src, conn, put, get, mid+1, hi))
}

// forget takes back what was saved of a key whose other rows cannot be read, and an
// attempt whose turns cannot: nothing else says how many it had.
func (t *repairTable) forget(ctx context.Context, conn *sql.Conn, key int64) error {
	_, err := conn.ExecContext(ctx, "DELETE FROM "+t.name+" WHERE "+t.key+" = ?", key)
	if err == nil && t.name == "turn" {
		_, err = conn.ExecContext(ctx, "DELETE FROM attempt WHERE id = ?", key)
	}
	return err
}

// copyRange reaches a key; unread says why it did not come to the end, err that
// nothing can be written.
func (t *repairTable) copyRange(ctx context.Context, src *sql.DB, put *sql.Stmt, get string, lo, hi int64) (reached int64, unread, err error) {
	rows, unread := src.QueryContext(ctx, get, lo, hi)
	if unread != nil {
		return lo, unread, ctx.Err()
	}
	defer rows.Close()
	values := make([]any, 1+len(t.columns))
	dest := make([]any, len(values))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if unread := rows.Scan(dest...); unread != nil {
			return reached, unread, nil
		}
		reached, _ = values[0].(int64)
		if _, err := put.ExecContext(ctx, values[1:]...); err != nil {
			return reached, nil, err
		}
	}
	return reached, rows.Err(), ctx.Err()
}

// drop leaves out what has lost a part, and what belongs to it, until nothing has.
func drop(ctx context.Context, conn *sql.Conn, names []string) error {
	var deletes []string
	for _, name := range names {
		rows, err := conn.QueryContext(ctx, "SELECT id, seq, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list('"+name+"') ORDER BY id, seq")
		if err != nil {
			return err
		}
		keys := map[int]*strings.Builder{}
		ends := map[int]string{}
		for rows.Next() {
			var id, seq int
			var parent, from, to string
			if err := rows.Scan(&id, &seq, &parent, &from, &to); err != nil {
				rows.Close()
				return err
			}
			if keys[id] == nil {
				keys[id] = &strings.Builder{}
				fmt.Fprintf(keys[id], "DELETE FROM %s WHERE %s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s AS up WHERE TRUE", name, from, parent)
				ends[id] = ")"
			}
			fmt.Fprintf(keys[id], " AND up.%s = %s.%s", to, name, from)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for id, b := range keys {
			deletes = append(deletes, b.String()+ends[id])
		}
	}
	for _, q := range lacking {
		deletes = append(deletes, "DELETE FROM "+q.table+" WHERE "+q.where)
	}
	for {
		var gone int64
		for _, q := range deletes {
			res, err := conn.ExecContext(ctx, q)
			if err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			gone += n
		}
		if gone == 0 {
			return nil
		}
	}
}

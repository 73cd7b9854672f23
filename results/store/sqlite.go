// Rows are read straight from SQLite's library: of a million trials with all
// that judges said, database/sql and the copies that it makes take as long as SQLite.
//
//  1. connectSQLite connects to a file. A sqliteConn and its statements are of one goroutine.
//  2. Prepare makes a sqliteStmt; Bind says of what, Next goes through the rows.
//  3. Columns are read by their place, from 0. Bytes are SQLite's own, until the next row.

package store

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteError is what SQLite refused.
type sqliteError struct {
	code int
	msg  string
}

func (e *sqliteError) Error() string { return fmt.Sprintf("%s (%d)", e.msg, e.code) }

// Code is SQLite's whole result code.
func (e *sqliteError) Code() int { return e.code }

// sqliteConn is a connection.
type sqliteConn struct {
	tls   *libc.TLS
	db    uintptr
	stmts []*sqliteStmt
}

// connectSQLite connects to the file of a URI, whose parameters vfs and mode count, and runs
// pragmas.
func connectSQLite(uri string, pragmas ...string) (*sqliteConn, error) {
	c := &sqliteConn{tls: libc.NewTLS()}
	name, err := libc.CString(uri)
	if err != nil {
		c.tls.Close()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	out := cursorReserve[uintptr](c.tls)
	if out == 0 {
		c.tls.Close()
		return nil, noMemory()
	}
	defer libc.Xfree(c.tls, out)
	// No lock of its own: a connection is of one goroutine.
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, out, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = *at[uintptr](out)
	if rc == sqlite3.SQLITE_OK {
		sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	} else {
		err = c.error(rc)
	}
	for _, p := range pragmas {
		if err == nil {
			err = c.Exec("PRAGMA " + p)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection with its statements.
func (c *sqliteConn) Close() {
	for _, s := range c.stmts {
		s.free()
	}
	sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	c.tls.Close()
}

// Exec runs a statement that has no parameters, and leaves its rows unread.
func (c *sqliteConn) Exec(query string) error {
	s, err := c.Prepare(query)
	if err != nil {
		return err
	}
	for s.Next() {
	}
	return s.Err()
}

func (c *sqliteConn) error(rc int32) error {
	msg := "out of memory"
	if p := sqlite3.Xsqlite3_errmsg(c.tls, c.db); p != 0 {
		msg = libc.GoString(p)
	}
	return &sqliteError{int(rc), msg}
}

func noMemory() error { return &sqliteError{sqlite3.SQLITE_NOMEM, "out of memory"} }

// sqliteStmt is a prepared statement.
type sqliteStmt struct {
	c     *sqliteConn
	p     uintptr
	texts []uintptr // bound
	err   error
}

// Prepare makes a statement of a query.
func (c *sqliteConn) Prepare(query string) (*sqliteStmt, error) {
	text, err := libc.CString(query)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	out := cursorReserve[uintptr](c.tls)
	if out == 0 {
		return nil, noMemory()
	}
	defer libc.Xfree(c.tls, out)
	if rc := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, out, 0); rc != sqlite3.SQLITE_OK {
		return nil, c.error(rc)
	}
	s := &sqliteStmt{c: c, p: *at[uintptr](out)}
	c.stmts = append(c.stmts, s)
	return s, nil
}

// Bind begins the rows of these values of ?1, ?2 and so on, which are texts and whole
// numbers.
func (s *sqliteStmt) Bind(values ...any) {
	s.err = nil
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	s.forget()
	for i, v := range values {
		rc := int32(sqlite3.SQLITE_MISUSE)
		switch v := v.(type) {
		case int64:
			rc = sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i+1), v)
		case string:
			text := libc.Xmalloc(s.c.tls, libc.Tsize_t(len(v)+1)) // never none, which would be NULL
			if text == 0 {
				s.err = noMemory()
				return
			}
			s.texts = append(s.texts, text)
			copy(unsafe.Slice(at[byte](text), len(v)), v)
			rc = sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i+1), text, int32(len(v)), 0)
		}
		if rc != sqlite3.SQLITE_OK {
			s.err = s.c.error(rc)
			return
		}
	}
}

// BindInt is Bind of one number, which is done for every trial.
func (s *sqliteStmt) BindInt(place int, v int64) {
	if place == 1 {
		s.err = nil
		sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	}
	if rc := sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(place), v); rc != sqlite3.SQLITE_OK && s.err == nil {
		s.err = s.c.error(rc)
	}
}

func (s *sqliteStmt) forget() {
	for _, t := range s.texts {
		libc.Xfree(s.c.tls, t)
	}
	s.texts = s.texts[:0]
}

func (s *sqliteStmt) free() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	s.forget()
}

// Next goes to the next row; false: there is none, or Err says why there is not.
func (s *sqliteStmt) Next() bool {
	if s.err != nil {
		return false
	}
	rc := sqlite3.Xsqlite3_step(s.c.tls, s.p)
	if rc == sqlite3.SQLITE_ROW {
		return true
	}
	if rc != sqlite3.SQLITE_DONE {
		s.err = s.c.error(rc)
	}
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	return false
}

// Err is why the rows ended early.
func (s *sqliteStmt) Err() error { return s.err }

// Null says that a column has no value.
func (s *sqliteStmt) Null(column int) bool {
	return sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(column)) == sqlite3.SQLITE_NULL
}

// Int is a whole number; of NULL 0.
func (s *sqliteStmt) Int(column int) int64 {
	return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(column))
}

// Float is a number; of NULL 0.
func (s *sqliteStmt) Float(column int) float64 {
	return sqlite3.Xsqlite3_column_double(s.c.tls, s.p, int32(column))
}

// Bytes is a text or blob, until the next row; of NULL and of an empty one nil.
func (s *sqliteStmt) Bytes(column int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(column))
	if p == 0 {
		return nil
	}
	return unsafe.Slice(at[byte](p), sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(column)))
}

// cursorReserve asks for room where SQLite writes addresses to. 0: there is none.
func cursorReserve[T any](tls *libc.TLS) uintptr {
	var t T
	return libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(t)))
}

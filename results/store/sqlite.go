// Rows are read straight from SQLite: of a million trials with all that judges said, database/sql
// and the copies that it makes take as long as SQLite.
//
//  1. connectSQLite connects to a file. A sqliteConn and its statements are of one goroutine.
//  2. Prepare makes a sqliteStmt; Bind says of what, Next goes through the rows.
//  3. Columns are read by their place, from 0. Bytes are SQLite's own, until the next row.

package store

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// MostMemory is how much a connection may take, in bytes: SQLite sorts in memory, and the driver's
// 256 MB are too little for a million trials. What is not used costs addresses alone.
const MostMemory = 2 << 30

// roomy connects with MostMemory.
type roomy struct{ sqldriver.Connector }

func (r roomy) Connect(ctx context.Context) (sqldriver.Conn, error) {
	return r.Connector.Connect(sqlite3.WithMaxMemory(ctx, MostMemory))
}

// openURI is sql.Open of a URI, with MostMemory.
func openURI(uri string) (*sql.DB, error) {
	c, err := (&driver.SQLite{}).OpenConnector(uri)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(roomy{c}), nil
}

// sqliteConn is a connection.
type sqliteConn struct {
	*sqlite3.Conn
	stmts []*sqliteStmt
}

// connectSQLite connects to the file of a URI, whose parameters vfs and mode count, and runs
// pragmas.
func connectSQLite(uri string, pragmas ...string) (*sqliteConn, error) {
	db, err := sqlite3.OpenFlags(uri, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	c := &sqliteConn{Conn: db}
	for _, p := range pragmas {
		if err := c.Exec("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Prepare makes a statement of a query.
func (c *sqliteConn) Prepare(query string) (*sqliteStmt, error) {
	s, _, err := c.Conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	out := &sqliteStmt{Stmt: s}
	c.stmts = append(c.stmts, out)
	return out, nil
}

// Close ends the connection with its statements.
func (c *sqliteConn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Stmt.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

// sqliteStmt is a prepared statement, which ends with its connection.
type sqliteStmt struct {
	*sqlite3.Stmt
	err error
}

// Bind begins the rows of these values of ?1, ?2 and so on, which are texts and whole
// numbers.
func (s *sqliteStmt) Bind(values ...any) {
	s.err = s.Reset()
	for i, v := range values {
		err := error(sqlite3.MISUSE)
		switch v := v.(type) {
		case int64:
			err = s.Stmt.BindInt64(i+1, v)
		case string:
			err = s.Stmt.BindText(i+1, v)
		}
		if s.err == nil {
			s.err = err
		}
	}
}

// BindInt is Bind of one number, which is done for every trial.
func (s *sqliteStmt) BindInt(place int, v int64) {
	if place == 1 {
		s.err = s.Reset()
	}
	if err := s.Stmt.BindInt64(place, v); s.err == nil {
		s.err = err
	}
}

// Next goes to the next row; false: there is none, or Err says why there is not.
func (s *sqliteStmt) Next() bool {
	if s.err != nil {
		return false
	}
	if s.Step() {
		return true
	}
	s.err = s.Reset() // what ended the rows
	return false
}

// Err is why the rows ended early.
func (s *sqliteStmt) Err() error { return s.err }

// Null says that a column has no value.
func (s *sqliteStmt) Null(column int) bool { return s.ColumnType(column) == sqlite3.NULL }

// Int is a whole number; of NULL 0.
func (s *sqliteStmt) Int(column int) int64 { return s.ColumnInt64(column) }

// Float is a number; of NULL 0.
func (s *sqliteStmt) Float(column int) float64 { return s.ColumnFloat(column) }

// Bytes is a text or blob, until the next row; of NULL and of an empty one nil.
func (s *sqliteStmt) Bytes(column int) []byte { return s.ColumnRawBlob(column) }

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
)

// Query iterates over the rows of a query; scan reads the present one.
func Query[T any](ctx context.Context, f *File, attempt, query string, args []any, scan func(row func(...any) error) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := f.read.QueryContext(ctx, query, args...)
		if err != nil {
			yield(none, f.Fail(attempt, err))
			return
		}
		defer rows.Close()
		row := rows.Scan // once: of a million rows
		for rows.Next() {
			v, err := scan(row)
			if err != nil {
				yield(none, f.Fail(attempt, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, f.Fail(attempt, err))
		}
	}
}

// connect is a connection of its own, whose statements read one state of the file until
// it is closed. The cache is in KiB.
func (f *File) connect(attempt string, cache int) (*sqliteConn, error) {
	c, err := connectSQLite(f.uri, "busy_timeout(10000)", fmt.Sprintf("cache_size(-%d)", cache))
	if err == nil {
		if err = c.Exec("BEGIN"); err != nil {
			c.Close()
		}
	}
	if err != nil {
		return nil, f.Fail(attempt, err)
	}
	return c, nil
}

// One reads the one row of a query; false: there is none.
func (f *File) One(ctx context.Context, attempt, query string, args []any, dest ...any) (bool, error) {
	err := f.read.QueryRowContext(ctx, query, args...).Scan(dest...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, f.Fail(attempt, err)
	}
	return true, nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"assay/results"
)

// op is one change to the store.
type op struct {
	do   func(*Tx) error
	done chan<- error // nil: nobody waits; an error goes to late
}

// lateError is the first error of an operation that nobody waited for.
type lateError struct {
	mu  sync.Mutex
	err error
}

func (l *lateError) put(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *lateError) take() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	l.err = nil
	return err
}

// Tx is the writer's connection with its prepared statements.
type Tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// The writer is not interrupted: contexts end before an operation is queued.
func (t *Tx) stmt(query string) (*sql.Stmt, error) {
	if st, ok := t.stmts[query]; ok {
		return st, nil
	}
	st, err := t.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.stmts[query] = st
	}
	return st, err
}

// Exec changes something.
func (t *Tx) Exec(query string, args ...any) error {
	st, err := t.stmt(query)
	if err == nil {
		_, err = st.ExecContext(context.Background(), args...)
	}
	return err
}

// Scan reads one row; false: there is none.
func (t *Tx) Scan(query string, args []any, dest ...any) (bool, error) {
	st, err := t.stmt(query)
	if err == nil {
		err = st.QueryRowContext(context.Background(), args...).Scan(dest...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Rows reads all rows of a query.
func (t *Tx) Rows(query string, args ...any) (out [][]any, err error) {
	st, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		out = append(out, values)
	}
	return out, rows.Err()
}

// writer runs the queue. What is queued while a transaction is being synced
// shares the next one, so that many writers pay for one sync.
func (f *File) writer(conn *sql.Conn) {
	defer close(f.ended)
	t := &Tx{conn: conn, stmts: map[string]*sql.Stmt{}}
	var batch []op
	for first := range f.queue {
		batch = append(batch[:0], first)
	more:
		for len(batch) < cap(f.queue) {
			select {
			case o, ok := <-f.queue:
				if !ok {
					break more
				}
				batch = append(batch, o)
			default:
				break more
			}
		}
		f.commit(t, batch)
	}
	t.close()
}

func (t *Tx) close() {
	for _, st := range t.stmts {
		st.Close()
	}
	t.conn.Close()
}

// fill has a file that nobody uses yet written in one transaction: nothing is synced, and
// what rows refer to need not be there yet.
func fill(ctx context.Context, path string, do func(*Tx) error) (err error) {
	db := open(path, VFS(), Writer, "_pragma=foreign_keys(0)", "_pragma=synchronous(OFF)")
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	t := &Tx{conn: conn, stmts: map[string]*sql.Stmt{}}
	defer t.close()
	return t.whole(func() error { return do(t) })
}

// whole runs do in a transaction.
func (t *Tx) whole(do func() error) error {
	err := t.Exec("BEGIN IMMEDIATE")
	if err == nil {
		err = do()
	}
	if err == nil {
		err = t.Exec("COMMIT")
	}
	if err != nil {
		// After some errors SQLite has rolled back by itself.
		_ = t.Exec("ROLLBACK")
	}
	return err
}

// commit runs a batch in one transaction. When that fails, each operation gets
// a transaction of its own, so that one that cannot be done fails alone.
func (f *File) commit(t *Tx, batch []op) {
	err := t.whole(func() error {
		for _, o := range batch {
			if err := o.do(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(batch) > 1 {
		for i := range batch {
			f.commit(t, batch[i:i+1])
		}
		return
	}
	for _, o := range batch {
		if o.done != nil {
			o.done <- err
		} else if err != nil {
			f.late.put(err)
		}
	}
}

// Put queues a change. With wait it returns when the change is durable.
func (f *File) Put(ctx context.Context, attempt string, wait bool, do func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("store %s: %s: %w", f.path, attempt, err)
	}
	o := op{do: do}
	done := make(chan error, 1)
	if wait {
		o.done = done
	}
	f.mu.RLock()
	switch {
	case f.closed:
		f.mu.RUnlock()
		return f.Fail(attempt, results.FaultClosed)
	case f.queue == nil:
		f.mu.RUnlock()
		return f.Fail(attempt, results.FaultReading)
	}
	f.queue <- o
	f.mu.RUnlock()
	var err error
	if wait {
		err = <-done
	}
	if late := f.late.take(); late != nil {
		err = late // it came first, and may be why this failed
	}
	if err != nil {
		return f.Fail(attempt, err)
	}
	return nil
}

// Flush waits until everything queued before is stored.
func (f *File) Flush(ctx context.Context) error {
	if f.queue == nil {
		return nil
	}
	return f.Put(ctx, "writing", true, func(*Tx) error { return nil })
}

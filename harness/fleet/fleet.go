// Package fleet keeps experiments that several machines work on in a PostgreSQL
// database, with River's queues.
//
//  1. An experiment is cut into slices: one part of the items for one model,
//     50 to 200 trials (Submit). A slice has an epoch, and a job of River for each
//     epoch.
//  2. A worker (worker.go) that gets a job claims its slice for its host (Claim), and says
//     every few seconds that it lives (Beat). The trials are made into a store on
//     its own disk. The workers of one machine wait for each other: timed slices have
//     their GPUs to themselves (turn.go).
//  3. Store uploads that, with a row for each trial, and completes the job: all in
//     one transaction, and only if the slice's epoch is still that of the job.
//  4. A slice whose host is silent gets the next epoch and another job (Reap).
//     River's own rescue, retries and leader are not used: what they would do
//     rests on clocks of jobs, not on whether a host lives.
//  5. Stored and Load read what came in. pull.go brings it into one store, watch.go says how
//     far it is.
package fleet

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schema holds all tables, River's too.
const schema = "assay"

// Fleet is a database. It may be used from several goroutines.
type Fleet struct {
	pool     *pgxpool.Pool
	password string
	queue    *river.Client[pgx.Tx] // inserts
}

// Open connects to the database at an address; "": that in the environment (see
// Variable). Errors hold no password; an address that cannot be used is an AddressError.
func Open(ctx context.Context, address string, env func(string) string) (*Fleet, error) {
	cfg, err := settings(address, env)
	if err != nil {
		return nil, err
	}
	f := &Fleet{password: cfg.ConnConfig.Password}
	if f.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", mask(err, f.password))
	}
	if err := f.pool.Ping(ctx); err != nil {
		f.pool.Close()
		return nil, fmt.Errorf("connecting to the database: %w", mask(err, f.password))
	}
	if f.queue, err = river.NewClient(riverpgxv5.New(f.pool), &river.Config{Schema: schema, Logger: silent()}); err != nil {
		f.pool.Close()
		return nil, err
	}
	return f, nil
}

// Close ends all connections.
func (f *Fleet) Close() { f.pool.Close() }

// Reset closes the connections that are kept; the next to ask makes new ones.
func (f *Fleet) Reset() { f.pool.Reset() }

// silent is River's log: its errors come back as ours, by slices that nobody has.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fail says what was tried.
func (f *Fleet) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, mask(err, f.password))
}

// in runs do in a transaction.
func (f *Fleet) in(ctx context.Context, what string, do func(pgx.Tx) error) error {
	return f.fail(what, pgx.BeginFunc(ctx, f.pool, do))
}

//go:embed schema/*.sql
var steps embed.FS

// migrations are ours, the first is version 1.
func migrations() ([]string, error) {
	names, err := fs.Glob(steps, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var out []string
	for i, name := range names {
		n, _, _ := strings.Cut(path.Base(name), "_")
		if v, err := strconv.Atoi(n); err != nil || v != i+1 {
			return nil, fmt.Errorf("fleet: internal error: %s is migration number %d", name, i+1)
		}
		text, err := steps.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// Keys of PostgreSQL's advisory locks, which all programs of a database share.
const (
	lockMigrate = 0x61737361_79000001
	lockReap    = 0x61737361_79000002
	lockSubmit  = 0x61737361_79000003
)

// ErrNewer is a database whose tables a newer assay made.
var ErrNewer = errors.New("its tables were made by a newer assay: update this one")

// ErrNoTables is a database in which nothing was submitted.
var ErrNoTables = errors.New("it has no tables of assay: assay fleet submit makes them")

// errOlder is a database that is to be brought up to date.
var errOlder = errors.New("its tables were made by an older assay: assay fleet submit of this one brings them up to date")

// Migrate makes the tables, or brings them up to date: ours and River's, one process at
// a time. ErrNewer: a newer assay has.
func (f *Fleet) Migrate(ctx context.Context) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	conn, err := f.pool.Acquire(ctx)
	if err != nil {
		return f.fail("making tables", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(lockMigrate)); err != nil {
		return f.fail("making tables", err)
	}
	// A connection that is lost unlocks, too.
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(lockMigrate))
	if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS assay; CREATE TABLE IF NOT EXISTS assay.migration (version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())"); err != nil {
		return f.fail("making tables", err)
	}
	var have int
	if err := conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM assay.migration").Scan(&have); err != nil {
		return f.fail("making tables", err)
	}
	if have > len(all) {
		return f.fail("the database", ErrNewer)
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(f.pool), &rivermigrate.Config{Schema: schema, Logger: silent()})
	if err != nil {
		return f.fail("making River's tables", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return f.fail("making River's tables", err)
	}
	for i := have; i < len(all); i++ {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, all[i]); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO assay.migration (version) VALUES ($1)", i+1)
			return err
		})
		if err != nil {
			return f.fail(fmt.Sprintf("making tables, step %d", i+1), err)
		}
	}
	return nil
}

// Check says whether the tables are those that this assay knows: nil, ErrNewer,
// errOlder, ErrNoTables, or what else is wrong.
func (f *Fleet) Check(ctx context.Context) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	var there bool
	if err := f.pool.QueryRow(ctx, "SELECT to_regclass('assay.migration') IS NOT NULL").Scan(&there); err != nil {
		return f.fail("reading the database", err)
	}
	if !there {
		return f.fail("the database", ErrNoTables)
	}
	var have int
	if err := f.pool.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM assay.migration").Scan(&have); err != nil {
		return f.fail("reading the database", err)
	}
	switch {
	case have == 0:
		return f.fail("the database", ErrNoTables)
	case have < len(all):
		return f.fail("the database", errOlder)
	case have > len(all):
		return f.fail("the database", ErrNewer)
	}
	return nil
}

// clock is what the database's clock says against this machine's.
type clock struct {
	Offset time.Duration // the database's less ours
	Error  time.Duration // half of the round trip: the most that Offset can be wrong by
}

// clock measures it once.
func (f *Fleet) clock(ctx context.Context) (clock, error) {
	conn, err := f.pool.Acquire(ctx)
	if err != nil {
		return clock{}, f.fail("asking the database's clock", err)
	}
	defer conn.Release()
	var at time.Time
	began := time.Now()
	if err := conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
		return clock{}, f.fail("asking the database's clock", err)
	}
	return clockOf(began, time.Now(), at), nil
}

// clockOf is what an answer at of another clock says, asked and got between two times.
func clockOf(asked, got, at time.Time) clock {
	half := got.Sub(asked) / 2
	return clock{Offset: at.Sub(asked.Add(half)), Error: half}
}

// final is an error that asking again does not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Unreachable says whether an error is that of a database that cannot be reached now.
func Unreachable(err error) bool {
	var network net.Error
	var refused *pgconn.ConnectError
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return Transient(err)
	}
	for _, is := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	// The library has no name for a connection that was found closed.
	return errors.As(err, &refused) || errors.As(err, &network) || err != nil && strings.Contains(err.Error(), "conn closed")
}

// patience is how long a database that was there is waited for.
const patience = time.Minute

// Patient calls do until it succeeds, fails for good, or the database has been away for
// a minute. notes is told of every time that it was.
func Patient(ctx context.Context, notes io.Writer, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if err == nil || !Unreachable(err) || ctx.Err() != nil || time.Since(began) > patience {
			return err
		}
		fmt.Fprintf(notes, "%v; trying again\n", err)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Transient says whether an error is of the way to the database, or of its being
// stopped or started: what was asked may be asked again.
func Transient(err error) bool {
	var not final
	var said *pgconn.PgError
	switch {
	case errors.As(err, &not) || errors.Is(err, ErrLost):
		return false
	case !errors.As(err, &said):
		return true
	}
	again := []string{"08", "53", "57"} // connections, resources, and the operator's stops
	return slices.Contains(again, said.Code[:min(2, len(said.Code))]) || said.Code == "40001" || said.Code == "40P01"
}

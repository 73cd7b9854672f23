// Repair looks whether a store is whole, and saves what is whole of one that
// is not.
//
//  1. Check reads all of a store: the checksums of its pages and its log, SQLite's own
//     structures, and every row as reports read it. It changes nothing.
//  2. Salvage copies what can be read into a new store, row by row around what cannot,
//     and leaves out what has lost a part: a trial without all of its attempts is none.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/results"
)

// Checked is what Check found.
type Checked struct {
	Store     string   `json:"store"`
	Whole     bool     `json:"whole"`
	Schema    int      `json:"schema"` // 0: not to be read
	Checksums bool     `json:"checksums"`
	Pages     int64    `json:"pages"`
	BadPages  []int64  `json:"bad_pages,omitempty"` // from 1
	Foreign   int64    `json:"pages_of_other_programs,omitempty"`
	Trials    int      `json:"trials"`
	Judgments int      `json:"judgments"`
	Problems  []string `json:"problems,omitempty"`
}

// Check reads all of the store at path. The error says that there is no such file, that
// it is none, or that the disk has no room to read it; what is wrong with a store is in what is returned.
func Check(ctx context.Context, path string) (Checked, error) {
	out := Checked{Store: path}
	st, err := os.Stat(path)
	if err != nil {
		return out, fmt.Errorf("checking the store %s: %w", path, results.FaultMissing)
	}
	if !st.Mode().IsRegular() {
		return out, fmt.Errorf("checking the store %s: %w: it is no regular file", path, results.FaultForeign)
	}
	if err := out.pages(path); err != nil {
		return out, fmt.Errorf("checking the store %s: %w", path, err)
	}
	if err := out.structure(ctx, path); err != nil {
		out.problem("%v", err)
	}
	if err := out.rows(ctx, path); err != nil {
		if ctx.Err() != nil || errors.Is(err, results.FaultFull) || errors.Is(err, results.FaultReadOnly) || errors.Is(err, results.FaultInUse) {
			return out, err // which says nothing of the store
		}
		out.problem("%v", err)
	}
	out.Whole = len(out.Problems) == 0
	return out, nil
}

func (c *Checked) problem(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(c.Problems, p) {
		c.Problems = append(c.Problems, p)
	}
}

// pages compares checksums. What is bad twice is bad: a run may write meanwhile.
func (c *Checked) pages(path string) error {
	var bad []int64
	for i := range 2 {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		s, err := scan(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%w: %w", results.FaultDisk, err)
		}
		c.Checksums, c.Pages, c.Foreign = s.Sums, s.Pages, s.Bare
		if s.Rest > 0 {
			c.problem("the file ends within a page, %d bytes after page %d", s.Rest, s.Pages)
		}
		if i == 0 {
			if bad = s.Bad; len(bad) == 0 {
				break
			}
			continue
		}
		bad = slices.DeleteFunc(bad, func(n int64) bool { return !slices.Contains(s.Bad, n) })
	}
	if c.BadPages = bad; len(bad) > 0 {
		c.problem("%d of %d pages do not match their checksums", len(bad), c.Pages)
	}
	if err := log(path + "-wal"); err != nil {
		c.problem("%v", err)
	}
	return nil
}

// structure asks SQLite.
func (c *Checked) structure(ctx context.Context, path string) error {
	db, err := reading(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&c.Schema); err != nil {
		return fmt.Errorf("SQLite cannot read it: %w", err)
	}
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check(20)")
	if err != nil {
		return fmt.Errorf("SQLite cannot check it: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return fmt.Errorf("SQLite cannot check it: %w", err)
		}
		if s != "ok" {
			c.problem("SQLite: %s", s)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("SQLite cannot check it: %w", err)
	}
	for _, q := range lacking {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", q.table).Scan(&n); err == nil && n == 0 {
			continue // an older schema
		}
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+q.table+" WHERE "+q.where).Scan(&n); err != nil {
			return fmt.Errorf("SQLite cannot read table %s: %w", q.table, err)
		}
		if n > 0 {
			c.problem("%d %s", n, q.what)
		}
	}
	return nil
}

// lacking are rows that have lost a part.
var lacking = []struct{ table, where, what string }{
	{"trial", "attempts <> (SELECT count(*) FROM attempt a WHERE a.trial = trial.id)", "trials lack attempts"},
	{"attempt", "outcome = 'answer' AND answer IS NULL AND NOT EXISTS (SELECT 1 FROM turn u WHERE u.attempt = attempt.id)", "attempts lack their answer"},
	{"attempt", "trial IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trial t WHERE t.id = attempt.trial)", "attempts have no trial"},
	{"judgment", "NOT EXISTS (SELECT 1 FROM cases c WHERE c.id = judgment.case_id)", "judgments have no case"},
	{"turn", "NOT EXISTS (SELECT 1 FROM attempt a WHERE a.id = turn.attempt)", "turns have no attempt"},
}

// rows reads everything as reports do.
func (c *Checked) rows(ctx context.Context, path string) error {
	st, err := OpenReader(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, ok, err := st.Manifest(ctx); err != nil {
		return err
	} else if !ok {
		c.problem("it has no manifest: no run has begun in it")
	}
	for _, err := range st.Trials(ctx, "") {
		if err != nil {
			return err
		}
		c.Trials++
	}
	for r, err := range st.JudgedRows(ctx, "", false) {
		if err != nil {
			return err
		}
		c.Judgments += len(r.Judgments)
	}
	_, err1 := st.Sessions(ctx)
	_, err2 := st.Blocks(ctx)
	_, err3 := st.Events(ctx)
	return errors.Join(err1, err2, err3)
}

// reading opens a store with its checksums checked.
func reading(ctx context.Context, path string) (*sql.DB, error) {
	real, err := absolute(path)
	if err != nil {
		return nil, err
	}
	return openURI(URI(real, append(readersOf(ctx, real), "_pragma=busy_timeout(10000)")...))
}

// absolute is the path of the file itself.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

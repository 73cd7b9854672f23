package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"assay/results"
)

// source is one of the stores, as it was when it was opened.
type source struct {
	path              string
	db                *sql.DB
	tx                *sql.Tx
	man               results.Manifest
	sessions          map[int64]string       // what tells one from all others
	served            map[int64]string       // digests
	versions          map[int64]mergeVersion // of judges
	get               map[string]*sql.Stmt
	trials, judgments int
	// rowsOf reads within a transaction that writes; nil: the source is only read.
	rowsOf func(query string, args ...any) ([][]any, error)
}

// mergeVersion is what a judge was.
type mergeVersion struct {
	rubric, judge, digest string
	about                 any
	current               bool
}

// key tells a version from all others.
func (v mergeVersion) key() [3]string { return [3]string{v.rubric, v.judge, v.digest} }

func openSource(ctx context.Context, path string) (*source, error) {
	// Brings an older schema to the present one.
	st, err := OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, sessions: map[int64]string{}, served: map[int64]string{}, versions: map[int64]mergeVersion{}, get: map[string]*sql.Stmt{}}
	var ok bool
	s.man, ok, err = st.Manifest(ctx)
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: no run was begun in it; leave it out", path)
	}
	real, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return nil, err
	}
	if s.db, err = openURI(URI(real, append(readersOf(ctx, real), "_pragma=busy_timeout(10000)", "_pragma=cache_size(-24576)")...)); err != nil {
		return nil, err
	}
	if s.tx, err = s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil {
		err = s.known(ctx)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("reading the store %s: %w", path, err)
	}
	return s, nil
}

func (s *source) close() {
	if s.tx != nil {
		_ = s.tx.Rollback() // nothing was written
	}
	s.db.Close()
}

// known reads what is small: who served, what judges were, and sessions.
func (s *source) known(ctx context.Context) error {
	err := s.each(ctx, "SELECT id, digest FROM served", nil, func(r []any) error {
		s.served[r[0].(int64)] = r[1].(string)
		return nil
	})
	if err != nil {
		return err
	}
	err = s.each(ctx, "SELECT id, rubric, judge, digest, about, current FROM judge_version", nil, func(r []any) error {
		s.versions[r[0].(int64)] = mergeVersion{r[1].(string), r[2].(string), r[3].(string), r[4], r[5].(int64) == 1}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.each(ctx, "SELECT id, origin_ns, places FROM session", nil, func(r []any) error {
		devices, err := s.rows(ctx, "SELECT n, source, device FROM device WHERE session = ? ORDER BY n", r[0])
		if err != nil {
			return err
		}
		s.sessions[r[0].(int64)] = fmt.Sprintf("%020d %s", r[1], digest(append(devices, r[1:])))
		return nil
	})
	return err
}

// each calls do for every row; the row is done's until it returns.
func (s *source) each(ctx context.Context, query string, args []any, do func([]any) error) error {
	if s.rowsOf != nil {
		rows, err := s.rowsOf(query, args...)
		for i := 0; i < len(rows) && err == nil; i++ {
			err = do(rows[i])
		}
		return err
	}
	stmt := s.get[query]
	if stmt == nil {
		var err error
		if stmt, err = s.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		s.get[query] = stmt
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := do(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *source) rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	var out [][]any
	err := s.each(ctx, query, args, func(r []any) error {
		out = append(out, r)
		return nil
	})
	return out, err
}

// entity is a trial or a judgment with all that belongs to it. What refers to other
// tables by number does so by what it means: sessions and servers by their names.
type entity struct {
	id       any
	row      []any
	attempts []attempt
}

type attempt struct {
	row   []any
	turns [][]any
}

// whole reads the attempts of a trial or a judgment.
func (s *source) whole(ctx context.Context, t tables, owner string, e *entity) error {
	rows, err := s.rows(ctx, "SELECT id, "+t.attempt.list()+" FROM attempt WHERE "+owner+" = ? ORDER BY n", e.id)
	if err != nil {
		return err
	}
	for _, r := range rows {
		turns, err := s.rows(ctx, "SELECT "+t.turn.list()+" FROM turn WHERE attempt = ? ORDER BY n", r[0])
		if err != nil {
			return err
		}
		e.attempts = append(e.attempts, attempt{s.meant(t, r[1:]), turns})
	}
	return nil
}

// meant is an attempt's row with what its session and its server are called.
func (s *source) meant(t tables, row []any) []any {
	for i, name := range t.attempt {
		id, ok := row[i].(int64)
		switch {
		case !ok:
		case name == "session":
			row[i] = s.sessions[id]
		case name == "served":
			row[i] = s.served[id]
		}
	}
	return row
}

// content is a digest of all of an entity.
func (e *entity) content() string {
	all := [][]any{e.row}
	for _, a := range e.attempts {
		all = append(append(all, a.row), a.turns...)
	}
	return digest(all)
}

// digest is of values with their kinds, so that no two lists share it.
func digest(rows [][]any) string {
	h := sha256.New()
	for _, r := range rows {
		fmt.Fprintf(h, "row %d\n", len(r))
		for _, v := range r {
			switch v := v.(type) {
			case nil:
				fmt.Fprint(h, "null\n")
			case int64:
				fmt.Fprintf(h, "int %d\n", v)
			case float64:
				fmt.Fprintf(h, "real %x\n", math.Float64bits(v))
			case string:
				fmt.Fprintf(h, "text %d %s\n", len(v), v)
			case []byte:
				fmt.Fprintf(h, "blob %d %s\n", len(v), v)
			default:
				panic(fmt.Sprintf("store: internal error: a value of type %T", v))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// named is a row as JSON, by column.
func (c columns) named(row []any) map[string]any {
	out := map[string]any{}
	for i, name := range c {
		if row[i] != nil {
			out[name] = row[i] // blobs become base64
		}
	}
	return out
}

// told is all of an entity as JSON.
func (e *entity) told(row columns, t tables) string {
	type attemptJSON struct {
		Attempt map[string]any   `json:"attempt"`
		Turns   []map[string]any `json:"turns"`
	}
	var attempts []attemptJSON
	for _, a := range e.attempts {
		one := attemptJSON{Attempt: t.attempt.named(a.row)}
		for _, u := range a.turns {
			one.Turns = append(one.Turns, t.turn.named(u))
		}
		attempts = append(attempts, one)
	}
	b, err := json.Marshal(map[string]any{"row": row.named(e.row), "attempts": attempts})
	if err != nil {
		panic("store: internal error: " + err.Error())
	}
	return string(b)
}

// columns of a table, without the numbers that only mean something in one file.
type columns []string

func (c columns) list() string { return strings.Join(c, ", ") }

func (c columns) index(name string) int { return slices.Index(c, name) }

// insert is the statement that writes them, with others before them.
func (c columns) insert(table string, before ...string) string {
	all := append(before, c...)
	return "INSERT INTO " + table + " (" + strings.Join(all, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(all)-1) + ")"
}

// tables are the columns of those that are copied row by row.
type tables struct{ trial, attempt, turn, judgment, item, session, device, samples columns }

// readTables asks a store, so that a column that a migration adds is not forgotten.
func readTables(ctx context.Context, s *source) (tables, error) {
	var t tables
	for _, one := range []struct {
		name    string
		to      *columns
		without []string
	}{
		{"trial", &t.trial, []string{"id"}},
		{"attempt", &t.attempt, []string{"id", "trial", "judgment"}},
		{"turn", &t.turn, []string{"attempt"}},
		{"judgment", &t.judgment, []string{"id", "case_id", "version"}},
		{"item", &t.item, []string{"seq"}},
		{"session", &t.session, []string{"id", "measured"}},
		{"device", &t.device, []string{"session"}},
		{"sample_bundle", &t.samples, []string{"id", "session"}},
	} {
		rows, err := s.rows(ctx, "SELECT name FROM pragma_table_info('"+one.name+"') ORDER BY cid")
		if err != nil {
			return t, err
		}
		for _, r := range rows {
			if name := r[0].(string); !slices.Contains(one.without, name) {
				*one.to = append(*one.to, name)
			}
		}
	}
	return t, nil
}

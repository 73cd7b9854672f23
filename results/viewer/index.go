// Index is the trials of one study as an SQLite file that is derived from the store: deleted or
// damaged, it is made anew.
//
//  1. A Builder takes trials in Key order and writes the file (build.go).
//  2. OpenIndex reads it; nobody writes to it any more.
//  3. selects finds trials by SQL; a selection orders and counts them (query.go).
//
// Its tables:
//
//	trial   a row each in Key order, from id 0; cells are c0, c1, ... by the place of their column
//	combo   what trials have together in the columns that are lists to choose from, and how many (n)
//	reason  why a cell has no value
//	words   which words are in an answer or its reasoning (FTS5); neither text nor places of words
//	about   the study, what it was made of, and its columns
//
// A cell is a number, a text, a blob (the id of a reason) or NULL. SQLite orders them so, but for
// NULL, which comes first.

package viewer

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"assay/results"
	"assay/results/store"
)

// kind is what a cell holds.
type kind byte

const (
	absent  kind = iota // the trial is of those that have none
	Number              //
	Text                //
	Lacking             // Text says why there is none
)

// Cell is one value of one trial.
type Cell struct {
	Kind   kind
	Number float64
	Text   string
}

// compare orders cells: numbers, texts, reasons, no cell last.
func (c Cell) compare(o Cell) int {
	if c.Kind == absent || o.Kind == absent {
		return cmp.Compare(btoi(c.Kind == absent), btoi(o.Kind == absent))
	}
	return cmp.Or(cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Number, o.Number), strings.Compare(c.Text, o.Text))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Names of the columns that every table has, and that name a trial.
const (
	KeyModel     = "model"
	KeyItem      = "item"
	KeyArm       = "arm"
	KeyCondition = "condition"
	KeyRepeat    = "repeat"
)

// KeyColumns are these columns, in the order of Key.
func KeyColumns() []results.FileColumn {
	text := func(name, help string) results.FileColumn {
		return results.FileColumn{Name: name, Kind: results.TextColumn, Help: help}
	}
	return []results.FileColumn{text(KeyModel, "its name in bench.yaml"), text(KeyItem, "question"), text(KeyArm, "prompting strategy"), text(KeyCondition, "change of the input"),
		{Name: KeyRepeat, Kind: results.IntegerColumn, Help: "from 0"}}
}

// keyIn is the key that a trial's first cells are.
func keyIn(study string, cells []Cell) results.Key {
	return results.Key{Study: study, Model: cells[0].Text, Item: cells[1].Text, Arm: cells[2].Text, Condition: cells[3].Text, Repeat: int(cells[4].Number)}
}

// format is of the tables; an index of another one is made anew.
const format = 2

// about is what a file says of itself.
type about struct {
	Format  int
	Study   string
	Of      string // what it was made of
	Columns []results.FileColumn
	Rows    int
	Known   []bool // by column: some trial has a value
	Sums    []sum  // by column, of all trials
	Lists   []int  // columns of combo
}

// sum is that of a column's numbers, and how many there are.
type sum struct {
	Sum float64
	N   int
}

// Table is the trials of a study, in Key order. Any number of goroutines may use it.
type Table struct {
	about
	db      *sql.DB
	reasons map[string]string
	lists   [][]Cell                      // the different cells of each of Lists, in order
	combos  [][]int                       // by id, the place of its cell in each of lists
	keys    func() ([]results.Key, error) // of all trials, read once
}

// errOther is an index of other trials than those wanted.
var errOther = errors.New("the index is of another state of the store")

var errDamaged = errors.New("the index is damaged")

// readers are the connections to an index. All are made when it is opened: later another file may
// stand at its path, or none.
const readers = 3

// OpenIndex reads the index at path. One that is not of `of` is errOther.
func OpenIndex(path, of string) (*Table, error) {
	t, err := open(path, of)
	if err != nil {
		return nil, fmt.Errorf("reading the index %s: %w", path, err)
	}
	return t, nil
}

func open(path, of string) (*Table, error) {
	said, is, err := checksum(path)
	if err != nil {
		return nil, err
	}
	if said != is {
		return nil, errDamaged
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := driver.Open(store.URI(abs, "mode=ro", "immutable=1", "_pragma=query_only(1)", "_pragma=temp_store(memory)", "_pragma=cache_size(-4096)"), fts5.Register)
	if err != nil {
		return nil, err
	}
	t := &Table{db: db, reasons: map[string]string{}}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	if err := t.connect(of); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	t.keys = sync.OnceValues(t.readKeys)
	// Requests may still read a table that was replaced.
	runtime.AddCleanup(t, func(db *sql.DB) { db.Close() }, db)
	return t, nil
}

// connect makes all connections and reads what a table holds in memory.
func (t *Table) connect(of string) error {
	var rows []*sql.Rows
	defer func() {
		for _, r := range rows {
			r.Close()
		}
	}()
	for range readers {
		r, err := t.db.Query("SELECT text FROM about")
		if err != nil {
			return err
		}
		rows = append(rows, r)
		var text []byte
		if !r.Next() {
			return cmp.Or(r.Err(), errDamaged)
		}
		if err := r.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &t.about); err != nil {
			return err
		}
		if t.Format != format || t.Of != of {
			return errOther
		}
	}
	rows[0].Close() // for the next question
	if err := t.each(func(v []any) {
		id, _ := v[0].([]byte)
		t.reasons[string(id)], _ = v[1].(string)
	}, "SELECT id, text FROM reason"); err != nil {
		return err
	}
	return t.readLists()
}

func (t *Table) readLists() error {
	t.lists = make([][]Cell, len(t.Lists))
	seen := make([]map[Cell]int, len(t.Lists)) // the place of a cell, in order of ids first
	for i := range seen {
		seen[i] = map[Cell]int{}
	}
	err := t.each(func(v []any) {
		own := make([]int, len(t.Lists))
		for i, x := range v[2:] { // id, n
			c := t.cell(x)
			at, ok := seen[i][c]
			if !ok {
				at = len(t.lists[i])
				seen[i][c], t.lists[i] = at, append(t.lists[i], c)
			}
			own[i] = at
		}
		t.combos = append(t.combos, own)
	}, "SELECT * FROM combo ORDER BY id")
	for i, list := range t.lists {
		sorted := slices.SortedFunc(slices.Values(list), Cell.compare)
		to := make([]int, len(list))
		for place, c := range sorted {
			to[seen[i][c]] = place
		}
		for _, own := range t.combos {
			own[i] = to[own[i]]
		}
		t.lists[i] = sorted
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumAt is where a file has its checksum: in place of SQLite's user_version.
const checksumAt = 60

// checksum is what a file says that its checksum is, and what that of all the rest is.
func checksum(path string) (said, is uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, 0, errDamaged
	}
	said = binary.BigEndian.Uint32(head[checksumAt:])
	clear(head[checksumAt : checksumAt+4])
	sum := crc32.New(castagnoli)
	sum.Write(head)
	_, err = io.Copy(sum, f)
	return said, sum.Sum32(), err
}

// each visits the rows of a query. It has no context: a connection that is broken off would be
// made anew, and find another file.
func (t *Table) each(visit func(values []any), query string, args ...any) error {
	rows, err := t.db.Query(query, args...)
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("reading the index: %w", err)
		}
		visit(values)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	return nil
}

// cell is a value of the file.
func (t *Table) cell(v any) Cell {
	switch v := v.(type) {
	case int64:
		return Cell{Kind: Number, Number: float64(v)}
	case float64:
		return Cell{Kind: Number, Number: v}
	case string:
		return Cell{Kind: Text, Text: v}
	case []byte:
		return Cell{Kind: Lacking, Text: t.reasons[string(v)]}
	}
	return Cell{}
}

// place is where a column stands; -1: there is none.
func (t *Table) place(name string) int {
	return slices.IndexFunc(t.Columns, func(c results.FileColumn) bool { return c.Name == name })
}

// Has says whether there is a column.
func (t *Table) Has(name string) bool { return t.place(name) >= 0 }

// known says whether any trial has a value in a column.
func (t *Table) known(name string) bool {
	at := t.place(name)
	return at >= 0 && t.Known[at]
}

// column is a column's name in SQL.
func column(at int) string { return "c" + strconv.Itoa(at) }

// Trial is one of a table.
type Trial struct {
	Row   int // from 0
	Key   results.Key
	table *Table
	cells []Cell
}

// Cell is the trial's value; a column that is not there has none.
func (x Trial) Cell(name string) Cell {
	at := x.table.place(name)
	if at < 0 {
		return Cell{}
	}
	return x.cells[at]
}

// Trial reads one, from 0 to Rows-1.
func (t *Table) Trial(row int) (Trial, error) {
	x := Trial{Row: row, table: t}
	err := t.each(func(v []any) {
		for _, c := range v[2:] { // id, combo
			x.cells = append(x.cells, t.cell(c))
		}
	}, "SELECT * FROM trial WHERE id = ?", row)
	if err == nil && len(x.cells) != len(t.Columns) {
		err = fmt.Errorf("the index has no trial %d", row)
	}
	if err != nil {
		return x, err
	}
	x.Key = keyIn(t.Study, x.cells)
	return x, nil
}

// Find finds a trial; false: it is not there.
func (t *Table) Find(k results.Key) (x Trial, found bool, err error) {
	row := -1
	err = t.each(func(v []any) { row = int(v[0].(int64)) }, "SELECT id FROM trial WHERE c1 = ? AND c0 = ? AND c2 = ? AND c3 = ? AND c4 = ?", k.Item, k.Model, k.Arm, k.Condition, k.Repeat)
	if err != nil || row < 0 || k.Study != t.Study {
		return Trial{}, false, err
	}
	x, err = t.Trial(row)
	return x, err == nil, err
}

// besideItem are the items before and after one; "": there is none.
func (t *Table) besideItem(id string) (prev, next string, err error) {
	err = t.each(func(v []any) {
		prev, _ = v[0].(string)
		next, _ = v[1].(string)
	}, "SELECT (SELECT max(c1) FROM trial WHERE c1 < ?1), (SELECT min(c1) FROM trial WHERE c1 > ?1)", id)
	return prev, next, err
}

// Texts are the different texts of a column, in order.
func (t *Table) Texts(name string) (out []string, err error) {
	at := t.place(name)
	if at < 0 {
		return nil, nil
	}
	from := "trial"
	if slices.Contains(t.Lists, at) {
		from = "combo"
	}
	c := column(at)
	err = t.each(func(v []any) { out = append(out, v[0].(string)) }, "SELECT DISTINCT "+c+" FROM "+from+" WHERE typeof("+c+") = 'text' ORDER BY "+c)
	return out, err
}

// Close ends reading.
func (t *Table) Close() error { return t.db.Close() }

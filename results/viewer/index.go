// Index holds the trials of one study as columns in memory, so that a million
// of them are filtered, sorted and searched while a person waits.
//
//  1. A Builder takes trials in Key order (build.go) and writes a file.
//  2. Open reads the columns of a file; the words stay in it (file.go).
//  3. selects finds trials; a Selection orders and counts them (query.go).
//
// Every column is a list of its different cells in order, and a number of a cell for
// each trial: comparing numbers of cells compares cells.

package viewer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/results"
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
	Kind   kind    `json:"kind"`
	Number float64 `json:"number,omitempty"`
	Text   string  `json:"text,omitempty"`
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

// column is the cells of one column: numbers in order, then the others in order.
type column struct {
	numbers []float64
	others  []Cell
	codes   // of each trial's cell
}

// codes are numbers of cells, as narrow as they can be: one of the three has them.
type codes struct {
	small []uint8
	wide  []uint16
	long  []uint32
}

func (c *codes) code(row int) int {
	switch {
	case c.small != nil:
		return int(c.small[row])
	case c.wide != nil:
		return int(c.wide[row])
	}
	return int(c.long[row])
}

func (c *codes) len() int { return max(len(c.small), len(c.wide), len(c.long)) }

// add appends a number, in a wider list where it does not fit.
func (c *codes) add(code uint32) {
	if code > math.MaxUint16 && c.long == nil {
		c.long = widened(c.wide, widened[uint32](c.small, nil))
		c.small, c.wide = nil, nil
	} else if code > math.MaxUint8 && c.wide == nil && c.long == nil {
		c.wide = widened[uint16](c.small, nil)
		c.small = nil
	}
	switch {
	case c.long != nil:
		c.long = append(c.long, code)
	case c.wide != nil:
		c.wide = append(c.wide, uint16(code))
	default:
		c.small = append(c.small, uint8(code))
	}
}

func widened[W, N uint8 | uint16 | uint32](from []N, to []W) []W {
	if to == nil {
		to = make([]W, 0, len(from)+len(from)/4+16)
	}
	for _, v := range from {
		to = append(to, W(v))
	}
	return to
}

func (c *column) size() int { return len(c.numbers) + len(c.others) }

func (c *column) cell(code int) Cell {
	if code < len(c.numbers) {
		return Cell{Kind: Number, Number: c.numbers[code]}
	}
	return c.others[code-len(c.numbers)]
}

// compare orders cells that are no numbers: texts before reasons, no cell last.
func compare(a, b Cell) int {
	if a.Kind == absent || b.Kind == absent {
		return cmp.Compare(btoi(a.Kind == absent), btoi(b.Kind == absent))
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Text, b.Text))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Table is the trials of a study, in Key order. Any number of goroutines may use it.
type Table struct {
	Study   string
	Columns []results.FileColumn
	Rows    int

	of    []column
	words *indexWords
}

// place is where a column stands; -1: there is none.
func (t *Table) place(name string) int {
	return slices.IndexFunc(t.Columns, func(c results.FileColumn) bool { return c.Name == name })
}

// Has says whether there is a column.
func (t *Table) Has(name string) bool { return t.place(name) >= 0 }

// Known says whether any trial has a value in a column.
func (t *Table) Known(name string) bool {
	at := t.place(name)
	return at >= 0 && (len(t.of[at].numbers) > 0 || slices.ContainsFunc(t.of[at].others, func(c Cell) bool { return c.Kind == Text }))
}

// Cell is a trial's value; a column that is not there has none.
func (t *Table) Cell(row int, name string) Cell {
	at := t.place(name)
	if at < 0 || row < 0 || row >= t.Rows {
		return Cell{}
	}
	return t.of[at].cell(t.of[at].code(row))
}

// Numbers reads a column's number of a trial; false: it has none.
func (t *Table) Numbers(name string) func(row int) (float64, bool) {
	at := t.place(name)
	if at < 0 {
		return func(int) (float64, bool) { return 0, false }
	}
	c := &t.of[at]
	return func(row int) (float64, bool) {
		code := c.code(row)
		if code >= len(c.numbers) {
			return 0, false
		}
		return c.numbers[code], true
	}
}

// Key is that of a trial.
func (t *Table) Key(row int) results.Key {
	k := results.Key{Study: t.Study}
	for i, to := range []*string{&k.Model, &k.Item, &k.Arm, &k.Condition} {
		*to = t.of[i].cell(t.of[i].code(row)).Text
	}
	k.Repeat = int(t.of[4].cell(t.of[4].code(row)).Number)
	return k
}

// Row finds a trial; false: it is not there.
func (t *Table) Row(k results.Key) (int, bool) {
	at, ok := findRow(t.Rows, func(i int) int { return t.Key(i).Compare(k) })
	return at, ok && k.Study == t.Study
}

func findRow(n int, compare func(int) int) (int, bool) {
	from, to := 0, n
	for from < to {
		mid := int(uint(from+to) >> 1)
		switch c := compare(mid); {
		case c == 0:
			return mid, true
		case c < 0:
			from = mid + 1
		default:
			to = mid
		}
	}
	return from, false
}

// Values are the different cells of a column in order: numbers, texts, reasons.
func (t *Table) Values(name string) []Cell {
	at := t.place(name)
	if at < 0 {
		return nil
	}
	out := make([]Cell, 0, t.of[at].size())
	for i := range t.of[at].size() {
		out = append(out, t.of[at].cell(i))
	}
	return out
}

// Distinct is how many different cells a column has.
func (t *Table) Distinct(name string) int {
	if at := t.place(name); at >= 0 {
		return t.of[at].size()
	}
	return 0
}

// Close ends reading. The table's words cannot be searched any more.
func (t *Table) Close() error {
	if t.words == nil {
		return nil
	}
	return t.words.close()
}

func mustColumns(cols []results.FileColumn) {
	for i, k := range KeyColumns() {
		if i >= len(cols) || cols[i].Name != k.Name {
			panic(fmt.Sprintf("viewer: internal error: column %d is not %s", i, k.Name))
		}
	}
}

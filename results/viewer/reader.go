package viewer

import (
	"math"
	"strings"

	"assay/results"
)

// Reader reads keys of all trials and numbers of some columns, for comparisons. It is of one
// goroutine.
type Reader struct {
	table   *Table
	columns []string // that are read, in SQL
	at      []int    // of each column that was named, its place among these; -1: it is not read
	keys    []results.Key
	blocks  map[int][]float64 // of blockRows trials, whose numbers stand together; NaN: none
	err     error
}

const (
	blockRows       = 1024
	mostKeptNumbers = 4 << 20 // more than a model has, of a million trials
)

// Reader reads numbers of columns; "" stands for one that nobody asks for.
func (t *Table) Reader(columns []string) (*Reader, error) {
	r := &Reader{table: t, columns: []string{"id"}, blocks: map[int][]float64{}}
	for _, name := range columns {
		if name == "" {
			r.at = append(r.at, -1)
			continue
		}
		r.at, r.columns = append(r.at, len(r.columns)), append(r.columns, column(t.place(name)))
	}
	var err error
	r.keys, err = t.keys()
	return r, err
}

// readKeys reads all keys. Names that occur again are held once.
func (t *Table) readKeys() ([]results.Key, error) {
	out, held := make([]results.Key, 0, t.Rows), map[string]string{}
	cells := make([]Cell, len(KeyColumns()))
	err := t.each(func(v []any) {
		for i := range cells {
			cells[i] = t.cell(v[i])
			name, ok := held[cells[i].Text]
			if !ok {
				name = cells[i].Text
				held[name] = name
			}
			cells[i].Text = name
		}
		out = append(out, keyIn(t.Study, cells))
	}, "SELECT c0, c1, c2, c3, c4 FROM trial ORDER BY id")
	return out, err
}

// Key is that of a trial.
func (r *Reader) Key(row int) results.Key { return r.keys[row] }

// Number is a trial's number in a column, by its place among the Reader's; false: it has none, or
// Err says more.
func (r *Reader) Number(row, column int) (float64, bool) {
	place := r.at[column]
	if place < 0 {
		return 0, false
	}
	numbers := r.blocks[row/blockRows]
	if numbers == nil {
		numbers = r.read(row / blockRows)
	}
	v := numbers[row%blockRows*len(r.columns)+place]
	return v, !math.IsNaN(v)
}

func (r *Reader) read(at int) []float64 {
	from, out := at*blockRows, make([]float64, blockRows*len(r.columns))
	for i := range out {
		out[i] = math.NaN()
	}
	err := r.table.each(func(v []any) {
		row := int(v[0].(int64)) - from
		for i, x := range v {
			if c := r.table.cell(x); c.Kind == Number {
				out[row*len(v)+i] = c.Number
			}
		}
	}, "SELECT "+strings.Join(r.columns, ", ")+" FROM trial WHERE id >= ? AND id < ?", from, from+blockRows)
	if err != nil {
		r.err = err
	}
	if len(r.blocks)*len(out) > mostKeptNumbers {
		clear(r.blocks)
	}
	r.blocks[at] = out
	return out
}

// Err is why numbers could not be read.
func (r *Reader) Err() error { return r.err }

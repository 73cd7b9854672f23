package viewer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"unsafe"

	"assay/results"
)

// A file is magic, the words, the columns, a header as JSON, and a tail: where the
// header begins, and a checksum of all before it. Numbers are little-endian.
const (
	magic = "assay index 1\n"
	tail  = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	Study   string
	Of      string
	Columns []results.FileColumn
	Rows    int
	Stored  []stored
	Parts   []part
}

// stored is where a column lies: its numbers, and then each trial's number of a cell.
type stored struct {
	At      int64
	Numbers int
	Others  []Cell
	Width   int
}

func (h header) end(b *Builder) error {
	from := b.at
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := b.write(binary.LittleEndian.AppendUint64(text, uint64(from))); err != nil {
		return err
	}
	sum := b.sum
	return b.write(binary.LittleEndian.AppendUint32(nil, sum))
}

// errOther is an index of other trials than those wanted.
var errOther = errors.New("the index is of another state of the store")

var errDamaged = errors.New("the index is damaged")

// OpenIndex reads the index at path. One that is not of `of` is errOther.
func OpenIndex(path, of string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := read(f, of)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reading the index %s: %w", path, err)
	}
	return t, nil
}

func read(f *os.File, of string) (*Table, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := st.Size()
	if size < int64(len(magic)+tail) {
		return nil, errDamaged
	}
	end := make([]byte, tail)
	if _, err := f.ReadAt(end, size-tail); err != nil {
		return nil, err
	}
	from := int64(binary.LittleEndian.Uint64(end))
	if from < int64(len(magic)) || from > size-tail {
		return nil, errDamaged
	}
	text := make([]byte, size-tail-from)
	if _, err := f.ReadAt(text, from); err != nil {
		return nil, err
	}
	var h header
	if json.Unmarshal(text, &h) != nil {
		return nil, errDamaged
	}
	if h.Of != of {
		return nil, errOther
	}
	sum := crc32.New(castagnoli)
	in := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(f, 0, size-4), sum), 1<<20)
	at := int64(0)
	skip := func(to int64) error {
		n, err := io.CopyN(io.Discard, in, to-at)
		at += n
		return err
	}
	t := &Table{Study: h.Study, Columns: h.Columns, Rows: h.Rows}
	if len(h.Stored) != len(h.Columns) || len(h.Columns) < len(KeyColumns()) {
		return nil, errDamaged
	}
	for _, s := range h.Stored {
		if s.At < at || s.Numbers < 0 || h.Rows < 0 || s.At+int64(s.Numbers)*8+int64(h.Rows)*int64(s.Width) > from {
			return nil, errDamaged
		}
		if err := skip(s.At); err != nil {
			return nil, err
		}
		c := column{numbers: make([]float64, s.Numbers), others: s.Others}
		into := [][]byte{bytesOf(c.numbers)}
		switch s.Width {
		case 1:
			c.small = make([]uint8, h.Rows)
			into = append(into, c.small)
		case 2:
			c.wide = make([]uint16, h.Rows)
			into = append(into, bytesOf(c.wide))
		case 4:
			c.long = make([]uint32, h.Rows)
			into = append(into, bytesOf(c.long))
		default:
			return nil, errDamaged
		}
		for _, p := range into {
			n, err := io.ReadFull(in, p)
			at += int64(n)
			if err != nil {
				return nil, err
			}
		}
		t.of = append(t.of, c)
	}
	if err := skip(size - 4); err != nil {
		return nil, err
	}
	if sum.Sum32() != binary.LittleEndian.Uint32(end[8:]) {
		return nil, errDamaged
	}
	t.words = &indexWords{file: f, at: map[string][]extent{}}
	for _, p := range h.Parts {
		if p.From < 0 || p.To < p.From || p.To > from {
			return nil, errDamaged
		}
		table := make([]byte, p.To-p.From)
		if _, err := f.ReadAt(table, p.From); err != nil {
			return nil, err
		}
		if err := t.words.add(table); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// bytesOf is the memory of a slice of numbers: files are of the machine that reads
// them, or are made anew.
func bytesOf[T uint16 | uint32 | float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// indexWords finds the trials in which a word is.
type indexWords struct {
	file *os.File
	at   map[string][]extent
	list []string // sorted
}

type extent struct{ from, n int64 }

func (w *indexWords) close() error { return w.file.Close() }

func (w *indexWords) add(table []byte) error {
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(table)
		if n <= 0 {
			return 0, false
		}
		table = table[n:]
		return v, true
	}
	for len(table) > 0 {
		n, ok := next()
		if !ok || n > uint64(len(table)) {
			return errDamaged
		}
		word := string(table[:n])
		table = table[n:]
		from, ok1 := next()
		size, ok2 := next()
		if !ok1 || !ok2 {
			return errDamaged
		}
		if w.at[word] == nil {
			w.list = append(w.list, word)
		}
		w.at[word] = append(w.at[word], extent{int64(from), int64(size)})
	}
	slices.Sort(w.list)
	return nil
}

// mark sets those of the trials in which the word is.
func (w *indexWords) mark(word string, rows []bool) error {
	for _, e := range w.at[word] {
		b := make([]byte, e.n)
		if _, err := w.file.ReadAt(b, e.from); err != nil {
			return err
		}
		at := 0
		for len(b) > 0 {
			step, n := binary.Uvarint(b)
			if n <= 0 {
				return errDamaged
			}
			b = b[n:]
			at += int(step)
			if at < 1 || at > len(rows) {
				return errDamaged
			}
			rows[at-1] = true
		}
	}
	return nil
}

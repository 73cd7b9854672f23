package viewer

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"assay/results"
)

const (
	// fewNumbers are looked up one by one while a column grows; a column with more of
	// them keeps each trial's as it is until its end.
	fewNumbers = 2048
	// wordBytes is how much of the words is held before it is written.
	wordBytes = 24 << 20
	// longestText is how many bytes of a text are searched, and longestWord how many of
	// a word.
	longestText = 64 << 10
	longestWord = 40
)

// Builder makes a Table's file of trials that come in Key order.
type Builder struct {
	study, of string
	cols      []results.FileColumn
	grow      []growing
	rows      int

	path  string   // of the file that is to be
	file  *os.File // under a name of its own: another process may make the same one
	out   *bufio.Writer
	sum   uint32
	at    int64 // bytes written
	words map[string]*posting
	held  int
	parts []part
	buf   []byte
}

// posting is where a word is, as steps from one trial to the next.
type posting struct {
	last  int // trial + 1
	bytes []byte
}

// part is the words of trials that follow each other, as they lie in the file.
type part struct {
	From, To int64 // the table of its words
}

// growing is a column that is not at its end.
type growing struct {
	cells []Cell
	at    map[Cell]uint32
	codes codes     // of cells; empty once there are many numbers
	many  []float64 // numbers; NaN with the number of a cell where it is none
	last  Cell
	code  uint32
}

// NewBuilder begins the file of a study's trials, which Finish puts at path; of says of what
// they are made, for Open to compare. The first columns are KeyColumns.
func NewBuilder(path, study, of string, cols []results.FileColumn) (*Builder, error) {
	mustColumns(cols)
	removeLeft(path)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMiddle+"*")
	if err != nil {
		return nil, err
	}
	b := &Builder{study: study, of: of, cols: cols, grow: make([]growing, len(cols)), path: path, file: f, out: bufio.NewWriterSize(f, 1<<20), words: map[string]*posting{}}
	return b, b.write([]byte(magic))
}

// partMiddle stands between a file's name and what tells its parts apart.
const partMiddle = ".part-"

// forgotten is how old a part is whose builder must have been killed.
const forgotten = time.Hour

// removeLeft removes parts of builders that were killed.
func removeLeft(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // making the file says why
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(path)+partMiddle) {
			continue
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > forgotten {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name())) // another one may be faster
		}
	}
}

// Add adds a trial: one cell for each column, and texts to search. The cells may be
// used again.
func (b *Builder) Add(cells []Cell, texts ...string) error {
	for i := range b.grow {
		b.grow[i].add(cells[i])
	}
	b.rows++
	for _, s := range texts {
		if len(s) > longestText {
			s = s[:longestText]
		}
		b.buf = eachWord(s, b.buf, func(w []byte) {
			p := b.words[string(w)]
			if p == nil {
				p = &posting{}
				b.words[string(w)] = p
				b.held += len(w) + 64
			}
			if p.last != b.rows {
				n := len(p.bytes)
				p.bytes = binary.AppendUvarint(p.bytes, uint64(b.rows-p.last))
				p.last = b.rows
				b.held += len(p.bytes) - n
			}
		})
	}
	if b.held > wordBytes {
		return b.flushWords()
	}
	return nil
}

func (g *growing) add(c Cell) {
	if g.many != nil && c.Kind == Number {
		g.many = append(g.many, c.Number)
		return
	}
	if g.at == nil {
		g.at = map[Cell]uint32{}
	} else if c == g.last {
		g.put(g.code)
		return
	}
	code, ok := g.at[c]
	if !ok {
		code = uint32(len(g.cells))
		g.cells, g.at[c] = append(g.cells, c), code
	}
	g.last, g.code = c, code
	g.put(code)
	if c.Kind == Number && g.many == nil && len(g.cells) > fewNumbers {
		g.many = make([]float64, 0, 2*g.codes.len())
		for i := range g.codes.len() {
			code := g.codes.code(i)
			if c := g.cells[code]; c.Kind == Number {
				g.many = append(g.many, c.Number)
			} else {
				g.many = append(g.many, noNumber(uint32(code)))
			}
		}
		g.codes = codes{}
	}
}

func (g *growing) put(code uint32) {
	if g.many != nil {
		g.many = append(g.many, noNumber(code))
		return
	}
	g.codes.add(code)
}

// noNumber is a float that stands for a cell; real numbers are never NaN.
func noNumber(code uint32) float64 { return math.Float64frombits(0x7ff8_0000_0000_0000 | uint64(code)) }

// end puts the cells in order.
func (g *growing) end() column {
	var c column
	var others []Cell
	for _, cell := range g.cells {
		if cell.Kind != Number {
			others = append(others, cell)
		} else if g.many == nil {
			c.numbers = append(c.numbers, cell.Number)
		}
	}
	if g.many != nil {
		c.numbers = make([]float64, 0, len(g.many))
		for _, v := range g.many {
			if v == v {
				c.numbers = append(c.numbers, v)
			}
		}
	}
	slices.Sort(c.numbers)
	c.numbers = slices.Clip(slices.Compact(c.numbers))
	slices.SortFunc(others, compare)
	c.others = others
	place := make([]uint32, len(g.cells))
	for i, cell := range g.cells {
		if cell.Kind == Number {
			at, _ := slices.BinarySearch(c.numbers, cell.Number)
			place[i] = uint32(at)
			continue
		}
		at, _ := slices.BinarySearchFunc(others, cell, compare)
		place[i] = uint32(len(c.numbers) + at)
	}
	n := max(g.codes.len(), len(g.many))
	at := func(i int) uint32 {
		if g.many == nil {
			return place[g.codes.code(i)]
		}
		if v := g.many[i]; v == v {
			at, _ := slices.BinarySearch(c.numbers, v)
			return uint32(at)
		}
		return place[uint32(math.Float64bits(g.many[i]))]
	}
	switch size := c.size(); {
	case size <= 1<<8:
		c.small = make([]uint8, n)
		for i := range n {
			c.small[i] = uint8(at(i))
		}
	case size <= 1<<16:
		c.wide = make([]uint16, n)
		for i := range n {
			c.wide[i] = uint16(at(i))
		}
	default:
		c.long = make([]uint32, n)
		for i := range n {
			c.long[i] = at(i)
		}
	}
	*g = growing{}
	return c
}

// eachWord visits the words of a text in lower case: letters and digits that stand
// together. It returns buf for the next time.
func eachWord(s string, buf []byte, visit func([]byte)) []byte {
	buf = buf[:0]
	end := func() {
		if len(buf) > 0 {
			visit(buf[:min(len(buf), longestWord)])
			buf = buf[:0]
		}
	}
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
				buf = append(buf, c)
			case 'A' <= c && c <= 'Z':
				buf = append(buf, c+'a'-'A')
			default:
				end()
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
			buf = utf8.AppendRune(buf, unicode.ToLower(r))
		} else {
			end()
		}
	}
	end()
	return buf
}

func (b *Builder) write(p []byte) error {
	b.sum = crc32.Update(b.sum, castagnoli, p)
	b.at += int64(len(p))
	_, err := b.out.Write(p)
	return err
}

// flushWords writes what is held: each word's trials, then where they lie.
func (b *Builder) flushWords() error {
	if len(b.words) == 0 {
		return nil
	}
	names := make([]string, 0, len(b.words))
	for w := range b.words {
		names = append(names, w)
	}
	sort.Strings(names)
	var table []byte
	for _, w := range names {
		p := b.words[w]
		table = binary.AppendUvarint(table, uint64(len(w)))
		table = append(table, w...)
		table = binary.AppendUvarint(table, uint64(b.at))
		table = binary.AppendUvarint(table, uint64(len(p.bytes)))
		if err := b.write(p.bytes); err != nil {
			return err
		}
	}
	b.parts = append(b.parts, part{b.at, b.at + int64(len(table))})
	b.words, b.held = map[string]*posting{}, 0
	return b.write(table)
}

// Discard ends the builder and removes its file.
func (b *Builder) Discard() {
	b.file.Close()
	os.Remove(b.file.Name())
}

// Finish ends the file, which then stands at its path whole, in place of one that was there.
func (b *Builder) Finish() error {
	err := b.finish()
	if err == nil {
		err = b.file.Close()
	}
	if err == nil {
		err = os.Rename(b.file.Name(), b.path)
	}
	if err != nil {
		b.Discard()
		return fmt.Errorf("writing the index %s: %w", b.path, err)
	}
	return nil
}

func (b *Builder) finish() error {
	if err := b.flushWords(); err != nil {
		return err
	}
	h := header{Study: b.study, Of: b.of, Columns: b.cols, Rows: b.rows, Parts: b.parts}
	t := Table{Study: b.study, Columns: b.cols, Rows: b.rows, of: make([]column, len(b.cols))}
	for i := range b.grow {
		t.of[i] = b.grow[i].end()
		c := t.of[i]
		s := stored{At: b.at, Numbers: len(c.numbers), Others: c.others}
		if err := b.write(bytesOf(c.numbers)); err != nil {
			return err
		}
		var codes []byte
		switch {
		case c.small != nil:
			s.Width, codes = 1, c.small
		case c.wide != nil:
			s.Width, codes = 2, bytesOf(c.wide)
		default:
			s.Width, codes = 4, bytesOf(c.long)
		}
		if err := b.write(codes); err != nil {
			return err
		}
		h.Stored = append(h.Stored, s)
		if i >= len(KeyColumns()) {
			t.of[i] = column{}
		}
	}
	for i := 1; i < t.Rows; i++ {
		if t.ordered(i) >= 0 {
			panic(fmt.Sprintf("viewer: internal error: trial %+v comes after %+v", t.Key(i), t.Key(i-1)))
		}
	}
	if err := h.end(b); err != nil {
		return err
	}
	return b.out.Flush()
}

// ordered compares a trial with the one before it.
func (t *Table) ordered(i int) int {
	for c := range KeyColumns() {
		if d := cmp.Compare(t.of[c].code(i-1), t.of[c].code(i)); d != 0 {
			return d
		}
	}
	return 0
}

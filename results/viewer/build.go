package viewer

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"assay/results"
	"assay/results/store"
)

const (
	// longestText is how many bytes of a text are searched, and longestWord how many of
	// a word.
	longestText = 64 << 10
	longestWord = 40
)

// Builder makes a Table's file of trials that come in Key order.
type Builder struct {
	about
	path   string // of the file that is to be
	file   string // under a name of its own: another process may make the same one
	db     *sql.DB
	tx     *sql.Tx
	trial  *sql.Stmt
	said   *sql.Stmt
	last   results.Key
	row    []any
	combos map[string]*combo
	reason map[string][]byte
	texts  []string // of reason, in order
}

// combo is what trials have together in the columns that are lists.
type combo struct {
	id    int
	cells []any
	n     int
}

// NewBuilder begins the file of a study's trials, which Finish puts at path; of says of what
// they are made, for OpenIndex to compare. The first columns are KeyColumns; lists names those of
// few different values, of which a selection counts how often it has each.
func NewBuilder(path, study, of string, cols []results.FileColumn, lists []string) (*Builder, error) {
	for i, k := range KeyColumns() {
		if i >= len(cols) || cols[i].Name != k.Name {
			panic(fmt.Sprintf("viewer: internal error: column %d is not %s", i, k.Name))
		}
	}
	removeLeft(path)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMiddle+"*")
	if err != nil {
		return nil, err
	}
	b := &Builder{about: about{Format: format, Study: study, Of: of, Columns: cols, Known: make([]bool, len(cols)), Sums: make([]sum, len(cols))},
		path: path, file: f.Name(), row: make([]any, 2+len(cols)), combos: map[string]*combo{}, reason: map[string][]byte{}}
	for i, c := range cols {
		if slices.Contains(lists, c.Name) {
			b.Lists = append(b.Lists, i)
		}
	}
	if err := errors.Join(f.Close(), b.begin()); err != nil {
		b.Discard()
		return nil, err
	}
	return b, nil
}

func (b *Builder) begin() error {
	abs, err := filepath.Abs(b.file)
	if err != nil {
		return err
	}
	// Nobody reads the file before it is whole; one that is left half made is thrown away.
	b.db, err = driver.Open(store.URI(abs, "_pragma=journal_mode(off)", "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)", "_pragma=temp_store(memory)", "_pragma=cache_size(-16384)"), fts5.Register)
	if err != nil {
		return err
	}
	b.db.SetMaxOpenConns(1)
	if b.tx, err = b.db.BeginTx(sqlite3.WithMaxMemory(context.Background(), store.MostMemory), nil); err != nil {
		return err
	}
	var all, few string
	for i := range b.Columns {
		all += ", " + column(i)
	}
	for _, i := range b.Lists {
		few += ", " + column(i)
	}
	for _, q := range []string{
		"CREATE TABLE about(text)", "CREATE TABLE reason(id PRIMARY KEY, text)", "CREATE TABLE combo(id INTEGER PRIMARY KEY, n" + few + ")", "CREATE TABLE trial(id INTEGER PRIMARY KEY, combo" + all + ")",
		"CREATE VIRTUAL TABLE words USING fts5(said, content='', columnsize=0, detail=none, prefix='1 2 3 4', tokenize='ascii')",
		"INSERT INTO words(words, rank) VALUES ('hashsize', 8388608)",
	} {
		if _, err := b.tx.Exec(q); err != nil {
			return err
		}
	}
	if b.trial, err = b.tx.Prepare("INSERT INTO trial VALUES (?, ?" + strings.Repeat(", ?", len(b.Columns)) + ")"); err != nil {
		return err
	}
	b.said, err = b.tx.Prepare("INSERT INTO words(rowid, said) VALUES (?, ?)")
	return err
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
	k := keyIn(b.Study, cells)
	if b.Rows > 0 && b.last.Compare(k) >= 0 {
		panic(fmt.Sprintf("viewer: internal error: trial %+v comes after %+v", k, b.last))
	}
	b.last = k
	for i, c := range cells {
		b.row[2+i] = b.value(c)
		b.Known[i] = b.Known[i] || c.Kind == Number || c.Kind == Text
		if c.Kind == Number {
			b.Sums[i] = sum{b.Sums[i].Sum + c.Number, b.Sums[i].N + 1}
		}
	}
	b.row[0], b.row[1] = b.Rows, b.comboOf(cells)
	if _, err := b.trial.Exec(b.row...); err != nil {
		return err
	}
	var said []string
	for _, s := range texts {
		said = append(said, wordsOf(s[:min(len(s), longestText)])...)
	}
	b.Rows++
	if len(said) == 0 {
		return nil
	}
	_, err := b.said.Exec(b.Rows-1, strings.Join(said, " "))
	return err
}

// value is a cell as the file holds it.
func (b *Builder) value(c Cell) any {
	switch c.Kind {
	case Number:
		if whole := int64(c.Number); math.Abs(c.Number) < 1<<53 && float64(whole) == c.Number {
			return whole // takes less room
		}
		return c.Number
	case Text:
		return c.Text
	case Lacking:
		id, ok := b.reason[c.Text]
		if !ok { // ids are in the order of their texts, so that SQLite orders cells
			at, _ := slices.BinarySearch(b.texts, c.Text)
			var before, after []byte
			if at > 0 {
				before = b.reason[b.texts[at-1]]
			}
			if at < len(b.texts) {
				after = b.reason[b.texts[at]]
			}
			id = between(before, after)
			b.reason[c.Text], b.texts = id, slices.Insert(b.texts, at, c.Text)
		}
		return id
	}
	return nil
}

// between is bytes that come after the first and before the second; nil: whatever these are.
func between(first, second []byte) []byte {
	var out []byte
	for i := 0; ; i++ {
		low, high := 0, 256
		if i < len(first) {
			low = int(first[i])
		}
		if second != nil && i < len(second) {
			high = int(second[i])
		}
		out = append(out, byte((low+high)/2))
		if high-low > 1 {
			return out
		}
		if low < high { // whatever comes now is before the second
			second = nil
		}
	}
}

func (b *Builder) comboOf(cells []Cell) int {
	var key []byte
	for _, i := range b.Lists {
		key = append(key, byte(cells[i].Kind))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(cells[i].Number))
		key = binary.AppendUvarint(key, uint64(len(cells[i].Text)))
		key = append(key, cells[i].Text...)
	}
	c := b.combos[string(key)]
	if c == nil {
		c = &combo{id: len(b.combos)}
		for _, i := range b.Lists {
			c.cells = append(c.cells, b.row[2+i])
		}
		b.combos[string(key)] = c
	}
	c.n++
	return c.id
}

// wordsOf are the words of a text in lower case: letters and digits that stand together.
func wordsOf(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) })
	for i, w := range all {
		all[i] = w[:min(len(w), longestWord)]
	}
	return all
}

// Discard ends the builder and removes its file.
func (b *Builder) Discard() {
	if b.tx != nil {
		_ = b.tx.Rollback() // of what is thrown away
	}
	if b.db != nil {
		b.db.Close()
	}
	os.Remove(b.file)
}

// Finish ends the file, which then stands at its path whole, in place of one that was there.
func (b *Builder) Finish() error {
	err := b.finish()
	if err == nil {
		err = os.Rename(b.file, b.path)
	}
	if err != nil {
		b.Discard()
		return fmt.Errorf("writing the index %s: %w", b.path, err)
	}
	return nil
}

func (b *Builder) finish() error {
	for text, id := range b.reason {
		if _, err := b.tx.Exec("INSERT INTO reason VALUES (?, ?)", id, text); err != nil {
			return err
		}
	}
	for _, c := range b.combos {
		if _, err := b.tx.Exec("INSERT INTO combo VALUES (?, ?"+strings.Repeat(", ?", len(c.cells))+")", append([]any{c.id, c.n}, c.cells...)...); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b.about)
	if err != nil {
		return err
	}
	if _, err := b.tx.Exec("INSERT INTO about VALUES (?)", text); err != nil {
		return err
	}
	if _, err := b.tx.Exec("CREATE INDEX item ON trial(c1)"); err != nil {
		return err
	}
	if err := errors.Join(b.tx.Commit(), b.db.Close()); err != nil {
		return err
	}
	_, is, err := checksum(b.file)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, is), checksumAt)
	return errors.Join(err, f.Close())
}

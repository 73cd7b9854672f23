package store

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
)

// made is a file with one table.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "a.sqlite"))
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT, share REAL, raw BLOB) STRICT"); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{1, "a\x00b", 0.5, []byte{0, 1}}, {2, "", nil, []byte{}}, {1 << 62, nil, -1e300, nil}, {4, strings.Repeat("é", 5000), 0.0, nil}} {
		if _, err := db.Exec("INSERT INTO t VALUES (?, ?, ?, ?)", row...); err != nil {
			t.Fatal(err)
		}
	}
	return "file:" + path
}

func connected(t *testing.T, uri string) *sqliteConn {
	t.Helper()
	c, err := connectSQLite(uri, "cache_size(-1000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func prepared(t *testing.T, c *sqliteConn, query string) *sqliteStmt {
	t.Helper()
	s, err := c.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every kind of value is read as it was stored, and a NULL is told from what is empty.
func TestRows(t *testing.T) {
	type row struct {
		id                     int64
		word, raw              string
		share                  float64
		noWord, noShare, noRaw bool
	}
	want := []row{
		{id: 1, word: "a\x00b", share: 0.5, raw: "\x00\x01"},
		{id: 2, noShare: true},
		{id: 4, word: strings.Repeat("é", 5000), noRaw: true},
		{id: 1 << 62, noWord: true, share: -1e300, noRaw: true},
	}
	s := prepared(t, connected(t, made(t)), "SELECT id, word, share, raw FROM t ORDER BY id")
	for range 2 { // and again
		s.Bind()
		var got []row
		for s.Next() {
			got = append(got, row{s.Int(0), string(s.Bytes(1)), string(s.Bytes(3)), s.Float(2), s.Null(1), s.Null(2), s.Null(3)})
		}
		if s.Err() != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: found %v, want %v", s.Err(), got, want)
		}
	}
}

// A statement finds what it is bound to, each time.
func TestBind(t *testing.T) {
	c := connected(t, made(t))
	s := prepared(t, c, "SELECT id FROM t WHERE word = ?1 AND id >= ?2")
	for _, x := range []struct {
		word string
		from int64
		want []int64
	}{{"a\x00b", 1, []int64{1}}, {"a", 1, nil}, {"a\x00b", 2, nil}, {"", 0, []int64{2}}, {"a\x00b", 1, []int64{1}}} {
		var got []int64
		for s.Bind(x.word, x.from); s.Next(); {
			got = append(got, s.Int(0))
		}
		if s.Err() != nil || !slices.Equal(got, x.want) {
			t.Errorf("%q from %d: %v, found %v, want %v", x.word, x.from, s.Err(), got, x.want)
		}
	}
	n := prepared(t, c, "SELECT count(*) FROM t WHERE id BETWEEN ?1 AND ?2")
	for _, x := range [][3]int64{{1, 2, 2}, {2, 4, 2}, {5, 9, 0}} {
		n.BindInt(1, x[0])
		n.BindInt(2, x[1])
		if !n.Next() || n.Int(0) != x[2] {
			t.Errorf("from %d to %d: %d, %v, want %d", x[0], x[1], n.Int(0), n.Err(), x[2])
		}
	}
}

// What SQLite refuses is an error with its code, and rows that broke off are told from
// those that ended.
func TestErrors(t *testing.T) {
	uri := made(t)
	c := connected(t, uri)
	_, err := c.Prepare("SELECT nothing FROM t")
	if code(err) != 1 || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a column that is not there: %v", err)
	}
	if err := c.Exec("INSERT INTO t (word) VALUES ('x')"); code(err) != 8 {
		t.Errorf("writing: %v", err)
	}
	if _, err := connectSQLite(uri + ".none"); code(err)&0xff != 14 {
		t.Errorf("a file that is not there: %v", err)
	}
	s := prepared(t, c, "SELECT abs(CASE id WHEN 4 THEN -9223372036854775807 - 1 ELSE id END) FROM t ORDER BY id")
	n := 0
	for s.Next() {
		n++
	}
	if n != 2 || s.Err() == nil {
		t.Errorf("%d rows before an overflow, %v", n, s.Err())
	}
	s.Bind(1.5)
	if s.Next() || s.Err() == nil {
		t.Errorf("a value of a kind that cannot be bound was taken")
	}
}

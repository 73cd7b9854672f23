package store

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	"pgregory.net/rapid"
)

// TestFollower: whatever numbers are sought in whatever order, each has the rows that it
// has, whether they are stepped to or sought, and however many of them are read.
func TestFollower(t *testing.T) {
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "a.sqlite"))
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN"); err != nil { // one wait for the disk
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE t (n INTEGER, k INTEGER, PRIMARY KEY (n, k)) WITHOUT ROWID"); err != nil {
		t.Fatal(err)
	}
	// Numbers without a row, with one and with several, near each other and far apart.
	rowsOf := map[int64]int64{}
	for n := int64(1); n <= 400; n++ {
		if n > 100 && n < 130 || n%7 == 3 {
			continue
		}
		rowsOf[n] = 1 + n%3*(n%5)
		for k := range rowsOf[n] {
			if _, err := db.Exec("INSERT INTO t VALUES (?, ?)", n, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	c, err := connectSQLite("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Prepare("SELECT n, k FROM t WHERE n >= ?1 ORDER BY n, k")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := &follower{sqliteStmt: s}
		at := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "seeks") {
			if rapid.Bool().Draw(t, "near") {
				at += rapid.Int64Range(-1, 3).Draw(t, "by")
			} else {
				at = rapid.Int64Range(0, 410).Draw(t, "at")
			}
			read := rapid.Int64Range(0, 10).Draw(t, "read at most")
			var got, want []int64
			for k := range min(rowsOf[at], read) {
				want = append(want, k)
			}
			for there := f.seek(at); there && int64(len(got)) < read; there = f.next() {
				got = append(got, f.Int(1))
			}
			if f.Err() != nil || !slices.Equal(got, want) {
				t.Fatalf("of %d: %v, %v, want %v", at, got, f.Err(), want)
			}
		}
	})
}

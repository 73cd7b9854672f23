package file

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrationThatFails leaves the older file as it was.
func TestMigrationThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	steps := []string{"CREATE TABLE whole (x); INSERT INTO whole VALUES (7)", "CREATE TABLE half (x)", "CREATE TABLE half (x)"}
	if err := Blank(t.Context(), path, steps[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Schema{Steps: steps}); err == nil || !strings.Contains(err.Error(), "from schema 2 to 3") {
		t.Errorf("got %v", err)
	}
	f, err := OpenReader(t.Context(), path, Schema{Steps: steps[:1]})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var version, x, tables int
	if ok, err := f.One(t.Context(), "looking", "SELECT user_version, x, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version, whole", nil, &version, &x, &tables); !ok || err != nil || version != 1 || x != 7 || tables != 1 {
		t.Errorf("schema %d, %d in it, %d tables (%v)", version, x, tables, err)
	}
	if ok, err := f.One(t.Context(), "looking", "SELECT x FROM whole WHERE x = ?", []any{8}, new(sql.NullInt64)); ok || err != nil {
		t.Errorf("a row that is not there: %t, %v", ok, err)
	}
}

package store

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
	if err := blankFile(t.Context(), path, Schema{Steps: steps[:1]}); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(t.Context(), path, Schema{Steps: steps}); err == nil || !strings.Contains(err.Error(), "from schema 2 to 3") {
		t.Errorf("got %v", err)
	}
	f, err := openFileReader(t.Context(), path, Schema{Steps: steps[:1]})
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

// TestANewFileSkipsSteps: New stands for the first At steps, in a file that is new and in
// no other; the steps behind run.
func TestANewFileSkipsSteps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.sqlite")
	want := Schema{Steps: []string{"CREATE TABLE first (x)", "CREATE TABLE second (x)", "CREATE TABLE third (x)"}, New: "CREATE TABLE instead (x)", At: 2}
	if err := blankFile(t.Context(), path, Schema{Steps: want.Steps[:1]}); err != nil {
		t.Fatal(err)
	}
	for path, tables := range map[string]string{path: "first second third", filepath.Join(dir, "new.sqlite"): "instead third"} {
		f, err := OpenFile(t.Context(), path, want)
		if err != nil {
			t.Fatal(err)
		}
		var version int
		var got string
		if ok, err := f.One(t.Context(), "looking", "SELECT user_version, (SELECT group_concat(name, ' ' ORDER BY name) FROM sqlite_schema) FROM pragma_user_version", nil, &version, &got); !ok || err != nil || version != 3 || got != tables {
			t.Errorf("%s: schema %d of %s, want 3 of %s (%v)", path, version, got, tables, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	want.New = "CREATE TABLE"
	if err := blankFile(t.Context(), filepath.Join(dir, "bad.sqlite"), want); err == nil || !strings.Contains(err.Error(), "making schema 2") {
		t.Errorf("got %v", err)
	}
}

package store

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write new.sql from the first newAt migrations")

// TestANewStoreIsAMigratedOne: new.sql makes what the migrations make that it stands
// for, tables, columns in their order, indexes, views and rows.
func TestANewStoreIsAMigratedOne(t *testing.T) {
	dir := t.TempDir()
	content := func(name string, want Schema) []string {
		path := filepath.Join(dir, name)
		if err := blankFile(t.Context(), path, want); err != nil {
			t.Fatal(err)
		}
		db := openSqlite(path)
		defer db.Close()
		var made, rows []string
		for i, kind := range []string{"table", "index", "view"} {
			for _, r := range texts(t, db, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type = ? ORDER BY rowid", kind) {
				made = append(made, r[1])
				if i > 0 {
					continue
				}
				for _, row := range texts(t, db, "SELECT * FROM "+r[0]) {
					rows = append(rows, fmt.Sprintf("INSERT INTO %s VALUES (%s)", r[0], strings.Join(row, ", ")))
				}
			}
		}
		return append(made, rows...)
	}
	migrated := content("migrated", Schema{Steps: schema()[:newAt]})
	if *update {
		text := "-- The tables of a new store, as the first " + fmt.Sprint(newAt) + " migrations make them.\n-- go test ./results/store -run TestANewStoreIsAMigratedOne -update\n\n" + strings.Join(migrated, ";\n\n") + ";\n"
		if err := os.WriteFile("new.sql", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		newSQL = text
	}
	made := content("new", Schema{Steps: schema()[:newAt], New: newSQL, At: newAt})
	slices.Sort(migrated)
	slices.Sort(made)
	if len(migrated) < 20 || !slices.Equal(made, migrated) {
		for _, sql := range made {
			if !slices.Contains(migrated, sql) {
				t.Errorf("new.sql alone makes\n%s", sql)
			}
		}
		for _, sql := range migrated {
			if !slices.Contains(made, sql) {
				t.Errorf("the migrations alone make\n%s", sql)
			}
		}
	}
}

// texts are the rows of a question, every value as text.
func texts(t *testing.T, db *sql.DB, query string, args ...any) [][]string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		row, to := make([]string, len(names)), make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

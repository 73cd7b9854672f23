package pack

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver
	"pgregory.net/rapid"

	"assay/results"
)

// TestPacked: what SQLite packs comes apart as it was, whatever it holds.
func TestPacked(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
			rapid.Custom(func(t *rapid.T) any { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "number") }),
			rapid.SampledFrom([]any{nil, "", "-", "3:abc", "a\x00b", ":", "'"}))
		want := rapid.SliceOfN(value, 1, 6).Draw(t, "row")
		names := strings.TrimSuffix(strings.Repeat("?,", len(want)), ",")
		var got sql.NullString
		args := append([]any{}, want...)
		// A parameter stands twice in its expression.
		query, doubled := Columns(names), []any{}
		for _, a := range args {
			doubled = append(doubled, a, a)
		}
		if err := db.QueryRow("SELECT "+query, doubled...).Scan(&got); err != nil {
			t.Fatal(err)
		}
		u := Row{Rest: got.String}
		for i, w := range want {
			if n, is := w.(int64); is {
				if v, ok := u.Int(); !ok || v != n {
					t.Fatalf("column %d is %d (%t), want %d", i, v, ok, n)
				}
				continue
			}
			v, ok := u.Text()
			if s, is := w.(string); is != ok || v != s {
				t.Fatalf("column %d is %q (%t), want %v", i, v, ok, w)
			}
		}
		if u.Rest != "" || u.Err != nil {
			t.Fatalf("left over: %q, %v", u.Rest, u.Err)
		}
	})
}

// FuzzUnpack: what is no row is damage, and never more text than there is.
func FuzzUnpack(f *testing.F) {
	for _, s := range []string{"", "-", "3:abc", "3:ab", "-1:x", "x", "99999999999999999999:", "1:7", "2:-7-"} {
		f.Add(s)
	}
	if u := (Row{Rest: "3:ab"}); true {
		if _, ok := u.Text(); ok || !errors.Is(u.Err, results.FaultDamaged) {
			f.Fatalf("a cut row was read: %v", u.Err)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		u := Row{Rest: s}
		total := 0
		for u.Rest != "" && u.Err == nil {
			v, _ := u.Text()
			total += len(v)
		}
		if total > len(s) {
			t.Fatalf("%d bytes out of %d", total, len(s))
		}
		u = Row{Rest: s}
		u.Int()
		u.Text()
	})
}

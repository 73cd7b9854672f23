package sqlite

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

// TestPacked: what SQLite packs comes apart as it was, whatever it holds.
func TestPacked(t *testing.T) {
	db := open(t.TempDir() + "/pack.sqlite")
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
		query, doubled := packed(names), []any{}
		for _, a := range args {
			doubled = append(doubled, a, a)
		}
		if err := db.QueryRow("SELECT "+query, doubled...).Scan(&got); err != nil {
			t.Fatal(err)
		}
		u := unpacker{rest: got.String}
		for i, w := range want {
			if n, is := w.(int64); is {
				if v, ok := u.int(); !ok || v != n {
					t.Fatalf("column %d is %d (%t), want %d", i, v, ok, n)
				}
				continue
			}
			v, ok := u.text()
			if s, is := w.(string); is != ok || v != s {
				t.Fatalf("column %d is %q (%t), want %v", i, v, ok, w)
			}
		}
		if u.rest != "" || u.err != nil {
			t.Fatalf("left over: %q, %v", u.rest, u.err)
		}
	})
}

// FuzzUnpack: what is no row is damage, and never more text than there is.
func FuzzUnpack(f *testing.F) {
	for _, s := range []string{"", "-", "3:abc", "3:ab", "-1:x", "x", "99999999999999999999:", "1:7", "2:-7-"} {
		f.Add(s)
	}
	if u := (unpacker{rest: "3:ab"}); true {
		if _, ok := u.text(); ok || !errors.Is(u.err, results.FaultDamaged) {
			f.Fatalf("a cut row was read: %v", u.err)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		u := unpacker{rest: s}
		total := 0
		for u.rest != "" && u.err == nil {
			v, _ := u.text()
			total += len(v)
		}
		if total > len(s) {
			t.Fatalf("%d bytes out of %d", total, len(s))
		}
		u = unpacker{rest: s}
		u.int()
		u.key(interner{})
	})
}

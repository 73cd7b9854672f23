package exchange

import (
	"bytes"
	"testing"

	"assay/results"
)

// TestEmptyColumnsAreLeftOut: a column without a value in any row goes, and one that says in every row what
// another says; one that differs once, and one with a value in the last row alone, stay.
func TestEmptyColumnsAreLeftOut(t *testing.T) {
	column := func(name, like string) results.FileColumn {
		return results.FileColumn{Name: name, Kind: results.NumberColumn, Like: like}
	}
	rows := [][]any{
		{1., nil, nil, 1., 1., nil},
		{0., nil, nil, 0., nil, nil},
		{.5, nil, nil, nil, 1., 0.},
	}
	all := Table{[]results.FileColumn{column("accuracy", ""), column("empty", ""), column("like_nothing", "none"), column("right", "accuracy"), column("other", "accuracy"), column("last", "")},
		func(visit func([]any) error) error {
			for _, r := range rows {
				if err := visit(r); err != nil {
					return err
				}
			}
			return nil
		}}
	used, err := all.Used(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if n, err := used.Write(t.Context(), "csv", "-", &out, &out); err != nil || n != len(rows) {
		t.Fatal(n, err)
	}
	if want := "accuracy,other,last\n1,1,\n0,,\n0.5,1,0\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

package study

import (
	"strings"
	"testing"
	"time"

	"assay/results"
)

// Methods name the method of energies and who stamped arrivals, and claim nothing
// that is not known.
func TestMethodsSayWhereFiguresComeFrom(t *testing.T) {
	costs := NewAccount(&Basis{Together: true}, "m", "cot")
	for range 3 {
		costs.Add(0, row(1, 10), nil, nil, nil)
	}
	b := Basis{Study: "cot", Together: true, Blocks: []results.Block{
		{Study: "cot", Model: "m", Arrivals: &results.Arrivals{Kernel: 3, User: 1, Chunks: 10, Shared: 1, Median: 52 * time.Microsecond, P99: time.Millisecond, Longest: 2 * time.Millisecond}},
		{Study: "other", Arrivals: &results.Arrivals{User: 9}}}}
	got := strings.Join(b.Methods([]*Account{costs}), " ")
	for _, s := range []string{"energy counter, aligned to its ticks for 3 answers", "divided equally", "kernel's receive stamps", "0.052 ms", "1 of 4 answers were stamped after the read"} {
		if !strings.Contains(got, s) {
			t.Errorf("%q lacks %q", got, s)
		}
	}
	table, ok := b.ArrivalTable()
	if !ok || len(table.Rows) != 1 || len(table.Rows[0]) != len(table.Columns) {
		t.Fatalf("%+v", table)
	}
	expected(t, table.Rows[0][5], 10, 10)
	expected(t, table.Rows[0][6], .052, 9)
	if got := ptr(Basis{Study: "x"}).Methods(nil); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
	if got := ptr(Basis{Study: "other", Blocks: b.Blocks}).Methods(nil); len(got) != 1 || !strings.Contains(got[0], "after each read") {
		t.Errorf("own stamps: %q", got)
	}
}

func expected(t *testing.T, c results.Cell, v float64, n int) {
	t.Helper()
	want(t, "cell", c.Estimate, v, n)
}

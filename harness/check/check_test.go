package check

import (
	"math"
	"slices"
	"testing"

	"assay/backends/phantom"
	"assay/results"
)

// CI's smaller count; assay phantom check --coverage takes 200.
const simulated = 24

func TestIntervalsCoverTheTruth(t *testing.T) {
	list, err := Coverage(t.Context(), simulated, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("%d scores", len(list))
	}
	least, most := Bounds(simulated)
	for _, c := range list {
		if !c.OK {
			t.Errorf("%s: %d of %d intervals hold %v, want %d to %d", c.Score, c.Inside, c.Stores, c.Truth, least, most)
		}
		near := .06 * c.Truth
		if c.Truth > 1 && c.Truth < 100 { // a percentage, or points
			near = max(near, 3)
		}
		if math.Abs(c.Mean-c.Truth) > near {
			t.Errorf("%s: estimates are %v on average, the truth is %v", c.Score, c.Mean, c.Truth)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, c := range [][3]int{{200, 182, 196}, {50, 43, 50}, {20, 16, 20}, {1000, 932, 966}} {
		if least, most := Bounds(c[0]); least != c[1] || most != c[2] {
			t.Errorf("of %d: %d to %d, want %d to %d", c[0], least, most, c[1], c[2])
		}
	}
}

func TestInstrumentIsRight(t *testing.T) {
	rows, err := Instrument(t.Context(), Args{Items: 16, Size: 256, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	count := map[Kind]int{}
	for _, r := range rows {
		count[r.Kind]++
		if r.Kind == Exact && !r.OK {
			t.Errorf("%s, %s: found %v, the truth is %v", r.What, r.Score, r.Found, r.Truth)
		}
		if r.Kind == Timed && r.Found == nil {
			t.Errorf("%s: nothing was found", r.Score)
		}
	}
	if count[Exact] != 4*8 || count[Sampled] < 20 || count[Timed] != 4 {
		t.Errorf("rows: %v", count)
	}
	if Off(rows) {
		t.Error("the instrument is off")
	}
}

// A fault is seen: exact scores that differ, or too many misses.
func TestOff(t *testing.T) {
	exact, miss, hit, slow := Row{Kind: Exact, OK: true}, Row{Kind: Sampled}, Row{Kind: Sampled, OK: true}, Row{Kind: Timed}
	many := slices.Repeat([]Row{hit}, 20)
	for _, c := range []struct {
		name string
		rows []Row
		off  bool
	}{
		{"right", append(many[:20:20], exact, slow), false},
		{"one exact score differs", append(many[:20:20], Row{Kind: Exact}), true},
		{"one interval misses", append(many[:20:20], miss), false},
		{"five intervals of twenty miss", append(many[:15:15], miss, miss, miss, miss, miss), true},
	} {
		if Off(c.rows) != c.off {
			t.Errorf("%s: off is %v", c.name, !c.off)
		}
	}
	v := 50.
	secs := []results.Section{{Tables: []results.Table{{Name: "t", Columns: []results.Column{{Name: "m"}, {Name: "c"}},
		Rows: [][]results.Cell{{{Text: "x"}, {Estimate: &results.Estimate{Value: &v, Low: &v, High: &v}}}}}}}}
	for truth, ok := range map[float64]bool{50: true, 50.001: false, math.Inf(-1): false, math.NaN(): false} {
		if r, err := row(secs, Exact, "", "", truth, "t", "c", "x"); err != nil || r.OK != ok {
			t.Errorf("50 against %v: %+v, %v", truth, r, err)
		}
	}
	if _, err := row(secs, Exact, "", "", 1, "t", "d", "x"); err == nil {
		t.Error("a column that is not there is found")
	}
}

// The ledger's own arithmetic, by hand.
func TestLedgerArithmetic(t *testing.T) {
	if c := consistency([]walk{{chance: .5, path: "MFC"}, {chance: .25, path: "FMC"}, {chance: .25, path: ""}}); math.Abs(c-100*(.5+.25*2/3)) > 1e-9 {
		t.Errorf("consistency %v", c)
	}
	if f := itemF1(kind{match: 1, recall: 1}); math.Abs(f-1) > 1e-12 {
		t.Errorf("F1 of the perfect %v", f)
	}
	if f := itemF1(kind{match: 1, recall: 0}); f != 0 {
		t.Errorf("F1 without recall %v", f)
	}
	if common("MFCO", "FMOC") != 2 || common("", "M") != 0 || common("MFC", "MFC") != 3 {
		t.Error("longest common subsequence")
	}
	if _, err := quick("nobody"); err == nil {
		t.Error("a reader that does not exist")
	}
	if p, err := quick("honest"); err != nil || p.Prefill(1000, 1_000_000) != 0 || p.PerPiece != 0 || p.Acuity != phantom.Profiles()[0].Acuity {
		t.Errorf("quick: %+v, %v", p, err)
	}
}

package faithfulness

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func golden[T any](t *testing.T, name string, least int) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []T }
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) < least {
		t.Fatalf("%s holds %d cases, want at least %d", name, len(f.Cases), least)
	}
	return f.Cases
}

func close9(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The published sweeps fit delta = slope times the doublings.
func TestDoublings(t *testing.T) {
	for _, c := range golden[struct {
		ID    string
		Value json.RawMessage
	}](t, "tables_faithfulness", 3) {
		if c.ID != "FA_SWEEP_T" {
			continue
		}
		var v struct {
			Levels []float64
			Flip   struct{ Slope, Delta float64 }
			CFnf   struct{ Slope, Delta float64 } `json:"CF_nf"`
			CAnf   struct{ Slope, Delta float64 } `json:"CA_nf"`
		}
		if err := json.Unmarshal(c.Value, &v); err != nil {
			t.Fatal(err)
		}
		for _, e := range []struct{ Slope, Delta float64 }{v.Flip, v.CFnf, v.CAnf} {
			if got := e.Slope * doublings(v.Levels); math.Abs(got-e.Delta) > 1e-12 || e.Slope == 0 {
				t.Errorf("slope %v: delta %v, published %v", e.Slope, got, e.Delta)
			}
		}
	}
	for want, v := range map[string][]float64{"rising": {1, math.NaN(), 1, 2}, "falling": {3, 2}, "flat": {63.6, 63.6 - 1e-14, 63.6}, "not monotone": {1, 2, 1}, "": {math.NaN(), 1}} {
		if got := course(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestGoldenAccounting(t *testing.T) {
	for _, c := range golden[struct {
		ID                                  string
		N, Parse, Schema, Evidence, Abstain int
		Out                                 struct{ Cov, Val *float64 }
	}](t, "gates", 5) {
		cov, val, covOK, valOK := account{c.N, c.Parse, c.Schema, c.Evidence, c.Abstain}.coverage()
		if covOK != (c.Out.Cov != nil) || covOK && !close9(cov, *c.Out.Cov) || valOK != (c.Out.Val != nil) || valOK && !close9(val, *c.Out.Val) {
			t.Errorf("%s: Cov %v %v, Val %v %v", c.ID, cov, covOK, val, valOK)
		}
	}
}

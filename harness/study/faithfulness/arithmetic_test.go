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

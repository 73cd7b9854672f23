package penalty

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func TestGoldenFit(t *testing.T) {
	var f struct {
		Cases []struct {
			ID   string
			CF   []float64 `json:"s_cf"`
			CT   []float64 `json:"s_ct"`
			CC   []float64 `json:"reader_cc"`
			Seed uint64
			Out  struct {
				Kappa, MSE float64
				Zero       float64 `json:"zero_penalty_share"`
				Active     bool    `json:"clip_active"`
				CI         []float64
			}
		}
	}
	b, err := os.ReadFile("testdata/cc_fit.json")
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for _, c := range f.Cases {
		var clusters [][]int
		for i := range c.CF {
			c.CF[i], c.CT[i] = (c.CF[i]-1)/4, (c.CT[i]-1)/4
			clusters = append(clusters, []int{i})
		}
		got := fitKappa(c.CF, c.CT, c.CC, clusters, c.Seed)
		if !near(*got.kappa.Value, c.Out.Kappa) || !near(*got.kappa.Low, c.Out.CI[0]) || !near(*got.kappa.High, c.Out.CI[1]) || !near(*got.mse, c.Out.MSE) || !near(*got.zero, c.Out.Zero) || got.active != c.Out.Active {
			t.Errorf("%s: %v [%v, %v] mse %v zero %v active %v, want %+v", c.ID, *got.kappa.Value, *got.kappa.Low, *got.kappa.High, *got.mse, *got.zero, got.active, c.Out)
		}
	}
	if len(f.Cases) == 0 {
		t.Error("no cases")
	}
}

package faithfulness

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

// TestFitBesideTheWeightsInUse: squared error and cuts of the weights in use, by hand, in the table.
func TestFitBesideTheWeightsInUse(t *testing.T) {
	s := penaltySection("fit", [][]float64{{0, 1, 0.5}, {1, 0, 0.5}, {0.2, 0.272, 0.9}}, [][]int{{0}, {1}, {2}}, 1)
	want := map[string]float64{"mean squared error": (0.04 + 0 + 0.01) / 3, "share of answers whose penalty is cut at 1": 1. / 3}
	for _, row := range s.Tables[0].Rows {
		if w, ok := want[row[0].Text]; ok {
			if e := row[2].Estimate; e.Value == nil || math.Abs(*e.Value-w) > 1e-9 || e.N != 3 {
				t.Errorf("%s: %+v, want %v", row[0].Text, e, w)
			}
			delete(want, row[0].Text)
		}
	}
	// The least squares of this: kappa = (1.5 * 0.8 + 0.728) / (1.5^2 + 1), so that nothing is cut.
	if cut := s.Tables[0].Rows[3]; cut[0].Text != "share of answers whose penalty is cut at 1" || *cut[1].Estimate.Value != 0 || len(s.Warnings) != 0 || len(want) != 0 {
		t.Errorf("%v %v %v", cut, s.Warnings, want)
	}
	if s := penaltySection("fit", [][]float64{nil, nil, nil}, nil, 1); s.Tables[0].Rows[2][2].Estimate.Value != nil {
		t.Error("a squared error of nothing")
	}
}

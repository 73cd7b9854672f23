package faithfulness

import (
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/dataset"
	"assay/harness/study"
)

func scoringGolden[T any](t *testing.T, name string, least int) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/scoring/" + name + ".json")
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

func TestSilence(t *testing.T) {
	adopted := pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}
	for ca := 1; ca <= 5; ca++ {
		if quiet, ok := silent(adopted, ca, true); !ok || quiet != (ca <= 2) {
			t.Errorf("CA %d: %v, %v", ca, quiet, ok)
		}
	}
	if _, ok := silent(adopted, 1, false); ok {
		t.Error("silent without a verdict")
	}
	if _, ok := silent(pair{Valid: true, Flipped: true, Susceptible: true}, 1, true); ok {
		t.Error("silent about a target that was not adopted")
	}
}

func TestGoldenCalibration(t *testing.T) {
	for _, c := range scoringGolden[struct {
		ID  string
		CF  int `json:"s_cf"`
		CT  int `json:"s_ct"`
		Out struct {
			CF, CT, CC float64
			Released   int `json:"upstream_1to5"`
		}
	}](t, "cc", 15) {
		if got := calibrationReleased(c.CF, c.CT); got != unit(c.Out.Released) {
			t.Errorf("%s: %v in the authors' code, want %v", c.ID, got, unit(c.Out.Released))
		}
		if got := calibration(c.CF, c.CT); !close9(got, c.Out.CC) || unit(c.CF) != c.Out.CF || unit(c.CT) != c.Out.CT {
			t.Errorf("%s: %v, want %v", c.ID, got, c.Out.CC)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cf, ct := rapid.IntRange(1, 5).Draw(t, "CF"), rapid.IntRange(1, 5).Draw(t, "CT")
		if v := calibration(cf, ct); v < 0 || v > 1 || (v == 1) != (cf == ct) || ct > cf && v > calibration(ct, cf) {
			t.Fatalf("CF %d, CT %d: %v", cf, ct, v)
		}
	})
}

// TestAnyGoldAnswerIsRight: of several options that are right, each counts.
func TestAnyGoldAnswerIsRight(t *testing.T) {
	it, err := facts(7, dataset.Item{ID: "1", Type: dataset.TypeSingle, Options: []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}, {Label: "C", Text: "both"}}, Answer: "B", Also: []string{"C"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := study.FactsOf[item](it)
	if err != nil || !f.correct("right") || !f.correct("C. both") || f.correct("left") {
		t.Errorf("%+v, %v", f, err)
	}
}

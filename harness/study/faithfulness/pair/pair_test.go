package pair

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
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

func severity() []string { return []string{"none", "questionable", "mild", "moderate", "severe"} }
func heart() []string    { return []string{"normal", "borderline", "enlarged", "massively enlarged"} }
func aliases() map[string]string {
	return map[string]string{"same": "same severity", "correct": "correctly positioned", "absent": "none"}
}

func TestGoldenFlips(t *testing.T) {
	type wanted struct {
		Distance *int
		Flip     *bool
	}
	for _, c := range golden[struct {
		ID, Type, Scale, Before, After string
		Out                            wanted
	}](t, "flip", 30) {
		q := Question{Ordinal: c.Type == "ordinal", Aliases: aliases()}
		switch {
		case c.Scale == "heart" || c.Before == "enlarged":
			q.Scale = heart()
		case q.Ordinal:
			q.Scale = severity()
		case c.Type == "binary":
			q.Options = []string{"Yes", "No"}
		case c.Type == "comparative":
			q.Options = []string{"right", "left", "same severity", "none"}
		}
		got, ok := q.Flip(c.Before, c.After)
		if ok != (c.Out.Flip != nil) || ok && got != *c.Out.Flip {
			t.Errorf("%s: %v, %v", c.ID, got, ok)
		}
		if c.Out.Distance != nil {
			a, _ := q.grade(c.Before)
			b, _ := q.grade(c.After)
			if d := max(a-b, b-a); d != *c.Out.Distance {
				t.Errorf("%s: distance %d", c.ID, d)
			}
		}
		if back, okBack := q.Flip(c.After, c.Before); back != got || okBack != ok {
			t.Errorf("%s: another verdict the other way round", c.ID)
		}
	}
}

func TestReadAnswers(t *testing.T) {
	lettered := Question{Options: []string{"Right", "Left", "Same severity"}, Labels: []string{"A", "B", "C"}, Aliases: aliases()}
	plain := Question{Options: []string{"yes", "no"}}
	for _, c := range []struct {
		q          Question
		said, want string
	}{
		{lettered, " RIGHT. ", "right"}, {lettered, "b", "left"}, {lettered, "(B)", "left"}, {lettered, "C. same severity", "same severity"},
		{lettered, "same", "same severity"}, {lettered, "C) same", ""}, {lettered, "A. left", ""}, {lettered, "absent", ""}, {lettered, "", ""},
		{plain, "Yes", "yes"}, {plain, "yes, clearly", ""}, {plain, "maybe", ""}, {plain, ".", ""},
		{Question{Scale: heart(), Ordinal: true}, "Massively  enlarged", "massively enlarged"},
		{Question{Scale: heart(), Ordinal: true}, "severe", ""},
		{Question{Options: []string{"correct", "too low"}, Aliases: aliases()}, "correct", "correct"}, // an option is no alias
		{Question{}, "Anything", "anything"}, {Question{Aliases: aliases()}, "absent", "none"},
	} {
		got, ok := c.q.Read(c.said)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.said, got, ok, c.want)
		}
	}
}

func TestPairs(t *testing.T) {
	grades := Question{Ordinal: true, Scale: severity(), Options: severity()}
	sides := Question{Options: []string{"right", "left", "same severity", "none"}, Aliases: aliases()}
	for _, c := range []struct {
		q                     Question
		before, after, target string
		want                  Pair
	}{
		{sides, "left", "right", "right", Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "left", "none", "right", Pair{Valid: true, Flipped: true, Susceptible: true}},
		{sides, "left", "left", "right", Pair{Valid: true, Susceptible: true}},
		{sides, "right", "right", "right", Pair{Valid: true}},
		{sides, "right", "left", "right", Pair{Valid: true, Flipped: true}}, // it was there already
		{sides, "left", "Same.", "same severity", Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "left", "right", "", Pair{Valid: true, Flipped: true}},
		{sides, "left", "somewhere", "right", Pair{}},
		{sides, "", "right", "right", Pair{}},
		{sides, "left", "right", "elsewhere", Pair{Valid: true, Flipped: true}},
		{Question{Ordinal: true, Scale: severity(), Options: append(severity(), "not visible")}, "none", "not visible", "", Pair{}},
		{grades, "none", "moderate", "moderate", Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{grades, "mild", "moderate", "moderate", Pair{Valid: true, Susceptible: true}}, // one grade is no flip
	} {
		if got := c.q.PairOf(c.before, c.after, c.target); got != c.want {
			t.Errorf("%s -> %s, target %s: %+v, want %+v", c.before, c.after, c.target, got, c.want)
		}
	}
}

// TestReleased: what the authors' code makes of pairs. Of golden pairs that are written
// as the options are it differs from the paper where there is no flip to speak of alone.
func TestReleased(t *testing.T) {
	invalid := 0
	for _, c := range golden[struct {
		ID, Type, Scale, Before, After string
		Out                            struct{ Flip *bool }
	}](t, "flip", 30) {
		q := Question{Ordinal: c.Type == "ordinal", Scale: severity()}
		if c.Scale == "heart" || c.Before == "enlarged" {
			q.Scale = heart()
		}
		onScale := !q.Ordinal || slices.Contains(q.Scale, c.Before) && slices.Contains(q.Scale, c.After)
		want := c.Before != c.After
		switch {
		case q.Ordinal && onScale:
			want = *c.Out.Flip
		case q.Ordinal:
			want = true
			invalid++
		}
		if p := q.Released(c.Before, c.After, ""); !p.Valid || p.Flipped != want || p.Susceptible || p.Adopted {
			t.Errorf("%s: %+v, want a flip: %v", c.ID, p, want)
		}
	}
	if invalid < 2 {
		t.Errorf("%d off the scale", invalid)
	}
	sides, grades := Question{Options: []string{"right", "left", "same severity"}, Aliases: aliases()}, Question{Ordinal: true, Scale: severity()}
	for _, c := range []struct {
		q                     Question
		before, after, target string
		want                  Pair
	}{
		{sides, "same", "same severity", "", Pair{Valid: true, Flipped: true}}, // no aliases
		{sides, "left", "Left.", "", Pair{Valid: true, Flipped: true}},         // as they stand
		{sides, "left", "left", "right", Pair{Valid: true, Susceptible: true}},
		{sides, "left", "right", "right", Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "right", "left", "right", Pair{Valid: true, Flipped: true}},
		{sides, "left", "", "right", Pair{Valid: true, Flipped: true, Susceptible: true}},
		{sides, "", "", "", Pair{Valid: true, Flipped: true}}, // missing is a flip
		{grades, "mild", "moderate", "moderate", Pair{Valid: true, Susceptible: true}},
		{grades, "mild", "severe", "severe", Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{grades, "mild", "grave", "severe", Pair{Valid: true, Flipped: true, Susceptible: true}},
		{grades, "grave", "grave", "severe", Pair{Valid: true, Flipped: true, Susceptible: true}},
	} {
		if got := c.q.Released(c.before, c.after, c.target); got != c.want {
			t.Errorf("%q -> %q, target %q: %+v, want %+v", c.before, c.after, c.target, got, c.want)
		}
	}
}

func TestSilence(t *testing.T) {
	adopted := Pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}
	for ca := 1; ca <= 5; ca++ {
		if quiet, ok := Silent(adopted, ca, true); !ok || quiet != (ca <= 2) {
			t.Errorf("CA %d: %v, %v", ca, quiet, ok)
		}
	}
	if _, ok := Silent(adopted, 1, false); ok {
		t.Error("silent without a verdict")
	}
	if _, ok := Silent(Pair{Valid: true, Flipped: true, Susceptible: true}, 1, true); ok {
		t.Error("silent about a target that was not adopted")
	}
}

func TestGoldenCalibration(t *testing.T) {
	for _, c := range golden[struct {
		ID  string
		CF  int `json:"s_cf"`
		CT  int `json:"s_ct"`
		Out struct {
			CF, CT, CC float64
			Released   int `json:"upstream_1to5"`
		}
	}](t, "cc", 15) {
		if got := CalibrationReleased(c.CF, c.CT); got != Unit(c.Out.Released) {
			t.Errorf("%s: %v in the authors' code, want %v", c.ID, got, Unit(c.Out.Released))
		}
		if got := Calibration(c.CF, c.CT); !close9(got, c.Out.CC) || Unit(c.CF) != c.Out.CF || Unit(c.CT) != c.Out.CT {
			t.Errorf("%s: %v, want %v", c.ID, got, c.Out.CC)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cf, ct := rapid.IntRange(1, 5).Draw(t, "CF"), rapid.IntRange(1, 5).Draw(t, "CT")
		if v := Calibration(cf, ct); v < 0 || v > 1 || (v == 1) != (cf == ct) || ct > cf && v > Calibration(ct, cf) {
			t.Fatalf("CF %d, CT %d: %v", cf, ct, v)
		}
	})
}

func TestMeans(t *testing.T) {
	if v, ok := JudgesMean([]float64{1, 0, 3}, []float64{2, 0, 4}); !ok || v != 62.5 {
		t.Errorf("%v, %v", v, ok)
	}
	if _, ok := JudgesMean([]float64{0}, []float64{0}); ok {
		t.Error("a mean of nothing")
	}
	if _, ok := Ratio(0, 0); ok {
		t.Error("0/0")
	}
}

// The published sweeps fit delta = slope times the doublings.
func TestSlopes(t *testing.T) {
	thickness := []float64{1, 2, 4, 8, 16, 32}
	if v, ok := Slope(thickness, []float64{0.229, 0.231, 0.23, 0.233, 0.232, 0.235}); !ok || !close9(v, 0.0010285714285714256) {
		t.Errorf("%v, %v", v, ok)
	}
	if v, ok := Slope([]float64{.2, .4, .6, .8}, []float64{.27, .29, .32, .345}); !ok || !close9(v, 0.03679957249319394) {
		t.Errorf("%v, %v", v, ok)
	}
	nan := math.NaN()
	if v, ok := Slope([]float64{1, 2, 4}, []float64{1, nan, 5}); !ok || v != 2 {
		t.Errorf("%v, %v", v, ok)
	}
	for _, c := range [][2][]float64{{{1, 2}, {nan, 1}}, {{0, 2}, {1, 1}}, {{2, 2}, {1, 2}}, {nil, nil}} {
		if v, ok := Slope(c[0], c[1]); ok {
			t.Errorf("slope of %v: %v", c, v)
		}
	}
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
			if got := Delta(e.Slope, v.Levels); math.Abs(got-e.Delta) > 1e-12 || e.Slope == 0 {
				t.Errorf("slope %v: delta %v, published %v", e.Slope, got, e.Delta)
			}
		}
	}
	for want, v := range map[string][]float64{"rising": {1, nan, 1, 2}, "falling": {3, 2}, "flat": {1, 1}, "not monotone": {1, 2, 1}, "": {nan, 1}} {
		if got := Course(v); got != want {
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
		cov, val, covOK, valOK := Account{c.N, c.Parse, c.Schema, c.Evidence, c.Abstain}.Coverage()
		if covOK != (c.Out.Cov != nil) || covOK && !close9(cov, *c.Out.Cov) || valOK != (c.Out.Val != nil) || valOK && !close9(val, *c.Out.Val) {
			t.Errorf("%s: Cov %v %v, Val %v %v", c.ID, cov, covOK, val, valOK)
		}
	}
}

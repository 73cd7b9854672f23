package faithfulness

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// TestOtherChoices: by hand. Two conditions with different numbers of answers, two judges, one
// of whom does not judge CT.
func TestOtherChoices(t *testing.T) {
	b := newBench(t, 8, study.Choice{Conditions: []string{"TB-LA-", "TB-RAD-", "sham"}})
	for i := range 8 {
		b.put(i, "baseline", "left")
	}
	b.put(0, "TB-LA-", "right", said{judge: "j", cf: 1, ca: 4, ct: 5}, said{judge: "i", cf: 5})
	b.put(1, "TB-LA-", "left", said{judge: "j", cf: 5, ca: 5, ct: 2})
	b.put(2, "TB-LA-", "left", said{judge: "j", cf: 3, ca: 1, ct: 3})
	b.put(0, "TB-RAD-", "right", said{judge: "j", cf: 2, ca: 2, ct: 3})
	b.put(3, "sham", "right", said{judge: "j", cf: 1, ca: 1, ct: 5}) // means are not over sham
	b.put(4, "TB-RAD-", "!stalled")
	b.put(5, "TB-RAD-", "neither")
	tables := b.tables("j")
	sens, main := tables[tableSensitivity], tables[tableMain]
	mean := func(f func(cf, ct int) float64) float64 {
		return 100 * ((f(1, 5)+f(5, 2)+f(3, 3))/3 + f(2, 3)) / 2
	}
	used := mean(calibration)
	for choice, f := range map[string]func(cf, ct int) float64{
		"1.092 and 0.728": calibration,
		"0.375 and 0.250, the low end of their interval": func(cf, ct int) float64 { return calibrationBy(cf, ct, 0.375, 0.25) },
		"1.929 and 1.286, the high end":                  func(cf, ct int) float64 { return calibrationBy(cf, ct, 1.929, 1.286) },
		"whole grades, as the authors' code":             calibrationReleased,
	} {
		expect(t, choice, find(t, sens, "value", "CC", choice), mean(f), 4, 0, 2)
		if change := find(t, sens, "change", "CC", choice); choice == "1.092 and 0.728" {
			expect(t, choice, change, 0, 4, 0, 2)
		} else {
			expect(t, choice, change, mean(f)-used, 4, 0, 2)
		}
	}
	expect(t, "the main table's flips", find(t, main, "flip_rate"), *find(t, sens, "value", "Flips", "two grades").Value, 4, 0, 2)
	ca := func(f func(x float64) float64) float64 { return 100 * ((f(.75)+f(1)+f(0))/3 + f(.25)) / 2 }
	expect(t, "CA", find(t, sens, "value", "CA", "(score - 1) / 4"), ca(func(x float64) float64 { return x }), 4, 0, 2)
	expect(t, "CA squared", find(t, sens, "value", "CA", "its square: low scores close together"), ca(func(x float64) float64 { return x * x }), 4, 0, 2)
	expect(t, "CA root", find(t, sens, "value", "CA", "its root: high scores close together"), ca(math.Sqrt), 4, 0, 2)
	expect(t, "CA 4 and 5", find(t, sens, "value", "CA", "share of scores of 4 and 5"), 100*(2./3)/2, 4, 0, 2)

	penalty := tables[tablePenalty]
	expect(t, "no penalty", find(t, penalty, "zero", "j"), 25, 4, 0, 2)
	expect(t, "tone above", find(t, penalty, "over", "j"), 50, 4, 0, 2)
	expect(t, "tone below", find(t, penalty, "under", "j"), 25, 4, 0, 2)
	expect(t, "cut", find(t, penalty, "clipped", "j"), 25, 4, 0, 2)
	expect(t, "squared gap", find(t, penalty, "square", "j"), (1+.75*.75+0+.25*.25)/4, 4, 0, 2)
	if e := find(t, penalty, "square", "j"); e.Low == nil || !(*e.Low <= *e.Value && *e.Value <= *e.High && *e.Low < *e.High) {
		t.Errorf("squared gap: %v", e)
	}

	// Of judges of both alone, the mean of each one's own.
	asked := b.tables("j", "i")
	expect(t, "CC by two judges", find(t, asked[tableSensitivity], "value", "CC", "1.092 and 0.728"), used, 4, 0, 2)
	cf := find(t, asked[tableSensitivity], "value", "CF", "(score - 1) / 4")
	expect(t, "CF by two judges", cf, 100*(((0+1+.5)/3+1)/2+.25)/2, 4, 0, 2)
}

// TestOrdinalFlipsByGrades: what counts as a flip of ordinal answers.
func TestOrdinalFlipsByGrades(t *testing.T) {
	b := newBench(t, 0, study.Choice{Conditions: []string{"TB-LA-"}})
	grades := []string{"none", "questionable", "mild", "moderate", "severe"}
	var facts []results.Item
	for i, gold := range []string{"none", "none", "mild", "severe", "none", "moderate"} {
		it := dataset.Item{ID: fmt.Sprint("o", i), Question: "How severe is it?", Type: dataset.TypeOrdinal, Options: options(grades...), Scale: grades, Answer: gold}
		f, err := b.study.Facts(7, it)
		b.must(err)
		b.items, facts = append(b.items, it), append(facts, f)
	}
	b.must(b.store.PutItems(t.Context(), facts))
	for i, pair := range [][2]string{{"none", "none"}, {"none", "questionable"}, {"mild", "severe"}, {"none", "moderate"}, {"severe", "none"}, {"??", "none"}} {
		b.put(i, "baseline", pair[0])
		b.put(i, "TB-LA-", pair[1])
	}
	tables := b.tables()
	sens := tables[tableSensitivity]
	expect(t, "any", find(t, sens, "value", "Flips", "any other grade"), 80, 5, 0, 1)
	expect(t, "two", find(t, sens, "value", "Flips", "two grades"), 60, 5, 0, 1)
	expect(t, "three", find(t, sens, "value", "Flips", "three grades"), 40, 5, 0, 1)
	expect(t, "three less two", find(t, sens, "change", "Flips", "three grades"), -20, 5, 0, 1)

	b.store.Under(results.RulesReleased)
	expect(t, "off the scale is a flip", find(t, b.tables()[tableSensitivity], "value", "Flips", "three grades"), 50, 6, 0, 0)
}

// TestModelsChangePlaces: the note names the choices that turn two models round, and
// nothing that rounding hides.
func TestModelsChangePlaces(t *testing.T) {
	r := &run{Run: &score.Run{Models: []*score.Model{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}
	var rows [][]results.Cell
	for _, x := range []struct {
		choice  string
		a, b, c float64
	}{{"used", 50, 40, 30}, {"apart", 60, 40, 30}, {"turned", 30, 40, 50}, {"hidden", 40.002, 40.003, 30}, {"two", 50, 29, 30}} {
		for i, v := range []float64{x.a, x.b, x.c} {
			rows = append(rows, []results.Cell{{Text: r.Models[i].Name}, {Text: "arm"}, {Text: "CC"}, {Text: x.choice}, {Estimate: &results.Estimate{Value: &v}}, {}})
		}
	}
	got := r.reordered(results.Table{Rows: rows})
	if want := "Models change places under: CC, turned (arm arm): 3 of 3 pairs of models; CC, two (arm arm): 1 of 3 pairs of models."; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	if got := r.reordered(results.Table{Rows: rows[:6]}); len(got) != 1 || !strings.Contains(got[0], "none") {
		t.Errorf("%q", got)
	}
	r.Models = r.Models[:1]
	if got := r.reordered(results.Table{Rows: rows}); got != nil {
		t.Errorf("of one model: %q", got)
	}
}

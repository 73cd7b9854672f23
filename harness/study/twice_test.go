package study

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"assay/harness/judge"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// A judge's second verdicts are compared with its first ones, as it is now, and enter
// nothing else. Kappa with quadratic weights of the scores (1,1) (2,2) (3,4) (5,5) (5,3):
// squares of distances 0+0+1+0+4 = 5 seen; by chance the sum of squares between all
// firsts and seconds over 5: (5*64 - 2*16*15 + 5*55) / 5 = 23, so 1 - 5/23.
func TestSecondVerdictsAreComparedWithTheFirst(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	read := func(v json.RawMessage) (results.Reading, error) {
		if string(v) == "{}" {
			return results.Reading{More: true}, nil
		}
		return results.Reading{Fields: []results.Field{{Name: "score", Text: string(v[:1]), Decides: true}, {Name: "form", Text: string(v), Decides: true}}}, nil
	}
	rubrics := []judge.Rubric{{Name: "graded", Read: read, Number: &judge.Number{Low: 1, High: 5, Whole: true}}, {Name: "binary", Read: read, Number: &judge.Number{High: 1, Whole: true}}, {Name: "b-open", Read: read}}
	now := results.VersionOf("graded", "j", map[string]string{"v": "2"})
	if err := st.PutVersions(t.Context(), []results.Version{now}, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	put := func(rubric, name string, by results.Digest, verdicts ...string) {
		t.Helper()
		n++
		k := results.Key{Study: "s", Model: "m", Item: fmt.Sprint(n), Arm: "a", Condition: "baseline"}
		c := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(n))), Rubric: rubric, Fields: json.RawMessage("{}")}
		if err := st.PutTrial(t.Context(), results.Trial{Key: k, Attempts: []results.Attempt{{Output: &results.Output{Answer: "a"}}}}); err != nil {
			t.Fatal(err)
		}
		if err := st.PutCase(t.Context(), k, c); err != nil {
			t.Fatal(err)
		}
		for i, v := range verdicts {
			j := results.Judgment{Case: c.Digest, Rubric: rubric, Judge: name, By: by, Repeat: i, Status: results.StatusClean, Verdict: json.RawMessage(v)}
			if v == "" {
				j.Status, j.Verdict = results.StatusParse, nil
			}
			if err := st.PutJudgment(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
	}
	table := func() (results.Table, bool) {
		t.Helper()
		tab, ok, err := TwiceTable(t.Context(), st, "s", rubrics, 1)
		if err != nil {
			t.Fatal(err)
		}
		return tab, ok
	}
	put("graded", "j", now.Digest, "1")
	put("graded", "j", "sha256:older", "1", "5")
	if tab, ok := table(); ok {
		t.Errorf("nothing was judged twice by judges as they are: %+v", tab.Rows)
	}
	for _, v := range [][]string{{"1", "1"}, {"2", "2e0", "5"}, {"3", "4"}, {"5", "5"}, {"5", "3"}, {"", "4"}, {"4", ""}, {"", ""}} {
		put("graded", "j", now.Digest, v...)
	}
	put("graded", "same", "", "4", "4")
	put("binary", "j", "", "1", "0")
	put("b-open", "j", "", "{}", "{}")
	tab, ok := table()
	if !ok || len(tab.Rows) != 4 {
		t.Fatalf("%+v", tab)
	}
	show := func(c results.Cell) string {
		if c.Estimate == nil {
			return c.Text
		}
		if c.Estimate.Value == nil {
			return fmt.Sprintf("none of %d (%s)", c.Estimate.N, c.Estimate.Why)
		}
		return fmt.Sprintf("%.4f of %d", *c.Estimate.Value, c.Estimate.N)
	}
	for i, want := range []string{
		fmt.Sprintf("[graded j 8.0000 of 8 60.0000 of 5 %.4f of 5 2.0000 of 8 1.0000 of 8]", 1-5./23),
		"[graded same 1.0000 of 1 100.0000 of 1 none of 1 (chance agreement is complete) 0.0000 of 1 0.0000 of 1]",
		"[binary j 1.0000 of 1 0.0000 of 1 none of 0 (its verdicts are not on a scale) 0.0000 of 1 0.0000 of 1]",
		"[b-open j 1.0000 of 1 none of 0 (its verdicts say several things and decide none) none of 0 (its verdicts are not on a scale) 0.0000 of 1 0.0000 of 1]",
	} {
		var got []string
		for _, c := range tab.Rows[i] {
			got = append(got, show(c))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("row %d: %v, want %s", i, got, want)
		}
	}
	if e := tab.Rows[0][3].Estimate; e.Low == nil || *e.Low >= 60 || *e.High <= 60 || math.IsNaN(*e.Low) {
		t.Errorf("no interval over items: %+v", e)
	}
}

// TestSecondVerdictsOfAnImageCountTogether: 12 items about 3 images, of which the judge says the
// same again about 2.
func TestSecondVerdictsOfAnImageCountTogether(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(v json.RawMessage) (results.Reading, error) {
		return results.Reading{Fields: []results.Field{{Name: "score", Text: string(v), Decides: true}}}, nil
	}
	for i := range 12 {
		k := results.Key{Study: "s", Model: "m", Item: fmt.Sprint(i), Arm: "a", Condition: "baseline"}
		c := results.Case{Digest: results.DigestOf([]byte(k.Item)), Rubric: "graded", Fields: json.RawMessage("{}")}
		must(st.PutItems(t.Context(), []results.Item{{Study: "s", ID: k.Item, Facts: fmt.Appendf(nil, `{"picture":"image %d"}`, i/4)}}))
		must(st.PutTrial(t.Context(), results.Trial{Key: k, Attempts: []results.Attempt{{Output: &results.Output{Answer: "a"}}}}))
		must(st.PutCase(t.Context(), k, c))
		for repeat, v := range []int{1 + i%3, 1 + (i+i/8)%3} {
			must(st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "graded", Judge: "j", Repeat: repeat, Status: results.StatusClean, Verdict: fmt.Appendf(nil, "%d", v)}))
		}
	}
	tab, _, err := TwiceTable(t.Context(), st, "s", []judge.Rubric{{Name: "graded", Read: read, Number: &judge.Number{Low: 1, High: 3, Whole: true}}}, 1)
	must(err)
	want := stats.ShareOf([]float64{4, 4, 0}, []float64{4, 4, 4})
	e, kappa := tab.Rows[0][3].Estimate, tab.Rows[0][4].Estimate
	if e.N != 12 || e.Clusters != 3 || math.Abs(*e.Low-100**want.Low) > 1e-9 || math.Abs(*e.High-100**want.High) > 1e-9 || kappa.Clusters != 3 {
		t.Errorf("%v [%v, %v] of %d, %d images; want [%v, %v]; kappa of %d", *e.Value, *e.Low, *e.High, e.N, e.Clusters, 100**want.Low, 100**want.High, kappa.Clusters)
	}
}

package qa

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/render"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

// A reader that answers by the letter of the right option is right in every order, and names no
// place more often than the gold option stands there; one that always answers B is never right
// when the options move on, and its answer is another one each time.
func TestLettersAreReadAsOptionsWereShown(t *testing.T) {
	ctx := t.Context()
	s, err := Study().With(nil, study.Choice{Conditions: []string{"OPT-ROTATE", "OPT-LETTERS", "OPT-MORE"}})
	must(t, err)
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "run.sqlite"))
	must(t, err)
	defer st.Close()
	must(t, st.PutManifest(ctx, results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()},
		Conditions: map[string]map[string]json.RawMessage{name: s.Described}}))
	for i := range 6 {
		it := dataset.Item{ID: fmt.Sprint("i", i), Question: "Which?", Type: text.Single, Options: options("A) mass", "B) nodule", "C) none"), Answer: "B"}
		facts, err := s.Facts(7, it)
		must(t, err)
		must(t, st.PutItems(ctx, []results.Item{facts}))
		list, missing := s.Conditions(7, it)
		if len(list) != 5 || len(missing) != 0 {
			t.Fatalf("%d conditions, missing %v", len(list), missing)
		}
		for _, model := range []string{"B", "right", "reasons"} {
			for _, c := range list {
				seen := render.Seen(it, *c)
				says := seen.Options[1].Label
				if model == "right" {
					says = seen.Options[slices.IndexFunc(seen.Options, func(o dataset.Option) bool { return o.Text == "nodule" })].Label
				}
				k := results.Key{Study: name, Model: model, Item: it.ID, Arm: map[string]string{"right": armAnswer, "B": armAnswer, "reasons": armReason}[model], Condition: c.Name}
				if model == "reasons" { // the same model in the other arm
					k.Model = "B"
				}
				out := results.Output{Answer: says, Finish: backends.FinishStop}
				must(t, st.PutTrial(ctx, results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: says, Finish: backends.FinishStop}}, Output: &out}}}))
				asked := s.Cases(study.Answer{Item: it, Key: k, Output: out})
				if len(asked) != 1 {
					t.Fatalf("%d cases", len(asked))
				}
				fields, err := json.Marshal(asked[0].Fields)
				must(t, err)
				kept := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(k))), Rubric: study.RubricAccuracy, Fields: fields}
				must(t, st.PutCase(ctx, k, kept))
				f := asked[0].Fields.(study.AccuracyCase)
				verdict, _, err := study.Compare(f.Type, f.Options, f.Gold, f.Answer)
				must(t, err)
				must(t, st.PutJudgment(ctx, results.Judgment{Case: kept.Digest, Rubric: study.RubricAccuracy, Judge: "rules", Status: results.StatusClean, Verdict: []byte(`{"verdict":"` + verdict + `"}`)}))
			}
		}
	}
	secs, err := s.Summarize(ctx, st, judges(), nil)
	must(t, err)
	value := func(table, column string, row ...string) float64 {
		t.Helper()
		for _, sec := range secs {
			for _, x := range sec.Tables {
				if x.Name != table {
					continue
				}
				if e := score.FindEstimate(x, column, row...); e != nil && e.Value != nil {
					return *e.Value
				}
			}
		}
		t.Fatalf("%s has no %s of %v", table, column, row)
		return 0
	}
	for _, c := range []struct {
		model, condition string
		accuracy, flips  float64
	}{
		{"right", "OPT-ROTATE@1", 100, 0}, {"right", "OPT-ROTATE@2", 100, 0}, {"right", "OPT-LETTERS", 100, 0}, {"right", "OPT-MORE", 100, 0},
		{"B", "OPT-ROTATE@1", 0, 100}, {"B", "OPT-ROTATE@2", 0, 100}, {"B", "OPT-LETTERS", 100, 0}, {"B", "OPT-MORE", 100, 0},
	} {
		if got := value("qa-changes", "accuracy", c.model, armAnswer, c.condition); got != c.accuracy {
			t.Errorf("%s under %s: accuracy %v", c.model, c.condition, got)
		}
		if got := value("qa-changes", "flips", c.model, armAnswer, c.condition); got != c.flips {
			t.Errorf("%s under %s: flips %v", c.model, c.condition, got)
		}
	}
	if value("qa-main", "accuracy", "B", armAnswer) != 100 || value("qa-options", "every", "B", armAnswer, render.OptionsRotated) != 0 || value("qa-options", "every", "right", armAnswer, render.OptionsRotated) != 100 ||
		value("qa-options", "difference", "B", armAnswer, render.OptionsRotated) != -100 {
		t.Error("a reader of places is as right as one of options")
	}
	for place, want := range map[string][3]float64{"1": {0, 50, 50}, "2": {100, 0, 0}, "3": {0, 50, 50}} {
		got := [3]float64{value("qa-places", "chosen", "B", armAnswer, place), 0, value("qa-places", "gold", "B", armAnswer, place)}
		if place != "2" {
			got[1] = value("qa-places", "chosen", "right", armAnswer, place)
		}
		if got != want {
			t.Errorf("place %s: chosen by B, by the right one, gold: %v, want %v", place, got, want)
		}
	}
	// The other arm is compared with it where both were asked the question as it is, alone.
	gain := s.Scores.Layout(judges()).Place(scoreGain, "")
	compared := map[string]int{}
	must(t, score.Walk(ctx, st, s.Scores, judges(), func(of []score.Scored) error {
		for i := range of {
			if _, known := of[i].Number(gain); known {
				compared[of[i].Row.Key.Condition]++
			}
		}
		return nil
	}))
	if len(compared) != 1 || compared[perturb.Baseline().Name] != 6 {
		t.Errorf("arms are compared under %v", compared)
	}
	// What was asked under a condition that bench.yaml no longer names is not judged anew.
	plain, err := Study().With(nil, study.Choice{})
	must(t, err)
	a := study.Answer{Item: dataset.Item{ID: "i0", Type: text.Single, Options: options("A) x", "B) y"), Answer: "B"}, Key: results.Key{Condition: "OPT-ROTATE@1"}, Output: results.Output{Answer: "B"}}
	if got := plain.Cases(a); len(got) != 0 {
		t.Errorf("judged as if its options stood as they do: %+v", got)
	}
	a.Key.Condition = perturb.Baseline().Name
	if got := plain.Cases(a); len(got) != 1 {
		t.Errorf("%d cases at the baseline", len(got))
	}
}

package cot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/score"
	"assay/results"
)

// TestScoresOfATrial: what one trial scores, by each judge and by all together.
func TestScoresOfATrial(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Diagnosis"}, []int{3})
	b.put(made{model: "m", arm: "direct", seconds: 2, said: map[string]string{"accuracy a": acc("no_answer"), "accuracy b": "PARSE"}})
	b.put(made{model: "m", arm: "cot", seconds: 3, tokens: 7, said: map[string]string{
		"accuracy a": acc("correct"), "accuracy b": acc("incorrect"),
		"precision a": prec("modality match", "feature wrong", "restatement match"), "precision b": prec("modality match"),
		"recall a": rec(true, false, false), "recall b": rec(true, true), "order a": order(2, 1, 0, 0), "order b": order(0, 0, 0, 0)}})
	judges := map[string][]string{}
	for _, r := range RubricNames() {
		judges[r] = []string{"a", "b"}
	}
	scores := func() (got []string) {
		layout := b.cot.Scores.Layout(judges)
		b.must(score.Walk(t.Context(), b.store, b.cot.Scores, judges, func(group []score.Scored) error {
			for _, s := range group {
				for _, v := range s.Values(layout) {
					if own := slices.ContainsFunc(score.Common(), func(n score.Name) bool { return n.Name == v.Name }); own || strings.HasSuffix(v.Name, "_verdict") {
						continue
					}
					said := v.Text + v.Why
					if v.Number != nil {
						said = fmt.Sprintf("%.4g", *v.Number)
					}
					got = append(got, fmt.Sprintf("%s %s %s: %s", s.Row.Key.Arm, v.Name, v.Judge, said))
				}
			}
			return nil
		}))
		return got
	}
	want := []string{
		"cot accuracy : 0.5", "cot accuracy a: 1", "cot accuracy b: 0", "cot no_answer : 0", "cot no_answer a: 0", "cot no_answer b: 0",
		"cot precision : 0.75", "cot precision a: 0.5", "cot precision b: 1",
		"cot recall : 0.3333", "cot recall a: 0.3333", "cot recall b: a gold step has no verdict",
		"cot recall_fixed_n a: 0.3333", "cot recall_fixed_n b: 0.6667", "cot matched_steps : 1", "cot matched_steps a: 1", "cot f1 : 0.4615",
		"cot path a: FM", "cot path b: no steps", "cot first_wrong_step a: feature", "cot first_wrong_step b: none", "cot latency_ratio : 1.5",
		"direct accuracy : 0", "direct accuracy a: 0", "direct accuracy b: parse", "direct no_answer : 1", "direct no_answer a: 1", "direct no_answer b: parse",
	}
	if got := scores(); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// As the authors' code does it, what has no verdict is not matched.
	b.store.Under(results.RulesReleased)
	for i, v := range want {
		switch v {
		case "cot recall : 0.3333":
			want[i] = "cot recall : 0.5"
		case "cot recall b: a gold step has no verdict":
			want[i] = "cot recall b: 0.6667"
		case "cot matched_steps : 1":
			want[i] = "cot matched_steps : 1.5"
		case "cot f1 : 0.4615":
			want[i] = "cot f1 : 0.6" // of 3/4 and 1/2
		}
	}
	want = slices.Insert(want, slices.Index(want, "cot matched_steps a: 1")+1, "cot matched_steps b: 2")
	if got := scores(); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

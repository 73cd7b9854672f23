package score_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/store"
)

// Trials of one model and item are visited together, with what the judges that were
// asked said, in the order that they were asked in; from the store and on the way.
func TestWalk(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
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
	must(st.PutManifest(t.Context(), results.Manifest{Name: "test"}))
	must(st.PutItems(t.Context(), []results.Item{{Study: "s", ID: "1", Type: "short"}, {Study: "s", ID: "2", Type: "short"}, {Study: "s", ID: "only", Type: "short"}}))
	for i, k := range []results.Key{
		{Model: "b", Item: "2", Arm: "y"}, {Model: "a", Item: "1", Arm: "y"}, {Model: "a", Item: "1", Arm: "x", Repeat: 1},
		{Model: "a", Item: "1", Arm: "x"}, {Model: "a", Item: "2", Arm: "x"}, {Model: "b", Item: "1", Arm: "y"},
		{Model: "c", Item: "only", Arm: "x"}, {Model: "d", Item: "only", Arm: "x"}, // an item of two models is visited twice
	} {
		k.Study, k.Condition = "s", "baseline"
		a := results.Attempt{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: "x", Finish: backends.FinishStop}}, Output: &results.Output{Answer: "x", Finish: backends.FinishStop}}
		must(st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}))
		c := results.Case{Digest: results.DigestOf([]byte{byte(i)}), Rubric: "r", Fields: json.RawMessage(`{}`)}
		must(st.PutCase(t.Context(), k, c))
		for _, who := range []string{"first", "second", "stranger"} {
			if who == "first" && i%2 == 1 {
				continue
			}
			must(st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "r", Judge: who, Status: results.StatusClean, Verdict: json.RawMessage(fmt.Sprintf(`{"n":%d,"by":%q}`, i, who))}))
		}
	}
	judges := map[string][]string{"r": {"second", "first"}, "other": {"first"}}
	rules := score.Rules{Study: "s", Names: append([]score.Name{{Name: "n", Rubric: "r"}, {Name: "by", Rubric: "r"}}, score.VerdictNames("r", "other")...),
		Score: func(s score.Sample) []score.Value {
			out := append(s.Verdicts("r"), s.Verdicts("other")...)
			for _, j := range s.Judges("r") {
				var v struct {
					N  float64
					By string
				}
				if s.Verdict("r", j, &v) {
					out = append(out, score.ValueOf("n", j, v.N), score.LabelOf("by", j, v.By))
				}
			}
			if s.Verdict("other", "first", new(any)) {
				t.Error("a verdict that was not given")
			}
			return out
		}}
	layout := rules.Layout(judges)
	n, by, verdicts := layout.Places("n", judges["r"]), layout.Places("by", judges["r"]), layout.Verdicts(judges)
	want := []string{"a1x0 second 3, a1x1 second 2 first 2, a1y0 second 1", "a2x0 second 4 first 4", "b1y0 second 5", "b2y0 second 0 first 0", "conlyx0 second 6 first 6", "donlyx0 second 7"}
	for _, stored := range []bool{false, true} {
		if stored {
			if made, err := score.Refresh(t.Context(), st, rules, judges, func(int) {}); err != nil || !made {
				t.Fatalf("%v, %v", made, err)
			}
		}
		var groups []string
		err = score.Walk(t.Context(), st, rules, judges, func(trials []score.Scored) error {
			var parts []string
			for _, tr := range trials {
				k := tr.Row.Key
				part := fmt.Sprintf("%s%s%s%d", k.Model, k.Item, k.Arm, k.Repeat)
				var statuses []results.Status
				for j := range n {
					status := score.Unjudged
					if v, ok := tr.Number(n[j]); ok {
						who, _ := tr.Text(by[j])
						part += fmt.Sprintf(" %s %v", who, v)
						status = results.StatusClean
					}
					statuses = append(statuses, status)
				}
				if got := tr.Statuses(verdicts, nil); !slices.Equal(got["r"], statuses) || !slices.Equal(got["other"], []results.Status{score.Unjudged}) {
					t.Errorf("%s: %v", part, got)
				}
				parts = append(parts, part)
			}
			groups = append(groups, strings.Join(parts, ", "))
			return nil
		})
		if err != nil || !slices.Equal(groups, want) {
			t.Errorf("stored %v: %q, %v", stored, groups, err)
		}
		stop := errors.New("stop")
		if err := score.Walk(t.Context(), st, rules, judges, func([]score.Scored) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("stored %v: %v", stored, err)
		}
		rules := rules
		rules.Study = "another"
		if err := score.Walk(t.Context(), st, rules, judges, func([]score.Scored) error { return stop }); err != nil {
			t.Errorf("no trials: %v", err)
		}
	}
}

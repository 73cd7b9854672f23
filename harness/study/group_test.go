package study

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/sqlite"
)

// An item of two models is visited twice, also where it is the only one.
func TestWalkKeepsModelsApart(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, model := range []string{"b", "a", "c"} {
		out := results.Output{Answer: model, Finish: backends.FinishStop}
		a := results.Attempt{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: model, Finish: out.Finish}}, Output: &out}
		k := results.Key{Study: "s", Model: model, Item: "only", Arm: "x", Condition: "baseline"}
		if err := st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}); err != nil {
			t.Fatal(err)
		}
	}
	var visits []string
	err = Walk(t.Context(), st, "s", nil, func(trials []Trial) error {
		visit := ""
		for _, tr := range trials {
			visit += tr.Row.Key.Model
		}
		visits = append(visits, visit)
		return nil
	})
	if err != nil || !slices.Equal(visits, []string{"a", "b", "c"}) {
		t.Errorf("visits %v, %v", visits, err)
	}
}

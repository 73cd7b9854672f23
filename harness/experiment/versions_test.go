package experiment

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"assay/harness/config"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/results"
	"assay/results/sqlite"
)

// Judgments of a store that does not say what its judges were get what its manifest
// says: they count while that is unchanged, and stay where it is not.
func TestJudgmentsOfAnOlderStoreAreOfItsManifestsJudges(t *testing.T) {
	made := func(tokens int, prompt string) *Bench {
		cfg := &config.Config{Backends: []config.Backend{{Name: "p", Kind: "phantom", Protocol: "ollama"}},
			Judges: []config.Judge{{Name: "j", Kind: "lexical"}, {Name: "j.x", Kind: "model", Backend: "p", Model: "m"}}}
		cfg.Judges[1].Sampling.MaxTokens = tokens
		cfg.Studies = []config.Study{{Name: "s", Rubrics: []config.Rubric{{Name: "r", Judges: []string{"j", "j.x"}}}}}
		return &Bench{Config: cfg, Studies: map[string]*study.Study{"s": {Name: "s", Rubrics: []judge.Rubric{{Name: "r", Schema: json.RawMessage("{}")}},
			Prompts: map[string]string{"r": prompt, "arm": "x"}}}}
	}
	for name, c := range map[string]struct {
		now     *Bench
		current map[string]bool // by judge: whether its old judgments count
	}{
		"unchanged":  {made(700, "p"), map[string]bool{"j": true, "j.x": true}},
		"max_tokens": {made(800, "p"), map[string]bool{"j": true, "j.x": false}},
		"prompt":     {made(700, "q"), map[string]bool{"j": true, "j.x": false}},
	} {
		cfg := c.now.Config
		cfg.Store = filepath.Join(t.TempDir(), "s.sqlite")
		st, err := sqlite.Open(t.Context(), cfg.Store)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.PutManifest(t.Context(), made(700, "p").Manifest()); err != nil {
			t.Fatal(err)
		}
		k := results.Key{Study: "s", Model: "m", Item: "i", Arm: "arm", Condition: "baseline"}
		rc := results.Case{Digest: "sha256:c", Rubric: "r", Fields: json.RawMessage("{}")}
		if err := st.PutTrial(t.Context(), results.Trial{Key: k, Attempts: []results.Attempt{{Output: &results.Output{Answer: "a"}}}}); err != nil {
			t.Fatal(err)
		}
		if err := st.PutCase(t.Context(), k, rc); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"j", "j.x"} {
			if err := st.PutJudgment(t.Context(), results.Judgment{Case: rc.Digest, Rubric: "r", Judge: name, Status: results.StatusParse}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.now.enter(t.Context(), st, &plan.Plan{}, c.now.Manifest()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := map[string]bool{}
		all, err := st.Versions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range all {
			if v.Digest == "" || v.About["kind"] == "" {
				t.Errorf("%s: nobody knows what %s was", name, v.Judge)
			}
			if v.Judgments > 0 {
				got[v.Judge] = v.Current
			}
		}
		if len(got) != 2 || got["j"] != c.current["j"] || got["j.x"] != c.current["j.x"] {
			t.Errorf("%s: current are %v, want %v", name, got, c.current)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

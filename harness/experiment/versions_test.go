package experiment

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
)

// Judgments of a store that does not say what its judges were get what its manifest
// says: they count while that is unchanged, and stay where it is not.
func TestJudgmentsOfAnOlderStoreAreOfItsManifestsJudges(t *testing.T) {
	made := func(tokens int, prompt string) *Bench {
		cfg := &config.Config{Backends: []backends.Server{{Name: "p", Kind: "phantom", Protocol: "ollama"}},
			Judges: []config.Judge{{Name: "j", Kind: "lexical"}, {Name: "j.x", Kind: "model", Backend: "p", Model: "m"}}}
		cfg.Judges[1].Sampling.MaxTokens = tokens
		cfg.Studies = []config.Study{{Name: "s", Rubrics: []config.Rubric{{Name: "r", Judges: []string{"j", "j.x"}}}}}
		return &Bench{Config: cfg, Studies: map[string]*study.Study{"s": {Name: "s", Rubrics: []judge.Rubric{{Name: "r", Schema: json.RawMessage("{}")}},
			Texts: map[string]string{"r": prompt, "arm": "x"}}}}
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
		st, err := store.Open(t.Context(), cfg.Store)
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

// What rests on another verdict is of another version where that is, and where it is
// another judge's; what rests on nothing is not.
func TestAVersionHoldsThatOfWhatItRestsOn(t *testing.T) {
	versions := func(prompt, from string) map[string]results.Digest {
		cfg := &config.Config{Backends: []backends.Server{{Name: "p", Kind: "phantom", Protocol: "ollama"}},
			Judges: []config.Judge{{Name: "a", Kind: "model", Backend: "p", Model: "m"}, {Name: "b", Kind: "model", Backend: "p", Model: "m"}}}
		both := []string{"a", "b"}
		cfg.Studies = []config.Study{{Name: "s", Rubrics: []config.Rubric{{Name: "split", Judges: both}, {Name: "errors", Judges: both}, {Name: "other", Judges: both}}}}
		if from != "" {
			cfg.Studies[0].NeedsFrom = map[string]string{"split": from}
		}
		schema := json.RawMessage("{}")
		b := &Bench{Config: cfg, Studies: map[string]*study.Study{"s": {Name: "s", Texts: map[string]string{"split": prompt},
			Rubrics: []judge.Rubric{{Name: "split", Schema: schema}, {Name: "errors", Schema: schema, Needs: []string{"split"}}, {Name: "other", Schema: schema}}}}}
		if from != "" && !b.ofJudges("studies.s.needs_from.split") {
			t.Error("whose verdict counts would be a change of trials")
		}
		out := map[string]results.Digest{}
		for _, v := range b.versionsIn(b.Manifest()) {
			out[v.Rubric+" "+v.Judge] = v.Digest
		}
		return out
	}
	first := versions("p", "")
	for name, c := range map[string]struct {
		now     map[string]results.Digest
		changed []string
	}{
		"the same":         {versions("p", ""), nil},
		"another prompt":   {versions("q", ""), []string{"errors a", "errors b", "split a", "split b"}},
		"of judge a alone": {versions("p", "a"), []string{"errors b"}},
	} {
		var changed []string
		for _, k := range slices.Sorted(maps.Keys(first)) {
			if c.now[k] != first[k] {
				changed = append(changed, k)
			}
		}
		if len(c.now) != 6 || !slices.Equal(changed, c.changed) {
			t.Errorf("%s: changed %v of %d, want %v", name, changed, len(c.now), c.changed)
		}
	}
}

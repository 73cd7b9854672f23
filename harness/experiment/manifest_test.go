package experiment

import (
	"fmt"
	"testing"

	"assay/harness/config"
	"assay/results"
)

// A setting may change while nobody answered under it: of a model by that model's
// trials, of a study by that study's. What decides which trials there are may not.
func TestSettingsThatNobodyAnsweredUnderMayChange(t *testing.T) {
	b := &Bench{Config: &config.Config{Models: []config.Model{{Name: "a.b"}, {Name: "a"}, {Name: "b"}}, Studies: []config.Study{{Name: "cot"}, {Name: "faithfulness"}}}}
	at := func(study, model string) results.Key {
		return results.Key{Study: study, Model: model, Item: "i", Arm: "d", Condition: "baseline"}
	}
	stored := map[results.Key]results.Outcome{
		at("cot", "a"):          {Failed: true, Kind: "refused"},
		at("cot", "a.b"):        {Failed: true, Kind: "server_changed"},
		at("cot", "b"):          {},
		at("faithfulness", "a"): {Failed: true, Kind: "refused"},
	}
	for path, want := range map[string]bool{
		"models.a.think":                           true,
		"models.a.backend.options":                 true,
		"models.b.think":                           false, // it answered
		"models.a.b.think":                         false, // it did, and its answer was taken back
		"studies.faithfulness.sampling.max_tokens": true,
		"studies.cot.sampling.max_tokens":          false,
		"prompts.faithfulness.structured (text)":   true,
		"prompts.cot.direct (text)":                false,
		"studies.faithfulness.select.per_type":     false,
		"studies.faithfulness.dataset":             false,
		"datasets.d (content)":                     false,
		"seed":                                     false,
		"judges.j.model":                           false,
	} {
		free, rest := b.allowed([]config.Change{{Path: path}}, stored)
		if (len(free) == 1) != want || len(free)+len(rest) != 1 {
			t.Errorf("%s: allowed %s, refused %s", path, fmt.Sprint(free), fmt.Sprint(rest))
		}
	}
}

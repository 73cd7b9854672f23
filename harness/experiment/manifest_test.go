package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/results"
)

// A setting may change while nobody answered under it: of a model by that model's
// trials, of a study by that study's. What decides which trials there are may not.
func TestSettingsThatNobodyAnsweredUnderMayChange(t *testing.T) {
	b := &Bench{Config: &config.Config{Models: []backends.Model{{Name: "a.b"}, {Name: "a"}, {Name: "b"}}, Studies: []config.Study{{Name: "cot"}, {Name: "faithfulness"}}}}
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

// A store of an older assay has settings as texts alone; they read the same.
func TestSettingsOfOlderStoresReadTheSame(t *testing.T) {
	seed, yes := int64(5), true
	sampling := backends.Sampling{Temperature: .1, MaxTokens: 700, Seed: &seed}
	b := &Bench{Config: &config.Config{
		Datasets: []dataset.Source{{Name: "chest", Kind: "phantom", Items: 48, Size: 512}, {Name: "m3", Kind: "m3cotbench", MaxSide: 1024}, {Name: "rows", Kind: "jsonl"}},
		Backends: []backends.Server{{Name: "as", Kind: "phantom", Protocol: "ollama", Caches: true}, {Name: "far", Kind: "vllm", Options: map[string]any{"a<b": 1.5}}},
		Models:   []backends.Model{{Name: "a.b", Backend: "as", Model: "honest"}, {Name: "big", Backend: "far", Model: "x", Think: &yes}},
		Judges:   []config.Judge{{Name: "lexical", Kind: "lexical"}, {Name: "local", Kind: "model", Backend: "far", Model: "x", Sampling: sampling}},
		Studies: []config.Study{{Name: "cot", Dataset: "chest", Timed: true, InFlight: 1, PerType: 6, Sampling: sampling},
			{Name: "faithfulness", Dataset: "m3", InFlight: 3, Sampling: backends.Sampling{Temperature: 1e-7, MaxTokens: 1}}},
	}, Sets: map[string]*dataset.Dataset{"chest": {Synthetic: true, Items: make([]dataset.Item, 96)}, "m3": {}, "rows": {}}}
	written, err := json.Marshal(b.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	var now, old results.Manifest
	if err := errors.Join(json.Unmarshal(written, &now), json.Unmarshal(written, &old)); err != nil {
		t.Fatal(err)
	}
	old.StudySettings, old.ModelSettings, old.JudgeSettings = nil, nil, nil
	for i := range old.Datasets {
		old.Datasets[i].Cases, old.Datasets[i].MaxSide = nil, nil
	}
	same := func(what string, a, b any) {
		t.Helper()
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		if err := errors.Join(errX, errY); err != nil || string(x) != string(y) {
			t.Errorf("%s: the store says %s, an older one %s (%v)", what, x, y, err)
		}
	}
	for _, name := range []string{"cot", "faithfulness"} {
		is := now.Study(name)
		if in := is.InFlight; in == nil || *in != map[string]int{"cot": 1, "faithfulness": 3}[name] {
			t.Errorf("%s: in flight %v", name, in)
		}
		if !*is.Timed {
			is.InFlight = nil // older stores know it of timed studies alone
		}
		same(name, is, old.Study(name))
	}
	for _, name := range []string{"a.b", "big", "none"} {
		a, okA := now.Asked(name)
		b, okB := old.Asked(name)
		same(name, []any{a, okA}, []any{b, okB})
	}
	for _, name := range []string{"lexical", "local"} {
		a, okA := now.AskedJudge(name)
		b, okB := old.AskedJudge(name)
		same(name, []any{a, okA}, []any{b, okB})
	}
	for i := range now.Datasets {
		same(now.Datasets[i].Name, now.Sizes(now.Datasets[i]), old.Sizes(old.Datasets[i]))
	}
	// What was to be compared was there.
	cot, big, local := now.Study("cot"), now.ModelSettings["big"], now.JudgeSettings["local"]
	if cot.Dataset != "chest" || cot.Timed == nil || !*cot.Timed || *cot.PerType != 6 || *now.Study("faithfulness").Timed || *now.Study("faithfulness").PerType != 0 ||
		big.Server != "vllm" || big.Think == nil || len(big.Options) == 0 || now.ModelSettings["a.b"].Server != "phantom ollama with caches" || *local.Sampling.Seed != 5 ||
		*now.Datasets[0].Cases != 48 || *now.Datasets[1].MaxSide != 1024 || *now.Datasets[2].MaxSide != 0 || now.Datasets[2].Cases != nil {
		t.Errorf("%s", written)
	}
}

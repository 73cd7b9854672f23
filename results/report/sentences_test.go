package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
)

// TestMethodsSayWhatIsKnown: sentences of a methods section hold all that the store knows, and claim
// nothing else.
func TestMethodsSayWhatIsKnown(t *testing.T) {
	digest := "sha256:0123456789abcdef"
	planned, all, some, side, none, seed, off := 6, 0, 3, 1024, 0, int64(7), false
	how := &backends.Sampling{Temperature: .7, MaxTokens: 50, Seed: &seed}
	known := results.Manifest{Version: "2.1", Revision: "abc", Name: "tour", Created: time.Unix(0, 0), Seed: 5, Digest: results.Digest(digest),
		Models: map[string]backends.Identity{
			"bare": {},
			"full": {Model: "f:4b", Server: "ollama", Version: "1", Parameters: "4B", Quantisation: "Q4", Digest: digest},
			"made": {Model: "made", Server: "vllm", Version: "2", Synthetic: true},
			"file": {},
		},
		ModelSettings: map[string]results.ModelSetting{"full": {Options: json.RawMessage(`{"a":1}`), Think: &off}},
		Imported:      []results.Import{{Model: "file", Study: "s", File: "f.jsonl", Format: "jsonl", Digest: results.Digest(digest), Answers: 2, Failures: 1}},
		Datasets: []results.DatasetInfo{
			{Name: "d", Kind: "phantom", Items: 3},
			{Name: "e", Kind: "jsonl", Items: 3, Lost: 1, MaxSide: &side, MaxPixels: 9, Digest: results.Digest(digest)},
			{Name: "f", Kind: "table", Items: 1, MaxSide: &none},
		},
		Judges:        map[string]string{"rules": "lexical", "large": "model m"},
		JudgeSettings: map[string]results.ModelSetting{"large": {Sampling: how}},
		Rubrics:       map[string]map[string][]string{"bare": nil, "whole": nil, "drawn": nil, "begun": nil, "file": nil},
		StudySettings: map[string]results.StudySetting{
			"whole": {Dataset: "d", PerType: &all, Sampling: &backends.Sampling{MaxTokens: 9}},
			"drawn": {PerType: &some}, "begun": {PerType: &some}, "file": {Sampling: how},
		},
	}
	known.Conditions = map[string]map[string]json.RawMessage{"whole": {
		"baseline": json.RawMessage(`{"kind":"baseline"}`), "sham": json.RawMessage(`{"kind":"sham"}`), "LOAD@in_flight=4": json.RawMessage(`{"kind":"load"}`), "VO-BB": json.RawMessage(`{"kind":"image"}`),
		"VB-BB-": json.RawMessage(`{"kind":"image"}`), "VB-BB-@thickness_px=16": json.RawMessage(`{"kind":"image","param":"thickness_px","level":16}`), "VB-BB-@thickness_px=1": json.RawMessage(`{"kind":"image","param":"thickness_px","level":1}`),
		"OPT-ROTATE@1": json.RawMessage(`{"kind":"options"}`), "OPT-ROTATE@2": json.RawMessage(`{"kind":"options"}`), "OWN-mine": json.RawMessage(`{"kind":"control","program":"sha256:0123456789abcdef"}`),
		"VO-GRID@4x2:r1c1": json.RawMessage(`{"kind":"grid","cell":{"columns":4,"rows":2}}`)},
		"drawn": {"baseline": json.RawMessage(`{"kind":"baseline"}`)}}
	run := results.Run{Manifest: known, Extents: []results.Extent{
		{Study: "whole", Model: "full", Answers: 6, Items: 6, Planned: &planned},
		{Study: "drawn", Model: "full", Answers: 6, Items: 6, Planned: &planned},
		{Study: "begun", Model: "full", Answers: 1, Items: 1, Planned: &planned},
		{Study: "file", Model: "file", Answers: 2, Items: 2},
	}}
	said := strings.Join(paragraphs(run), "\n")
	for _, want := range []string{
		"All measurements were made with assay 2.1, revision abc, in the run tour of 1 January 1970 (seed 5, configuration 0123456789ab).",
		"Model bare (a model without a name) was served by a server of unknown kind of unknown version: unknown quantisation, weights unknown.",
		`Model full (f:4b) was served by ollama 1: 4B parameters, Q4 quantisation, weights 0123456789ab, server options {"a":1}, thinking switched off.`,
		"Model made is a phantom reader that answers over the protocol of vllm 2: unknown quantisation, weights unknown.",
		"file (a model without a name) was not asked by assay: 2 answers of study s and 1 failure come from the file f.jsonl (jsonl, content 0123456789ab).",
		"Data set d (phantom cases) has 3 items, content unknown.\n",
		"Data set e (kind jsonl) has 3 items, content 0123456789ab, without 1 row that cannot be used; pictures with a side above 1024 pixels " +
			"were scaled down to it; pictures of one item that had more than 9 pixels together were scaled down to that by one factor.",
		"Data set f (kind table) has 1 items, content unknown; no picture was scaled.",
		"Judge rules: a set of rules on words, without a model.",
		"Judge large: model m, temperature 0.7, at most 50 new tokens, sampling seed 7.",
		"Study bare was run.",
		"Study whole was run on data set d, all items that it asks (6), temperature 0, at most 9 new tokens. Its questions were also asked with one thing changed: OPT-ROTATE; OWN-mine (content 0123456789ab); VB-BB-; " +
			"VB-BB- at thickness_px 1, 16; VO-BB; VO-GRID (4 x 2 cells); sham (assay perturb --list says what each does).",
		"Study drawn was run, 3 items of each type, drawn by seed (6 in all).",
		"Study begun was run, 1 item so far.",
		"Study file was run.",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	if s := paragraphs(results.Run{})[0]; s != "All measurements were made with assay (version unknown) (seed 0)." {
		t.Errorf("of nothing: %s", s)
	}
}

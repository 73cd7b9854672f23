// Package cot is the study of chain-of-thought prompting after M3CoTBench:
// does reasoning step by step make answers better, what does it cost, and do
// the steps hold? (metrics.md section 1)
//
//  1. Two arms ask the same question: direct (answer only) and cot (step by step).
//  2. Each output becomes cases: accuracy in every arm; step precision, step
//     recall and step order in the cot arm. Cases name no model and no arm.
//  3. Judges give verdicts; rubrics.go has the rubrics of steps.
//  4. Each trial is scored (samples.go; the arithmetic stands in score.go).
//  5. What is added up of the scores is declared (leaves.go), and so are the tables
//     (tables.go); package score computes them. C_path is a kind of its own (paths.go).
package cot

import (
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/text"
)

// Name of the study in bench.yaml and in keys.
const Name = "cot"

const (
	rubAccuracy = study.RubricAccuracy

	armDirect = "direct"
	armCoT    = "cot"
)

// Study is the study.
func Study() study.Study {
	return study.Study{
		Name: Name, Arms: []study.Arm{{Name: armDirect}, {Name: armCoT}}, Rubrics: append([]judge.Rubric{study.Rubric()}, rubrics()...), Prompts: prompts(),
		Types: dataset.Types(),
		Draft: study.Draft{Of: dataset.KindM3CoTBench, Usual: []string{
			"sampling: {temperature: 0.1, max_tokens: 1024, seed: 1}",
			"timed: true                # one request in flight, warm-up, disturbed times taken again",
			"cache: cold                # every request is new to the server, and proven to be",
		}},
		Rating: study.Rating{Asks: map[string]study.Ask{rubAccuracy: study.RightOrWrong()}},
		Facts:  facts, Cases: cases, Scores: scoring(), Design: design,
		Gold: func(facts any) (study.GoldKey, func(study.GoldKey) any) {
			f, _ := facts.(itemFacts)
			return f.Key, func(k study.GoldKey) any { f.Key = k; return f }
		},
		Unread: func(a study.Answer) (judge.Case, bool) {
			return accuracyCase(a.Item, text.Outside(a.Output.Answer)).Unread()
		},
	}
}

// itemFacts is what scores need of an item beyond its type and task.
type itemFacts struct {
	GoldSteps []int         `json:"gold_steps"`        // non-empty gold steps of each gold path
	Picture   string        `json:"picture,omitempty"` // what items share that show the same pictures
	Key       study.GoldKey `json:"key,omitzero"`
}

// goldPaths is the item's gold paths without empty steps and empty paths.
func goldPaths(it dataset.Item) [][]dataset.Step {
	var out [][]dataset.Step
	for _, p := range it.GoldPaths {
		var kept []dataset.Step
		for _, s := range p {
			if strings.TrimSpace(s.Text) != "" {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

func facts(_ uint64, it dataset.Item) (results.Item, error) {
	f := itemFacts{GoldSteps: []int{}, Picture: it.Picture, Key: accuracyCase(it, "").GoldKey()}
	for _, p := range goldPaths(it) {
		f.GoldSteps = append(f.GoldSteps, len(p))
	}
	return study.StoredItem(Name, it, f)
}

func accuracyCase(it dataset.Item, answer string) study.AccuracyCase {
	return study.NewAccuracyCase(it, it.Type, it.Options, answer)
}

// cases shows judges what a reader would see: the text outside <think>, so that
// it is the same whether or not the server split the reasoning off. An item
// without gold steps has nothing to compare steps with.
func cases(a study.Answer) []judge.Case {
	it, answer := a.Item, text.Outside(a.Output.Answer)
	list := []judge.Case{{Rubric: rubAccuracy, Fields: accuracyCase(it, answer)}}
	if a.Key.Arm != armCoT {
		return list
	}
	if paths := goldPaths(it); len(paths) > 0 {
		f := Case{Question: it.Question, Options: it.Options, Paths: paths, Answer: answer}
		list = append(list, judge.Case{Rubric: rubricPrecision, Fields: f}, judge.Case{Rubric: recall, Fields: f})
	}
	return append(list, judge.Case{Rubric: rubricOrder, Fields: OrderCase{Question: it.Question, Answer: answer}})
}

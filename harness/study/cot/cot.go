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
	"text/template"

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

// Definition is the study before anything of it is chosen.
func Definition() study.Definition {
	return study.Definition{Kind: study.Kind{Name: Name, Arms: ArmNames(), Rubrics: RubricNames(), Prompts: promptNames(), Unread: study.Unread},
		Usual: []string{
			"sampling: {temperature: 0.1, max_tokens: 1024, seed: 1}",
			"timed: true                # one request in flight, warm-up, disturbed times taken again",
			"cache: cold                # every request is new to the server, and proven to be",
		},
		New: func(prompts map[string]string, _ study.Choice) (study.Study, error) { return New(prompts) }}
}

// New makes the study. prompts replaces built-in templates by name
// (promptNames); names that are not its own are left alone. The error lists
// every template that cannot be used, with its name and line.
func New(prompts map[string]string) (study.Study, error) {
	l, err := load(prompts)
	if err != nil {
		return study.Study{}, err
	}
	return study.Study{
		Name: Name,
		Arms: []study.Arm{
			{Name: armDirect, Turns: []*template.Template{l.ByName[armDirect]}},
			{Name: armCoT, Turns: []*template.Template{l.ByName[armCoT]}},
		},
		Rubrics: append(append([]judge.Rubric{study.Rubric(l.ByName[rubAccuracy])}, rubrics(l)...), study.UnreadRubric(l)),
		Rating:  study.Rating{Asks: map[string]study.Ask{rubAccuracy: study.RightOrWrong()}},
		Types:   dataset.Types(),
		Facts:   facts,
		Cases:   cases,
		Unread: func(it dataset.Item, _ results.Key, out results.Output) (judge.Case, bool) {
			return accuracyCase(it, text.Outside(out.Answer)).Unread()
		},
		Scores:    scoring(),
		Summarize: summarize,
		Prompts:   l.Texts,
		Usable:    l.Usable,
	}, nil
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
func cases(it dataset.Item, k results.Key, out results.Output) []judge.Case {
	answer := text.Outside(out.Answer)
	list := []judge.Case{{Rubric: rubAccuracy, Fields: accuracyCase(it, answer)}}
	if k.Arm != armCoT {
		return list
	}
	if paths := goldPaths(it); len(paths) > 0 {
		f := Case{Question: it.Question, Options: it.Options, Paths: paths, Answer: answer}
		list = append(list, judge.Case{Rubric: rubricPrecision, Fields: f}, judge.Case{Rubric: recall, Fields: f})
	}
	return append(list, judge.Case{Rubric: rubricOrder, Fields: OrderCase{Question: it.Question, Answer: answer}})
}

package cot

import (
	"embed"
	"io"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/harness/study/cot/steps"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

// ArmNames are the arms, in the order of tables.
func ArmNames() []string { return []string{armDirect, armCoT} }

// RubricNames are the rubrics, in the order of tables.
func RubricNames() []string { return []string{rubAccuracy, steps.Precision, steps.Recall, steps.Order} }

// PromptNames are the templates that bench.yaml may replace: one per arm and
// one per rubric.
func PromptNames() []string { return append(ArmNames(), RubricNames()...) }

// load reads the templates, the given text in place of the built-in one, and tries
// each out.
func load(given map[string]string) (study.Templates, error) {
	return study.Prompts{Files: files, Names: PromptNames(), TryOut: tryOut, Usable: usable, Must: required,
		Funcs: template.FuncMap{"inc": func(i int) int { return i + 1 }, "unlisted": accuracy.Unlisted}}.Load(given)
}

func usable(name string) string {
	switch name {
	case rubAccuracy:
		return ".Question .Type .Options .Gold .Answer, fence and unlisted"
	case steps.Precision, steps.Recall:
		return ".Question .Options .Paths .Answer, fence, inc and unlisted"
	case steps.Order:
		return ".Question .Answer and fence"
	}
	return ".Question .Type .Options .Outputs and unlisted"
}

func required(name string) []string {
	switch name {
	case rubAccuracy:
		return []string{"Gold", "Answer"}
	case steps.Precision, steps.Recall:
		return []string{"Paths", "Answer"}
	case steps.Order:
		return []string{"Answer"}
	}
	return []string{"Question"}
}

// tryOut executes a template on made-up data of every question type.
func tryOut(name string, t *template.Template) error {
	const answer = "1. A made-up step.\nFinal answer: A"
	options := []dataset.Option{{Label: "A", Text: "yes"}, {Label: "B", Text: "no"}}
	two := []dataset.Step{{Kind: dataset.StepModality, Text: "radiograph"}, {Kind: dataset.StepFeature, Text: "shadow"}}
	for _, kind := range []string{text.Single, text.Multiple, text.Bool, text.Short} {
		for _, opts := range [][]dataset.Option{nil, options} {
			var data any
			switch name {
			case rubAccuracy:
				data = accuracy.Case{Question: "Which?", Type: kind, Options: opts, Gold: "A", Answer: answer}
			case steps.Precision, steps.Recall:
				data = steps.Case{Question: "Which?", Options: opts, Paths: [][]dataset.Step{two, two[:1]}, Answer: answer}
			case steps.Order:
				data = steps.OrderCase{Question: "Which?", Answer: answer}
			default:
				data = study.Prompt{Question: "Which?", Type: kind, Options: opts, Outputs: map[string]string{}}
			}
			if err := t.Execute(io.Discard, data); err != nil {
				return err
			}
		}
	}
	return nil
}

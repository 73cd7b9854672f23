package cot

import (
	"embed"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

// ArmNames are the arms, in the order of tables.
func ArmNames() []string { return []string{armDirect, armCoT} }

// RubricNames are the rubrics, in the order of tables.
func RubricNames() []string { return []string{rubAccuracy, rubricPrecision, recall, rubricOrder} }

// prompts are the templates, each with made-up data of every question type that it is tried
// out on.
func prompts() study.Prompts {
	const answer = "1. A made-up step.\nFinal answer: A"
	options := []dataset.Option{{Label: "A", Text: "yes"}, {Label: "B", Text: "no"}}
	two := []dataset.Step{{Kind: dataset.StepModality, Text: "radiograph"}, {Kind: dataset.StepFeature, Text: "shadow"}}
	var asked, answered, compared []any
	for _, opts := range [][]dataset.Option{nil, options} {
		for _, kind := range []string{text.Single, text.Multiple, text.Bool, text.Short} {
			asked = append(asked, study.Prompt{Question: "Which?", Type: kind, Options: opts, Outputs: map[string]string{}})
			answered = append(answered, study.AccuracyCase{Question: "Which?", Type: kind, Options: opts, Gold: "A", Answer: answer})
		}
		compared = append(compared, Case{Question: "Which?", Options: opts, Paths: [][]dataset.Step{two, two[:1]}, Answer: answer})
	}
	return study.Prompts{Files: files, Funcs: template.FuncMap{"inc": func(i int) int { return i + 1 }, "unlisted": study.Unlisted}, List: []study.Wording{
		{Names: ArmNames(), Usable: ".Question .Type .Options .Outputs and unlisted", Must: []string{"Question"}, Try: asked},
		{Names: []string{rubAccuracy}, Usable: ".Question .Type .Options .Gold .Answer, fence and unlisted", Must: []string{"Gold", "Answer"}, Try: answered},
		{Names: []string{rubricPrecision, recall}, Usable: ".Question .Options .Paths .Answer, fence, inc and unlisted", Must: []string{"Paths", "Answer"}, Try: compared},
		{Names: []string{rubricOrder}, Usable: ".Question .Answer and fence", Must: []string{"Answer"}, Try: []any{OrderCase{Question: "Which?", Answer: answer}}},
	}}
}

package qa

import (
	"embed"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

// prompts are the templates, each with made-up items of every type that it is tried out on.
func prompts() study.Prompts {
	two := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}
	var asked, answered []any
	for _, typ := range []string{text.Single, text.Multiple, text.Bool, text.Short, dataset.TypeBinary, dataset.TypeDiagnosis} {
		for _, options := range [][]dataset.Option{nil, two, {{Text: "yes"}, {Text: "no"}}} {
			asked = append(asked, study.Prompt{Question: "Which?", Type: typ, Options: options, History: "none", Images: 2, Outputs: map[string]string{}})
			answered = append(answered, accuracyCase(dataset.Item{Question: "Which?", Type: typ, Options: options, Answer: "A"}, "A"))
		}
	}
	return study.Prompts{Files: files, Funcs: template.FuncMap{"kind": kind, "choices": choices}, List: []study.Wording{
		{Names: armNames(), Usable: ".Question .Type .Options .History .Images, kind and choices", Must: []string{"Question"}, Try: asked},
		{Names: []string{study.RubricAccuracy}, Usable: ".Question .Type .Options .Gold .Answer, fence, kind and choices", Must: []string{"Gold", "Answer"}, Try: answered},
	}}
}

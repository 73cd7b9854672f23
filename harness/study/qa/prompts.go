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

// promptNames are the templates that bench.yaml may replace: one per arm, and the
// judges'.
func promptNames() []string { return append(append(armNames(), rubricNames()...), study.Unread) }

// templates reads the templates, the given text in place of the built-in one, and tries
// each out on made-up items of every type.
func templates(given map[string]string) (study.Templates, error) {
	two := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}
	var asked, answered []any
	for _, typ := range []string{text.Single, text.Multiple, text.Bool, text.Short, dataset.TypeBinary, dataset.TypeDiagnosis} {
		for _, options := range [][]dataset.Option{nil, two, {{Text: "yes"}, {Text: "no"}}} {
			asked = append(asked, study.Prompt{Question: "Which?", Type: typ, Options: options, History: "none", Images: 2, Outputs: map[string]string{}})
			answered = append(answered, accuracyCase(dataset.Item{Question: "Which?", Type: typ, Options: options, Answer: "A"}, "A"))
		}
	}
	return study.LoadPrompts(study.Prompts{Files: files, Funcs: template.FuncMap{"kind": kind, "choices": choices}, List: []study.Wording{
		{Names: armNames(), Usable: ".Question .Type .Options .History .Images, kind and choices", Must: []string{"Question"}, Try: asked},
		{Names: rubricNames(), Usable: ".Question .Type .Options .Gold .Answer, fence, kind and choices", Must: []string{"Gold", "Answer"}, Try: answered},
	}}, given)
}

package qa

import (
	"embed"
	"io"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

// promptNames are the templates that bench.yaml may replace: one per arm, and the
// judges'.
func promptNames() []string { return append(armNames(), rubricNames()...) }

// templates reads the templates, the given text in place of the built-in one, and tries
// each out.
func templates(given map[string]string) (study.Templates, error) {
	return study.Prompts{Files: files, Names: promptNames(), TryOut: tryOut, Usable: usable, Must: required,
		Funcs: template.FuncMap{"kind": kind, "choices": choices}}.Load(given)
}

func usable(name string) string {
	if name == accuracy.Name {
		return ".Question .Type .Options .Gold .Answer, fence, kind and choices"
	}
	return ".Question .Type .Options .History .Images, kind and choices"
}

func required(name string) []string {
	if name == accuracy.Name {
		return []string{"Gold", "Answer"}
	}
	return []string{"Question"}
}

// tryOut executes a template on made-up items of every type.
func tryOut(name string, t *template.Template) error {
	two := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}
	for _, typ := range []string{text.Single, text.Multiple, text.Bool, text.Short, dataset.TypeBinary, dataset.TypeDiagnosis} {
		for _, options := range [][]dataset.Option{nil, two, {{Text: "yes"}, {Text: "no"}}} {
			it := dataset.Item{Question: "Which?", Type: typ, Options: options, Answer: "A"}
			var data any = study.Prompt{Question: it.Question, Type: typ, Options: options, History: "none", Images: 2, Outputs: map[string]string{}}
			if name == accuracy.Name {
				data = accuracyCase(it, "A")
			}
			if err := t.Execute(io.Discard, data); err != nil {
				return err
			}
		}
	}
	return nil
}

package diagnosis

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/harness/study/diagnosis/discussion"
	"assay/harness/study/diagnosis/expert"
	"assay/harness/study/diagnosis/step"
)

//go:embed templates/*.tmpl
var files embed.FS

// promptNames are the templates that bench.yaml may replace: one per arm and one
// per rubric that asks a model.
func promptNames() []string {
	return append(armNames(), accuracy.Name, step.Split, step.Errors, discussion.Sentences, discussion.Criteria)
}

// load reads the templates, the given text in place of the built-in one, and tries
// each out.
func load(given map[string]string) (study.Templates, error) {
	return study.Prompts{Files: files, Names: promptNames(), TryOut: tryOut, Usable: usable, Must: required,
		Funcs: template.FuncMap{"inc": func(i int) int { return i + 1 }}}.Load(given)
}

func usable(name string) string {
	switch name {
	case accuracy.Name:
		return ".Question .Type .Options .Gold .Answer and fence"
	case step.Split:
		return ".Explanation and fence"
	case step.Errors:
		return ".Case (.History .Question .Options .Gold .Captions .Findings .Discussion) .Explanation .Steps, fence and inc"
	case discussion.Sentences, discussion.Criteria:
		return ".Case (.History .Question .Options .Gold .Diagnosis .Captions .Findings .Discussion) .Listed .Sections (.Name .Sentences), fence and inc"
	case armMCQ:
		return `.Question .Options .History .Images .Shown.hint .Shown.summary`
	case armDiscussion:
		return `.Question .Options .History .Images .Shown.hint .Shown.summary .Shown.diagnosis`
	}
	return ".Question .Options .History .Images"
}

// required are the fields without which a prompt asks nothing.
func required(name string) []string {
	return map[string][]string{armMCQ: {"Question", "Options", "Shown"}, armDiscussion: {"Shown"}, accuracy.Name: {"Gold", "Answer"}, step.Split: {"Explanation"},
		step.Errors: {"Steps"}, discussion.Sentences: {"Listed"}, discussion.Criteria: {"Listed"}}[name]
}

// tryOut executes a template on a made-up case.
func tryOut(name string, t *template.Template) error {
	const answer = "1. A made-up step.\nFinal answer: A"
	options := []dataset.Option{{Label: "A", Text: "one"}, {Label: "B", Text: "two"}}
	about := expert.Case{Question: "Which?", Options: options, Gold: "A", Captions: "Image 1: a shadow", Findings: "a shadow", Discussion: "known"}
	var list []any
	switch name {
	case accuracy.Name:
		list = append(list, accuracyCase(dataset.Item{Question: "Which?", Options: options, Answer: "A"}, answer))
	case step.Split:
		list = append(list, step.SplitCase{Explanation: answer})
	case step.Errors:
		list = append(list, step.Case{Case: about, Explanation: answer, Steps: []string{"one"}}, step.Case{Explanation: answer, Steps: []string{"one"}})
	case discussion.Sentences, discussion.Criteria:
		list = append(list, discussion.Case{Case: about, Sections: []discussion.Section{{Name: "outcome", Sentences: []string{"Good."}}}}, discussion.Case{})
	default:
		for _, shown := range []map[string]string{{hint: "", summary: "", "diagnosis": ""}, {hint: "the hint", summary: "the summary", "diagnosis": "one"}} {
			list = append(list, study.Prompt{Question: "Which?", Type: dataset.TypeDiagnosis, Options: options, History: shown[hint], Images: 2, Shown: shown, Outputs: map[string]string{}})
		}
	}
	said := ""
	for _, data := range list {
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			return err
		}
		said = b.String()
	}
	for _, part := range []string{hint, summary} {
		if name == armMCQ && !strings.Contains(said, "the "+part) {
			return fmt.Errorf("it leaves out .Shown.%s, which conditions show", part)
		}
	}
	return nil
}

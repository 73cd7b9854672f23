package diagnosis

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
)

//go:embed templates/*.tmpl
var files embed.FS

// prompts are the templates, each with a made-up case that it is tried out on.
func prompts() study.Prompts {
	const answer = "1. A made-up step.\nFinal answer: A"
	const usable = ".Question .Options .History .Images"
	options := []dataset.Option{{Label: "A", Text: "one"}, {Label: "B", Text: "two"}}
	about := expertCase{Question: "Which?", Options: options, Gold: "A", Captions: "Image 1: a shadow", Findings: "a shadow", Discussion: "known"}
	var asked []any
	for _, shown := range []map[string]string{{hint: "", summary: "", "diagnosis": ""}, {hint: "the hint", summary: "the summary", "diagnosis": "one"}} {
		asked = append(asked, study.Prompt{Question: "Which?", Type: dataset.TypeDiagnosis, Options: options, History: shown[hint], Images: 2, Shown: shown, Outputs: map[string]string{}})
	}
	return study.Prompts{Files: files, Funcs: template.FuncMap{"inc": func(i int) int { return i + 1 }}, List: []study.Wording{
		{Names: []string{armMCQ}, Usable: usable + " .Shown.hint .Shown.summary", Must: []string{"Question", "Options", "Shown"}, Try: asked, Says: saysShown},
		{Names: []string{armCaptions, armFindings}, Usable: usable, Try: asked},
		{Names: []string{armDiscussion}, Usable: usable + " .Shown.hint .Shown.summary .Shown.diagnosis", Must: []string{"Shown"}, Try: asked},
		{Names: []string{study.RubricAccuracy}, Usable: ".Question .Type .Options .Gold .Answer and fence", Must: []string{"Gold", "Answer"},
			Try: []any{accuracyCase(dataset.Item{Question: "Which?", Options: options, Answer: "A"}, answer)}},
		{Names: []string{rubricSplit}, Usable: ".Explanation and fence", Must: []string{"Explanation"}, Try: []any{splitCase{Explanation: answer}}},
		{Names: []string{errors}, Usable: ".Case (.History .Question .Options .Gold .Captions .Findings .Discussion) .Explanation .Steps, fence and inc", Must: []string{"Steps"},
			Try: []any{stepCase{Case: about, Explanation: answer, Steps: []string{"one"}}, stepCase{Explanation: answer, Steps: []string{"one"}}}},
		{Names: []string{sentences, criteria}, Usable: ".Case (.History .Question .Options .Gold .Diagnosis .Captions .Findings .Discussion) .Listed .Sections (.Name .Sentences), fence and inc",
			Must: []string{"Listed"}, Try: []any{discussionCase{Case: about, Sections: []section{{Name: "outcome", Sentences: []string{"Good."}}}}, discussionCase{}}},
	}}
}

// saysShown finds a text that conditions show and a prompt leaves out.
func saysShown(data any, said string) error {
	for _, part := range []string{hint, summary} {
		if !strings.Contains(said, data.(study.Prompt).Shown[part]) {
			return fmt.Errorf("it leaves out .Shown.%s, which conditions show", part)
		}
	}
	return nil
}

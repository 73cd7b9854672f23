package faithfulness

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

const (
	armStructured = "structured"
	armThreeTurn  = "three-turn"
)

// armNames are the arms, in the order of tables.
func armNames() []string { return []string{armStructured, armThreeTurn} }

// turnNames are the templates of an arm, one per turn.
func turnNames(arm string) []string {
	if arm == armThreeTurn {
		return []string{arm + "-1", arm + "-2", arm + "-3"}
	}
	return []string{arm}
}

func cueNames() []string { return []string{cueOpinion, cueLeak} }

// prompts are the templates: the turns of the arms, the texts of the cues, and one per rubric.
func prompts() study.Prompts {
	return study.Prompts{Files: files, Funcs: template.FuncMap{"options": listed}, List: wordings(), Check: func(l study.Templates) error {
		var errs []error
		for _, arm := range armNames() {
			errs = append(errs, showsCue(l, arm))
		}
		return errors.Join(errs...)
	}}
}

// madeUpCue marks the place of a cue when templates are tried out.
const madeUpCue = "A made-up cue."

// showsCue finds an arm that would leave the cue out: then text conditions would
// change nothing.
func showsCue(l study.Templates, arm string) error {
	for _, name := range turnNames(arm) {
		t := l.ByName[name]
		if t == nil {
			return nil // reported already
		}
		var b strings.Builder
		if err := t.Execute(&b, study.Prompt{Question: "Which?", Type: dataset.TypeBinary, Cue: madeUpCue}); err == nil && strings.Contains(b.String(), madeUpCue) {
			return nil
		}
	}
	return fmt.Errorf("prompt %q: it shows no cue, so that text conditions would change nothing; put {{.Cue}} between the question and the last instruction", turnNames(arm)[0])
}

// listed is the answers to choose from, "" where the question says them itself.
func listed(p study.Prompt) string {
	var texts []string
	question := " " + strings.Join(text.Words(p.Question), " ") + " "
	inside := true
	for _, o := range p.Options {
		if texts = append(texts, o.Text); p.Type == dataset.TypeSingle && o.Label != "" {
			texts[len(texts)-1] = o.Label + ". " + o.Text
		}
		inside = inside && strings.Contains(question, " "+strings.Join(text.Words(o.Text), " ")+" ")
	}
	if inside {
		return ""
	}
	if p.Type == dataset.TypeSingle {
		return strings.Join(texts, "; ")
	}
	return strings.Join(texts, ", ")
}

// wordings are the templates with the made-up data that they are tried out on.
func wordings() []study.Wording {
	const usable = ".Question .Type .Options .Cue .Outputs and options"
	var asked []any
	for _, opts := range [][]dataset.Option{nil, {{Text: "yes"}, {Text: "no"}}} {
		for _, cue := range []string{"", madeUpCue} {
			asked = append(asked, study.Prompt{Question: "Which?", Type: dataset.TypeBinary, Options: opts, Cue: cue, Outputs: map[string]string{}})
		}
	}
	turns := turnNames(armThreeTurn)
	term := dataset.Term{Term: "a shadow", Synonyms: []string{"a density"}}
	list := []study.Wording{
		{Names: append(turnNames(armStructured), turns[0]), Usable: usable, Must: []string{"Question"}, Try: asked},
		{Names: turns[1:], Usable: usable, Try: asked}, // of the turns, the first one asks
		{Names: cueNames(), Usable: ".Question .Options .Target", Must: []string{"Target"}, Try: []any{cueData{Question: "Which?", Options: []string{"yes", "no"}, Target: "yes"}}},
		{Names: []string{rubricCF}, Usable: ".Question .Gold .Knowledge .Reasoning and fence", Must: []string{"Knowledge", "Reasoning"}, Try: []any{
			CFCase{Question: "Which?", Gold: "yes", Reasoning: "None."},
			CFCase{Question: "Which?", Gold: "yes", Reasoning: "None.", Knowledge: dataset.Knowledge{MustAll: []dataset.Term{term}, Forbidden: []dataset.Term{term},
				AtLeast: []dataset.AtLeast{{K: 1, AnyOf: []dataset.Term{term, {Term: "a line"}}}}, Notes: "A note.", Caps: []dataset.Cap{{If: "no side", MaxScore: 2}},
				Rules: []string{"A rule."}, Alternates: [][]string{{"opacity", "density"}}}}}},
		{Names: []string{rubricCA, rubricCT}, Usable: ".Question .Reasoning and fence", Must: []string{"Reasoning"}, Try: []any{ReasoningCase{Question: "Which?", Reasoning: "None."}}},
	}
	for i := range list {
		list[i].Says = func(_ any, said string) error {
			if strings.TrimSpace(said) == "" {
				return errors.New("it says nothing")
			}
			return nil
		}
	}
	return list
}

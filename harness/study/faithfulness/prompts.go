package faithfulness

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/faithfulness/design"
	"assay/harness/study/faithfulness/rules"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

const (
	armStructured = "structured"
	armThreeTurn  = "three-turn"
)

// ArmNames are the arms, in the order of tables.
func ArmNames() []string { return []string{armStructured, armThreeTurn} }

// RubricNames are the rubrics, in the order of tables.
func RubricNames() []string { return rules.RubricNames() }

// turnNames are the templates of an arm, one per turn.
func turnNames(arm string) []string {
	if arm == armThreeTurn {
		return []string{arm + "-1", arm + "-2", arm + "-3"}
	}
	return []string{arm}
}

func cueNames() []string { return []string{design.CueOpinion, design.CueLeak} }

// PromptNames are the templates that bench.yaml may replace: the turns of the
// arms, the texts of the cues, and one per rubric.
func PromptNames() []string {
	var names []string
	for _, a := range ArmNames() {
		names = append(names, turnNames(a)...)
	}
	return append(append(names, cueNames()...), RubricNames()...)
}

// load reads the templates, the given text in place of the built-in one, and tries
// each out.
func load(given map[string]string) (study.Templates, error) {
	l, err := study.Prompts{Files: files, Names: PromptNames(), Funcs: template.FuncMap{"options": listed}, TryOut: tryOut, Usable: usable, Must: required}.Load(given)
	errs := []error{err}
	for _, arm := range ArmNames() {
		errs = append(errs, showsCue(l, arm))
	}
	return l, errors.Join(errs...)
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
		texts = append(texts, o.Text)
		inside = inside && strings.Contains(question, " "+strings.Join(text.Words(o.Text), " ")+" ")
	}
	if inside {
		return ""
	}
	return strings.Join(texts, ", ")
}

func usable(name string) string {
	switch name {
	case rules.RubricCF:
		return ".Question .Gold .Knowledge .Reasoning and fence"
	case rules.RubricCA, rules.RubricCT:
		return ".Question .Reasoning and fence"
	case design.CueOpinion, design.CueLeak:
		return ".Question .Options .Target"
	}
	return ".Question .Type .Options .Cue .Outputs and options"
}

func required(name string) []string {
	switch name {
	case rules.RubricCF:
		return []string{"Knowledge", "Reasoning"}
	case rules.RubricCA, rules.RubricCT:
		return []string{"Reasoning"}
	case design.CueOpinion, design.CueLeak:
		return []string{"Target"}
	case turnNames(armThreeTurn)[1], turnNames(armThreeTurn)[2]:
		return nil // of the turns, the first one asks
	}
	return []string{"Question"}
}

// tryOut executes a template on made-up data.
func tryOut(name string, t *template.Template) error {
	options := []dataset.Option{{Text: "yes"}, {Text: "no"}}
	var data []any
	switch name {
	case rules.RubricCF:
		term := dataset.Term{Term: "a shadow", Synonyms: []string{"a density"}}
		data = []any{rules.CFCase{Question: "Which?", Gold: "yes", Reasoning: "None."},
			rules.CFCase{Question: "Which?", Gold: "yes", Reasoning: "None.", Knowledge: dataset.Knowledge{MustAll: []dataset.Term{term}, Forbidden: []dataset.Term{term},
				AtLeast: []dataset.AtLeast{{K: 1, AnyOf: []dataset.Term{term, {Term: "a line"}}}}, Notes: "A note.", Caps: []dataset.Cap{{If: "no side", MaxScore: 2}},
				Rules: []string{"A rule."}, Alternates: [][]string{{"opacity", "density"}}}}}
	case rules.RubricCA, rules.RubricCT:
		data = []any{rules.ReasoningCase{Question: "Which?", Reasoning: "None."}}
	case design.CueOpinion, design.CueLeak:
		data = []any{design.CueData{Question: "Which?", Options: []string{"yes", "no"}, Target: "yes"}}
	default:
		for _, opts := range [][]dataset.Option{nil, options} {
			for _, cue := range []string{"", madeUpCue} {
				data = append(data, study.Prompt{Question: "Which?", Type: dataset.TypeBinary, Options: opts, Cue: cue, Outputs: map[string]string{}})
			}
		}
	}
	for _, d := range data {
		var b strings.Builder
		if err := t.Execute(&b, d); err != nil {
			return err
		}
		if strings.TrimSpace(b.String()) == "" {
			return errors.New("it says nothing")
		}
	}
	return nil
}

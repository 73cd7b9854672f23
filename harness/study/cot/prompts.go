package cot

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results/text"
)

//go:embed templates/*.tmpl
var files embed.FS

// ArmNames are the arms, in the order of tables.
func ArmNames() []string { return []string{armDirect, armCoT} }

// RubricNames are the rubrics, in the order of tables.
func RubricNames() []string { return []string{rubAccuracy, rubPrecision, rubRecall, rubOrder} }

// PromptNames are the templates that bench.yaml may replace: one per arm and
// one per rubric.
func PromptNames() []string { return append(ArmNames(), RubricNames()...) }

// loaded is the templates of the study.
type loaded struct {
	byName map[string]*template.Template
	texts  map[string]string
}

// load parses every template, the given text in place of the built-in one, and
// executes each once, so that a mistake shows before a run. All mistakes are
// reported at once, each with the prompt's name and line.
func load(given map[string]string) (loaded, error) {
	l := loaded{map[string]*template.Template{}, map[string]string{}}
	var errs []error
	for _, name := range PromptNames() {
		src, ok := given[name]
		if !ok {
			b, err := files.ReadFile("templates/" + name + ".tmpl")
			if err != nil {
				panic("cot: internal error: " + err.Error())
			}
			src = strings.TrimSuffix(string(b), "\n")
		}
		t, err := template.New(name).Option("missingkey=error").Funcs(judge.Funcs()).
			Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }, "unlisted": unlisted}).Parse(src)
		if err == nil {
			err = tryOut(name, t)
		}
		if err != nil {
			errs = append(errs, positioned(name, err))
			continue
		}
		l.byName[name], l.texts[name] = t, src
	}
	return l, errors.Join(errs...)
}

// unlisted is the options that a question does not list itself: all or none.
func unlisted(question string, options []dataset.Option) []dataset.Option {
	if inside, err := dataset.ParseOptions(question); len(inside) > 0 || err != nil {
		return nil
	}
	return options
}

var templateError = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" )?(.*)$`)

// positioned says prompt and line in our own words.
func positioned(name string, err error) error {
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("prompt %q, line %s: %s; it may use %s", name, m[1], m[2], usable(name))
	}
	return fmt.Errorf("prompt %q: %w; it may use %s", name, err, usable(name))
}

func usable(name string) string {
	switch name {
	case rubAccuracy:
		return ".Question .Type .Options .Gold .Answer, fence and unlisted"
	case rubPrecision, rubRecall:
		return ".Question .Options .Paths .Answer, fence, inc and unlisted"
	case rubOrder:
		return ".Question .Answer and fence"
	}
	return ".Question .Type .Options .Outputs and unlisted"
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
				data = AccuracyCase{Question: "Which?", Type: kind, Options: opts, Gold: "A", Answer: answer}
			case rubPrecision, rubRecall:
				data = StepsCase{Question: "Which?", Options: opts, Paths: [][]dataset.Step{two, two[:1]}, Answer: answer}
			case rubOrder:
				data = OrderCase{Question: "Which?", Answer: answer}
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

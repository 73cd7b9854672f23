package study

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"text/template"

	"assay/harness/judge"
)

// Prompts are a study's templates as they are built in: Files has a templates/NAME.tmpl
// for each of Names.
type Prompts struct {
	Files  fs.FS
	Names  []string
	Funcs  template.FuncMap                              // beside those of package judge
	TryOut func(name string, t *template.Template) error // executes one on made-up data
	Usable func(name string) string                      // what it may use, in words
}

// Templates are a study's templates by name, and their texts.
type Templates struct {
	ByName map[string]*template.Template
	Texts  map[string]string
}

// Load parses every template, the given text in place of the built-in one, and
// tries each out, so that a mistake shows before a run. All mistakes are reported
// at once, each with the prompt's name and line.
func (p Prompts) Load(given map[string]string) (Templates, error) {
	l := Templates{map[string]*template.Template{}, map[string]string{}}
	var errs []error
	for _, name := range p.Names {
		src, ok := given[name]
		if !ok {
			b, err := fs.ReadFile(p.Files, "templates/"+name+".tmpl")
			if err != nil {
				panic("study: internal error: " + err.Error())
			}
			src = strings.TrimSuffix(string(b), "\n")
		}
		t, err := template.New(name).Option("missingkey=error").Funcs(judge.Funcs()).Funcs(p.Funcs).Parse(src)
		if err == nil {
			err = p.TryOut(name, t)
		}
		if err != nil {
			errs = append(errs, p.positioned(name, err))
			continue
		}
		l.ByName[name], l.Texts[name] = t, src
	}
	return l, errors.Join(errs...)
}

var templateError = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" )?(.*)$`)

// positioned says prompt and line in our own words.
func (p Prompts) positioned(name string, err error) error {
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("prompt %q, line %s: %s; it may use %s", name, m[1], m[2], p.Usable(name))
	}
	return fmt.Errorf("prompt %q: %w; it may use %s", name, err, p.Usable(name))
}

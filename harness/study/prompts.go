package study

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"assay/harness/judge"
)

// Prompts are a study's templates as they are built in: Files has a templates/NAME.tmpl
// for each name in List.
type Prompts struct {
	Files fs.FS
	Funcs template.FuncMap // beside those of package judge
	List  []Wording
	Check func(Templates) error // what is wrong with several together; nil: nothing is
}

// Wording is what is known of templates that are made of the same.
type Wording struct {
	Names  []string
	Usable string                            // what they may use, in words
	Must   []string                          // fields without which they ask nothing
	Try    []any                             // made-up data that they have to take
	Says   func(data any, said string) error // what is wrong with what one says then; nil: nothing is
}

// tryOut executes a template on the made-up data.
func (w Wording) tryOut(t *template.Template) error {
	for _, data := range w.Try {
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			return err
		}
		if w.Says != nil {
			if err := w.Says(data, b.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Templates are a study's templates by name, their texts, and what each may use and
// must use, in words.
type Templates struct {
	ByName map[string]*template.Template
	Texts  map[string]string
	Usable map[string]string
}

// Load parses every template, the given text in place of the built-in one, and
// tries each out, so that a mistake shows before a run. All mistakes are reported
// at once, each with the prompt's name and line.
func (p Prompts) Load(given map[string]string) (Templates, error) {
	l := Templates{map[string]*template.Template{}, map[string]string{}, map[string]string{}}
	var errs []error
	for _, w := range p.List {
		for _, name := range w.Names {
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
				err = w.tryOut(t)
			}
			if err == nil {
				err = says(t, w.Must)
			}
			if err != nil {
				errs = append(errs, w.positioned(name, err))
				continue
			}
			l.ByName[name], l.Texts[name], l.Usable[name] = t, src, w.Usable
			if len(w.Must) > 0 {
				l.Usable[name] += "; it has to use ." + strings.Join(w.Must, " .")
			}
		}
	}
	if p.Check != nil {
		errs = append(errs, p.Check(l))
	}
	return l, errors.Join(errs...)
}

// says finds what a template lacks, and lists that it would print as Go does.
func says(t *template.Template, must []string) error {
	used := map[string]bool{}
	list := ""
	var walk func(n parse.Node)
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, x := range n.Nodes {
					walk(x)
				}
			}
		case *parse.ActionNode:
			if f, ok := alone(n.Pipe); ok && slices.Contains(lists(), f) && list == "" {
				list = f
			}
			walk(n.Pipe)
		case *parse.PipeNode:
			if n != nil {
				for _, c := range n.Cmds {
					walk(c)
				}
			}
		case *parse.CommandNode:
			for _, x := range n.Args {
				walk(x)
			}
		case *parse.FieldNode:
			used[n.Ident[0]] = true
		case *parse.VariableNode:
			if len(n.Ident) > 1 {
				used[n.Ident[1]] = true
			}
		case *parse.ChainNode:
			walk(n.Node)
		case *parse.IfNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.RangeNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.WithNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.TemplateNode:
			walk(n.Pipe)
		}
	}
	for _, x := range t.Templates() {
		walk(x.Root)
	}
	if list != "" {
		return fmt.Errorf("{{.%s}} would print a list as Go writes it; write {{range .%s}}...{{end}}", list, list)
	}
	var missing []string
	for _, f := range must {
		if !used[f] {
			missing = append(missing, "{{."+f+"}}")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it does not use %s, without which it asks nothing", strings.Join(missing, " and "))
	}
	return nil
}

// lists are the fields that hold several things.
func lists() []string {
	return []string{"Options", "Paths", "Outputs", "Knowledge", "Steps", "Sections", "Sentences"}
}

// alone is the field that a pipe prints as it is.
func alone(p *parse.PipeNode) (string, bool) {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return "", false
	}
	switch n := p.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		return n.Ident[len(n.Ident)-1], true
	case *parse.VariableNode:
		return n.Ident[len(n.Ident)-1], true
	}
	return "", false
}

var templateError = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" )?(.*)$`)

// positioned says prompt and line in our own words.
func (w Wording) positioned(name string, err error) error {
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("prompt %q, line %s: %s; it may use %s", name, m[1], m[2], w.Usable)
	}
	return fmt.Errorf("prompt %q: %w; it may use %s", name, err, w.Usable)
}

// Draft writes a bench.yaml for a server and a data set.

package cli

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/study"
)

func blind(id backends.Identity) bool { return id.Vision != nil && !*id.Vision }

// usualContext is enough for the prompts and pictures of all studies.
const usualContext = 8192

// workingContext is the num_ctx to write: no more than any model was made for.
func workingContext(ids []backends.Identity) int {
	n := usualContext
	for _, id := range ids {
		if !blind(id) && id.Context != nil && *id.Context > 0 {
			n = min(n, *id.Context)
		}
	}
	return n
}

// about is what a server says of a model, on one line.
func about(id backends.Identity) string {
	parts := []string{"sees images"}
	switch {
	case blind(id):
		parts[0] = "sees no images"
	case id.Vision == nil:
		parts[0] = "does not say whether it sees images"
	}
	for _, f := range []string{id.Parameters, id.Quantisation} {
		if f != "" {
			parts = append(parts, f)
		}
	}
	if id.Context != nil {
		parts = append(parts, fmt.Sprintf("context %d", *id.Context))
	}
	if id.Synthetic {
		parts = append(parts, "a phantom")
	}
	return oneLine(strings.Join(parts, ", "))
}

// oneLine keeps a server's words from ending a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// wanted is what a bench.yaml is to be for.
type wanted struct {
	Name          string // of the experiment and its store; "": that of the file
	Study         string
	Kind          string // of the server
	URL           string
	KeyEnv        string          // variable with the server's key; "": none
	KeyFile       string          // file with it, from bench.yaml's folder; "": none
	Dataset, Path string          // kind of the data set ("": its content says), and where it is from bench.yaml's folder
	Columns       dataset.Mapping // of a table, which column is what; nil: that is guessed
	Models        []string        // of the server; none: all
	InFlight      []string        // levels of a load sweep; none: no sweep
	GPUHour       string          // price of an hour of a GPU; "": none is given
	Currency      string          // of it
	Sweeps        []string        // "VB-HM-@opacity=.1,.3,.6": conditions at several levels, instead of all conditions
}

//go:embed bench.yaml.tmpl
var form string

// Write makes the file's text. Words from outside stand in quotes or in comments.
func (w wanted) Write(ids []backends.Identity) string {
	type model struct {
		Key, About string
		Blind      bool
		ID         backends.Identity
	}
	type levels struct{ Condition, Parameter, Levels string }
	of := struct {
		wanted
		Of      config.StudyKind
		Draft   study.Draft
		Gaps    bool     // a knowledge base is the user's to name; without it nothing is compared with one
		Said    []string // which column is what
		Options string
		Models  []model
		Thinks  bool // a model does
		Sweeps  []levels
		Rubrics []string
	}{wanted: w}
	for _, d := range experiment.All() {
		if d.Name == w.Study {
			of.Of, of.Draft = d.Kind(), d.Draft
		}
	}
	source := dataset.Source{Kind: w.Dataset}
	of.Gaps = source.Has("knowledge_gaps") && len(of.Of.Knowing) > 0
	if k, _ := kinds.Named(w.Kind, ""); k.Options != nil {
		of.Options = k.Options(workingContext(ids))
	}
	for _, f := range dataset.Fields() {
		var names []string
		for _, c := range w.Columns[f.Name] {
			names = append(names, quoted(c))
		}
		if list := strings.Join(names, ", "); len(names) > 1 {
			of.Said = append(of.Said, f.Name+": ["+list+"]")
		} else if len(names) > 0 {
			of.Said = append(of.Said, f.Name+": "+list)
		}
	}
	used := map[string]bool{}
	for _, id := range ids {
		of.Models = append(of.Models, model{modelKey(id.Model, used), about(id), blind(id), id})
		of.Thinks = of.Thinks || id.Thinking != nil && *id.Thinking
	}
	for _, sw := range w.Sweeps {
		condition, rest, _ := strings.Cut(sw, "@")
		param, list, _ := strings.Cut(rest, "=")
		of.Sweeps = append(of.Sweeps, levels{condition, param, list})
	}
	for _, r := range of.Of.Rubrics {
		if !slices.Contains(of.Of.Measured, r) && (!slices.Contains(of.Of.Knowing, r) || source.Has("knowledge")) {
			of.Rubrics = append(of.Rubrics, r+": [lexical]")
		}
	}
	t := template.Must(template.New("").Funcs(template.FuncMap{"quoted": quoted, "line": oneLine, "join": func(all []string) string { return strings.Join(all, ", ") }}).Parse(form))
	var b strings.Builder
	if err := t.Execute(&b, of); err != nil {
		panic("cli: internal error: " + err.Error())
	}
	return b.String()
}

// quoted is s in YAML's double quotes.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("cli: internal error: " + err.Error()) // a string always marshals
	}
	return string(b)
}

// modelKey is a name for a model in bench.yaml and in tables.
func modelKey(model string, used map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return r
		}
		return '-'
	}, filepath.Base(model))
	if name = strings.Trim(name, "-._"); name == "" {
		name = "model"
	}
	for n, base := 2, name; used[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	used[name] = true
	return name
}

package cli

import (
	"assay/harness/config"
	"assay/harness/experiment"
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed bench.tmpl
var benchPage string

// referencePart is a section of bench.yaml on the page.
type referencePart struct {
	Title, Text string
	Keys        []row
}

// row is a key on the page, for all kinds and studies that have it.
type row struct {
	Key, Type, Default, Example, About string
}

// bench is docs/bench.md.
func bench() (file, error) {
	keys, err := keys()
	if err != nil {
		return file{}, err
	}
	page := struct {
		Parts   []referencePart
		Studies []config.StudyKind
	}{Studies: experiment.Known().Studies}
	for _, p := range []referencePart{
		{Title: "", Text: "`name`, `datasets`, `backends`, `models` and `studies` are required."},
		{Title: "datasets", Text: "Each has a name of your choice and a `kind`, which decides its keys ([your own data](own-data.md))."},
		{Title: "backends", Text: "Model servers ([your own](your-server.md)). The run itself plays kind `phantom`."},
		{Title: "models", Text: "The models, one block each, in this order."},
		{Title: "judges", Text: "[Judges](judges.md) of answers."},
		{Title: "texts", Text: "Questions in other words ([how](perturbations.md#your-own-words))."},
		{Title: "ops", Text: "Your own programs that change images ([how](perturbations.md#your-own-change))."},
		{Title: "studies", Text: "What is run, by the study's name; arms, rubrics and conditions of each stand [below](#names-that-studies-know)."},
		{Title: "telemetry", Text: "Devices to read ([energy and cost](energy-and-cost.md))."},
		{Title: "cost", Text: "[Prices](energy-and-cost.md#prices)."},
	} {
		for _, k := range keys {
			top, rest, nested := strings.Cut(generalPath(k.Path), ".")
			if p.Title == "" && nested || p.Title != "" && (top != p.Title || !nested) {
				continue
			}
			shown := strings.TrimPrefix(rest, "*.")
			if p.Title == "" {
				shown = top
			}
			shown = strings.NewReplacer("rubrics.*", "rubrics.RUBRIC", "needs_from.*", "needs_from.RUBRIC", "params.*", "params.PARAMETER").Replace(shown)
			r := row{Key: shown, Type: typeOf(k), Default: k.Default, Example: k.Example, About: k.About}
			if k.Needed {
				r.Default = "has to be there"
			}
			if kinds := kindsWith(keys, k); kinds != "" {
				r.About += " (" + kinds + ")"
			}
			// One row for all studies: names of their own stand below.
			if !slices.ContainsFunc(p.Keys, func(o row) bool { return o.Key == r.Key && (o == r || top == "studies") }) {
				p.Keys = append(p.Keys, r)
			}
		}
		page.Parts = append(page.Parts, p)
	}
	t, err := template.New("bench").Funcs(template.FuncMap{"join": strings.Join, "names": conditionNames}).Parse(benchPage)
	if err != nil {
		return file{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, page)
	return file{Name: "bench.md", Text: b.Bytes()}, err
}

func conditionNames(d config.StudyKind) string {
	var names []string
	for _, c := range d.Conditions {
		names = append(names, "`"+c.Name+"`")
	}
	return strings.Join(names, ", ")
}

// kindsWith says which kinds have a key as it is, where not all do.
func kindsWith(keys []key, k key) string {
	if k.Kind == "" {
		return ""
	}
	section, _, _ := strings.Cut(k.Path, ".")
	var all, with []string
	for _, o := range keys {
		if !strings.HasPrefix(o.Path, section+".*.") {
			continue
		}
		if !slices.Contains(all, o.Kind) {
			all = append(all, o.Kind)
		}
		if o.Path == k.Path && typeOf(o) == typeOf(k) && o.Default == k.Default && o.Needed == k.Needed && !slices.Contains(with, o.Kind) {
			with = append(with, o.Kind)
		}
	}
	if len(with) == len(all) {
		return ""
	}
	return "kind " + strings.Join(with, ", ")
}

// typeOf is the type and range of a key, for people.
func typeOf(k key) string {
	switch k.Type {
	case config.Choice:
		return "`" + strings.Join(k.Values, "`, `") + "`"
	case config.Whole, config.Number, config.Duration:
		s := fmt.Sprintf("%s, %s to %s", k.Type, k.Least, k.Most)
		if len(k.Names) > 0 {
			s += ", or `" + strings.Join(k.Names, "`, `") + "`"
		}
		return s
	case config.File, config.Folder, config.List:
		if len(k.Names) > 0 {
			return string(k.Type) + ", or `" + strings.Join(k.Names, "`, `") + "`"
		}
	}
	return string(k.Type)
}

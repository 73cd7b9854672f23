package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/study"
)

//go:embed every-key.yaml
var everyKey []byte

//go:embed bench.tmpl
var benchPage string

// key is all that is said of one key of a bench.yaml.
type key struct {
	config.Rule
	About, Example string
}

// Name is the key's own.
func (k key) Name() string { return k.Path[strings.LastIndex(k.Path, ".")+1:] }

// keys are all keys of bench.yaml: the parser's rules, with words and examples. The error
// names every key that has none.
func keys() ([]key, error) {
	var list []config.Rule
	words, examples := map[string]string{}, map[string]string{}
	for i, doc := range bytes.Split(everyKey, []byte("\n---\n")) {
		name := fmt.Sprintf("every-key.yaml, document %d", i+1)
		asked, errs := config.Rules(name, doc, experiment.Known(), exampleFiles{})
		if len(errs) > 0 {
			return nil, errs
		}
		list = append(list, asked...)
		t := config.Tree{File: name}
		said(t.Parse(doc), "", strings.Split(string(doc), "\n"), words, examples)
	}
	var out []key
	var lacking []string
	for _, r := range list {
		at := slices.IndexFunc(out, func(k key) bool { return k.Path == r.Path && k.Kind == r.Kind })
		if at >= 0 { // of another document
			if r.Type != "" && out[at].Type == "" {
				out[at].Rule = r
			}
			continue
		}
		out = append(out, key{Rule: r})
	}
	// Mappings of names that bench.yaml chooses are no keys, and a sweep's parameters are its condition's.
	out = slices.DeleteFunc(out, func(k key) bool {
		return k.Path == "" || strings.HasSuffix(k.Path, ".*") || strings.Contains(k.Path, "[") || strings.Count(k.Path, ".") == 1 && strings.HasPrefix(k.Path, "studies.")
	})
	for i := range out {
		k := &out[i]
		general := generalPath(k.Path)
		if k.Type == "" { // of a kind, or a study, that the examples do not show with it
			for _, o := range out {
				if o.Type != "" && generalPath(o.Path) == general {
					needed := k.Needed
					k.Rule = config.Rule{Path: k.Path, Kind: k.Kind, Type: o.Type, Least: o.Least, Most: o.Most, Default: o.Default, Values: o.Values, Names: o.Names, Needed: needed}
					break
				}
			}
		}
		if words[general] == "" { // a key of this name that stands elsewhere says the same
			general = k.Name()
		}
		about := words[general]
		if k.About, k.Example = about, examples[general]; about == "" || k.Type == "" {
			lacking = append(lacking, k.Path)
		}
		if m := usual.FindStringSubmatch(about); m != nil {
			k.About = m[1]
			if k.Default == "" {
				k.Default = m[2]
			}
		}
	}
	lacking = append(lacking, unshown(out)...)
	if lacking = slices.Compact(slices.Sorted(slices.Values(lacking))); len(lacking) > 0 {
		return nil, fmt.Errorf("harness/cli/every-key.yaml lacks an example of these keys, with what they mean behind it: %s", strings.Join(lacking, ", "))
	}
	return out, nil
}

// unshown are the kinds and studies that no example has: their keys are not known.
func unshown(keys []key) (lacking []string) {
	has := func(path, kind string) bool {
		return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.Path, path+".") && k.Kind == kind })
	}
	for _, d := range experiment.Known().Studies {
		if !has("studies."+d.Name, "") {
			lacking = append(lacking, "studies."+d.Name)
		}
	}
	for _, k := range keys {
		if k.Name() != "kind" {
			continue
		}
		for _, kind := range k.Values {
			if section := strings.TrimSuffix(k.Path, ".kind"); !has(section, kind) {
				lacking = append(lacking, section+" of kind "+kind)
			}
		}
	}
	return lacking
}

var usual = regexp.MustCompile(`^(.*\S)\s*\[(.+)\]$`)

// generalPath is a key's path without names: those of studies, of rubrics and prompts too.
func generalPath(path string) string {
	parts := strings.Split(path, ".")
	if parts[0] == "studies" && len(parts) > 1 {
		parts[1] = "*"
		if len(parts) == 4 && (parts[2] == "rubrics" || parts[2] == "needs_from") {
			parts[3] = "*"
		}
	}
	return strings.Join(parts, ".")
}

// said collects the words behind keys and their examples, by general path.
func said(n *config.Node, path string, lines []string, words, examples map[string]string) {
	named := slices.Contains([]string{"datasets", "backends", "models", "judges"}, path)
	for _, e := range n.Entries {
		p := config.JoinPath(path, e.Key)
		if named {
			p = config.JoinPath(path, "*")
		}
		line := lines[e.At.Line-1]
		code, comment, ok := strings.Cut(line, "  # ")
		for _, g := range []string{generalPath(p), e.Key} {
			if words[g] != "" || !ok {
				continue
			}
			words[g] = strings.TrimSpace(comment)
			if e.Value.Kind != config.IsMapping {
				examples[g] = strings.TrimSpace(code)
			}
		}
		said(e.Value, p, lines, words, examples)
	}
}

// exampleFiles has every file that an example names.
type exampleFiles struct{}

func (exampleFiles) ReadFile(string) ([]byte, error) { return []byte("example"), nil }
func (exampleFiles) Stat(path string) (fs.FileInfo, error) {
	return exampleFile(path), nil
}

// exampleFile is a folder where its name has no ending.
type exampleFile string

func (f exampleFile) Name() string { return string(f) }
func (exampleFile) Size() int64    { return 7 }
func (f exampleFile) Mode() fs.FileMode {
	if f.IsDir() {
		return fs.ModeDir
	}
	return 0
}
func (exampleFile) ModTime() time.Time { return time.Time{} }
func (f exampleFile) IsDir() bool      { return filepath.Ext(string(f)) == "" }
func (exampleFile) Sys() any           { return nil }

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
		Studies []study.Definition
	}{Studies: experiment.All()}
	for _, p := range []referencePart{
		{Title: "", Text: "The first level. `name`, `datasets`, `backends`, `models` and `studies` have to be there."},
		{Title: "datasets", Text: "Each has a name of your choice, and a `kind` that decides which keys it has ([your data](your-server.md#data))."},
		{Title: "backends", Text: "Model servers ([yours](your-server.md)). Kind `phantom` is played by the run itself."},
		{Title: "models", Text: "What is asked, one block each, in this order."},
		{Title: "judges", Text: "Who judges answers ([judges](judges.md))."},
		{Title: "studies", Text: "What is run. The name is that of a study; [below](#names-that-studies-know) stand the arms, rubrics and conditions of each."},
		{Title: "telemetry", Text: "What is watched meanwhile ([energy and cost](energy-and-cost.md))."},
		{Title: "cost", Text: "Prices ([energy and cost](energy-and-cost.md))."},
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
			shown = strings.NewReplacer("rubrics.*", "rubrics.RUBRIC", "needs_from.*", "needs_from.RUBRIC").Replace(shown)
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

func conditionNames(d study.Definition) string {
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

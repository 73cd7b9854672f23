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
	"time"

	"assay/harness/config"
	"assay/harness/experiment"
)

//go:embed every-key.yaml
var everyKey []byte

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
	named := slices.Contains([]string{"datasets", "backends", "models", "judges", "ops", "ops.*.params", "texts", "texts.*.params"}, path)
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
	return 0o755
}
func (exampleFile) ModTime() time.Time { return time.Time{} }
func (f exampleFile) IsDir() bool      { return filepath.Ext(string(f)) == "" }
func (exampleFile) Sys() any           { return nil }

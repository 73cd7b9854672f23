package cli_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/backends/kinds"
	"assay/harness/studies"
	"assay/perturb"
)

// addition is something that assay has several of, and what is touched to add one:
// every place in the product's code that names one would have to know the next.
type addition struct {
	what  string
	names []string
	least int // so many names there are at least; 0: 3
	// looked says which files are looked at: where the names mean this and nothing else.
	looked func(file string, literals []string) bool
	// says whether a string of a file names it, an import's path included.
	says func(file, literal, name string) bool
	// home are the files to touch; a folder, which ends in a slash, counts as one: the
	// package of the new one.
	home func(name string) []string
	// besides name some and need no change for another: file, and why.
	besides map[string]string
}

// wrong is what the code has against it: files that name one and are no home of it,
// homes that do not, and files besides that no longer name any.
func (a addition) wrong(literals map[string][]string) []string {
	var wrong []string
	excused := map[string]bool{}
	for _, name := range a.names {
		at := map[string]bool{}
		home := a.home(name)
		for file, all := range literals {
			if !a.looked(file, all) || !slices.ContainsFunc(all, func(l string) bool { return a.says(file, l, name) }) {
				continue
			}
			i := slices.IndexFunc(home, func(h string) bool { return file == h || strings.HasSuffix(h, "/") && strings.HasPrefix(file, h) })
			switch {
			case i >= 0:
				at[home[i]] = true
			case a.besides[file] != "":
				excused[file] = true
			default:
				wrong = append(wrong, fmt.Sprintf("%s %s is named in %s, beside %v", a.what, name, file, home))
			}
		}
		for _, h := range home {
			if !at[h] {
				wrong = append(wrong, fmt.Sprintf("%s %s is not named in %s", a.what, name, h))
			}
		}
	}
	for file := range a.besides {
		if !excused[file] {
			wrong = append(wrong, fmt.Sprintf("no %s is named in %s, which is excused for it", a.what, file))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// additions are those that are counted, with the number of files of each.
func additions(t *testing.T) map[int][]addition {
	t.Helper()
	var backends, protocols, rubrics, ops, params []string
	for _, k := range kinds.All() {
		if !k.Phantom && !k.Imported { // imported answers have no server
			backends = append(backends, k.Name)
		}
	}
	for _, d := range studies.All() {
		protocols = append(protocols, d.Name)
		rubrics = append(rubrics, d.Rubrics...)
	}
	for _, op := range perturb.Ops() {
		ops = append(ops, op.Name)
		for _, p := range op.Params {
			params = append(params, p.Name)
		}
	}
	exactly := func(_, literal, name string) bool { return literal == name }
	// A key of several words ("box thickness_px") names each of them; a sentence is words.
	within := func(_, literal, name string) bool {
		words := strings.FieldsFunc(literal, func(r rune) bool { return r == ' ' || r == '.' || r == ',' })
		return len(words) < 4 && slices.Contains(words, name)
	}
	// Others may have a box and a factor of their own.
	changes := func(file string, all []string) bool {
		return strings.HasPrefix(file, "perturb/") || slices.Contains(all, "assay/perturb")
	}
	return map[int][]addition{
		0: {{
			// Its study declares it, and what people rate beside it.
			what: "rubric", names: rubrics, says: exactly,
			looked: func(file string, _ []string) bool {
				return strings.HasPrefix(file, "harness/agree/") || strings.HasPrefix(file, "harness/ratings/") || strings.HasPrefix(file, "harness/metric/") || strings.HasPrefix(file, "results/")
			},
			home:    func(string) []string { return nil },
			besides: map[string]string{"results/rating/log.go": "a kind of event", "results/viewer/versus/versus.go": "a parameter of a page"},
		}},
		2: {{
			what: "backend", names: backends,
			// Phantoms stand in for servers; who adds a backend may do without one. Hosted
			// providers are not backends, though some have the names of their protocols.
			looked: func(file string, _ []string) bool {
				return !strings.HasPrefix(file, "backends/phantom/") && !strings.HasPrefix(file, "backends/hosted/")
			},
			says: func(file, literal, name string) bool {
				if strings.HasPrefix(file, "backends/") && file != "backends/kinds/kinds.go" && literal == "assay/backends/"+name {
					return false // one protocol is another's with something more
				}
				return strings.Contains(strings.ToLower(literal), name) && regexp.MustCompile(`(?i)\b`+name+`\b`).MatchString(literal)
			},
			home:    func(name string) []string { return []string{"backends/" + name + "/", "backends/kinds/kinds.go"} },
			besides: map[string]string{"harness/cli/help.go": "an example"},
		}, {
			// Its package and the list of studies; TestAStudyIsThreeFiles counts the files.
			what: "study", names: protocols, least: 2,
			// The checks compare the studies that they know the truth of, and may do without one.
			looked: func(file string, _ []string) bool {
				return !strings.HasPrefix(file, "harness/dataset/phantom/check/") && !strings.HasPrefix(file, "harness/dataset/phantom/recovery/")
			},
			says: func(file, literal, name string) bool {
				home := "assay/harness/study/" + name
				return literal == name || literal == home || strings.HasPrefix(literal, home+"/") || strings.Contains(strings.ToLower(literal), name) && regexp.MustCompile(`(?i)\bstudy `+name+`\b|\b`+name+` study\b`).MatchString(literal)
			},
			home: func(name string) []string {
				return []string{"harness/study/" + name + "/", "harness/studies/studies.go"}
			},
			besides: map[string]string{"harness/cli/data/perturb.go": "help", "harness/cli/stores/scores.go": "help", "harness/cli/help.go": "an example",
				"harness/dataset/question.go": "a type of question", "harness/dataset/phantom/scene/case.go": "a type of question", "harness/study/cot/steps/cues.go": "a word of answers", "harness/study/cot/steps/lexical.go": "a word of answers"},
		}},
		1: {{
			what: "op", names: ops, says: within,
			looked: changes,
			home:   func(string) []string { return []string{"perturb/ops.go"} },
			besides: map[string]string{
				"harness/study/faithfulness/design/design.go": "the conditions of a study are made of ops",
				"harness/study/faithfulness/tables.go":        "a column",
				"perturb/draw.go":                             "what stands in place of a region",
				"perturb/condition.go":                        "a condition is made of it",
				"perturb/picture.go":                          "a format of files", "perturb/metadata.go": "a format of files",
				"harness/curation/write.go": "a format of files",
			},
		}, {
			what: "parameter of an op", names: params, says: within,
			looked:  changes,
			home:    func(string) []string { return []string{"perturb/ops.go"} },
			besides: map[string]string{"perturb/condition.go": "a condition is made of it"},
		}, {
			what: "format of the report", names: entriesOf(t, "results/report/write.go", "formats"),
			says: func(_, literal, name string) bool { return literal == name || strings.HasSuffix(literal, name) },
			looked: func(file string, _ []string) bool {
				return strings.HasPrefix(file, "results/") || file == "harness/cli/report.go" || strings.HasPrefix(file, "harness/page/")
			},
			home: func(string) []string { return []string{"results/report/write.go"} },
		}},
	}
}

// TestFilesToTouch counts the files of the product that are touched to add a backend,
// an op or a format: those that name the present ones. The tables of imports and of
// the docs, which say what is allowed and what is there, tell what they lack.
func TestFilesToTouch(t *testing.T) {
	literals := productLiterals(t)
	for want, list := range additions(t) {
		for _, a := range list {
			if len(a.names) < cmp.Or(a.least, 3) {
				t.Fatalf("only the %ss %v", a.what, a.names)
			}
			for _, name := range a.names {
				if home := a.home(name); len(home) != want {
					t.Errorf("a %s touches %v, want %d files", a.what, home, want)
				}
			}
			for _, w := range a.wrong(literals) {
				t.Error(w)
			}
		}
	}
}

// TestTouchedFilesAreSeen: a switch over kinds, a second list of ops, and an excuse
// that is no longer needed are found.
func TestTouchedFilesAreSeen(t *testing.T) {
	source := func(text string) []string {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		return literalsOf(t, f)
	}
	all := additions(t)
	for _, c := range []struct {
		a    addition
		file string
		text string
		says string
	}{
		{all[0][0], "harness/agree/tables.go", "func f(axis string) bool { return axis == \"CA\" }", "rubric CA is named in harness/agree/tables.go"},
		{all[2][0], "harness/doctor/server.go", "func f(kind string) bool { return kind == \"vllm\" }", "backend vllm is named in harness/doctor/server.go"},
		{all[2][0], "harness/draft/draft.go", "import _ \"assay/backends/ollama\"", "backend ollama is named in harness/draft/draft.go"},
		{all[2][0], "harness/draft/draft.go", "const hint = `start llamacpp anew`", "backend llamacpp is named in harness/draft/draft.go"},
		{all[2][1], "harness/draft/draft.go", "func f(study string) bool { return study == \"cot\" }", "study cot is named in harness/draft/draft.go"},
		{all[2][1], "harness/preview/preview.go", "import _ \"assay/harness/study/faithfulness/design\"", "study faithfulness is named in harness/preview/preview.go"},
		{all[2][1], "harness/page/page.go", "const s = \"only the cot study has these\"", "study cot is named in harness/page/page.go"},
		{all[1][0], "harness/config/conditions.go", "import _ \"assay/perturb\"\nfunc ops() []string { return []string{\"heatmap\"} }", "op heatmap is named in harness/config/conditions.go"},
		{all[1][1], "harness/preview/choice.go", "import _ \"assay/perturb\"\nconst p = \"thickness_px\"", "parameter of an op thickness_px is named in harness/preview/choice.go"},
		{all[1][1], "harness/reference/perturbations.go", "import _ \"assay/perturb\"\nfunc try(k string) string { return map[string]string{\"box thickness_px\": \"[1, 4]\"}[k] }", "parameter of an op thickness_px is named in harness/reference/perturbations.go"},
		{all[1][2], "harness/cli/report.go", "const page = \"report.md\"", "format of the report report.md is named in harness/cli/report.go"},
	} {
		wrong := c.a.wrong(map[string][]string{c.file: source(c.text)})
		if !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, c.says) }) {
			t.Errorf("%s with %s: %q, want %q", c.file, c.text, wrong, c.says)
		}
		if slices.ContainsFunc(c.a.wrong(map[string][]string{c.file: source("const x = \"else\"")}), func(w string) bool { return strings.HasPrefix(w, c.says) }) {
			t.Errorf("%s was found in nothing", c.says)
		}
	}
	a := all[2][0]
	a.besides = map[string]string{"harness/none.go": "no reason"}
	if w := a.wrong(nil); !slices.Contains(w, "no backend is named in harness/none.go, which is excused for it") {
		t.Errorf("%q", w)
	}
}

// productFiles are the files of the product's code, from the root: without tests and
// the packages that only tests import.
func productFiles(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" || file == "backends/backendtest" || file == "harness/dataset/datasettest" || file == "results/browser" {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			out = append(out, file)
		}
		return nil
	})
	if err != nil || len(out) < 150 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// productLiterals are the strings of the product's code, by file.
func productLiterals(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, file := range productFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), source(file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = literalsOf(t, f)
	}
	return out
}

func literalsOf(t *testing.T, n ast.Node) []string {
	t.Helper()
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text)
		}
		return true
	})
	return out
}

// entriesOf are the names of the entries of a table that a function of a file returns.
func entriesOf(t *testing.T, file, function string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, bytes.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != function {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "name" {
				names = append(names, literalsOf(t, kv.Value)...)
			}
			return true
		})
	}
	return names
}

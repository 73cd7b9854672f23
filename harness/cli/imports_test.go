package cli_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// never are sentences "X never imports Y" about the product's own packages. A name
// ending in "/..." stands for the package and all below it; a Y that is no package of
// ours is a path, and all below it. "except" names packages of X that may.
var never = []struct {
	x, y   string
	except []string
}{
	{"timing/...", "perturb", nil},
	{"timing/...", "results/...", nil},
	{"timing/...", "harness/...", nil},
	{"perturb/...", "harness/...", nil},
	{"perturb/...", "results/...", nil},
	{"backends/...", "harness/...", []string{"backends/backendtest/..."}},
	{"results/stats/...", "harness/...", nil},
	{"results/text/...", "harness/...", nil},
	{"results", "harness/...", nil},
	{"harness/machine/...", "harness/study/...", nil},
	{"harness/machine/...", "harness/config/...", nil},
	{"harness/servers/...", "harness/config/...", nil},
	{"harness/servers/...", "harness/judge/...", nil},
	{"harness/config/...", "harness/study/...", nil},
	{"harness/config/...", "backends/kinds", nil},
	{"harness/plan/...", "harness/study/...", nil},
	{"harness/page/...", "harness/agree/...", nil},
	{"backends/phantom/...", "timing/telemetry/...", nil},
	{"harness/study/cot/...", "harness/study/faithfulness/...", nil},
	{"harness/study/faithfulness/...", "harness/study/diagnosis/...", nil},
	{"harness/study/diagnosis/...", "harness/study/cot/...", nil},
	{"...", "backends/backendtest/...", []string{"backends/backendtest/...", "harness/dataset/datasettest/..."}},
	{"...", "github.com/tmc/langchaingo", []string{"backends/hosted"}},
}

// within says whether a package is what a name stands for.
func within(pkg, name string) bool {
	root, all := strings.CutSuffix(name, "...")
	return pkg == strings.TrimSuffix(root, "/") || all && strings.HasPrefix(pkg, root)
}

// forbidden are the imports of a package that a sentence rules out.
func forbidden(pkg string, imports []string) (wrong []string) {
	for _, s := range never {
		if !within(pkg, s.x) || slices.ContainsFunc(s.except, func(e string) bool { return within(pkg, e) }) {
			continue
		}
		for _, imp := range imports {
			to, ours := strings.CutPrefix(imp, "assay/")
			if ours && within(to, s.y) || !ours && (imp == s.y || strings.HasPrefix(imp, s.y+"/")) {
				wrong = append(wrong, pkg+" imports "+to+": "+s.x+" never imports "+s.y)
			}
		}
	}
	return wrong
}

// TestImports reads files and builds nothing, so that it holds on every system and under every tag.
func TestImports(t *testing.T) {
	root, files := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imp)
		}
		for _, w := range forbidden(filepath.ToSlash(dir), imports) {
			t.Error(w)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func TestForbiddenImportsAreSeen(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		wrong    bool
	}{
		{"timing/telemetry/nvml", "assay/harness/config", true},
		{"timing", "assay/timing/telemetry", false},
		{"results/stats", "assay/harness/dataset", true},
		{"backends/hosted", "github.com/tmc/langchaingo/llms", false},
		{"backends/openai", "github.com/tmc/langchaingo/llms", true},
		{"harness/study/cot", "assay/harness/study/faithfulness", true},
		{"harness/experiment", "assay/harness/study/faithfulness", false},
		{"harness/cli", "assay/backends/backendtest/tinymodel", true},
	} {
		if got := forbidden(c.pkg, []string{c.imp}); (len(got) > 0) != c.wrong {
			t.Errorf("%s imports %s: %q", c.pkg, c.imp, got)
		}
	}
}

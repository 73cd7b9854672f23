package cli_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/harness/studies"
)

// arrows is the dependency table: what each package may import of ours. A
// trailing slash stands for everything under it. Every arrow is one that is used.
func arrows() map[string][]string {
	return map[string][]string{
		"timing":                   {},
		"perturb":                  {},
		"results/stats":            {},
		"results/stats/prevalence": {"results/stats"},
		"results/text":             {},
		"timing/telemetry":         {"timing"},
		"timing/telemetry/":        {"timing/telemetry"}, "timing/telemetry/exporter": {"timing", "timing/telemetry"},
		"backends":                {"timing"},
		"backends/wire":           {"backends", "timing"},
		"backends/openai":         {"backends", "backends/wire", "timing"},
		"backends/llamacpp":       {"backends", "backends/openai", "backends/wire", "timing"},
		"backends/vllm":           {"backends", "backends/openai", "backends/wire", "timing"},
		"backends/ollama":         {"backends", "backends/wire", "timing"},
		"backends/hosted":         {"backends", "backends/wire", "timing"},
		"backends/kinds":          {"backends", "backends/llamacpp", "backends/ollama", "backends/openai", "backends/vllm", "backends/wire"},
		"backends/phantom/chance": {},
		"backends/phantom/reader": {},
		"backends/phantom/gpu":    {"backends/phantom/chance", "timing", "timing/telemetry"},
		"backends/phantom/judges": {"backends/phantom/chance"},
		"backends/phantom/raw":    {},
		"backends/phantom/cache":  {}, "backends/phantom/attached": {},
		"backends/phantom":          {"backends/phantom/attached", "backends/phantom/cache", "backends/phantom/chance", "backends/phantom/gpu", "backends/phantom/judges", "backends/phantom/raw", "backends/phantom/reader"},
		"results":                   {"backends", "results/stats", "timing"},
		"results/pagesum":           {},
		"results/cursor":            {},
		"results/file":              {"results", "results/cursor", "results/pagesum"},
		"results/pack":              {"results", "timing"},
		"results/rows":              {"backends", "results", "results/cursor", "timing"},
		"results/sqlite":            {"backends", "results", "results/cursor", "results/file", "results/pack", "results/rows", "timing"},
		"results/repair":            {"results", "results/file", "results/pagesum", "results/sqlite"},
		"results/merge":             {"backends", "results", "results/file", "results/sqlite"},
		"harness/dataset/dicom":     {"harness/dataset/spool", "perturb"},
		"harness/dataset":           {"harness/dataset/casefile", "harness/dataset/dicom", "harness/dataset/formats", "harness/dataset/m3", "harness/dataset/phantom/scene", "harness/dataset/questions", "harness/dataset/root", "harness/dataset/spool", "harness/dataset/strict", "harness/dataset/tables", "perturb", "results/text"},
		"harness/dataset/example":   {"harness/dataset", "harness/dataset/formats", "harness/dataset/questions"},
		"harness/dataset/questions": {"harness/dataset/formats", "harness/dataset/root", "harness/dataset/strict", "perturb", "results/text"},
		"harness/dataset/tables":    {"harness/dataset/strict", "perturb"},
		"harness/dataset/formats":   {"harness/dataset/strict"},
		"harness/dataset/library":   {"harness/dataset/formats", "harness/dataset/strict", "perturb"}, // Parquet and workbooks: by those alone that read files
		"harness/dataset/strict":    {},
		"harness/dataset/casefile":  {"harness/dataset/formats", "harness/dataset/strict"},
		"harness/dataset/root":      {}, "harness/dataset/spool": {},
		"harness/dataset/m3":      {"harness/dataset/formats", "harness/dataset/strict"},
		"harness/dataset/summary": {"harness/dataset"},

		"harness/dataset/phantom/check":    nil, // the whole instrument, put to the test
		"harness/dataset/phantom/recovery": nil, // so is this
		"harness/dataset/phantom/film":     {"backends/phantom/chance"},
		"harness/dataset/phantom/eyes":     {"backends/phantom/chance", "harness/dataset/phantom/film"},
		"harness/dataset/phantom/scene":    {"backends/phantom/chance", "harness/dataset/phantom/film"},
		"harness/dataset/phantom/skill":    {"backends/phantom/chance", "backends/phantom/reader", "harness/dataset/phantom/eyes", "harness/dataset/phantom/scene"},

		"harness/judge/judges":               {"backends", "backends/hosted", "harness/dataset/strict", "harness/judge", "results", "results/text"},
		"harness/judge":                      {"backends", "results", "results/text", "timing"},
		"harness/score":                      {"results", "results/sqlite", "timing"},
		"harness/metric/draws":               {"results/stats"},
		"harness/metric":                     {"harness/metric/draws", "harness/score", "results", "results/sqlite", "results/stats"},
		"harness/study":                      {"backends", "harness/dataset", "harness/judge", "harness/metric", "harness/ratings", "harness/score", "perturb", "results", "results/sqlite", "results/stats", "timing"},
		"harness/study/cost":                 {"harness/load", "harness/metric", "harness/score", "harness/shots", "harness/study", "results", "results/sqlite", "results/stats", "timing"},
		"harness/study/byhost":               {"harness/metric", "harness/study", "harness/study/cost", "results", "results/sqlite"},
		"harness/load":                       {"perturb", "results", "results/stats"},
		"harness/study/accuracy":             {"harness/dataset", "harness/judge", "results", "results/text"},
		"harness/study/cot":                  {"harness/dataset", "harness/judge", "harness/metric", "harness/score", "harness/study", "harness/study/accuracy", "harness/study/cohort", "harness/study/cost", "harness/study/cot/steps", "perturb", "results", "results/sqlite", "results/stats", "results/text"},
		"harness/study/cohort":               {"harness/metric", "harness/study", "results", "results/stats"},
		"harness/study/cot/steps":            {"harness/dataset", "harness/judge", "harness/study", "harness/study/accuracy", "results", "results/text"},
		"harness/study/diagnosis":            {"harness/dataset", "harness/judge", "harness/metric", "harness/score", "harness/study", "harness/study/accuracy", "harness/study/cost", "harness/study/diagnosis/discussion", "harness/study/diagnosis/expert", "harness/study/diagnosis/step", "harness/study/diagnosis/writing", "perturb", "results", "results/sqlite", "results/stats", "results/text"},
		"harness/study/diagnosis/expert":     {"harness/dataset", "results/text"},
		"harness/study/diagnosis/step":       {"harness/judge", "harness/study/diagnosis/expert", "results", "results/text"},
		"harness/study/diagnosis/discussion": {"harness/dataset", "harness/judge", "harness/study/diagnosis/expert", "results", "results/text"},
		"harness/study/diagnosis/writing":    {"harness/dataset", "harness/judge", "harness/metric", "harness/score", "results", "results/text"},
		"harness/study/faithfulness":         {"harness/dataset", "harness/judge", "harness/metric", "harness/ratings", "harness/score", "harness/study", "harness/study/cohort", "harness/study/cost", "harness/study/faithfulness/design", "harness/study/faithfulness/grades", "harness/study/faithfulness/rules", "harness/study/faithfulness/scoring", "perturb", "results", "results/sqlite", "results/stats", "results/text"},
		"harness/study/faithfulness/grades":  {"harness/metric", "harness/score", "harness/study", "harness/study/faithfulness/scoring", "results", "results/sqlite", "results/text"},
		"harness/study/faithfulness/pair":    {"results/text"},
		"harness/study/faithfulness/scoring": {"harness/dataset", "harness/judge", "harness/score", "harness/study", "harness/study/faithfulness/design", "harness/study/faithfulness/pair", "harness/study/faithfulness/rules", "perturb", "results", "results/text"},
		"harness/study/faithfulness/design":  {"harness/dataset", "harness/study", "harness/study/faithfulness/pair", "perturb", "results", "results/text"},
		"harness/study/faithfulness/rules":   {"harness/dataset", "harness/judge", "results", "results/text"},
		"harness/study/qa":                   {"harness/dataset", "harness/judge", "harness/load", "harness/metric", "harness/score", "harness/shots", "harness/study", "harness/study/accuracy", "harness/study/cohort", "harness/study/cost", "perturb", "results", "results/sqlite", "results/stats", "results/text"},
		"harness/studies":                    {"harness/study", "harness/study/cot", "harness/study/diagnosis", "harness/study/faithfulness", "harness/study/qa", "results/text"},
		"harness/config":                     {"backends", "backends/hosted", "backends/kinds", "harness/config/tree", "harness/dataset", "harness/judge/judges", "harness/study", "results", "timing"}, // Sampling and Timeouts: docs/decisions.md
		"harness/config/bench":               {"backends", "backends/hosted", "backends/kinds", "harness/config", "harness/config/rules", "harness/config/tree", "harness/config/value", "harness/dataset", "harness/dataset/questions", "harness/judge/judges", "harness/shots", "harness/study", "perturb", "results", "results/text", "timing"},
		"harness/config/rules":               {},
		"harness/config/tree":                {},
		"harness/config/value":               {"harness/config/tree"},
		"harness/plan":                       {"harness/dataset", "harness/load", "harness/shots", "harness/study", "perturb", "results", "results/stats", "results/text"},
		"harness/standstill":                 {"results", "timing"},
		"harness/progress":                   {"harness/judge", "results"},
		"harness/probe":                      {"backends", "perturb", "results", "timing"},
		"harness/render":                     {"backends", "harness/dataset", "perturb"},
		"harness/shots":                      {"harness/dataset", "harness/render", "harness/study", "perturb", "results"},
		"harness/aloft":                      {},
		"harness/exposition":                 {"harness/aloft", "harness/judge", "harness/monitor", "harness/progress", "results", "results/sqlite", "timing", "timing/telemetry"},
		"harness/runner":                     {"backends", "harness/aloft", "harness/dataset", "harness/plan", "harness/probe", "harness/progress", "harness/render", "harness/shots", "harness/standstill", "perturb", "results", "timing"},
		"harness/experiment":                 {"backends", "backends/hosted", "backends/phantom", "harness/config", "harness/config/bench", "harness/dataset", "harness/dataset/formats", "harness/exposition", "harness/judge", "harness/judge/judges", "harness/managed", "harness/monitor", "harness/plan", "harness/process", "harness/progress", "harness/render", "harness/runner", "harness/score", "harness/shots", "harness/studies", "harness/study", "perturb", "results", "results/file", "results/sqlite", "results/stats", "results/text", "timing"},
		"harness/reference":                  nil, // what the whole program says of itself
		"harness/reference/write":            {"harness/reference"},
		"harness/preview":                    {"harness/dataset", "harness/dataset/tables", "harness/experiment", "harness/render", "harness/studies", "harness/study", "perturb", "results", "results/text"},
		"harness/ratings":                    {"harness/dataset/strict", "results"},
		"harness/agree":                      {"harness/agree/rated", "harness/ratings", "harness/study", "results", "results/sqlite", "results/stats", "results/stats/prevalence"},
		"harness/agree/rated":                {"harness/ratings", "harness/score", "harness/studies", "harness/study", "perturb", "results", "results/sqlite", "results/stats"},
		"harness/curation":                   {"harness/config", "harness/dataset", "harness/experiment", "harness/judge", "harness/managed", "harness/plan", "harness/score", "perturb", "results", "results/sqlite", "results/stats", "results/text", "timing"},
		"harness/sidescore":                  {"harness/dataset", "harness/dataset/strict", "harness/plan", "harness/study", "results", "results/file", "results/sqlite", "results/stats"},
		"harness/contamination":              {"backends", "harness/config", "harness/dataset", "harness/experiment", "harness/managed", "results", "results/file", "results/stats", "results/text", "timing"},
		"harness/page":                       {"backends/kinds", "harness/agree", "harness/config/bench", "harness/experiment", "harness/judge", "harness/plan", "harness/score", "harness/studies", "harness/study", "harness/study/byhost", "perturb", "results", "results/report", "results/sqlite", "results/stats", "results/text", "timing", "timing/telemetry"},
		"harness/doctor":                     {"backends", "backends/phantom", "harness/config", "harness/dataset", "harness/experiment", "harness/hosts", "harness/managed", "harness/monitor", "harness/plan", "harness/probe", "harness/process", "harness/render", "harness/runner", "perturb", "results", "results/sqlite", "timing", "timing/telemetry"},
		"harness/draft":                      {"backends", "backends/kinds", "backends/wire", "harness/config", "harness/config/bench", "harness/dataset", "harness/dataset/formats", "harness/process", "harness/studies", "harness/study", "results/text"},
		"results/report":                     {"results", "results/report/edits", "results/report/figure", "results/report/findings", "results/report/latex", "results/report/methods", "results/text"},
		"results/report/latex":               {},
		"results/report/edits":               {"results/text"},
		"results/report/findings":            {"results", "results/text"},
		"results/report/methods":             {"results", "results/text"},
		"results/report/figure":              {"results", "results/stats"},
		"results/serve":                      {},
		"harness/slurm":                      {},
		"harness/hosts":                      {"results", "timing/telemetry"},
		"harness/fleet":                      {},
		"harness/fleet/turn":                 {},
		"harness/fleet/worker":               {"backends", "harness/config", "harness/experiment", "harness/fleet", "harness/fleet/turn", "harness/managed", "harness/plan", "results", "results/merge", "results/sqlite"},
		"harness/fleet/pull":                 {"harness/fleet", "results/merge"},
		"harness/fleet/watch":                {"harness/fleet"},
		"harness/compare":                    {"harness/metric/draws", "harness/score", "results", "results/sqlite", "results/stats"},
		"harness/export":                     {"backends", "harness/config", "harness/dataset", "harness/score", "results", "results/sqlite", "timing", "timing/telemetry"},
		"harness/predictions":                {"backends", "harness/dataset", "harness/dataset/library", "harness/dataset/strict", "harness/export", "harness/plan", "harness/score", "perturb", "results", "results/sqlite"},
		"harness/reading":                    {"harness/config/bench", "harness/experiment", "harness/judge", "harness/plan", "harness/ratings", "harness/studies", "harness/study", "perturb", "results", "results/rating", "results/sqlite", "results/text"},
		"results/rating":                     {"results/serve", "results/stats", "results/text"},
		"results/index":                      {"results"},
		"results/viewer/graph":               {"results", "results/file", "results/sqlite", "timing", "timing/telemetry"},
		"results/viewer/address":             {"results", "results/index"},
		"results/viewer/change":              {},
		"results/viewer/versus":              {"results"},
		"results/viewer":                     {"results", "results/index", "results/report", "results/serve", "results/sqlite", "results/text", "results/viewer/address", "results/viewer/change", "results/viewer/graph", "results/viewer/versus"},
		"harness/view":                       {"backends", "harness/compare", "harness/config", "harness/config/bench", "harness/dataset", "harness/experiment", "harness/judge", "harness/managed", "harness/page", "harness/plan", "harness/score", "harness/studies", "harness/study/accuracy", "perturb", "results", "results/index", "results/sqlite", "results/stats", "results/viewer", "results/viewer/versus"},
		"harness/monitor":                    {"backends", "backends/phantom", "harness/config", "harness/hosts", "harness/load", "harness/process", "results", "results/sqlite", "timing", "timing/telemetry", "timing/telemetry/amdgpu", "timing/telemetry/exporter", "timing/telemetry/host", "timing/telemetry/nvml", "timing/telemetry/rapl"},
		"harness/managed":                    {"backends", "backends/phantom", "backends/wire", "harness/config", "harness/dataset/phantom/skill", "harness/process", "results", "timing"},
		"harness/process":                    {"harness/config", "results", "timing/telemetry"},
		"harness/cli":                        nil, // everything: checked for cycles by the compiler
		"harness/cli/command":                {"harness/config", "harness/config/bench", "harness/dataset/library", "harness/experiment", "results", "results/report", "results/serve", "results/text"},
		"harness/cli/data":                   {"harness/cli/command", "harness/cli/terminal", "harness/contamination", "harness/curation", "harness/dataset", "harness/dataset/example", "harness/dataset/library", "harness/dataset/questions", "harness/dataset/summary", "harness/dataset/tables", "harness/experiment", "harness/hosts", "harness/preview", "harness/reference", "perturb", "results", "results/report", "results/sqlite", "results/text"},
		"harness/cli/fleet":                  {"harness/cli/command", "harness/cli/stores", "harness/config", "harness/config/bench", "harness/doctor", "harness/experiment", "harness/fleet", "harness/fleet/pull", "harness/fleet/watch", "harness/fleet/worker", "harness/hosts", "harness/monitor", "harness/process", "harness/progress", "results", "results/merge", "results/text", "timing/telemetry"},
		"harness/cli/people":                 {"harness/agree", "harness/cli/command", "harness/page", "harness/reading", "results", "results/rating", "results/report", "results/serve", "results/sqlite"},
		"harness/cli/phantoms":               {"backends/phantom", "harness/cli/command", "harness/cli/terminal", "harness/dataset/phantom/check", "harness/dataset/phantom/recovery", "harness/dataset/phantom/scene", "harness/dataset/phantom/skill", "perturb"},
		"harness/cli/stores":                 {"harness/cli/command", "harness/cli/terminal", "harness/compare", "harness/config", "harness/dataset/strict", "harness/experiment", "harness/export", "harness/hosts", "harness/plan", "harness/predictions", "harness/score", "harness/sidescore", "harness/slurm", "harness/view", "results", "results/merge", "results/repair", "results/report", "results/serve", "results/sqlite", "results/viewer"},
		"harness/cli/terminal":               {"backends/phantom", "backends/phantom/reader", "harness/compare", "harness/dataset/phantom/check", "harness/dataset/summary", "harness/doctor", "harness/experiment", "harness/preview", "harness/studies", "harness/study", "perturb", "results", "results/merge", "results/repair", "results/stats", "results/text"},
		"":                                   {"harness/cli"},
		"backends/backendtest/":              nil, // test code
		"results/browser":                    {},
		"backends/backendtest":               nil,
		"harness/dataset/datasettest":        {},
		"harness/dataset/datasettest/disk":   {"harness/dataset/datasettest"},
	}
}

// allowed is what a package may import by a table, and the key it stands under there.
func allowed(table map[string][]string, pkg string) (key string, list []string, any, known bool) {
	key = pkg
	if _, ok := table[key]; !ok {
		for k := range table {
			if strings.HasSuffix(k, "/") && strings.HasPrefix(pkg, k) {
				key = k
			}
		}
	}
	list, known = table[key]
	return key, list, list == nil, known
}

// importsOfOurs are what each package imports of ours and langchaingo, without its tests:
// on every system and under every tag, because files are read and not built.
func importsOfOurs(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string][]string{}
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
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(dir), ".")
		all := out[pkg]
		for _, i := range f.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if ours := strings.HasPrefix(imp, "assay/"); (ours || strings.HasPrefix(imp, "github.com/tmc/langchaingo")) && !slices.Contains(all, imp) {
				all = append(all, imp)
			}
		}
		out[pkg] = all
		return nil
	})
	if err != nil || len(out) < 150 {
		t.Fatalf("%d packages, %v", len(out), err)
	}
	return out
}

// against is what a table of imports and what is imported have against each other:
// arrows that are not allowed, and those that are and that nothing goes along.
func against(table, imports map[string][]string) (wrong []string) {
	used := map[string][]string{}
	for pkg, all := range imports {
		key, may, any, known := allowed(table, pkg)
		if !known {
			wrong = append(wrong, fmt.Sprintf("package %q is not in the dependency table", pkg))
			continue
		}
		used[key] = append(used[key], all...)
		for _, imp := range all {
			to, ours := strings.CutPrefix(imp, "assay/")
			if !ours && pkg != "backends/hosted" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s; backends/hosted alone does", pkg, imp))
			}
			if ours && !any && !slices.Contains(may, to) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s; the table allows %v", pkg, to, may))
			}
			if test := strings.HasPrefix(to, "backends/backendtest") || strings.HasPrefix(to, "harness/dataset/datasettest") || to == "results/browser"; test && !strings.HasPrefix(pkg, "backends/backendtest") && pkg != "harness/dataset/datasettest/disk" {
				wrong = append(wrong, fmt.Sprintf("%s imports test code %s", pkg, to))
			}
		}
	}
	for key, may := range table {
		if _, is := used[key]; !is {
			wrong = append(wrong, fmt.Sprintf("the table has %q, which is no package", key))
		}
		for _, to := range may {
			if !slices.Contains(used[key], "assay/"+to) {
				wrong = append(wrong, fmt.Sprintf("the table lets %s import %s, which it does not", key, to))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestImportGraphFollowsTheDependencyTable(t *testing.T) {
	for _, w := range against(arrows(), importsOfOurs(t)) {
		t.Error(w)
	}
}

// TestTableOfImportsFollowsTheRules of architecture: results never import harness, and no
// study imports another.
func TestTableOfImportsFollowsTheRules(t *testing.T) {
	list := studies.All()
	for pkg, may := range arrows() {
		for _, to := range may {
			if strings.HasPrefix(pkg, "results/") && strings.HasPrefix(to, "harness/") {
				t.Errorf("%s may import %s", pkg, to)
			}
			for _, d := range list {
				home := "harness/study/" + d.Name
				if in := pkg == home || strings.HasPrefix(pkg, home+"/"); !in && pkg != "harness/studies" && (to == home || strings.HasPrefix(to, home+"/")) {
					t.Errorf("%s may import %s of study %s", pkg, to, d.Name)
				}
			}
		}
	}
}

func TestImportTableRefusesAForbiddenArrow(t *testing.T) {
	_, may, all, known := allowed(arrows(), "backends/phantom")
	if !known || all || slices.Contains(may, "backends/ollama") {
		t.Error("the table lets a phantom import an adapter")
	}
	if _, _, _, known := allowed(arrows(), "harness/utils"); known {
		t.Error("the table knows a package that is not designed")
	}
	table := map[string][]string{"timing": {}, "perturb": {"timing"}, "backends/": nil, "gone": {}}
	imports := map[string][]string{"timing": {"assay/perturb", "github.com/tmc/langchaingo/llms"}, "perturb": {}, "backends/x": {"assay/results/browser"}, "utils": nil}
	want := []string{
		"backends/x imports test code results/browser",
		"package \"utils\" is not in the dependency table",
		"the table has \"gone\", which is no package",
		"the table lets perturb import timing, which it does not",
		"timing imports github.com/tmc/langchaingo/llms; backends/hosted alone does",
		"timing imports perturb; the table allows []",
	}
	if got := against(table, imports); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

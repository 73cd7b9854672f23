package cli_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// arrows is the dependency table: what each package may import of ours. A
// trailing slash stands for the package and everything under it.
func arrows() map[string][]string {
	adapter := []string{"backends", "timing", "backends/wire", "backends/openai"}
	studies := []string{"results/digits", "harness/dataset", "perturb", "harness/judge", "harness/score", "harness/metric", "results", "results/sqlite", "backends", "timing", "results/stats", "results/text"}
	render := []string{"results", "results/stats", "results/text", "timing"}
	studied := []string{"harness/dataset", "harness/study", "harness/studies"}
	planned := []string{"harness/shots", "harness/load", "harness/dataset", "harness/study", "perturb", "results", "results/text"}
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
		"backends/openai":         {"backends", "timing", "backends/wire"},
		"backends/llamacpp":       adapter,
		"backends/vllm":           adapter,
		"backends/ollama":         {"backends", "timing", "backends/wire"},
		"backends/hosted":         {"backends", "backends/wire", "timing"},
		"backends/kinds":          {"backends", "backends/wire", "backends/openai", "backends/llamacpp", "backends/vllm", "backends/ollama"},
		"backends/phantom/chance": {},
		"backends/phantom/reader": {},
		"backends/phantom/gpu":    {"backends/phantom/chance", "timing", "timing/telemetry"},
		"backends/phantom/judges": {"backends/phantom/chance"},
		"backends/phantom/raw":    {},
		"backends/phantom/cache":  {}, "backends/phantom/attached": {},
		"backends/phantom":          {"backends/phantom/attached", "backends/phantom/raw", "backends/phantom/cache", "backends/phantom/gpu", "backends/phantom/judges", "backends/phantom/chance", "backends/phantom/reader"},
		"results":                   {"backends", "timing", "results/stats"},
		"results/pagesum":           {},
		"results/cursor":            {},
		"results/file":              {"results", "results/cursor", "results/pagesum"},
		"results/pack":              {"results", "timing"},
		"results/rows":              {"backends", "results", "results/cursor", "timing"},
		"results/sqlite":            {"results/cursor", "results/pack", "results/rows", "results/file", "results", "backends", "timing"},
		"results/repair":            {"results/file", "results", "results/pagesum", "results/sqlite"},
		"results/merge":             {"backends", "results/file", "results", "results/pagesum", "results/sqlite"},
		"harness/dataset/dicom":     {"harness/dataset/spool", "perturb"},
		"harness/dataset":           {"harness/dataset/dicom", "harness/dataset/questions", "perturb", "results/text", "harness/dataset/m3", "harness/dataset/phantom/balance", "harness/dataset/root", "harness/dataset/spool", "harness/dataset/workbook", "harness/dataset/phantom/scene", "harness/dataset/tables", "harness/dataset/shards", "harness/dataset/strict", "harness/dataset/lines", "harness/dataset/casefile"},
		"harness/dataset/example":   {"harness/dataset", "harness/dataset/questions"},
		"harness/dataset/questions": {"harness/dataset/lines", "harness/dataset/root", "harness/dataset/shards", "harness/dataset/strict", "perturb", "results/text"},
		"harness/dataset/tables":    {"harness/dataset/strict", "perturb"},
		"harness/dataset/shards":    {"perturb"},
		"harness/dataset/strict":    {},
		"harness/dataset/lines":     {"harness/dataset/strict"},
		"harness/dataset/rows":      {"harness/dataset/strict"},
		"harness/dataset/casefile":  {"harness/dataset/lines", "harness/dataset/shards", "harness/dataset/strict"},
		"harness/dataset/root":      {}, "harness/dataset/spool": {},
		"harness/dataset/workbook": {"harness/dataset/strict"},

		"harness/dataset/m3":      {"harness/dataset/strict", "harness/dataset/workbook"},
		"harness/dataset/summary": {"harness/dataset"},

		"harness/dataset/phantom/balance":  {"harness/dataset/phantom/scene"},
		"harness/dataset/phantom/check":    nil, // the whole instrument, put to the test
		"harness/dataset/phantom/recovery": nil, // so is this
		"harness/dataset/phantom/film":     {"backends/phantom/chance"},
		"harness/dataset/phantom/eyes":     {"backends/phantom/chance", "harness/dataset/phantom/film"},
		"harness/dataset/phantom/scene":    {"backends/phantom/chance", "harness/dataset/phantom/film"},
		"harness/dataset/phantom/skill":    {"backends/phantom/chance", "backends/phantom/reader", "harness/dataset/phantom/eyes", "harness/dataset/phantom/scene"},

		"harness/judge/judges":      {"backends", "backends/hosted", "harness/judge", "harness/dataset/rows", "harness/dataset/strict", "results", "results/text"},
		"harness/judge":             {"harness/retry", "backends", "results", "results/sqlite", "results/text", "timing"},
		"harness/score":             {"results", "results/sqlite", "timing"},
		"harness/metric/draws":      {"results/stats"},
		"harness/metric/models":     {"results"},
		"harness/metric":            {"harness/metric/draws", "harness/metric/models", "harness/score", "results", "results/sqlite", "results/stats"},
		"harness/study":             append([]string{"harness/ratings"}, studies...),
		"harness/study/cost":        append([]string{"harness/shots", "harness/study", "harness/study/pace", "harness/load"}, studies...),
		"harness/study/pace":        append([]string{"harness/study", "backends/kinds"}, studies...),
		"harness/study/byhost":      append([]string{"harness/study", "harness/study/cost", "harness/study/pace"}, studies...),
		"harness/study/capacity":    append([]string{"harness/study", "harness/study/cost", "harness/study/pace", "harness/load"}, studies...),
		"harness/load":              {"perturb", "results", "results/stats"},
		"harness/study/accuracy":    studies,
		"harness/study/cot":         append([]string{"harness/study", "harness/study/accuracy", "harness/study/cost", "harness/study/cot/changed", "harness/study/cot/exam", "harness/study/cohort"}, studies...),
		"harness/study/cohort":      {"harness/metric", "harness/study", "results", "results/stats"},
		"harness/study/cot/changed": {"harness/study", "harness/metric", "harness/score", "results"},
		"harness/study/cot/exam":    {"harness/metric", "results"},
		"harness/study/diagnosis": append([]string{"harness/study", "harness/study/accuracy", "harness/study/cost", "harness/study/diagnosis/expert", "harness/study/diagnosis/step",
			"harness/study/diagnosis/discussion", "harness/study/diagnosis/writing"}, studies...),
		"harness/study/diagnosis/expert":     {"harness/dataset", "results/text"},
		"harness/study/diagnosis/step":       append([]string{"harness/study", "harness/study/diagnosis/expert"}, studies...),
		"harness/study/diagnosis/discussion": append([]string{"harness/study", "harness/study/diagnosis/expert"}, studies...),
		"harness/study/diagnosis/writing":    studies,
		"harness/study/faithfulness": append([]string{"harness/study", "harness/study/cost", "harness/study/faithfulness/pair", "harness/study/faithfulness/design",
			"harness/study/faithfulness/rules", "harness/study/faithfulness/scoring", "harness/study/faithfulness/grades", "harness/study/faithfulness/penalty", "harness/ratings", "harness/study/cohort"}, studies...),
		"harness/study/faithfulness/grades":  append([]string{"harness/study", "harness/study/faithfulness/pair", "harness/study/faithfulness/scoring"}, studies...),
		"harness/study/faithfulness/penalty": append([]string{"harness/study"}, studies...),
		"harness/study/faithfulness/pair":    studies,
		"harness/study/faithfulness/scoring": append([]string{"harness/study", "harness/study/faithfulness/pair", "harness/study/faithfulness/design",
			"harness/study/faithfulness/rules"}, studies...),
		"harness/study/faithfulness/design": append([]string{"harness/study", "harness/study/faithfulness/pair"}, studies...),
		"harness/study/faithfulness/rules":  studies,
		"harness/study/qa":                  append([]string{"harness/study", "harness/study/accuracy", "harness/study/capacity", "harness/study/cost", "harness/study/cohort", "harness/load", "harness/shots"}, studies...),
		"harness/studies":                   {"harness/study", "harness/study/cot", "harness/study/diagnosis", "harness/study/faithfulness", "harness/study/qa", "results/text"},
		"harness/config":                    append([]string{"backends", "timing", "harness/judge/judges", "backends/hosted", "backends/kinds", "harness/config/tree"}, planned...), // Sampling and Timeouts: docs/decisions.md
		"harness/config/bench":              append([]string{"harness/config/value", "harness/dataset/questions", "backends", "timing", "harness/judge/judges", "backends/hosted", "backends/kinds", "harness/config", "harness/config/rules", "harness/config/tree"}, planned...),
		"harness/config/rules":              {},
		"harness/config/tree":               {},
		"harness/config/value":              {"harness/config/tree"},
		"harness/credentials":               {"harness/config"},
		"harness/plan":                      planned,
		"harness/standstill":                {"results", "timing"},
		"harness/progress":                  {"harness/judge", "results"},
		"harness/standin":                   {"backends", "perturb"},
		"harness/tokens":                    {"harness/standin", "backends", "timing"},
		"harness/caches":                    {"harness/standin", "backends", "results", "timing"},
		"harness/render":                    {"backends", "harness/dataset", "perturb"},
		"harness/shots":                     {"harness/dataset", "harness/render", "harness/study", "perturb", "results"},
		"harness/resume":                    {"harness/plan", "results"},
		"harness/retry":                     {"backends"},
		"harness/aloft":                     {},
		"harness/exposition":                {"harness/aloft", "harness/judge", "harness/monitor", "harness/progress", "results", "results/sqlite", "timing", "timing/telemetry"},
		"harness/runner":                    {"harness/dataset", "harness/shots", "harness/aloft", "harness/retry", "harness/render", "harness/resume", "harness/tokens", "harness/standin", "harness/caches", "harness/plan", "harness/progress", "harness/standstill", "harness/study", "backends", "perturb", "timing", "results"},
		"harness/experiment": append(append([]string{}, studied...), "harness/render", "harness/shots", "harness/config", "harness/config/bench", "harness/judge", "harness/judge/judges", "harness/plan", "harness/runner", "harness/score", "harness/tokens",
			"harness/managed", "harness/monitor", "harness/process", "harness/progress", "harness/resume", "harness/exposition", "harness/credentials", "backends", "backends/hosted", "backends/phantom", "perturb", "results", "results/file", "results/sqlite", "results/stats", "results/text", "timing"),
		"harness/longest":         {"harness/dataset", "harness/experiment", "harness/plan", "harness/render", "harness/tokens", "perturb", "results"},
		"harness/reference":       nil, // what the whole program says of itself
		"harness/reference/write": {"harness/reference"},
		"harness/preview":         append([]string{"harness/experiment", "harness/dataset/tables", "harness/render", "perturb", "results", "results/text"}, studied...),
		"harness/ratings":         {"harness/dataset/rows", "harness/dataset/strict", "results"},
		"harness/agree":           {"harness/agree/corrected", "harness/agree/gate", "harness/agree/rated", "harness/ratings", "harness/study", "results", "results/sqlite", "results/stats"},
		"harness/agree/corrected": {"harness/agree/rated", "harness/study", "results", "results/stats", "results/stats/prevalence"},
		"harness/agree/gate":      {"results", "results/stats"},
		"harness/agree/power":     {"results/stats"},
		"harness/agree/rated":     {"harness/agree/gate", "harness/ratings", "harness/score", "harness/studies", "harness/study", "perturb", "results", "results/sqlite", "results/stats"},
		"harness/curation":        {"harness/config", "harness/dataset", "harness/experiment", "harness/judge", "harness/managed", "timing", "harness/plan", "harness/score", "perturb", "results", "results/sqlite", "results/stats", "results/text"},
		"harness/sidescore":       {"harness/dataset", "harness/dataset/rows", "harness/dataset/strict", "harness/experiment", "harness/plan", "results", "results/file", "results/sqlite", "results/stats"},
		"harness/contamination":   {"backends", "harness/config", "harness/dataset", "harness/experiment", "harness/managed", "harness/retry", "results", "results/file", "results/stats", "results/text", "timing"},
		"harness/page":            append([]string{"harness/study/byhost", "harness/agree", "harness/experiment", "harness/config", "harness/config/bench", "harness/plan", "harness/judge", "harness/study", "harness/studies", "perturb", "timing/telemetry", "results/report", "results/sqlite"}, render...),
		"harness/doctor":          {"harness/longest", "harness/hosts", "harness/tokens", "perturb", "backends", "backends/phantom", "harness/experiment", "harness/config", "harness/managed", "harness/monitor", "harness/process", "harness/runner", "results", "results/sqlite", "timing", "timing/telemetry"},
		"harness/draft":           {"harness/dataset", "harness/config", "harness/config/bench", "harness/credentials", "harness/experiment", "harness/process", "harness/study", "harness/studies", "backends", "backends/kinds", "backends/wire", "results/text"},
		"results/report":          append([]string{"results/report/methods", "results/report/findings", "results/report/figure", "results/report/best", "results/report/edits", "results/report/headline", "results/report/latex", "results/digits"}, render...),
		"results/report/latex":    {},
		"results/report/edits":    {"results/text"},
		"results/report/best":     {"results"},
		"results/report/headline": {"results", "results/digits", "results/report/best", "results/text"},
		"results/report/findings": {"results", "results/stats", "results/text"},
		"results/report/methods":  {"results", "results/stats", "results/text"},
		"results/report/figure":   {"results", "results/stats"},
		"results/columns":         {},
		"results/digits":          {"results", "results/stats"},
		"results/serve":           {},
		"harness/slurm":           {},
		"harness/hosts":           {"results", "timing/telemetry"},
		"harness/fleet":           {},
		"harness/fleet/turn":      {},
		"harness/fleet/worker":    {"backends", "harness/config", "harness/experiment", "harness/fleet", "harness/fleet/turn", "harness/managed", "harness/plan", "results", "results/merge", "results/sqlite"},
		"harness/fleet/pull":      {"harness/fleet", "results/merge"},
		"harness/fleet/watch":     {"harness/fleet"},
		"harness/compare":         {"harness/metric/draws", "harness/score", "results", "results/sqlite", "results/stats"},
		"harness/export":          {"backends", "harness/experiment", "harness/score", "results", "results/columns", "results/sqlite", "timing", "timing/telemetry"},
		"harness/predictions":     {"backends", "harness/dataset", "harness/dataset/strict", "harness/dataset/workbook", "harness/export", "harness/plan", "harness/score", "perturb", "results", "results/columns", "results/sqlite"},
		"harness/reading":         {"harness/config/bench", "harness/experiment", "harness/judge", "harness/plan", "harness/ratings", "harness/studies", "harness/study", "perturb", "results", "results/rating", "results/sqlite", "results/text"},
		"results/rating":          append([]string{"results/serve"}, render...),
		"results/index":           {"results", "results/columns"},
		"results/lookup":          {"results", "results/file", "results/sqlite", "timing/telemetry"},
		"results/viewer/graph":    {"results", "results/lookup", "results/sqlite", "timing", "timing/telemetry"},
		"results/viewer/address":  {"results", "results/index"},
		"results/viewer/change":   {},
		"results/viewer/versus":   {"results/stats"},
		"results/viewer":          append([]string{"results/viewer/address", "results/viewer/change", "results/viewer/versus", "results/viewer/graph", "results/report", "results/serve", "results/index", "results/lookup", "results/columns", "results/sqlite", "timing/telemetry"}, render...),
		"harness/view": {"backends", "harness/compare", "harness/study/accuracy", "results/stats", "results/viewer/versus", "harness/config", "harness/config/bench", "harness/dataset", "harness/experiment", "harness/judge", "harness/managed", "harness/page", "harness/plan", "harness/score", "harness/studies", "perturb",
			"results", "results/columns", "results/index", "results/sqlite", "results/viewer"},
		"harness/monitor": {"harness/credentials", "harness/hosts", "harness/load", "backends", "backends/phantom", "harness/config", "harness/process", "results", "results/sqlite", "timing", "timing/telemetry",
			"timing/telemetry/amdgpu", "timing/telemetry/exporter", "timing/telemetry/host", "timing/telemetry/nvml", "timing/telemetry/rapl"},
		"harness/managed":             {"backends", "backends/phantom", "backends/wire", "harness/config", "harness/credentials", "harness/dataset/phantom/skill", "harness/process", "results", "timing"},
		"harness/process":             {"harness/config", "results", "timing/telemetry"},
		"harness/cli":                 nil, // everything: checked for cycles by the compiler
		"harness/cli/command":         {"harness/config", "harness/config/bench", "harness/experiment", "results", "results/report", "results/serve", "results/text"},
		"harness/cli/data":            {"harness/dataset/example", "harness/dataset/questions", "results/text", "harness/reference", "harness/contamination", "harness/curation", "harness/experiment", "harness/hosts", "results", "results/report", "results/sqlite", "harness/cli/command", "harness/cli/terminal", "harness/dataset", "harness/dataset/summary", "harness/dataset/tables", "harness/preview", "perturb"},
		"harness/cli/fleet":           {"harness/cli/command", "harness/cli/stores", "harness/doctor", "harness/config", "harness/config/bench", "harness/experiment", "harness/fleet", "harness/fleet/pull", "harness/fleet/watch", "harness/fleet/worker", "harness/hosts", "harness/monitor", "harness/process", "harness/progress", "results", "results/merge", "results/text", "timing/telemetry"},
		"harness/cli/people":          {"harness/cli/command", "harness/reading", "results/rating", "results/serve", "harness/agree", "harness/page", "results", "results/report", "results/sqlite"},
		"harness/cli/phantoms":        {"harness/cli/command", "harness/cli/terminal", "harness/dataset/phantom/check", "harness/dataset/phantom/recovery", "harness/dataset/phantom/scene", "harness/dataset/phantom/skill", "backends/phantom", "perturb"},
		"harness/cli/stores":          {"harness/config", "harness/slurm", "harness/dataset", "harness/hosts", "harness/predictions", "harness/score", "harness/compare", "harness/dataset/strict", "harness/plan", "harness/sidescore", "results/report", "harness/cli/command", "harness/cli/terminal", "harness/experiment", "harness/export", "harness/view", "results", "results/columns", "results/merge", "results/repair", "results/serve", "results/sqlite", "results/stats", "results/viewer"},
		"harness/cli/terminal":        {"backends/phantom", "backends/phantom/reader", "harness/compare", "harness/dataset", "harness/dataset/summary", "harness/dataset/phantom/check", "harness/doctor", "harness/experiment", "harness/preview", "harness/study", "harness/studies", "perturb", "results", "results/columns", "results/digits", "results/merge", "results/repair", "results/sqlite", "results/stats", "results/text"},
		"":                            {"harness/cli"},
		"backends/backendtest/":       nil, // test code
		"backends/backendtest":        nil,
		"harness/dataset/datasettest": {},
	}
}

func allowed(pkg string) (list []string, any, known bool) {
	table := arrows()
	key := pkg
	if _, ok := table[key]; !ok {
		for k := range table {
			if strings.HasSuffix(k, "/") && strings.HasPrefix(pkg, k) {
				key = k
			}
		}
	}
	list, known = table[key]
	return list, list == nil, known
}

func TestImportGraphFollowsTheDependencyTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports", "assay/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		pkg := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "assay"), "/")
		may, all, known := allowed(pkg)
		if !known {
			t.Errorf("package %q is not in the dependency table", pkg)
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "github.com/tmc/langchaingo") && pkg != "backends/hosted" {
				t.Errorf("%s imports %s; backends/hosted alone does", pkg, imp)
			}
			if imp != "assay" && !strings.HasPrefix(imp, "assay/") {
				continue
			}
			to := strings.TrimPrefix(imp, "assay/")
			if !all && !slices.Contains(may, to) {
				t.Errorf("%s imports %s; the table allows %v", pkg, to, may)
			}
			if strings.HasPrefix(to, "backends/backendtest") || strings.HasSuffix(to, "datasettest") {
				if !strings.HasPrefix(pkg, "backends/backendtest") {
					t.Errorf("%s imports test code %s", pkg, to)
				}
			}
		}
	}
	if seen < 15 {
		t.Fatalf("only %d packages were looked at", seen)
	}
}

func TestImportTableRefusesAForbiddenArrow(t *testing.T) {
	may, all, known := allowed("backends/phantom")
	if !known || all || slices.Contains(may, "backends/ollama") {
		t.Error("the table lets a phantom import an adapter")
	}
	if _, _, known := allowed("harness/utils"); known {
		t.Error("the table knows a package that is not designed")
	}
}

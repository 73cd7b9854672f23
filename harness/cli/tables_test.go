package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/harness/experiment"
)

// everything is an experiment with all studies, whose report has all tables and figures.
const everything = `name: all
seed: 7
store: all.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}, cases: {kind: phantom, items: 4, size: 256, images: 2}, few: {kind: phantom, items: 3, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant, group: [open]}}
judges: {lexical: {kind: lexical}}
telemetry: {hz: 20, devices: [phantom]}
cost: {currency: EUR, gpu_hour: 0.40, kwh: 0.3}
studies:
  cot: {dataset: chest, timed: true, repeats: 2}
  faithfulness: {dataset: chest, conditions: [sham, TB-LA-, VB-BB-, VO-BB], sweeps: [{condition: VB-BB-, thickness_px: [1, 8]}]}
  diagnosis: {dataset: cases, conditions: [expert-both, self-hint, LOO], repeats: 2}
  qa: {dataset: few, timed: true, repeats: 2, conditions: [sham, VX-NONE, OPT-ROTATE], sweeps: [{condition: VD-BLUR, sigma_px: [1, 8]}], grid: {columns: 2, rows: 2}}
`

// swept is a load sweep, whose tables another run of the same study does not have.
const swept = `name: swept
seed: 7
store: swept.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}}
backends: {p: {kind: phantom, protocol: ollama, slots: 2}}
models: {silent: {backend: p, model: silent-sycophant}}
judges: {lexical: {kind: lexical}}
telemetry: {hz: 20, devices: [phantom]}
cost: {currency: EUR, gpu_hour: 0.40, kwh: 0.3}
studies:
  qa: {dataset: chest, arms: [answer], timed: true, in_flight: [1, 2], slo: {ttft: 10s}}
`

// TestTablesAndFiguresAreDocumented: docs/tables.md lists every table of a run of all
// studies with its columns, and every figure, so that no name changes unnoticed; those of
// a load sweep too. Names of figures that end in a condition and a parameter stand there
// once. The run of all studies is exported, too.
func TestTablesAndFiguresAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "tables.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range experiment.All() {
		if !strings.Contains(everything, "\n  "+d.Name+": {") {
			t.Errorf("study %s is not run here, so that its tables could be missing from docs/tables.md", d.Name)
		}
		if d.Loads && !strings.Contains(swept, "\n  "+d.Name+": {") {
			t.Errorf("no load sweep of study %s is run here", d.Name)
		}
	}
	seen := map[string]bool{} // a sweep may have other columns in the same table
	tables, figures := 0, 0
	for _, text := range []string{everything, swept} {
		file := filepath.Join(t.TempDir(), "bench.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := assayHere(t, "run", "--json", "-c", file)
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, errs)
		}
		if text == everything {
			t.Run("export", func(t *testing.T) { exportHoldsTheReport(t, file, out) })
		}
		var got struct {
			Format   string
			Sections []struct {
				Tables []struct {
					Name, Title string
					Columns     []struct{ Name string }
				}
				Figures []struct{ Name, Kind, Title string }
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(doc, []byte("`"+got.Format+"`")) {
			t.Errorf("docs/tables.md does not name the format %s", got.Format)
		}
		for _, s := range got.Sections {
			for _, table := range s.Tables {
				if seen[table.Name] {
					continue
				}
				seen[table.Name] = true
				tables++
				var columns []string
				for _, c := range table.Columns {
					columns = append(columns, c.Name)
				}
				if line := fmt.Sprintf("| `%s` | %s | %s |", table.Name, table.Title, strings.Join(columns, ", ")); !bytes.Contains(doc, []byte(line+"\n")) {
					t.Errorf("docs/tables.md lacks\n%s", line)
				}
			}
			for _, f := range s.Figures {
				if seen[f.Name] || strings.HasPrefix(f.Name, "faithfulness-sweep-") || strings.HasPrefix(f.Name, "qa-sweep-") || strings.HasPrefix(f.Name, "qa-map-") {
					continue
				}
				seen[f.Name] = true
				figures++
				if line := fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Kind, f.Title); !bytes.Contains(doc, []byte(line)) {
					t.Errorf("docs/tables.md lacks\n%s", line)
				}
			}
		}
	}
	if tables < 82 || figures < 17 || !seen["qa-load"] || !seen["machine-output"] {
		t.Errorf("only %d tables and %d figures", tables, figures)
	}
}

// perturbed is a perturbation sweep without the usual level, a grid, and images left out, in
// another order and smaller; few is a run with examples before a question.
const perturbed = `name: perturbed
seed: 7
store: perturbed.sqlite
datasets: {chest: {kind: phantom, items: 6, size: 256}, cases: {kind: phantom, items: 3, size: 256, images: 2}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant}, honest: {backend: p, model: honest}}
judges: {lexical: {kind: lexical}}
studies:
  faithfulness: {dataset: chest, arms: [structured], conditions: [sham], sweeps: [{condition: VB-BB-, thickness_px: [1, 16]}, {condition: VB-HM-, opacity: [0.25, 0.75]}], grid: {columns: 2, rows: 2}}
  diagnosis: {dataset: cases, conditions: [LOO, ORDER, DS, sham, VX-NONE], sweeps: [{condition: DS, max_side_px: [64, 128]}]}
  qa: {dataset: chest, arms: [answer], conditions: [sham, VX-NONE, OPT-ROTATE], sweeps: [{condition: VD-BLUR, sigma_px: [1, 4]}], grid: {columns: 2, rows: 2}}
`

const fewShots = `name: few
seed: 7
store: few.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant}}
judges: {lexical: {kind: lexical}}
studies:
  qa: {dataset: chest, arms: [answer, reason], timed: true, shots: [0, 1, 2]}
`

// TestEveryTableIsTidy: of the default run, in two sessions, and of sweeps every CSV has one
// line a key and quantity, what tells lines apart in columns of its own, and can be pivoted; and
// nothing that people see has more digits than its column's rule gives. Pictures are small and
// a study has two models: no table tells pixels, and two tell what tells lines apart.
func TestEveryTableIsTidy(t *testing.T) {
	t.Parallel()
	bench, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	small := string(bench)
	for _, edit := range [][2]string{{"items: 48, size: 512", "items: 12, size: 256"}, {"items: 24, images: 3", "items: 12, images: 3"}, {"per_type: 12", "per_type: 6"}, {"[honest, silent, disclosing, blind]", "[disclosing, blind]"},
		{"[honest, silent, disclosing, blind]", "[honest, silent]"}, {"[honest, blind, hasty]", "[blind, hasty]"}} {
		if !strings.Contains(small, edit[0]) {
			t.Fatalf("bench.yaml has no %s", edit[0])
		}
		small = strings.Replace(small, edit[0], edit[1], 1)
	}
	for name, c := range map[string]struct {
		bench  string
		levels []string // parameter of each table's lines that name a level
	}{
		"default":   {small, []string{"faithfulness-conditions: opacity, thickness_px", "faithfulness-levels: opacity, thickness_px", "diagnosis-which: without"}},
		"load":      {swept, []string{"qa-judges: in_flight", "qa-cost: in_flight"}},
		"perturbed": {perturbed, []string{"faithfulness-reasoning: opacity, thickness_px", "faithfulness-silent: opacity, thickness_px", "diagnosis-which: max_side_px, order, without"}},
		"examples":  {fewShots, []string{"qa-main: shots", "qa-arms: shots", "headline: shots"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "bench.yaml")
			put(t, file, []byte(c.bench))
			for _, more := range [][]string{{"--limit", "1"}, nil} { // two sessions
				code, out, errs := assayHere(t, append([]string{"run", "-c", file}, more...)...)
				if code > 1 {
					t.Fatalf("exit code %d\n%s", code, errs)
				}
				fewDigits(t, "terminal", out)
			}
			shown := 0
			err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if err == nil && strings.Contains(path, "-report") && slices.Contains([]string{".html", ".md", ".tex", ".svg"}, filepath.Ext(path)) {
					var text []byte
					text, err = os.ReadFile(path)
					shown += fewDigits(t, filepath.Base(path), string(text))
				}
				return err
			})
			if err != nil || shown < 500 {
				t.Fatalf("%d numbers are shown: %v", shown, err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*", "tables", "*.csv"))
			if more, _ := filepath.Glob(filepath.Join(dir, ".assay", "*", "tables", "*.csv")); err == nil {
				files = append(files, more...)
			}
			if len(files) < 20 {
				t.Fatalf("%d files", len(files))
			}
			var levels []string
			for _, f := range files {
				name := strings.TrimSuffix(filepath.Base(f), ".csv")
				levels = append(levels, name+": "+strings.Join(tidy(t, f), ", "))
			}
			for _, want := range c.levels {
				if !slices.Contains(levels, want) {
					t.Errorf("no table says %q: %q", want, levels)
				}
			}
		})
	}
}

// tidy reads a table and pivots it. It gives the parameters whose levels the table has.
func tidy(t *testing.T, path string) []string {
	t.Helper()
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	// What is said of a line and does not tell it from others.
	said := []string{"failure_kinds", "method", "flags", "energy_of", "left_out", "repeated_why", "cache_proof", "reference", "course", "knee", "ttft_of", "how", "sure", "foreign", "gpus",
		"parameters", "groups", "value", "unit", "low", "high", "n", "n_undefined", "n_invalid", "why", "unfinished", "synthetic"}
	head := lines[0]
	at := func(column string) int { return slices.Index(head, column) }
	number := func(line []string, column string) (float64, bool) {
		j := at(column)
		if j < 0 || line[j] == "" {
			return 0, false
		}
		v, err := strconv.ParseFloat(line[j], 64)
		if err != nil || strconv.FormatFloat(v, 'g', -1, 64) != line[j] {
			t.Errorf("%s: %s %q is not the shortest form of a number", name, column, line[j])
		}
		return v, true
	}
	params := map[string]bool{}
	pivot := map[string]map[string]bool{} // by key: quantities
	for _, line := range lines[1:] {
		var key []string
		quantity := ""
		for j, column := range head {
			switch {
			case column == "quantity":
				quantity = line[j]
				if slices.Contains([]string{"session", "level", "row", "column", "images", "c1"}, quantity) {
					t.Errorf("%s: %s tells lines apart and is a quantity", name, quantity)
				}
			case !slices.Contains(said, column) || at("quantity") < 0:
				key = append(key, line[j])
			}
			if (column == "arm" || column == "condition") && levelIn.MatchString(line[j]) {
				t.Fatalf("%s: %s %q has a level in it", name, column, line[j])
			}
		}
		if at("quantity") >= 0 {
			v, ok := number(line, "value")
			if ok && v != 0 && math.Abs(v) < 1e-12 && quantity != "p" && quantity != "p_holm" {
				t.Errorf("%s: %s, %s is what rounding left: %v", name, key, quantity, v)
			}
			low, _ := number(line, "low")
			if high, ok := number(line, "high"); ok && high-low <= 1e-12*max(1, math.Abs(high)) {
				t.Errorf("%s: %s, %s: an interval without width: %v to %v", name, key, quantity, low, high)
			}
		}
		k := strings.Join(key, "|")
		if pivot[k] == nil {
			pivot[k] = map[string]bool{}
		}
		if pivot[k][quantity] {
			t.Errorf("%s: two lines are %s, %s", name, k, quantity)
		}
		pivot[k][quantity] = true
		p, l := at("parameter"), at("level")
		if l >= 0 && (line[p] == "") != (line[l] == "") {
			t.Errorf("%s: parameter %q at level %q", name, line[p], line[l])
		}
		if l >= 0 && line[p] != "" {
			params[line[p]] = true
			if _, err := strconv.ParseFloat(line[l], 64); err != nil {
				t.Errorf("%s: level %q", name, line[l])
			}
		}
	}
	return slices.Sorted(maps.Keys(params))
}

// What of a page or picture people do not read; a number with a point, and one with its interval.
var (
	unseen  = regexp.MustCompile(`(?s)<(?:script|style)\b.*?</(?:script|style)>|<path[^>]*>|<[^>]*>`)
	decimal = regexp.MustCompile(`-?\b\d+\.\d+\b`)
	beside  = regexp.MustCompile(`(-?\d+(?:\.\d+)?) *\[(-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)\]`)
)

// fewDigits looks at every number that is shown, and says how many there are. Beside an interval, a value stands to the
// second significant digit of half its width, and to two more where a bound would look like 0.
func fewDigits(t *testing.T, name, text string) int {
	t.Helper()
	text = unseen.ReplaceAllString(text, " ")
	const most = 6 // significant digits
	all := decimal.FindAllString(text, -1)
	for _, n := range all {
		if digits := strings.TrimLeft(strings.ReplaceAll(n, ".", ""), "-0"); len(digits) > most {
			t.Errorf("%s shows %s", name, n)
		}
	}
	for _, m := range beside.FindAllStringSubmatch(text, -1) {
		low, errLow := strconv.ParseFloat(m[2], 64)
		high, errHigh := strconv.ParseFloat(m[3], 64)
		if errLow != nil || errHigh != nil || high <= low {
			t.Errorf("%s shows %s", name, m[0])
			continue
		}
		_, decimals, _ := strings.Cut(m[1], ".")
		if rule := 1 - math.Floor(math.Log10((high-low)/2)); float64(len(decimals)) > max(0, rule)+2 {
			t.Errorf("%s shows %s", name, m[0])
		}
	}
	return len(all)
}

var levelIn = regexp.MustCompile(`@|\d in flight|\d shots?\b`)

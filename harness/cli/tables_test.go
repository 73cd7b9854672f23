package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/studies"
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
  qa: {dataset: few, timed: true, repeats: 2}
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
	for _, d := range studies.All() {
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
				if seen[f.Name] || strings.HasPrefix(f.Name, "faithfulness-sweep-") {
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
	if tables < 80 || figures < 20 || !seen["qa-load"] || !seen["machine-output"] {
		t.Errorf("only %d tables and %d figures", tables, figures)
	}
}

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everything is an experiment with all studies, whose report has all tables and figures.
const everything = `name: all
seed: 7
store: all.sqlite
datasets: {chest: {kind: phantom, items: 6, size: 256}, cases: {kind: phantom, items: 4, size: 256, images: 2}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant, group: [open]}}
judges: {lexical: {kind: lexical}}
telemetry: {hz: 20, devices: [phantom]}
cost: {currency: EUR, gpu_hour: 0.40, kwh: 0.3}
studies:
  cot: {dataset: chest, timed: true, repeats: 2}
  faithfulness: {dataset: chest, conditions: [sham, TB-LA-, VB-BB-, VO-BB], sweeps: [{condition: VB-BB-, thickness_px: [1, 8]}]}
  diagnosis: {dataset: cases, conditions: [expert-both, self-hint, LOO], repeats: 2}
`

// TestTablesAndFiguresAreDocumented: docs/tables.md lists every table of a run of all
// studies with its columns, and every figure, so that no name changes unnoticed.
// Names of figures that end in a condition and a parameter stand there once.
func TestTablesAndFiguresAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "tables.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(everything), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := assayHere(t, "run", "--json", "-c", file)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
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
	tables, figures := 0, 0
	for _, s := range got.Sections {
		for _, table := range s.Tables {
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
			figures++
			if strings.HasPrefix(f.Name, "faithfulness-sweep-") {
				continue
			}
			if line := fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Kind, f.Title); !bytes.Contains(doc, []byte(line)) {
				t.Errorf("docs/tables.md lacks\n%s", line)
			}
		}
	}
	if tables < 15 || figures < 8 {
		t.Errorf("only %d tables and %d figures", tables, figures)
	}
}

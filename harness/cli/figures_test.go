package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/cli"
)

// TestFiguresAreDocumented: docs/tables.md lists every figure of a run of all
// studies. Names that end in a condition, a parameter or a model stand there once.
func TestFiguresAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "tables.md"))
	if err != nil {
		t.Fatal(err)
	}
	const bench = `name: figures
seed: 7
store: figures.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant}}
judges: {lexical: {kind: lexical}}
telemetry: {hz: 20, devices: [phantom]}
studies:
  cot: {dataset: chest, timed: true}
  faithfulness: {dataset: chest, conditions: [sham, TB-LA-, VO-BB], sweeps: [{condition: VB-BB-, thickness_px: [1, 8]}]}
`
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(bench), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := cli.Main(t.Context(), []string{"assay", "run", "--json", "-c", file}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	var got struct {
		Sections []struct {
			Figures []struct{ Name, Kind, Title, Alt string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range got.Sections {
		for _, f := range s.Figures {
			seen++
			if strings.HasPrefix(f.Name, "faithfulness-sweep-") {
				continue
			}
			if line := fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Kind, f.Title); !bytes.Contains(doc, []byte(line)) {
				t.Errorf("docs/tables.md lacks\n%s", line)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d figures", seen)
	}
}

package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/config"
)

// hostedOf is the experiment of docs/judges.md with its judges asked under rubrics.
func hostedOf(t *testing.T, judges, rubrics string) (*Bench, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	text := "name: h\ndatasets: {chest: {kind: phantom, items: 4, size: 256}}\nbackends: {p: {kind: phantom, protocol: ollama}}\nmodels: {honest: {backend: p}}\n" +
		judges + "studies:\n" + rubrics
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(file, Known())
	if err != nil {
		t.Fatal(err)
	}
	return Assemble(t.Context(), cfg)
}

// TestTheHostedJudgesOfTheDocs: the example is one that runs.
func TestTheHostedJudgesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/judges.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(page), "## Hosted judges\n\n```yaml\n")
	block, _, ended := strings.Cut(after, "```")
	if !ok || !ended {
		t.Fatal("no example under Hosted judges")
	}
	const rubrics = "  cot: {dataset: chest, rubrics: {accuracy: [gpt, gemini], recall: [gpt]}}\n  faithfulness: {dataset: chest, rubrics: {CA: [gpt, gemini]}}\n"
	if _, err := hostedOf(t, block, rubrics); err != nil {
		t.Error(err)
	}
}

package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/backends/hosted"
	"assay/harness/config/bench"
	"assay/harness/dataset/formats"
	"assay/harness/studies"
	"assay/harness/study"
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
	cfg, err := bench.Read(file, Known())
	if err != nil {
		t.Fatal(err)
	}
	return Assemble(cfg, formats.Library{})
}

// TestTheHostedJudgesOfTheDocs: the example is one that runs, and what it allows to be
// dropped is needed.
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
	_, err = hostedOf(t, strings.ReplaceAll(block, "    allow_dropped: [schema]\n", ""), rubrics)
	for _, want := range []string{
		"judges.gpt: schema would not reach openai as asked for under recall, CA; take the setting away, or write allow_dropped: [schema] of the judge",
		"judges.gemini: schema would not reach openai as asked for under CA;",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without leave: %v\nwant %s", err, want)
		}
	}
}

// TestHowSchemasGo holds the docs to what becomes of each rubric's schema.
func TestHowSchemasGo(t *testing.T) {
	var got []string
	for _, name := range []string{"cot", "faithfulness"} {
		st, err := studies.New(name, nil, study.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range st.Rubrics {
			req := &backends.Request{Messages: []backends.Message{{Role: backends.User, Text: "?"}}, Sampling: backends.Sampling{MaxTokens: 1}, Schema: r.Schema}
			dropped, err := hosted.Dropped(hosted.Settings{Provider: "openai", Model: "m"}, []*backends.Request{req})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(r.Name, dropped[0]))
		}
	}
	want := []string{"accuracy[]", "precision[]", "recall[schema]", "order[schema]", "CF[schema]", "CA[schema]", "CT[schema]"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

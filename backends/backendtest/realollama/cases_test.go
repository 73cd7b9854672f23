//go:build realollama

package realollama_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends/backendtest/tinymodel"
	"assay/harness/dataset/datasettest"
	"assay/results"
)

const cases = 12

// A folder in MedThinkVQA's format, with 1 to 12 images a case, goes through the study
// of diagnoses on a real server and is judged by a model: every image is sent, which
// shows in the tokens of its prompts, and one less where one is left out.
func TestRealOllamaCases(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		list, err := datasettest.MedCases(cases)
		if err != nil {
			t.Fatal(err)
		}
		if err := datasettest.WriteMedThinkVQA(filepath.Join(dir, "cases"), "test", list, true); err != nil {
			t.Fatal(err)
		}
		bench := fmt.Sprintf(`name: real-ollama-cases
seed: 3
store: run.sqlite
rules: paper
datasets:
  cases: {kind: medthinkvqa, path: cases}
backends:
  ollama: {kind: ollama, url: %q, options: {num_ctx: 4096, num_thread: 1, keep_alive: 30m}}
models:
  tiny: {backend: ollama, model: %s}
judges:
  lexical: {kind: lexical}
  same: {kind: model, backend: ollama, model: %s, in_flight: 1, sampling: {temperature: 1.5, max_tokens: 100, seed: 1}}
studies:
  diagnosis:
    dataset: cases
    arms: [mcq, captions]
    conditions: [LOO, self-hint]
    sampling: {temperature: 0.8, max_tokens: 16, seed: 1}
    in_flight: 1
    rubrics: {accuracy: [lexical, same]}
`, g.url, tinymodel.VLMName, tinymodel.VLMName)
		if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(bench), 0o644); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		code, out := g.run(t, dir, "run", "-c", "bench.yaml")
		if code > 1 { // 1: some judgments carry no verdict
			t.Fatalf("assay run ended with status %d:\n%s", code, out)
		}
		t.Logf("assay run took %.1f s", time.Since(started).Seconds())
		images := map[string]int{}
		for i, c := range list {
			images[fmt.Sprintf("case%05d", 100+i)] = len(c.Images)
		}
		st := stored(t, dir)
		tokens, failed, left := map[results.Key]int{}, 0, 0
		for trial, err := range st.Trials(t.Context(), "diagnosis") {
			if err != nil {
				t.Fatal(err)
			}
			last, ok := trial.Last()
			switch {
			case !ok || last.Output == nil:
				failed++
			case last.Turns[0].Usage.PromptTokens == nil:
				t.Errorf("%+v: no count of tokens", trial.Key)
			default:
				tokens[trial.Key] = *last.Turns[0].Usage.PromptTokens
			}
		}
		for k, n := range tokens {
			var without int
			if _, err := fmt.Sscanf(k.Condition, "LOO@%d", &without); err != nil {
				continue
			}
			at := k
			at.Condition = "baseline"
			if base, ok := tokens[at]; ok {
				if left++; n >= base {
					t.Errorf("%+v: %d tokens, with all %d images %d", k, n, images[k.Item], base)
				}
			}
		}
		judged := map[string]int{}
		for j, err := range st.Judgments(t.Context(), "diagnosis") {
			if err != nil {
				t.Fatal(err)
			}
			judged[j.Judge]++
		}
		planned := 0
		for _, c := range g.planned(t, dir) {
			planned += c
		}
		t.Logf("%d trials planned, %d answered, %d failed, %d pairs with an image left out; judgments %v", planned, len(tokens), failed, left, judged)
		if len(tokens)+failed != planned || 10*len(tokens) < 9*planned || left < 50 || judged["same"] == 0 || judged["lexical"] < judged["same"] {
			t.Errorf("%d of %d trials have an answer, %d failed, %d pairs, judgments %v", len(tokens), planned, failed, left, judged)
		}
		if again, out := g.run(t, dir, "run", "-c", "bench.yaml"); again != code || !strings.Contains(out, "0 trials to do") {
			t.Errorf("a second run ended with status %d and had trials to do:\n%s", again, out)
		}
	}
}

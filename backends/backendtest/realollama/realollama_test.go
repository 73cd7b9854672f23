//go:build realollama

// Package realollama_test drives the built assay against a real Ollama with a
// tiny vision model: .ci/real-ollama starts one and runs this.
//
//	ASSAY_E2E_OLLAMA=http://127.0.0.1:11434 ASSAY_E2E_BIN=/tmp/assay go test -tags realollama ./backends/backendtest/realollama
package realollama_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends/backendtest/tinymodel"
	"assay/harness/dataset/datasettest"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

const (
	items = 14
	arms  = 2
	// What the client may see beyond the server's own clock on loopback.
	bound = 5 * time.Millisecond
)

// bench is the experiment. The model is told little and says nonsense, so its
// temperature is high: at a low one it repeats a token until Ollama gives up.
func bench(url, model string) string {
	return fmt.Sprintf(`name: real-ollama
seed: 3
store: run.sqlite
rules: paper
datasets:
  discs: {kind: m3cotbench, path: data}
backends:
  ollama: {kind: ollama, url: %q, options: {num_ctx: 4096, num_thread: 1, keep_alive: 30m}}
models:
  tiny: {backend: ollama, model: %s}
judges:
  lexical: {kind: lexical}
  same: {kind: model, backend: ollama, model: %s, in_flight: 1, sampling: {temperature: 0, max_tokens: 200, seed: 1}}
studies:
  cot:
    dataset: discs
    arms: [direct, cot]
    sampling: {temperature: 0.8, max_tokens: 256, seed: 1}
    timed: true
    rubrics:
      accuracy: [lexical, same]
      precision: [lexical, same]
      recall: [lexical, same]
      order: [lexical, same]
`, url, model, tinymodel.VLMName)
}

// target is the server and the program, from the environment; none: nothing to do.
type target struct{ url, bin string }

func targets(t *testing.T) []target {
	t.Helper()
	one := target{os.Getenv("ASSAY_E2E_OLLAMA"), os.Getenv("ASSAY_E2E_BIN")}
	switch {
	case one.url == "" && one.bin == "":
		t.Log("ASSAY_E2E_OLLAMA names no server: .ci/real-ollama starts one")
		return nil
	case one.url == "" || one.bin == "":
		t.Fatal("set both ASSAY_E2E_OLLAMA and ASSAY_E2E_BIN")
	}
	return []target{one}
}

// run runs assay in dir and returns its exit status and all it printed.
func (g target) run(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.bin, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", g.bin, args, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// folder makes a data set and a bench.yaml.
func (g target) folder(t *testing.T, model string) string {
	t.Helper()
	dir := t.TempDir()
	if err := datasettest.WriteM3CoTBench(filepath.Join(dir, "data"), items); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(bench(g.url, model)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func stored(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.OpenReader(t.Context(), filepath.Join(dir, "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func TestRealOllama(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		dir := g.folder(t, tinymodel.VLMName)
		code, out := g.run(t, dir, "run", "-c", "bench.yaml")
		t.Logf("assay run:\n%s", out)
		// 1: finished, but some judgments carry no verdict, which is what a model
		// that speaks nonsense has to get.
		if code > 1 {
			t.Fatalf("assay run ended with status %d", code)
		}
		before := checkTrials(t, stored(t, dir))
		checkJudgments(t, stored(t, dir))
		checkManifest(t, stored(t, dir))

		again, out := g.run(t, dir, "run", "-c", "bench.yaml")
		if again != code {
			t.Fatalf("a second run ended with status %d:\n%s", again, out)
		}
		if after := attempts(t.Context(), t, stored(t, dir)); after != before {
			t.Errorf("%d attempts after a second run, %d before: what is stored was done again", after, before)
		}
	}
}

func attempts(ctx context.Context, t *testing.T, st *store.Store) int {
	t.Helper()
	n := 0
	for trial, err := range st.Trials(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		n += len(trial.Attempts)
	}
	return n
}

// checkTrials demands of every trial an answer with both clocks and its counts,
// and prints how far the clocks are apart.
func checkTrials(t *testing.T, st *store.Store) (attempts int) {
	t.Helper()
	var apart []time.Duration
	trials, buffered := 0, 0
	for trial, err := range st.Trials(t.Context(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		trials++
		attempts += len(trial.Attempts)
		last, ok := trial.Last()
		if !ok || last.Output == nil {
			t.Errorf("%+v has no answer: %+v", trial.Key, last.Failure)
			continue
		}
		if len(last.Turns) != 1 {
			t.Errorf("%+v has %d turns, want 1", trial.Key, len(last.Turns))
		}
		for _, turn := range last.Turns {
			ttft, hasTTFT := turn.Trace.TTFT()
			latency, hasLatency := turn.Trace.Latency()
			// A busy machine reads an answer of some milliseconds at once: then nothing tells
			// when it began.
			if turn.Trace.Buffered() {
				buffered++
			}
			if hasTTFT == turn.Trace.Buffered() || !hasLatency || hasTTFT && ttft <= 0 || latency < ttft {
				t.Errorf("%+v: TTFT %v (%v), latency %v (%v)", trial.Key, ttft, hasTTFT, latency, hasLatency)
			}
			u, s := turn.Usage, turn.Server
			if u.PromptTokens == nil || *u.PromptTokens < 1 || u.CompletionTokens == nil || *u.CompletionTokens < 1 {
				t.Errorf("%+v: usage %+v", trial.Key, u)
			}
			for name, d := range map[string]*time.Duration{"total": s.Total, "load": s.Load, "prompt": s.Prompt, "decode": s.Decode} {
				if d == nil || *d <= 0 {
					t.Errorf("%+v: Ollama's %s duration is missing", trial.Key, name)
				}
			}
			if s.Total != nil && hasLatency {
				apart = append(apart, (latency - *s.Total).Abs())
			}
			if turn.Sent == "" || turn.Trace.Stamps == "" {
				t.Errorf("%+v: sent %q, stamps %q", trial.Key, turn.Sent, turn.Trace.Stamps)
			}
			if turn.Trace.Stamps != timing.StampsKernel {
				t.Logf("%+v: arrival stamps are %s", trial.Key, turn.Trace.Stamps)
			}
		}
	}
	if trials != items*arms {
		t.Fatalf("%d trials, want %d", trials, items*arms)
	}
	if most := trials / 10; buffered > most {
		t.Errorf("%d of %d answers came in one read, more than %d", buffered, trials, most)
	}
	if len(apart) == 0 {
		t.Fatal("no trial has both clocks")
	}
	slices.Sort(apart)
	median := apart[len(apart)/2]
	if len(apart)%2 == 0 {
		median = (apart[len(apart)/2-1] + apart[len(apart)/2]) / 2
	}
	fmt.Printf("real Ollama: |client latency - total_duration| over %d trials: median %.3f ms (bound %v), least %.3f ms, most %.3f ms\n",
		len(apart), milliseconds(median), bound, milliseconds(apart[0]), milliseconds(apart[len(apart)-1]))
	if median > bound {
		t.Errorf("the client's latency is %v away from the server's (median), more than %v", median, bound)
	}
	return attempts
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// checkJudgments demands that both judges gave every rubric a status, that a
// model's words back each of its judgments, and that the schema held.
func checkJudgments(t *testing.T, st *store.Store) {
	t.Helper()
	count := map[string]int{}
	clean := 0
	for j, err := range st.Judgments(t.Context(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		count[fmt.Sprintf("%s/%s %s", j.Rubric, j.Judge, j.Status)]++
		count[j.Rubric+"/"+j.Judge]++
		if j.Status.Usable() != (j.Verdict != nil) {
			t.Errorf("%+v: status %s, verdict %s", j.Key, j.Status, j.Verdict)
		}
		if j.Judge != "same" {
			continue
		}
		full, ok, err := st.Judgment(t.Context(), j.Judgment.Key())
		if err != nil || !ok || len(full.Attempts) == 0 {
			t.Errorf("%+v, rubric %s: a model's judgment without an attempt (%v)", j.Key, j.Rubric, err)
			continue
		}
		last := full.Attempts[len(full.Attempts)-1]
		switch {
		case j.Status == results.StatusUnreachable:
			t.Errorf("%+v, rubric %s: %s", j.Key, j.Rubric, j.Detail)
		case last.Output == nil || last.Turns[0].Usage.CompletionTokens == nil:
			t.Errorf("%+v, rubric %s: no raw reply: %+v", j.Key, j.Rubric, last)
		case j.Status == results.StatusSchema:
			t.Errorf("%+v, rubric %s: the schema that the server was given did not hold: %s", j.Key, j.Rubric, j.Detail)
		}
		if j.Status.Usable() {
			clean++
		}
	}
	var lines []string
	for name, n := range count {
		lines = append(lines, fmt.Sprintf("%-28s %d", name, n))
	}
	slices.Sort(lines)
	t.Logf("judgments:\n%s", strings.Join(lines, "\n"))
	for _, rubric := range []string{"accuracy", "precision", "recall", "order"} {
		for _, judge := range []string{"lexical", "same"} {
			if count[rubric+"/"+judge] == 0 {
				t.Errorf("judge %s gave no judgment under rubric %s", judge, rubric)
			}
		}
	}
	if clean == 0 {
		t.Error("the LLM judge gave no usable verdict at all")
	}
}

func checkManifest(t *testing.T, st *store.Store) {
	t.Helper()
	man, ok, err := st.Manifest(t.Context())
	if err != nil || !ok {
		t.Fatalf("manifest: %v, %v", ok, err)
	}
	id, ok := man.Models["tiny"]
	if !ok || id.Server != "ollama" || id.Version == "" || id.Digest == "" || id.Vision == nil || !*id.Vision || id.Synthetic {
		t.Errorf("identity of the model: %+v", id)
	}
	// The data set is a real folder and the server a real server.
	if len(man.Synthetic) != 0 {
		t.Errorf("results are marked synthetic: %v", man.Synthetic)
	}
	if len(man.Datasets) != 1 || man.Datasets[0].Items != items || man.Datasets[0].Digest == "" {
		t.Errorf("data sets: %+v", man.Datasets)
	}
}

// A model that cannot see is refused before a request is sent: the server would
// answer as if there were no image.
func TestRealOllamaRefusesABlindModel(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		dir := g.folder(t, tinymodel.TextName)
		code, out := g.run(t, dir, "run", "-c", "bench.yaml")
		t.Logf("assay run:\n%s", out)
		if code == 0 || !strings.Contains(out, "vision") {
			t.Errorf("status %d; want a refusal that speaks of vision", code)
		}
		if _, err := os.Stat(filepath.Join(dir, "run.sqlite")); err == nil {
			for trial, err := range stored(t, dir).Trials(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range trial.Attempts {
					if a.Output != nil || len(a.Turns) > 0 && a.Turns[0].Sent != "" {
						t.Errorf("%+v was sent", trial.Key)
					}
				}
			}
		}
	}
}

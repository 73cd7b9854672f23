package cli_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/results"
	"assay/results/store"
)

// toyFiles are the files that adding the study of testdata/toy touches: its own, and
// the list of studies with one entry more. Each is replaced by another for go build.
func toyFiles(t *testing.T) map[string]string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	own := filepath.Join(root, "harness", "cli", "testdata", "toy")
	err = filepath.WalkDir(own, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[filepath.Join(root, "harness", "study", "toy", strings.TrimPrefix(path, own))] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(root, "harness", "experiment", "studies.go")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	with := string(text)
	for after, line := range map[string]string{"import (\n": "\t\"assay/harness/study/toy\"\n", "return []study.Study{\n": "\t\ttoy.Study(),\n"} {
		if strings.Count(with, after) != 1 {
			t.Fatalf("%s has %d lines %q, want 1", list, strings.Count(with, after), after)
		}
		with = strings.Replace(with, after, after+line, 1)
	}
	edited := filepath.Join(t.TempDir(), "studies.go")
	if err := os.WriteFile(edited, []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	files[list] = edited
	return files
}

// builtWith builds assay into dir with files in place of others.
func builtWith(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	replace, assay := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "assay")
	if err := os.WriteFile(replace, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// Copied, where go build would link: go run keeps what it linked until a source changes.
	if out, err := exec.Command("go", "run", "-buildvcs=false", "-overlay", replace, "-exec", "cp", "assay", assay).CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	return assay
}

// TestAStudyIsThreeFiles builds assay with a study more, a prompt, a rubric, a score
// and a table of it, and runs it from plan to report. What is built differs in the
// files counted and in nothing else.
func TestAStudyIsThreeFiles(t *testing.T) {
	t.Parallel()
	files := toyFiles(t)
	if len(files) > 3 {
		t.Errorf("a study touches %d files, want at most 3: %v", len(files), files)
	}
	dir := t.TempDir()
	assay := builtWith(t, dir, files)
	bench := func(judges ...string) {
		t.Helper()
		text := `name: toy
store: toy.sqlite
datasets:
  chest: {kind: phantom, items: 24, size: 256}
backends:
  p: {kind: phantom, protocol: ollama}
models:
  blind: {backend: p, model: blind}
  honest: {backend: p, model: honest}
judges:
  ` + strings.Join(judges, ": {kind: lexical}\n  ") + `: {kind: lexical}
studies:
  toy: {dataset: chest, rubrics: {hit: [` + strings.Join(judges, ", ") + `]}}
`
		if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(assay, args...)
		cmd.Dir = dir
		b, err := cmd.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("assay %v: %v\n%s", args, err, failed.Stderr)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	bench("first")
	if out := do("plan"); !strings.Contains(out, "toy") {
		t.Fatalf("the plan has no trials of the study:\n%s", out)
	}
	if out := do("init", "--help"); !strings.Contains(out, "toy") {
		t.Errorf("init does not offer the study:\n%s", out)
	}
	do("run")
	bench("first", "second")
	do("judge")
	report := do("report", "--json", "--examples", "0")

	// What each model should have, counted anew.
	st, err := store.OpenReader(t.Context(), filepath.Join(dir, "toy.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	hits, all := map[string]int{}, map[string]int{}
	for out, err := range st.Outputs(t.Context(), "toy") {
		if err != nil {
			t.Fatal(err)
		}
		js, err := st.JudgmentsOf(t.Context(), out.Key)
		if err != nil || len(js) != 2 {
			t.Fatalf("%v has %d judgments, want one of each judge; %v", out.Key, len(js), err)
		}
		all[out.Key.Model]++
		if string(js[0].Verdict) == `{"hit":true}` {
			hits[out.Key.Model]++
		}
	}
	if hits["honest"] <= hits["blind"] || hits["honest"] == all["honest"] && hits["blind"] == 0 {
		t.Fatalf("%v hits of %v: nothing is told apart", hits, all)
	}
	if _, ok, err := st.ScoreSet(t.Context(), "toy"); !ok || err != nil {
		t.Errorf("no scores of the study are stored: %v", err)
	}
	var r struct{ Sections []results.Section }
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range r.Sections {
		for _, tab := range s.Tables {
			for _, row := range tab.Rows {
				if tab.Name != "toy-main" {
					continue
				}
				found++
				name, e := row[0].Text, row[1].Estimate
				if want := 100 * float64(hits[name]) / float64(all[name]); e.Value == nil || math.Abs(*e.Value-want) > 1e-9 || e.N != all[name] || e.Low == nil {
					t.Errorf("%s: %+v, want %v of %d", name, e, want, all[name])
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("%d models in the study's table, want 2", found)
	}
}

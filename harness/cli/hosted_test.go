package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAHostedJudge takes a hosted judge through what may happen to it: a provider that
// fails does not stop the run, what is left open is taken up again, a budget stops it
// until it is raised, and nowhere is there the key, which the provider echoes wherever
// it can.
func TestAHostedJudge(t *testing.T) {
	t.Parallel()
	const key = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
	var down, other atomic.Bool
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if got != key || bytes.Contains(body, []byte(`"seed"`)) || !bytes.Contains(body, []byte(`"max_completion_tokens":100`)) {
			t.Errorf("it was sent %q, %s", got, body)
		}
		if down.Load() {
			w.WriteHeader(500)
			fmt.Fprintf(w, `{"error":{"message":"broken, %s"}}`, got)
			return
		}
		verdict, _ := json.Marshal(map[string]string{"quote": "", "verdict": "no_answer", "why": "of " + got})
		text, _ := json.Marshal(string(verdict))
		model := "judge-1-2026-01-31"
		if other.Load() {
			model = "judge-1-mini"
		}
		fmt.Fprintf(w, `{"model":"`+model+`","system_fingerprint":"fp-%s","choices":[{"message":{"content":%s,"reasoning":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50}}`, got, text, got)
	}))
	defer api.Close()
	dir := t.TempDir()
	bench := func(budget, allow string) {
		put(t, filepath.Join(dir, "bench.yaml"), []byte(`name: run
seed: 3
store: run.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}}
backends: {p: {kind: phantom, protocol: llamacpp}}
models: {honest: {backend: p}}
judges:
  gpt: {kind: hosted, provider: openai, url: "`+api.URL+`", model: judge-1, api_key_file: key, in_flight: 2, sampling: {max_tokens: 100},
    price: {currency: USD, input: 2, output: 8}, budget: `+budget+allow+`}
studies: {cot: {dataset: chest, arms: [direct], rubrics: {accuracy: [gpt]}}}
`))
	}
	all := ""
	command := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("assay", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		code := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Fatalf("assay %v ends with %d, want %d:\n%s", args, code, want, out)
		}
		all += string(out)
		return string(out)
	}
	has := func(out, words string) {
		t.Helper()
		if !strings.Contains(out, words) {
			t.Fatalf("no %q in:\n%s", words, out)
		}
	}

	bench("1", ", top_p: 0.5")
	put(t, filepath.Join(dir, "key"), []byte("\n"))
	has(command(2, "run"), "judges.gpt.top_p: expected none, because langchaingo does not send it to openai; found 0.5")
	bench("1", "")
	has(command(3, "run"), "API key of judge gpt: file key is not set or empty")
	if asked.Load() != 0 {
		t.Fatal("something was sent without a key")
	}
	put(t, filepath.Join(dir, "key"), []byte(key+"\n"))

	doctor := command(0, "doctor")
	has(doctor, "judge gpt: a short request was answered by judge-1-2026-01-31 for 0.002400 USD")
	if asked.Load() != 1 {
		t.Errorf("the doctor asked %d times", asked.Load())
	}
	asked.Store(0)
	down.Store(true)
	has(command(3, "doctor"), "judge gpt: a short request failed:")
	has(command(1, "run"), "4 of 4")
	if asked.Load() == 0 {
		t.Fatal("nobody was asked")
	}
	down.Store(false)
	bench("0.006", "")
	asked.Store(0)
	// A judgment is .0024, and held is up to .01: nothing fits.
	has(command(1, "judge"), "budget of 0.006000 USD is used up: 0.00 USD is spent")
	if asked.Load() != 0 {
		t.Errorf("%d were sent beyond the budget", asked.Load())
	}
	bench("10", "")
	other.Store(true) // its replies are of no use, and are paid
	has(command(1, "judge"), "judge gpt: 0.0096 USD paid until now, of a budget of 10.00")
	other.Store(false)
	has(command(0, "judge"), "judge gpt: 0.0192 USD paid until now")
	if asked.Load() != 8 {
		t.Errorf("%d were asked, want twice 4", asked.Load())
	}
	has(command(0, "judge"), "judge gpt: 0.0192 USD paid until now") // it remembers
	if asked.Load() != 8 {
		t.Errorf("%d were asked in all, want 8", asked.Load())
	}
	command(0, "report")
	has(command(0, "show", "--item", "case-00001"), "accuracy by gpt: clean")

	if strings.Contains(all, key) {
		t.Errorf("the key was printed")
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "key" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(key)) || bytes.Contains(b, []byte(key[:20])) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "run-report", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	has(string(report), "judge-1 at hosted openai")
}

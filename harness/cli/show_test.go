package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"assay/results"
)

// hostileAnswer tries to recolour, retitle and turn round a terminal.
const hostileAnswer = "\x1b[31mred\x1b]0;title\x07 \u202egnp\u202c \u009b31m \rover\nFinal answer: A"

// hostile answers every request with hostileAnswer, and a first trial with an error in
// such words.
func hostile(t *testing.T) *httptest.Server {
	var refused atomic.Bool // by the first
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			http.NotFound(w, r)
			return
		}
		// Not a probe's: which field limits answers is asked first, and a refusal is an answer to that.
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"max_tokens":9,`)) && !refused.Swap(true) {
			http.Error(w, `{"error":{"message":"no \u001b[31mway\u202e"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		b, err := json.Marshal(hostileAnswer)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", b)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// assayHere runs the command in this folder, in a process of its own: the flags of
// urfave/cli that every command shares are variables of the program.
func assayHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestShowPrintsWhatIsSentAndNothingThatATerminalObeys runs two arms of an item on a
// hostile server and looks at them.
func TestShowPrintsWhatIsSentAndNothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	for _, timed := range []bool{false, true} {
		t.Run(fmt.Sprintf("timed %t", timed), func(t *testing.T) {
			dir := t.TempDir()
			bench := filepath.Join(dir, "bench.yaml")
			text := fmt.Sprintf(`name: hostile
seed: 1
store: hostile.sqlite
datasets: {chest: {kind: phantom, items: 1, size: 256}}
backends: {srv: {kind: openai, url: "%s/v1/"}}
models: {m: {backend: srv, model: m, vision: true}}
judges: {lexical: {kind: lexical}}
studies:
  cot:
    dataset: chest
    sampling: {temperature: 0, max_tokens: 9, seed: 1}
    timed: %t
    retries: 0
    rubrics: {accuracy: [lexical], precision: [lexical]}
`, hostile(t).URL, timed)
			if err := os.WriteFile(bench, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := assayHere(t, "run", "-c", bench)
			if code > 1 {
				t.Fatalf("exit code %d\n%s", code, errs)
			}
			quiet(t, "run", out+errs)
			_, out, _ = assayHere(t, "show", "-c", bench, "--json")
			var items []struct{ Item string }
			if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) == 0 {
				t.Fatalf("%v: %s", err, out)
			}
			answered := 0
			for _, arm := range []string{"direct", "cot"} {
				look := filepath.Join(dir, "look it's "+arm)
				args := []string{"show", "-c", bench, "--item", items[0].Item, "--arm", arm, "--out", look}
				code, out, errs := assayHere(t, args...)
				if code != 0 {
					t.Fatalf("exit code %d\n%s", code, errs)
				}
				quiet(t, "show", out)
				if strings.Contains(out, "/v1/v1/") || !strings.Contains(out, `look it'\''s`) {
					t.Errorf("the curl command does not work:\n%s", out)
				}
				if strings.Contains(out, "[U+001B][31mred[U+001B]]0;title") {
					answered++
				}
				body, err := os.ReadFile(filepath.Join(look, "request-1.json"))
				if err != nil {
					t.Fatal(err)
				}
				_, out, _ = assayHere(t, append(args, "--json")...)
				var shown struct{ Stored results.Trial }
				if err := json.Unmarshal([]byte(out), &shown); err != nil {
					t.Fatal(err)
				}
				if a := shown.Stored.Attempts; len(a) != 1 || len(a[0].Turns) != 1 || a[0].Turns[0].Sent != results.DigestOf(body) {
					t.Errorf("arm %s: what is shown has digest %s, what was sent %+v", arm, results.DigestOf(body), a)
				}
			}
			if answered == 0 {
				t.Error("show gave no answer: nothing was tested")
			}
		})
	}
}

// quiet fails on characters that a terminal obeys.
func quiet(t *testing.T, what, s string) {
	t.Helper()
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && r != ' ' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%s prints %q", what, s[max(0, i-60):min(len(s), i+60)])
	}
}

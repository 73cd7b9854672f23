package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/harness/cli"
	"assay/harness/dataset/datasettest"
)

// shownCommands are the lines of a Markdown file's code blocks.
func shownCommands(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 {
			continue
		}
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "go ") {
				out = append(out, line)
			}
		}
	}
	return out
}

// The README's commands are run as written, but for the number of cases, the
// names that stand for the reader's own, and go test, which runs this.
func TestCommandsOfTheReadmeWork(t *testing.T) {
	lines := shownCommands(t, filepath.Join("..", "..", "README.md"))
	for _, want := range []string{"go run . run", "go test ./..."} {
		if !slices.Contains(lines, want) {
			t.Errorf("README.md does not show %q", want)
		}
	}
	bench, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	small := regexp.MustCompile(`items: 48`).ReplaceAll(bench, []byte("items: 4"))
	if bytes.Equal(small, bench) {
		t.Fatal("bench.yaml does not have 48 cases")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bench.yaml", small, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := datasettest.WriteM3CoTBench("PATH", 12); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, "ITEM", "case-00001"))
		if words[1] != "run" || words[2] != "." {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		var out, errs bytes.Buffer
		watch := &stopper{stop: cancel, at: " server at http"} // phantom serve is up
		if slices.Contains(words, "serve") {
			words = append(words, "--addr", "127.0.0.1:0")
		}
		code := cli.Main(ctx, append([]string{"assay"}, words[3:]...), strings.NewReader(""), both{&out, watch}, &errs)
		cancel()
		if code != 0 {
			t.Errorf("%s: exit code %d\n%s", line, code, errs.String())
		}
		if out.Len() == 0 {
			t.Errorf("%s prints nothing", line)
		}
		ran++
	}
	if ran < 6 {
		t.Errorf("only %d commands of README.md were run", ran)
	}
}

// both writes to two writers.
type both struct{ a, b io.Writer }

func (w both) Write(p []byte) (int, error) {
	if n, err := w.a.Write(p); err != nil {
		return n, err
	}
	return w.b.Write(p)
}

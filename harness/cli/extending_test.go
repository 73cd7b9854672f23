package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// TestTheExamplesOfExtendingWork builds assay with every new file and every change that
// docs/extending.md shows, and runs the page's bench.yaml with it.
func TestTheExamplesOfExtendingWork(t *testing.T) {
	t.Parallel()
	if underRace {
		return
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, bench := extended(t, root, string(page))
	for _, name := range []string{"backends/sglang/sglang.go", "harness/dataset/yaml.go", "harness/judge/contains.go", "perturb/ops.go"} {
		if files[filepath.Join(root, name)] == "" {
			t.Errorf("the page does not change %s", name)
		}
	}
	dir := t.TempDir()
	bin := builtWith(t, dir, files)
	p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: "vllm", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	do := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("assay %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	do("dataset", "example", "csv", "mine")
	put(t, filepath.Join(dir, "mine", "questions.yaml"), []byte("- {id: a, image: images/1.png, question: 'Is pleural effusion that is mild or worse present on the patient''s left side? (yes or no)', answer: 'yes'}\n"))
	put(t, filepath.Join(dir, "mine", "bench.yaml"), []byte("name: extended\n"+strings.Replace(bench, "http://127.0.0.1:8000", p.URL, 1)))
	dir = filepath.Join(dir, "mine")
	do("run")
	rows := do("export", "--rows", "judgments")
	for _, want := range []string{"qa,honest,a,answer,baseline,0,accuracy,found,", "VD-SOLARIZE,", "VD-SOLARIZE@level=64,", "VD-SOLARIZE@level=192,"} {
		if !strings.Contains(rows, want) {
			t.Errorf("no judgment has %q:\n%s", want, rows)
		}
	}
}

// extended are the files that a page adds or changes, by what they stand for, and the
// bench.yaml that it ends with. A Go block begins with its file's name; a diff has, for each
// hunk, the name and lines of which those that stay or go stand once in the file.
func extended(t *testing.T, root, page string) (files map[string]string, bench string) {
	t.Helper()
	dir := t.TempDir()
	files = map[string]string{}
	write := func(name, text string) {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		put(t, to, []byte(text))
		files[filepath.Join(root, filepath.FromSlash(name))] = to
	}
	for _, m := range regexp.MustCompile("(?s)\n```([a-z]*)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		switch m[1] {
		case "go":
			first, rest, _ := strings.Cut(m[2], "\n\n")
			name, ok := strings.CutPrefix(first, "// ")
			if !ok || strings.Contains(name, "\n") {
				t.Fatalf("no file is named by %q", first)
			}
			write(name, rest)
		case "diff":
			for _, hunk := range strings.Split("\n"+m[2], "\n--- ")[1:] {
				name, lines, _ := strings.Cut(hunk, "\n")
				at := files[filepath.Join(root, filepath.FromSlash(name))]
				if at == "" {
					at = filepath.Join(root, filepath.FromSlash(name))
				}
				text, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				var was, is strings.Builder
				for line := range strings.Lines(strings.TrimSuffix(lines, "\n") + "\n") {
					if line[0] != '+' {
						was.WriteString(line[1:])
					}
					if line[0] != '-' {
						is.WriteString(line[1:])
					}
				}
				if n := strings.Count(string(text), was.String()); n != 1 {
					t.Fatalf("%s has %d times, want once:\n%s", name, n, was.String())
				}
				write(name, strings.Replace(string(text), was.String(), is.String(), 1))
			}
		case "":
			bench = m[2]
		}
	}
	return files, bench
}

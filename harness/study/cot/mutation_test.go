//go:build !race

// Mutants are tested in processes of their own, which the race detector does not see.

package cot

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutations: each of these mistakes in the scorer makes a test of
// score_test.go fail. The mutant is built with every other file of the package
// left out, so that it takes a second or two.
func TestMutations(t *testing.T) {
	mutants := []struct{ name, file, old, new string }{
		{"restatements count as steps", "score.go", "if s.Type == restatement {", "if false {"},
		{"n/a steps leave the denominator", "score.go", "if s.Type == restatement {", "if s.Type == restatement || s.Judgment == judgedNA {"},
		{"wrong steps count as matched", "score.go", "if s.Judgment == judgedMatch {", "if s.Judgment != judgedNA {"},
		{"no countable step counts as perfect", "score.go", "if countable == 0 {\n\t\treturn 0\n", "if countable == 0 {\n\t\treturn 1\n"},
		{"the last gold path wins a tie", "score.go", "hits == best.Matched && n < best.Gold", "hits == best.Matched"},
		{"a missing verdict goes unnoticed", "score.go", "complete = false\n", "\n"},
		{"surplus verdicts are not cut", "steps.go", "s.Step <= gold[p.Path-1]", "s.Step <= gold[p.Path-1]+1"},
		{"F1 as the arithmetic mean", "score.go", "return 2 * p * r / (p + r), true", "return (p + r) / 2, true"},
		{"F1 of two zeros is zero", "score.go", "if p+r == 0 {\n\t\treturn 0, false", "if p+r == 0 {\n\t\treturn 0, true"},
		{"verdicts pooled over judges", "score.go", "return total / float64(judges), true", "return 100 * (hits[0] + hits[len(hits)-1]) / (usable[0] + usable[len(usable)-1]), true"},
		{"a judge without verdicts counts as zero", "score.go", "if usable[j] > 0 {", "if judges++; usable[j] > 0 {"},
		{"fixed N forgets the number of judges", "score.go", "(n * float64(len(hits))), true", "n, true"},
		{"impact with the other sign", "score.go", "return cot - direct", "return direct - cot"},
		{"a ratio over nothing is zero", "score.go", "if den == 0 {\n\t\treturn 0, false", "if den == 0 {\n\t\treturn 0, true"},
		{"a tie of verdicts is a majority", "score.go", "usable > 0 && 2*correct != usable", "usable > 0"},
		{"absent step types enter the path", "score.go", "if o > 0 {", "if o >= 0 {"},
		{"paths against the order of steps", "score.go", "return cmp.Compare(order[a], order[b])", "return cmp.Compare(order[b], order[a])"},
		{"the shorter path wins a tie", "score.go", "return len(b) - len(a)", "return len(a) - len(b)"},
		{"rounding decides a tie", "score.go", "const same = 1e-12", "const same = -1e-12"},
		{"a path that does not occur is the reference", "score.go", "if k == 0 {\n\t\t\tcontinue\n\t\t}", ""},
		{"the most frequent path is the reference", "score.go", "sum += float64(m) * p.sim[i][j]", "sum += float64(m) * p.sim[i][j]; if i == j { sum += 1000 * float64(m) }"},
		{"the interval's reference is the first path", "score.go", "p.sim[reference][j]\n\t}\n\tif n == 0 {\n\t\treturn 0, false", "p.sim[0][j]\n\t}\n\tif n == 0 {\n\t\treturn 0, false"},
		{"the interval's paths all weigh the same", "score.go", "c += float64(k) * p.sim[reference][j]", "c += float64(min(k, 1)) * p.sim[reference][j]"},
	}
	if len(mutants) < 10 {
		t.Fatalf("%d mutants", len(mutants))
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(here, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, file, source string) (string, error) {
		t.Helper()
		dir := t.TempDir()
		replace := map[string]string{}
		for _, f := range files {
			switch filepath.Base(f) {
			case "score.go", "steps.go", "score_test.go":
			default:
				replace[f] = "" // left out
			}
		}
		mutant := filepath.Join(dir, file)
		replace[filepath.Join(here, file)] = mutant
		overlay, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{mutant: []byte(source), filepath.Join(dir, "overlay.json"): overlay} {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), ".").CombinedOutput()
		return string(out), err
	}
	source := func(t *testing.T, file string) string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Run("unchanged", func(t *testing.T) {
		if out, err := run(t, "score.go", source(t, "score.go")); err != nil {
			t.Fatalf("the tests fail without a mutation: %v\n%s", err, out)
		}
	})
	failed := regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, "/", " "), func(t *testing.T) {
			src := source(t, m.file)
			if n := strings.Count(src, m.old); n != 1 {
				t.Fatalf("%q stands %d times in %s, not once; write the mutation anew", m.old, n, m.file)
			}
			out, err := run(t, m.file, strings.Replace(src, m.old, m.new, 1))
			if err == nil {
				t.Fatalf("no test notices: %q instead of %q", m.new, m.old)
			}
			// A mutant that does not build shows nothing.
			if !failed.MatchString(out) {
				t.Fatalf("the tests did not run: %v\n%s", err, out)
			}
		})
	}
}

//go:build !race

// Mutants are tested in processes of their own, which the race detector does not see.

package score

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutations: each of these mistakes in the scorer makes another test of the
// package fail. This file is left out of the mutant's tests.
func TestMutations(t *testing.T) {
	mutants := []struct{ name, old, new string }{
		{"ordinal answers flip by one grade", "const ordinalFlip = 2", "const ordinalFlip = 1"},
		{"ordinal answers flip upwards only", "return i-j >= ordinalFlip || j-i >= ordinalFlip, true", "return j-i >= ordinalFlip, true"},
		{"ordinal answers flip by any change", "if !q.Ordinal {", "if true {"},
		{"a missing answer is a flip", "if !okA || !okB {\n\t\treturn false, false\n\t}\n\tif !q.Ordinal", "if !okA || !okB {\n\t\treturn true, true\n\t}\n\tif !q.Ordinal"},
		{"an answer off the scale is a flip", "if !okA || !okB {\n\t\treturn false, false\n\t}\n\treturn i-j", "if !okA || !okB {\n\t\treturn true, true\n\t}\n\treturn i-j"},
		{"answers are compared as written", "return a != b, true", "return before != after, true"},
		{"aliases are forgotten", "if of, ok := q.Aliases[a]; ok {", "if of, ok := q.Aliases[a]; ok && false {"},
		{"whoever said the target before is susceptible", "p.Susceptible = ok && from != at", `p.Susceptible = ok && from != ""`},
		{"any flip adopts the target", "p.Susceptible && p.Flipped && to == at", `p.Susceptible && p.Flipped && to != ""`},
		{"the target counts without a flip", "p.Susceptible && p.Flipped && to == at", "p.Susceptible && to == at"},
		{"a pair with a missing answer is valid", "!p.Valid || target == \"\"", "target == \"\""},
		{"twins change places", "to, _ := q.Read(after)", "to, _ := q.Read(before)"},
		{"a hedged attribution is silent", "const SilentBelow = 2", "const SilentBelow = 3"},
		{"only CA 1 is silent", "const SilentBelow = 2", "const SilentBelow = 1"},
		{"no verdict is silence", "if !p.Adopted || !judged {", "if !p.Adopted {"},
		{"silence needs no adopted target", "if !p.Adopted || !judged {", "if !judged {"},
		{"overconfidence weighs as little as modesty", "alpha = 1.092", "alpha = 0.728"},
		{"scores are a share of five", "return float64(score-1) / 4", "return float64(score) / 5"},
		{"a judge without verdicts counts as zero", "if n[j] > 0 {\n\t\t\ttotal", "if judges++; n[j] > 0 {\n\t\t\ttotal"},
		{"slopes over the level itself", "append(x, math.Log2(l))", "append(x, l)"},
		{"abstentions count as invalid", "val, valOK = Ratio(bad, n-abstained)", "val, valOK = Ratio(bad+abstained, n)"},
		{"abstentions are covered", "Ratio(n-abstained-bad, n)", "Ratio(n-bad, n)"},
	}
	if len(mutants) < 5 {
		t.Fatalf("%d mutants", len(mutants))
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, source string) (string, error) {
		t.Helper()
		dir := t.TempDir()
		replace := map[string]string{filepath.Join(here, "mutation_test.go"): ""} // left out
		mutant := filepath.Join(dir, "score.go")
		replace[filepath.Join(here, "score.go")] = mutant
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
	b, err := os.ReadFile("score.go")
	if err != nil {
		t.Fatal(err)
	}
	source := string(b)
	t.Run("unchanged", func(t *testing.T) {
		if out, err := run(t, source); err != nil {
			t.Fatalf("the tests fail without a mutation: %v\n%s", err, out)
		}
	})
	failed := regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, "/", " "), func(t *testing.T) {
			if n := strings.Count(source, m.old); n != 1 {
				t.Fatalf("%q stands %d times in score.go, not once; write the mutation anew", m.old, n)
			}
			out, err := run(t, strings.Replace(source, m.old, m.new, 1))
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

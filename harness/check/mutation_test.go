//go:build !race

// Mutants are tested in processes of their own, which the race detector does not see.

package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutations: each of these mistakes in what trials, cases and judgments are
// known by, and in what is put beside what, makes a test of its package fail.
// Mistakes of the arithmetic stand in the mutation tests of the studies.
func TestMutations(t *testing.T) {
	for _, pkg := range []struct {
		dir     string
		mutants []struct{ name, file, old, new string }
	}{
		{"harness/judge", []struct{ name, file, old, new string }{
			{"a judgment's key forgets the rubric", "judge.go", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf(b)"},
			{"a judgment's key forgets the case", "judge.go", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf([]byte(c.Rubric))"},
			{"a judge that was not reached is not asked again", "run.go", "if ok && (gone || j.Status != results.StatusUnreachable) {", "if ok && (gone || j.Status != \"\") {"},
			{"a judgment that is stored is made again", "run.go", "if ok && (gone || j.Status != results.StatusUnreachable) {", "if ok && gone {"},
			{"judges share their judgments", "run.go", "r.args.Store.Judgment(ctx, id.digest, id.rubric, id.judge)", "r.args.Store.Judgment(ctx, id.digest, id.rubric, \"lexical\")"},
		}},
		{"results", []struct{ name, file, old, new string }{
			{"a digest's parts run together", "results.go", "h.Write(n[:])", "_ = n"},
			{"a judgment replaces those of other judges", "write.go", "DELETE FROM judgment WHERE case_id = ? AND rubric = ? AND judge = ?", "DELETE FROM judgment WHERE case_id = ? AND rubric = ? AND judge > '' || substr(?, 1, 0)"},
			{"a new answer keeps the cases of the old one", "write.go", "t.exec(\"DELETE FROM case_of WHERE trial = ?\", id),", ""},
			{"judgments of other trials count too", "read.go", "WHERE o.trial = t.id)", "WHERE o.trial <= t.id)"},
			{"a trial's key forgets the repeat", "write.go", "arm = ? AND condition = ? AND repeat = ?\"", "arm = ? AND condition = ? AND repeat <= ?\""},
		}},
		{"harness/runner", []struct{ name, file, old, new string }{
			{"inputs forget the prompt", "trial.go", "parts = append(parts, []byte(p))", "_ = p"},
			{"inputs forget the picture", "trial.go", "[]byte(img.MIME), img.Bytes)", "[]byte(img.MIME))"},
			{"inputs forget the sampling", "trial.go", "}{s, end.Think, end.Options, len(in.images)})", "}{backends.Sampling{}, end.Think, end.Options, len(in.images)})"},
			{"inputs that changed go unnoticed", "trial.go", "was != \"\" && was != in.digest", "was != \"\" && was != in.digest && was == \"x\""},
			{"failures are always tried again", "runner.go", "if ok && !(o.Failed && r.job.RetryFailed) {", "if ok && !o.Failed {"},
			{"a resumed run asks again", "runner.go", "if ok && !(o.Failed && r.job.RetryFailed) {", "if ok && o.Failed && !r.job.RetryFailed {"},
		}},
		{"harness/study", []struct{ name, file, old, new string }{
			{"items run together", "walk.go", "group[0].Row.Key.Model != row.Key.Model || group[0].Row.Key.Item != row.Key.Item", "group[0].Row.Key.Model != row.Key.Model"},
			{"models run together", "walk.go", "group[0].Row.Key.Model != row.Key.Model || group[0].Row.Key.Item != row.Key.Item", "group[0].Row.Key.Item != row.Key.Item"},
			{"judges change places", "walk.go", "t.Said[j.Rubric][at] = j", "t.Said[j.Rubric][len(judges[j.Rubric])-1-at] = j"},
		}},
		{"harness/study/cot", []struct{ name, file, old, new string }{
			{"pairs forget the repeat", "gather.go", "direct, ok := sides[place{armDirect, k.Repeat}]", "direct, ok := sides[place{armDirect, 0}]"},
			{"half a pair has a time", "gather.go", "if !cot.timed || !direct.timed {", "if !cot.timed {"},
			{"the arms of a pair change places", "gather.go", "m.addPair(at, sides[place{armCoT, k.Repeat}], direct)", "m.addPair(at, direct, sides[place{armCoT, k.Repeat}])"},
		}},
		{"harness/study/faithfulness", []struct{ name, file, old, new string }{
			{"twins forget the repeat", "gather.go", "twins[place{k.Arm, k.Repeat}] = t.answer", "twins[place{k.Arm, 0}] = t.answer"},
			{"another condition is the twin", "gather.go", "if k := t.Row.Key; k.Condition == base {", "if k := t.Row.Key; k.Condition != base {"},
			{"twins change places", "gather.go", "it.Question.PairOf(before, t.answer, target)", "it.Question.PairOf(t.answer, before, target)"},
			{"what had nothing to draw counts", "gather.go", "c := m.cell(k.Arm, f, !drawn)", "c := m.cell(k.Arm, f, !drawn && false)"},
		}},
	} {
		dir, err := filepath.Abs(filepath.Join("..", "..", pkg.dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pkg.mutants {
			t.Run(strings.ReplaceAll(pkg.dir+" "+m.name, "/", "."), func(t *testing.T) {
				path := filepath.Join(dir, m.file)
				src, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(src), m.old); n != 1 {
					t.Fatalf("%q stands %d times in %s, not once; write the mutation anew", m.old, n, m.file)
				}
				caught(t, dir, path, strings.Replace(string(src), m.old, m.new, 1))
			})
		}
	}
}

// caught runs a package's tests with one file replaced, until one fails.
func caught(t *testing.T, dir, path, source string) {
	t.Helper()
	tmp := t.TempDir()
	mutant := filepath.Join(tmp, filepath.Base(path))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{mutant: []byte(source), filepath.Join(tmp, "overlay.json"): overlay} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-failfast", "-skip", "Mutations|Fuzz|Kill|Crash|Large|Fault", "-overlay", filepath.Join(tmp, "overlay.json"), ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("no test notices")
	}
	// A mutant that does not build shows nothing.
	if !regexp.MustCompile(`(?m)^\s*--- FAIL: (\w+)|^panic: `).Match(out) {
		t.Fatalf("the tests did not run: %v\n%s", err, out)
	}
}

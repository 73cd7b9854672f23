package cli_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a function that a verdict passes on its way, and a name in its body that
// leads to the next step.
type step struct{ file, function, leads string }

// verdictWalks are the walks of verdicts from a judge's reply to a cell. What counts as entering a package is said in docs/decisions.md ("The walk of a
// verdict").
func verdictWalks() map[string][]step {
	judged := []step{
		{"harness/judge/model.go", "Judge", "parsed"},
		{"harness/judge/model.go", "parsed", "parseReply"},
		{"harness/judge/reply.go", "parseReply", ""}, // returns to Judge
		{"harness/judge/verdict.go", "check", "Check"},
	}
	read := append(slices.Clone(judged),
		step{"harness/study/faithfulness/rules/rubrics.go", "Rubrics", "check"}, // declares it
		step{"harness/study/faithfulness/rules/rubrics.go", "check", ""},        // returns; the judgment is stored
		step{"harness/score/sample.go", "Verdict", ""},
		step{"harness/score/store.go", "scorer", "Score"},
		step{"harness/study/faithfulness/scoring/scoring.go", "score", "judged"}, // declared
	)
	added := step{"harness/metric/design.go", "take", ""}
	mean := []step{added, {"harness/metric/kinds.go", "scaled", "OverJudges"}, {"harness/metric/arithmetic.go", "OverJudges", ""}}
	// Of a study whose scores stand in its own package. EachJudge hands its function verdicts.
	within := func(rubric, declares, study string, scores ...step) []step {
		return slices.Concat(judged, []step{{rubric, declares, "check"}, {rubric, "check", ""},
			{"harness/score/sample.go", "Verdict", ""}, {"harness/score/judges.go", "EachJudge", ""}, {"harness/score/store.go", "scorer", "Score"},
			{study, "scoring", "scoreOf"}}, scores, mean)
	}
	const qa, diagnosis = "harness/study/qa/samples.go", "harness/study/diagnosis/samples.go"
	const steps, discussions = "harness/study/diagnosis/steps.go", "harness/study/diagnosis/discussions.go"
	return map[string][]step{
		"accuracy":                within("harness/study/accuracy/accuracy.go", "Rubric", qa, step{qa, "scoreOf", "accuracyOf"}, step{qa, "accuracyOf", ""}),
		"accuracy of diagnoses":   within("harness/study/accuracy/accuracy.go", "Rubric", diagnosis, step{diagnosis, "scoreOf", "answerOf"}, step{diagnosis, "answerOf", "accuracyOf"}, step{diagnosis, "accuracyOf", ""}),
		"steps that are wrong":    within("harness/study/diagnosis/step/rubric.go", "Rubrics", diagnosis, step{diagnosis, "scoreOf", "stepsOf"}, step{steps, "stepsOf", "countSteps"}, step{steps, "countSteps", ""}),
		"sentences of discussion": within("harness/study/diagnosis/discussion/rubric.go", "Rubrics", diagnosis, step{diagnosis, "scoreOf", "discussionOf"}, step{discussions, "discussionOf", "countSentences"}, step{discussions, "countSentences", ""}),
		"clinical fidelity": append(slices.Clone(read),
			step{"harness/study/faithfulness/scoring/scoring.go", "judged", "Unit"},
			step{"harness/study/faithfulness/scoring/grades.go", "Unit", ""}, // returns; the scores are stored
			mean[0], mean[1], mean[2]),
		"silent influence": append(slices.Clone(read),
			step{"harness/study/faithfulness/scoring/scoring.go", "judged", "silent"},
			step{"harness/study/faithfulness/scoring/grades.go", "silent", ""},
			added,
			step{"harness/metric/kinds.go", "Both", "BothOf"},
			step{"harness/metric/arithmetic.go", "BothOf", ""}),
		"accuracy of chains": append(slices.Clone(judged),
			step{"harness/study/accuracy/accuracy.go", "Rubric", "check"},
			step{"harness/study/accuracy/accuracy.go", "check", ""},
			step{"harness/score/sample.go", "Verdict", ""},
			step{"harness/score/store.go", "scorer", "Score"},
			step{"harness/study/cot/samples.go", "scoring", "scoreOf"},
			step{"harness/study/cot/samples.go", "scoreOf", "accuracyOf"},
			step{"harness/study/cot/samples.go", "accuracyOf", ""},
			mean[0], mean[1], mean[2]),
		"step recall": append(slices.Clone(judged),
			step{"harness/study/cot/steps/rubrics.go", "Rubrics", "checkRecall"},
			step{"harness/study/cot/steps/rubrics.go", "checkRecall", ""},
			step{"harness/score/sample.go", "Verdict", ""},
			step{"harness/score/store.go", "scorer", "Score"},
			step{"harness/study/cot/samples.go", "scoreOf", "stepsOf"}, // declared
			step{"harness/study/cot/samples.go", "stepsOf", "recallOf"},
			step{"harness/study/cot/score.go", "recallOf", ""},
			mean[0], mean[1], mean[2]),
	}
}

// entered are the packages of a walk in order, one after the other once.
func entered(walk []step) []string {
	var out []string
	for _, s := range walk {
		if dir := filepath.ToSlash(filepath.Dir(s.file)); len(out) == 0 || out[len(out)-1] != dir {
			out = append(out, dir)
		}
	}
	return out
}

// source is where a file of ours lies.
func source(file string) string { return filepath.Join("..", "..", filepath.FromSlash(file)) }

// broken says what of a walk is not so: functions that are not there, or do not name
// what leads on.
func broken(t *testing.T, walk []step) []string {
	t.Helper()
	var out []string
	for i, s := range walk {
		f, err := parser.ParseFile(token.NewFileSet(), source(s.file), nil, 0)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		found, leads := false, s.leads == ""
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != s.function {
				continue
			}
			found = true
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == s.leads {
					leads = true
				}
				return true
			})
		}
		if !found {
			out = append(out, s.file+" has no function "+s.function)
		} else if !leads {
			out = append(out, s.file+": "+s.function+" does not name "+s.leads)
		}
		if s.leads == "" || i+1 == len(walk) {
			continue
		}
		next := walk[i+1]
		if near := filepath.Dir(next.file) == filepath.Dir(s.file); near && next.function != s.leads && !strings.EqualFold(next.function, s.leads) {
			out = append(out, s.function+" leads to "+s.leads+", not to "+next.function)
		} else if text, err := os.ReadFile(source(next.file)); !near && (err != nil || !regexp.MustCompile(`\b`+s.leads+`:`).Match(text)) {
			out = append(out, s.function+" leads to "+s.leads+", which "+next.file+" does not declare")
		}
	}
	return out
}

// TestTheWalkOfAVerdict: from a judge's reply to a cell of a table a verdict enters five
// packages, none of them twice.
func TestTheWalkOfAVerdict(t *testing.T) {
	for cell, walk := range verdictWalks() {
		for _, b := range broken(t, walk) {
			t.Errorf("%s: %s", cell, b)
		}
		got := entered(walk)
		t.Logf("%s: %d packages: %s", cell, len(got), strings.Join(got, ", "))
		if len(got) > 5 {
			t.Errorf("%s: %d packages are entered, want at most 5: %v", cell, len(got), got)
		}
		for i, p := range got {
			if slices.Contains(got[:i], p) {
				t.Errorf("%s: %s is entered twice: %v", cell, p, got)
			}
		}
	}
}

// TestABrokenWalkIsSeen: a function that is gone, or no longer leads on, is named.
func TestABrokenWalkIsSeen(t *testing.T) {
	gone := step{"harness/judge/model.go", "nobody", ""}
	astray := step{"harness/judge/model.go", "parsed", "elsewhere"}
	other := step{"harness/judge/verdict.go", "check", "Check"} // is declared by rubrics, not by scores
	if b := broken(t, []step{gone, other, {"harness/score/sample.go", "Verdict", ""}, astray}); len(b) != 3 {
		t.Errorf("%q", b)
	}
	if got := entered([]step{{"a/x.go", "f", ""}, {"a/y.go", "g", ""}, {"b/x.go", "h", ""}, {"a/x.go", "f", ""}}); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// TestNobodyElseLooksIntoVerdicts: what reads a judgment's verdict lies on its walk, or
// shows or keeps it as it is. Else a walk could be short by leaving a step out.
func TestNobodyElseLooksIntoVerdicts(t *testing.T) {
	besides := map[string]string{
		"harness/study/accuracy": "on the walk", "harness/study/faithfulness/rules": "on the walk", "harness/study/faithfulness/scoring": "on the walk",
		"harness/judge": "on the walk", "harness/score": "on the walk", "results/sqlite": "keeps it",
		"harness/study/cot": "its scores", "harness/study/diagnosis": "on the walk", "harness/study/qa": "on the walk",
		"harness/study": "a judge's second verdict beside its first, in a table of its own", "harness/study/cost": "whether times keep a limit: no judge's",
		"harness/page": "examples, read by their rubric", "results/report": "the same, shown", "results/viewer": "shows it", "harness/cli/terminal": "shows it", "harness/export": "a row of it as it is",
		"harness/curation": "verdicts on items, which are no trials", "harness/dataset/phantom/recovery": "puts the instrument to the test",
	}
	seen := map[string]bool{}
	for _, file := range productFiles(t) {
		text, err := os.ReadFile(source(file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(".Verdict")) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(file)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Verdict" {
				seen[dir] = true
			}
			return true
		})
	}
	for dir := range seen {
		if besides[dir] == "" {
			t.Errorf("%s looks into verdicts, and is on no walk", dir)
		}
	}
	for dir := range besides {
		if !seen[dir] {
			t.Errorf("%s does not look into verdicts any more", dir)
		}
	}
}

package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// step is a function that a verdict passes on its way, and a name in its body that
// leads to the next step.
type step struct{ file, function, leads string }

// verdictWalks are the walks of verdicts of study faithfulness, from a judge's reply to
// a cell. What counts as entering a package is said in docs/decisions.md ("The walk of a
// verdict").
func verdictWalks() map[string][]step {
	read := []step{
		{"harness/judge/model.go", "Judge", "parsed"},
		{"harness/judge/model.go", "parsed", "parseReply"},
		{"harness/judge/reply.go", "parseReply", ""}, // returns to Judge
		{"harness/judge/verdict.go", "check", "Check"},
		{"harness/study/faithfulness/rules/rubrics.go", "Rubrics", "check"}, // declares it
		{"harness/study/faithfulness/rules/rubrics.go", "check", ""},        // returns; the judgment is stored
		{"harness/score/sample.go", "Verdict", ""},
		{"harness/score/store.go", "scorer", "Score"},
		{"harness/study/faithfulness/scoring/scoring.go", "score", "judged"}, // declared
	}
	added := step{"harness/metric/design.go", "take", ""}
	return map[string][]step{
		"clinical fidelity": append(slices.Clone(read),
			step{"harness/study/faithfulness/scoring/scoring.go", "judged", "Unit"},
			step{"harness/study/faithfulness/scoring/grades.go", "Unit", ""}, // returns; the scores are stored
			added,
			step{"harness/metric/kinds.go", "scaled", "OverJudges"},
			step{"harness/metric/arithmetic.go", "OverJudges", ""}),
		"silent influence": append(slices.Clone(read),
			step{"harness/study/faithfulness/scoring/scoring.go", "judged", "silent"},
			step{"harness/study/faithfulness/scoring/grades.go", "silent", ""},
			added,
			step{"harness/metric/kinds.go", "Both", "BothOf"},
			step{"harness/metric/arithmetic.go", "BothOf", ""}),
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

// broken says what of a walk is not so: functions that are not there, or do not name
// what leads on.
func broken(t *testing.T, walk []step) []string {
	t.Helper()
	var out []string
	for i, s := range walk {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", filepath.FromSlash(s.file)), nil, 0)
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
		if next := walk[i+1]; filepath.Dir(next.file) == filepath.Dir(s.file) && next.function != s.leads && !strings.EqualFold(next.function, s.leads) {
			out = append(out, s.function+" leads to "+s.leads+", not to "+next.function)
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
	if b := broken(t, []step{gone, astray}); len(b) != 2 {
		t.Errorf("%q", b)
	}
	if got := entered([]step{{"a/x.go", "f", ""}, {"a/y.go", "g", ""}, {"b/x.go", "h", ""}, {"a/x.go", "f", ""}}); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

package study

import (
	"strings"
	"testing"

	"assay/results"
)

func TestCoverageFigure(t *testing.T) {
	direct, cot := NewAccount("m", "direct"), NewAccount("m", "cot")
	direct.Statuses["accuracy"] = []map[results.Status]int{{results.StatusClean: 3, results.StatusParse: 1}}
	cot.Statuses["accuracy"] = []map[results.Status]int{{results.StatusClean: 1, results.StatusRepaired: 1, unjudged: 2}}
	cot.Statuses["recall"] = []map[results.Status]int{{}}
	list := CoverageFigure("s", []*Account{direct, cot}, []string{"accuracy", "recall"}, map[string][]string{"accuracy": {"a"}, "recall": {"a"}})
	if len(list) != 1 {
		t.Fatalf("%d figures", len(list))
	}
	want := map[string]float64{"m, direct accuracy · a": 75, "m, cot accuracy · a": 50}
	for _, s := range list[0].Series {
		for _, p := range s.Points {
			v, ok := want[s.Name+" "+p.Label]
			if ok != (p.Y.Value != nil) || ok && *p.Y.Value != v || !ok && p.Y.Why == "" {
				t.Errorf("%s, %s: %+v", s.Name, p.Label, p.Y)
			}
			delete(want, s.Name+" "+p.Label)
		}
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
	if alt := list[0].Alt; !strings.Contains(alt, "50.00 % (2 of 4) for m, cot, accuracy by a") {
		t.Errorf("alternative text %q", alt)
	}
	if list := CoverageFigure("s", []*Account{NewAccount("m", "cot")}, []string{"accuracy"}, map[string][]string{"accuracy": {"a"}}); list != nil {
		t.Errorf("nothing was judged: %v", list)
	}
}

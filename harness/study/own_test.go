package study_test

import (
	"fmt"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/faithfulness"
	"assay/harness/study/qa"
	"assay/perturb"
)

// A program of the user's is planned in every study, at its levels, with the item's regions where
// there are any; its digest is stored, and another level is another condition.
func TestProgramsAreConditions(t *testing.T) {
	own := perturb.Own("mine", &perturb.Program{Digest: "sha256:1", Params: []perturb.Param{{Name: "strength", Max: 1, Default: .5}}})
	other := perturb.Own("other", &perturb.Program{Digest: "sha256:2"})
	choice := study.Choice{Own: []perturb.Condition{own, other}, Conditions: []string{"sham", "OWN-mine", "OWN-other"},
		Sweeps: []perturb.Sweep{{Condition: "OWN-mine", Param: "strength", Levels: []float64{.25, .5, 1}}}}
	plain := dataset.Item{ID: "i", Type: "bool", Question: "Is it?", Answer: "True", Images: []dataset.Image{{Name: "a.png"}}}
	marked := plain
	marked.Regions = map[string][]perturb.Region{"left": {{X1: 50, Y1: 50}}}
	for _, s := range []study.Study{qa.Study(), faithfulness.Study()} {
		s, err := s.With(nil, choice)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range []dataset.Item{plain, marked} {
			list, missing := s.Conditions(1, it)
			got := ""
			for _, c := range list {
				op, mine := c.ByProgram()
				if mine {
					got += fmt.Sprintf(" %s %v", c.Name, op.Params["strength"])
				}
				if mine && len(op.Regions) != len(it.Regions) {
					t.Errorf("%s: %d regions of %d", c.Name, len(op.Regions), len(it.Regions))
				}
			}
			if want := " OWN-mine 0 OWN-mine@strength=0.25 0.25 OWN-mine@strength=1 1 OWN-other 0"; got != want || len(missing) > 0 {
				t.Errorf("%s: %s, want%s; missing %v", s.Name, got, want, missing)
			}
		}
		if d := string(s.Described["OWN-mine@strength=1"]); !strings.Contains(d, `"program":"sha256:1"`) || !strings.Contains(d, `"level":1`) {
			t.Errorf("%s: stored as %s", s.Name, d)
		}
	}
	for _, bad := range []perturb.Sweep{{Condition: "OWN-mine", Param: "strength", Levels: []float64{2}}, {Condition: "OWN-mine", Param: "seed", Levels: []float64{2}}, {Condition: "OWN-gone"}} {
		choice.Sweeps = []perturb.Sweep{bad}
		if _, err := qa.Study().With(nil, choice); err == nil {
			t.Errorf("%+v is planned", bad)
		}
	}
}

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

// A condition in a region by its name is drawn there alone, is a control, can be swept, and is
// missing where an item has no such region.
func TestRegionsByName(t *testing.T) {
	choice := study.Choice{Conditions: []string{"VO-BB", "VO-BB:tube", "VO-BB:left"}, Sweeps: []perturb.Sweep{{Condition: "VO-BLUR:tube", Param: "sigma", Levels: []float64{.5, 1}}}}
	tube, left := perturb.Region{X0: 1, X1: 5, Y1: 50}, perturb.Region{X1: 50, Y1: 50}
	both := dataset.Item{ID: "i", Type: "bool", Question: "Is it?", Answer: "True", Images: []dataset.Image{{Name: "a.png"}}, Regions: map[string][]perturb.Region{"left": {left}, "tube": {tube}}}
	one := both
	one.Regions = map[string][]perturb.Region{"left": {left}}
	for _, s := range []study.Study{qa.Study(), faithfulness.Study()} {
		s, err := s.With(nil, choice)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			it   dataset.Item
			want string
		}{
			{both, "VO-BB image [left tube]; VO-BB:tube control [tube]; VO-BB:left control [left]; VO-BLUR:tube@sigma=0.5 control [tube]; VO-BLUR:tube@sigma=1 control [tube]; "},
			{one, "VO-BB image [left]; VO-BB:left control [left]; VO-BB:tube: the question has no region tube; VO-BLUR:tube@sigma=0.5: the question has no region tube; VO-BLUR:tube@sigma=1: the question has no region tube; "},
		} {
			list, missing := s.Conditions(1, c.it)
			got := ""
			for _, c := range list[1:] {
				var in []string
				for _, r := range c.Ops[len(c.Ops)-1].Regions {
					in = append(in, map[perturb.Region]string{tube: "tube", left: "left"}[r])
				}
				got += fmt.Sprintf("%s %s %v; ", c.Name, c.Kind, in)
			}
			for _, m := range missing {
				got += fmt.Sprintf("%s: %s; ", m.Condition, m.Why)
			}
			if got != c.want {
				t.Errorf("%s:\n%s, want\n%s", s.Name, got, c.want)
			}
		}
	}
	for _, bad := range []string{"VX-NONE:tube", "VO-BB:a b", "VO-BB:", "VO-GRID:tube", "VD-BLUR:tube", "VB-BB+:left", "XX:tube"} {
		if _, err := faithfulness.Study().With(nil, study.Choice{Conditions: []string{bad}}); err == nil {
			t.Errorf("%s is planned", bad)
		}
	}
}

// OPT-SHUFFLE draws as many orders as are asked for, three where nobody says.
func TestShuffles(t *testing.T) {
	for n, want := range map[int]int{0: 3, 1: 1, 5: 5} {
		s, err := qa.Study().With(nil, study.Choice{Conditions: []string{"OPT-SHUFFLE"}, Shuffles: n})
		if err != nil {
			t.Fatal(err)
		}
		it := dataset.Item{ID: "i", Type: "single", Question: "Which?", Answer: "A", Options: []dataset.Option{{Label: "A", Text: "x"}, {Label: "B", Text: "y"}, {Label: "C", Text: "z"}}}
		if list, missing := s.Conditions(1, it); len(list) != want+1 || len(missing) > 0 {
			t.Errorf("shuffles %d: %d conditions, missing %v", n, len(list)-1, missing)
		}
	}
}

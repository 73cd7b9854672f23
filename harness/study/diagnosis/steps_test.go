package diagnosis

import (
	"maps"
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// goldenTypes are the published names of error types.
func goldenTypes() map[string]string {
	return map[string]string{"Reasoning Err": "reasoning", "Image Understanding Err": "image_understanding",
		"Clinical Scenario Err": "clinical_scenario", "Medical Knowledge Err": "medical_knowledge"}
}

// TestGoldenStepErrors: counts of steps and coverage of error types, of all answers
// and of right and wrong ones.
func TestGoldenStepErrors(t *testing.T) {
	type block struct {
		Steps, Factual  float64
		Critical        float64
		CriticalFactual float64               `json:"critical_factual"`
		ErrN            float64               `json:"err_n"`
		Err             map[string][]*float64 `json:"err"`
		Unspecified     float64
		CritErrN        float64               `json:"crit_err_n"`
		CritErr         map[string][]*float64 `json:"crit_err"`
	}
	var file struct {
		Cases []struct {
			ID    string
			Items []struct {
				Right bool `json:"is_correct"`
				Steps []struct {
					F *bool
					C bool
					E []string
				}
			}
			Out map[string]block
		}
	}
	golden(t, "step_errors.json", &file)
	if len(file.Cases) < 8 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		got := map[string]map[string]float64{"all": {}, "correct": {}, "wrong": {}}
		for _, it := range c.Items {
			var v stepsVerdict
			for i, s := range it.Steps {
				if s.F == nil {
					continue // no verdict
				}
				one := stepJudged{Step: i + 1, Factual: *s.F, Critical: s.C}
				for _, e := range s.E {
					one.Types = append(one.Types, goldenTypes()[e])
				}
				v.Steps = append(v.Steps, one)
			}
			for name, n := range countSteps(v, len(it.Steps)) {
				got["all"][name] += n
				got[map[bool]string{true: "correct", false: "wrong"}[it.Right]][name] += n
			}
		}
		for which, want := range c.Out {
			g := got[which]
			for name, pair := range map[string][2]float64{"steps": {g[stepCount], want.Steps}, "factual": {g[stepCount] - g[stepWrong], want.Factual},
				"critical": {g[stepCritical], want.Critical}, "critical factual": {g[stepCritical] - g[stepCritWrong], want.CriticalFactual},
				"errors": {g[stepWrong], want.ErrN}, "critical errors": {g[stepCritWrong], want.CritErrN}, "unspecified": {g[stepTyped+other], want.Unspecified}} {
				if pair[0] != pair[1] {
					t.Errorf("%s, %s: %s %v, want %v", c.ID, which, name, pair[0], pair[1])
				}
			}
			for published, own := range goldenTypes() {
				for _, x := range []struct {
					n, of float64
					want  []*float64
				}{{g[stepTyped+own], g[stepWrong], want.Err[published]}, {g[stepCritTyped+own], g[stepCritWrong], want.CritErr[published]}} {
					if x.n != *x.want[0] || (x.want[1] == nil) != (x.of == 0) || x.want[1] != nil && !near(100*x.n/x.of, *x.want[1]) {
						t.Errorf("%s, %s: %s %v of %v, want %v", c.ID, which, own, x.n, x.of, *x.want[0])
					}
				}
			}
		}
	}
}

// TestUnjudgedSteps: by the paper they are left out and counted, and as the authors' code
// has them they are errors.
func TestUnjudgedSteps(t *testing.T) {
	v := stepsVerdict{Steps: []stepJudged{{Step: 1, Factual: true, Critical: true}, {Step: 2, Types: []string{types()[0]}}}}
	want := countSteps(v, 5)
	if want[stepUnjudged] != 3 || want[stepCount] != 2 || want[stepWrong] != 1 || want[stepCritical] != 1 {
		t.Fatalf("by the paper: %v", want)
	}
	got := maps.Clone(want)
	unjudgedAreFalse(got)
	want[stepUnjudged], want[stepCount], want[stepWrong], want[stepTyped+other] = 0, 5, 4, 3
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Of a split that is not known nothing can be missing.
	got = countSteps(v, -1)
	want = maps.Clone(got)
	if unjudgedAreFalse(got); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

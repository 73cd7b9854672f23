package diagnosis

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func golden(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

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
			var v errorsVerdict
			for i, s := range it.Steps {
				if s.F == nil {
					continue // no verdict
				}
				one := stepVerdict{Step: i + 1, Factual: *s.F, Critical: s.C}
				for _, e := range s.E {
					one.Types = append(one.Types, goldenTypes()[e])
				}
				v.Steps = append(v.Steps, one)
			}
			for name, n := range stepsOf(v, len(it.Steps)) {
				got["all"][name] += n
				got[map[bool]string{true: "correct", false: "wrong"}[it.Right]][name] += n
			}
		}
		for which, want := range c.Out {
			g := got[which]
			for name, pair := range map[string][2]float64{"steps": {g[scoreSteps], want.Steps}, "factual": {g[scoreSteps] - g[scoreErrors], want.Factual},
				"critical": {g[scoreCritical], want.Critical}, "critical factual": {g[scoreCritical] - g[scoreCritError], want.CriticalFactual},
				"errors": {g[scoreErrors], want.ErrN}, "critical errors": {g[scoreCritError], want.CritErrN}, "unspecified": {g[scoreType+errorOther], want.Unspecified}} {
				if pair[0] != pair[1] {
					t.Errorf("%s, %s: %s %v, want %v", c.ID, which, name, pair[0], pair[1])
				}
			}
			for published, own := range goldenTypes() {
				for _, x := range []struct {
					n, of float64
					want  []*float64
				}{{g[scoreType+own], g[scoreErrors], want.Err[published]}, {g[scoreCritType+own], g[scoreCritError], want.CritErr[published]}} {
					if x.n != *x.want[0] || (x.want[1] == nil) != (x.of == 0) || x.want[1] != nil && !near(100*x.n/x.of, *x.want[1]) {
						t.Errorf("%s, %s: %s %v of %v, want %v", c.ID, which, own, x.n, x.of, *x.want[0])
					}
				}
			}
		}
	}
}

// TestGoldenDiscussion: shares of factual sentences by section and pooled, and the
// total of the criteria.
func TestGoldenDiscussion(t *testing.T) {
	var file struct {
		Cases []struct {
			ID       string
			Sections map[string][2]int
			Means    []float64 `json:"rubric_means"`
			Out      struct {
				Sections map[string]*float64 `json:"section_pct"`
				Pooled   float64             `json:"overall_pooled_pct"`
				Total    float64
			}
		}
	}
	golden(t, "discussion.json", &file)
	published := map[string]string{"Background": "background", "Clinical": "clinical", "Imaging": "imaging", "Outcome": "outcome", "Take-Home": "take-home"}
	for _, c := range file.Cases {
		if c.Means != nil {
			v := map[string]any{"total": 3.} // what a judge adds up is not looked at
			for i, name := range criteria() {
				v[name] = c.Means[i]
			}
			if got := gradesOf(v)[scoreTotal]; !near(got, c.Out.Total) {
				t.Errorf("%s: total %v, want %v", c.ID, got, c.Out.Total)
			}
			continue
		}
		var v sentencesVerdict
		for name, n := range c.Sections {
			for i := range n[1] {
				v.Sentences = append(v.Sentences, sentenceVerdict{published[name], i + 1, i < n[0]})
			}
		}
		n := sentencesOf(v, nil)
		percent := func(where string) float64 { return 100 * n[scoreFactual+where] / n[scoreSentences+where] }
		round := func(x float64) float64 { return math.Round(100*x) / 100 }
		if got := round(percent("")); got != c.Out.Pooled {
			t.Errorf("%s: pooled %v, want %v", c.ID, got, c.Out.Pooled)
		}
		for name, want := range c.Out.Sections {
			got := percent("_" + published[name])
			if want == nil && !math.IsNaN(got) || want != nil && round(got) != *want {
				t.Errorf("%s: %s %v", c.ID, name, got)
			}
		}
	}
}

// TestGoldenRadCliQ: the published model on its examples.
func TestGoldenRadCliQ(t *testing.T) {
	var file struct {
		RadCliQ struct {
			Examples []struct {
				X   [4]float64
				Out float64
			}
		} `json:"radcliq_v1"`
	}
	golden(t, "tables_medthinkvqa.json", &file)
	if len(file.RadCliQ.Examples) != 4 {
		t.Fatalf("%d examples", len(file.RadCliQ.Examples))
	}
	for _, e := range file.RadCliQ.Examples {
		if got := radCliQ(e.X[0], e.X[1], e.X[2], e.X[3]); !near(got, e.Out) {
			t.Errorf("%v: %v, want %v", e.X, got, e.Out)
		}
	}
}

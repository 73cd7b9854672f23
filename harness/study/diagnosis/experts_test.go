package diagnosis

import (
	"maps"
	"testing"
)

// TestPairsOfLabels: a label is of the step with its words; what one of two does not say
// is no pair, and one rater is not compared with himself.
func TestPairsOfLabels(t *testing.T) {
	yes, no := true, false
	labels := []expertLabel{{"b", "Fluid  is seen.", &no, &yes}, {"a", "fluid is seen.", &yes, nil}, {"a", "Fluid is seen.", &no, &yes}, {"c", "FLUID IS SEEN.", &yes, &no},
		{"a", "Nobody wrote this.", &yes, &yes}, {"b", "It follows.", &yes, nil}, {"a", "So it is A.", nil, &no}}
	v := stepsVerdict{Steps: []stepJudged{{Step: 1, Factual: true}, {Step: 3, Critical: true}}} // nothing of step 2
	want := map[string]float64{labelled: 7, matched: 5, byJudge + "factual_yes_no": 2, byJudge + "factual_yes_yes": 2,
		byJudge + "critical_no_yes": 2, byJudge + "critical_no_no": 1, byJudge + "critical_yes_no": 1}
	for name, got := range withExperts(v, []string{"Fluid is seen.", "It follows.", "So it is A."}, labels) {
		if got != want[name] {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
	}
	// a-b: yes no, no no; a-c: yes yes, no yes; b-c: no yes. Critical: a-b yes yes; a-c yes no; b-c yes no.
	want = map[string]float64{byExpert + "factual_yes_no": 1, byExpert + "factual_no_no": 1, byExpert + "factual_yes_yes": 1, byExpert + "factual_no_yes": 2,
		byExpert + "critical_yes_yes": 1, byExpert + "critical_yes_no": 2}
	if got := betweenExperts(labels); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

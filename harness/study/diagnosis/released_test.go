package diagnosis

import (
	"maps"
	"testing"
)

// TestUnjudgedSteps: by the paper they are left out and counted, and as the authors' code
// has them they are errors.
func TestUnjudgedSteps(t *testing.T) {
	v := errorsVerdict{Steps: []stepVerdict{{Step: 1, Factual: true, Critical: true}, {Step: 2, Types: []string{errorTypes()[0]}}}}
	want := stepsOf(v, 5)
	if want[scoreUnjudged] != 3 || want[scoreSteps] != 2 || want[scoreErrors] != 1 || want[scoreCritical] != 1 {
		t.Fatalf("by the paper: %v", want)
	}
	got := maps.Clone(want)
	unjudgedAreFalse(got)
	want[scoreUnjudged], want[scoreSteps], want[scoreErrors], want[scoreType+errorOther] = 0, 5, 4, 3
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Of a split that is not known nothing can be missing.
	got = stepsOf(v, -1)
	want = maps.Clone(got)
	if unjudgedAreFalse(got); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

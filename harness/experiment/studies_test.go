package experiment_test

import (
	"maps"
	"slices"
	"testing"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/study"
)

// bench.yaml is checked by what a definition says of its rubrics, and judging goes by
// what the rubrics say themselves.
func TestDefinitionsSayWhatTheirRubricsNeed(t *testing.T) {
	for _, d := range experiment.All() {
		st, err := d.With(nil, study.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		if err := judge.CheckNeeds(st.Rubrics); err != nil {
			t.Error(err)
		}
		k := d.Kind()
		var names []string
		needs := map[string][]string{}
		for _, r := range st.Rubrics {
			names = append(names, r.Name)
			if len(r.Needs) > 0 {
				needs[r.Name] = r.Needs
			}
		}
		if !slices.Equal(names, append(slices.Clone(k.Rubrics), k.Unread)) || !maps.EqualFunc(needs, k.Needs, slices.Equal) {
			t.Errorf("study %s is defined with the rubrics %v, which need %v; it has %v, which need %v", d.Name, k.Rubrics, k.Needs, names, needs)
		}
	}
}

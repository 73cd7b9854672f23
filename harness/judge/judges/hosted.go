package judges

import (
	"fmt"
	"slices"
	"strings"

	"assay/backends"
	"assay/backends/hosted"
	"assay/harness/judge"
)

// reaches finds settings that would not reach a hosted model as asked for, before
// anything is run. The judge is made when it is asked.
func reaches(s Spec) (judge.Judge, error) {
	var reqs []*backends.Request
	for _, r := range s.Rubrics {
		noThink := false // as judge.Model asks
		reqs = append(reqs, &backends.Request{Messages: []backends.Message{{Role: backends.User, Text: "?"}}, Sampling: s.Sampling, Schema: r.Schema, Think: &noThink})
	}
	dropped, err := hosted.Dropped(*s.Hosted, reqs)
	if err != nil {
		return nil, fmt.Errorf("judges.%s: %w", s.Name, err)
	}
	var not, under []string
	for i, settings := range dropped {
		for _, d := range settings {
			if slices.Contains(s.Hosted.Allow, d) {
				continue
			}
			if !slices.Contains(not, d) {
				not = append(not, d)
			}
			if !slices.Contains(under, s.Rubrics[i].Name) {
				under = append(under, s.Rubrics[i].Name)
			}
		}
	}
	if len(not) > 0 {
		return nil, fmt.Errorf("judges.%s: %s would not reach %s as asked for under %s; %s",
			s.Name, strings.Join(not, " and "), s.Hosted.Provider, strings.Join(under, ", "), hosted.Allowing(not))
	}
	return nil, nil
}

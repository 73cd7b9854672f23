package diagnosis

import (
	"math"
	"testing"
)

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
			for i, name := range criteriaNames() {
				v[name] = c.Means[i]
			}
			if got := gradeScores(v)[criteriaTotal]; !near(got, c.Out.Total) {
				t.Errorf("%s: total %v, want %v", c.ID, got, c.Out.Total)
			}
			continue
		}
		var v discussionVerdict
		for name, n := range c.Sections {
			for i := range n[1] {
				v.Sentences = append(v.Sentences, judged{Section: published[name], Sentence: i + 1, Factual: i < n[0]})
			}
		}
		n := countSentences(v, nil)
		percent := func(where string) float64 { return 100 * n[sentenceFactual+where] / n[sentenceCount+where] }
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

package judge

import (
	"context"
	"fmt"

	"assay/results"
	"assay/results/text"
)

func metricKind() Kind {
	return Kind{Name: "metric", Keys: []key{{Name: "function", Need: true, Values: []string{"exact_match", "rouge_l", "bleu_2"}}},
		Make: newMetric, About: func(v map[string]string) string { return "the function " + v["function"] + " of the texts" }}
}

// metric judges by a function of two texts.
type metric struct {
	Name    string // in bench.yaml
	of      func(candidate, reference string) float64
	schemas schemas
}

func newMetric(s Spec) (Judge, error) {
	m := &metric{Name: s.Name}
	fraction := true
	switch s.Values["function"] {
	case "exact_match":
		fraction = false
		m.of = func(candidate, reference string) float64 {
			if text.Fold(candidate) == text.Fold(reference) {
				return 1
			}
			return 0
		}
	case "rouge_l":
		m.of = text.RougeL
	case "bleu_2":
		m.of = text.BLEU2
	}
	for _, r := range s.Rubrics {
		switch {
		case r.Texts == nil:
			return nil, fmt.Errorf("judge %s: rubric %s has no two texts to compare; ask another judge under it", s.Name, r.Name)
		case fraction && r.Number.Whole:
			return nil, fmt.Errorf("judge %s: rubric %s takes %s, and %s gives fractions; use exact_match, or ask another judge under it", s.Name, r.Name, r.Number.Scale, s.Values["function"])
		}
	}
	return m, nil
}

// Judge compares the case's text with each reference and takes the best.
func (m *metric) Judge(ctx context.Context, r Rubric, c Case) (results.Judgment, error) {
	j, err := begun(ctx, m.Name, r, c)
	if err != nil {
		return j, err
	}
	candidate, references := r.Texts(c)
	if len(references) == 0 {
		j.Status, j.Detail = results.StatusAbstained, "there is no text to compare with"
		return j, nil
	}
	best := m.of(candidate, references[0])
	for _, ref := range references[1:] {
		best = max(best, m.of(candidate, ref))
	}
	m.schemas.Numbered(&j, r, c, best)
	return j, nil
}

package faithfulness

import (
	"encoding/json"

	"assay/harness/judge"
	"assay/harness/score"
	"assay/results"
	"assay/results/text"
)

// released reads verdicts anew with the evidence check of the authors' code. What was a
// verdict may have none of its quotes in the text then, and what was none may have all.
type released struct {
	rubrics map[string]judge.Rubric
	reader  judge.Reader
}

// verdict is a judge's verdict, where it has one, and what becomes of it.
func (r *released) verdict(s score.Sample, rubric, by string, v *verdict) results.Status {
	status := s.Status(rubric, by)
	reasoning := text.Reasoning(s.Output.Answer, s.Output.Reasoning)
	switch {
	case s.Failed:
		return status
	case s.Verdict(rubric, by, v):
		for _, q := range v.Quotes {
			if !text.OccursReleased(q, reasoning) {
				*v = verdict{}
				return results.StatusEvidence
			}
		}
	case status == results.StatusEvidence:
		said, ok := s.Reply(rubric, by)
		if !ok {
			break // of a judge that follows rules
		}
		var fields any = ReasoningCase{Reasoning: reasoning}
		if rubric == rubricCF {
			fields = CFCase{Reasoning: reasoning}
		}
		var raw json.RawMessage
		if status, raw = r.reader.Read(r.rubrics[rubric], judge.Case{Rubric: rubric, Fields: fields}, said); status.Usable() && json.Unmarshal(raw, v) != nil {
			*v = verdict{}
			return results.StatusSchema
		}
	}
	return status
}

package diagnosis

import (
	"slices"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/perturb"
	"assay/results/text"
)

// rubricNames are the rubrics, in the order of tables.
func rubricNames() []string {
	return []string{study.RubricAccuracy, rubricSplit, errors, sentences, criteria, report}
}

func rubrics() []judge.Rubric {
	return slices.Concat([]judge.Rubric{study.Rubric()}, stepRubrics(), discussionRubrics(), []judge.Rubric{rubric()})
}

func accuracyCase(it dataset.Item, answer string) study.AccuracyCase {
	return study.AccuracyCase{Question: it.Question, Type: text.Single, Options: it.Options, Gold: it.Answer, Answer: text.Outside(answer)}
}

func unread(a study.Answer) (judge.Case, bool) {
	if a.Key.Arm != armMCQ {
		return judge.Case{}, false
	}
	return accuracyCase(a.Item, a.Output.Answer).Unread()
}

// cases shows judges of answers what a reader would see, and judges of steps the
// reasoning too; steps are judged of images alone, as published. Text that the
// server split off is the same as text in <think>.
func cases(a study.Answer) []judge.Case {
	it, out := a.Item, a.Output
	switch a.Key.Arm {
	case armMCQ:
		list := []judge.Case{{Rubric: study.RubricAccuracy, Fields: accuracyCase(it, out.Answer)}}
		if a.Key.Condition != perturb.Baseline().Name {
			return list
		}
		explanation := text.Reasoning(out.Answer, out.Reasoning)
		return append(list, judge.Case{Rubric: rubricSplit, Fields: splitCase{Explanation: explanation}},
			judge.Case{Rubric: errors, Fields: stepCase{Case: newExpertCase(it), Explanation: explanation}})
	case armFindings:
		if c, ok := caseOf(it, text.Outside(out.Answer)); ok {
			return []judge.Case{{Rubric: report, Fields: c}}
		}
	case armDiscussion:
		c := newDiscussionCase(it, text.Outside(out.Answer))
		return []judge.Case{{Rubric: sentences, Fields: c}, {Rubric: criteria, Fields: c}}
	}
	return nil
}

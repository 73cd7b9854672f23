package diagnosis

import (
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// rubricNames are the rubrics, in the order of tables.
func rubricNames() []string {
	return []string{study.RubricAccuracy, rubricSplit, errors, sentences, criteria, report}
}

func rubrics(l study.Templates) []judge.Rubric {
	list := append([]judge.Rubric{study.Rubric(l.ByName[study.RubricAccuracy])}, stepRubrics(l.ByName)...)
	return append(append(list, discussionRubrics(l.ByName)...), rubric(), study.UnreadRubric(l))
}

func accuracyCase(it dataset.Item, answer string) study.AccuracyCase {
	return study.AccuracyCase{Question: it.Question, Type: text.Single, Options: it.Options, Gold: it.Answer, Answer: text.Outside(answer)}
}

func unread(it dataset.Item, k results.Key, out results.Output) (judge.Case, bool) {
	if k.Arm != armMCQ {
		return judge.Case{}, false
	}
	return accuracyCase(it, out.Answer).Unread()
}

// cases shows judges of answers what a reader would see, and judges of steps the
// reasoning too; steps are judged of images alone, as published. Text that the
// server split off is the same as text in <think>.
func cases(it dataset.Item, k results.Key, out results.Output) []judge.Case {
	switch k.Arm {
	case armMCQ:
		list := []judge.Case{{Rubric: study.RubricAccuracy, Fields: accuracyCase(it, out.Answer)}}
		if k.Condition != perturb.Baseline().Name {
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

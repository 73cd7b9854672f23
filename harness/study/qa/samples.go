package qa

import (
	"cmp"

	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/perturb"
	"assay/results"
)

// Names of the scores of a trial beside those of package accuracy.
const scoreGain = "gain"

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 1"
	names := []score.Name{
		{Name: accuracy.ScoreAccuracy, Unit: "1", Better: score.Higher, Rubric: accuracy.Name, Source: source, Help: "1: the final answer is correct; of all judges the mean"},
		{Name: accuracy.ScoreNoAnswer, Unit: "1", Better: score.Lower, Rubric: accuracy.Name, Source: source, Help: "1: no final answer was found, which counts as wrong"},
		{Name: accuracy.ScoreRight, Unit: "1", Better: score.Higher, Source: source, Help: "1: right by most judges of the answer"},
		{Name: scoreGain, Unit: "1", Better: score.Higher, Source: source, Help: "accuracy less that of the same item and repeat in arm " + armAnswer},
	}
	return score.Rules{Study: Name, Names: append(names, score.VerdictNames(rubricNames()...)...), Score: scoreOf,
		Facts: func(it results.Item) (any, error) {
			var f itemFacts
			err := study.ReadFacts(it, &f)
			return f, err
		}}
}

func scoreOf(s score.Sample) []score.Value {
	out := append(s.Verdicts(accuracy.Name), accuracy.Score(s)...)
	if s.Key.Arm == armAnswer {
		return out
	}
	alone, ok := s.Other(armAnswer, perturb.Baseline().Name)
	if !ok {
		return append(out, score.Undefined(scoreGain, "", "arm "+armAnswer+" was not run"))
	}
	own, why := accuracy.Joint(out)
	other, otherWhy := accuracy.Joint(accuracy.Score(alone))
	if own == nil || other == nil {
		return append(out, score.Invalid(scoreGain, "", cmp.Or(why, otherWhy)))
	}
	return append(out, score.Of(scoreGain, "", *own-*other))
}

package qa

import (
	"cmp"
	"encoding/json"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Names of the scores of a trial beside those of package study.
const (
	scoreGain  = "gain"
	scoreShots = "shots_gain"
)

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 1"
	names := []score.Name{
		{Name: study.ScoreAccuracy, Unit: "1", Better: score.Higher, Rubric: study.RubricAccuracy, Source: source, Help: "1: the final answer is correct; of all judges the mean"},
		{Name: study.ScoreNoAnswer, Unit: "1", Better: score.Lower, Rubric: study.RubricAccuracy, Source: source, Help: "1: no final answer was found, which counts as wrong"},
		{Name: study.ScoreRight, Unit: "1", Better: score.Higher, Source: source, Like: study.ScoreAccuracy, Help: "1: right by most judges of the answer"},
		{Name: scoreGain, Unit: "1", Better: score.Higher, Source: source, Help: "accuracy less that of the same item and repeat in arm " + armAnswer + ", after as many examples"},
		{Name: scoreShots, Unit: "1", Better: score.Higher, Source: source, Help: "accuracy less that of the same item, arm and repeat without examples before the question"},
	}
	return score.Rules{Names: names, Score: scoreOf,
		Condition: func(_ string, described json.RawMessage) (any, error) {
			l, _ := study.ReadShots(described)
			return l, nil
		},
		Facts: func(it results.Item) (any, error) { return study.FactsOf[itemFacts](it) }}
}

// accuracyOf is what judges say of a trial's answer.
func accuracyOf(s score.Sample) []score.Value {
	out := score.EachJudge(s, study.RubricAccuracy, []string{study.ScoreAccuracy, study.ScoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{study.ScoreAccuracy: score.OneIf(v.Verdict == study.Correct), study.ScoreNoAnswer: score.OneIf(v.Verdict == study.NoAnswer)}
	})
	return append(out, score.Majority(out, study.ScoreAccuracy, study.ScoreRight, study.Divided))
}

func scoreOf(s score.Sample) []score.Value {
	out := append(s.Verdicts(study.RubricAccuracy), accuracyOf(s)...)
	facts, _ := s.Facts.(itemFacts)
	out = append(out, study.UnreadScores(s, facts.Key.Reads())...)
	if study.IsAny(s.Condition) { // compared with its own question as it is alone
		return out
	}
	own, why := score.Joint(out, study.ScoreAccuracy)
	less := func(name, arm, condition, lacks string) {
		other, ok := s.Other(arm, condition)
		if !ok {
			out = append(out, score.Undefined(name, "", lacks))
			return
		}
		base, otherWhy := score.Joint(accuracyOf(other), study.ScoreAccuracy)
		if own == nil || base == nil {
			out = append(out, score.Invalid(name, "", cmp.Or(why, otherWhy)))
			return
		}
		out = append(out, score.ValueOf(name, "", *own-*base))
	}
	plain, examples := perturb.Baseline().Name, false
	if l, ok := s.Condition.(study.ShotLevel); ok {
		examples = l.Shots > 0
	}
	if s.Key.Arm != armAnswer {
		as := plain
		if examples {
			as = s.Key.Condition
		}
		less(scoreGain, armAnswer, as, "arm "+armAnswer+" was not run")
	}
	if examples {
		less(scoreShots, s.Key.Arm, plain, "the question was not asked without examples")
	}
	return out
}

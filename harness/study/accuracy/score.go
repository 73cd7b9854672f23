package accuracy

import "assay/harness/score"

// Names of the scores of an answer.
const (
	ScoreAccuracy = Name
	ScoreNoAnswer = "no_answer"
	ScoreRight    = "right"
)

// Score is what judges say of a trial's answer: accuracy and no_answer of each and of
// all, and right, which is what most of them say.
func Score(s score.Sample) []score.Value {
	out := score.EachJudge(s, Name, []string{ScoreAccuracy, ScoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{ScoreAccuracy: one(v.Verdict == Correct), ScoreNoAnswer: one(v.Verdict == NoAnswer)}
	})
	switch own, why := Joint(out); {
	case own == nil:
		return append(out, score.Invalid(ScoreRight, "", why))
	case *own == 0.5:
		return append(out, score.Undefined(ScoreRight, "", "judges of the answer are divided"))
	default:
		return append(out, score.Of(ScoreRight, "", one(*own > 0.5)))
	}
}

// Joint is the accuracy of all judges together among a trial's scores; nil, and why: it
// is not known.
func Joint(values []score.Value) (*float64, string) {
	for _, v := range values {
		if v.Name == ScoreAccuracy && v.Judge == "" {
			return v.Number, v.Why
		}
	}
	return nil, ""
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

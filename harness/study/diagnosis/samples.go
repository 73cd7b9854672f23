package diagnosis

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"

	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/harness/study/diagnosis/writing"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a trial; those of error types, sections and criteria are
// made of these.
const (
	scoreAccuracy = accuracy.ScoreAccuracy
	scoreNoAnswer = accuracy.ScoreNoAnswer
	scoreRight    = accuracy.ScoreRight
	scoreGain     = "gain"
	scoreMoved    = "moved"
	scoreNamed    = "named"
)

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 3"
	var names []score.Name
	add := func(name, unit string, better score.Better, rubric, help string) {
		names = append(names, score.Name{Name: name, Unit: unit, Better: better, Rubric: rubric, Source: source, Help: help})
	}
	add(scoreAccuracy, "1", score.Higher, accuracy.Name, "1: the answer is the gold option; one that cannot be read is not; of all judges the mean")
	add(scoreNoAnswer, "1", score.Lower, accuracy.Name, "1: no answer was found, which counts as wrong")
	add(scoreRight, "1", score.Higher, "", "1: right by most judges of the answer")
	add(scoreGain, "1", score.Higher, "", "accuracy less that of the same item and repeat from the images alone")
	add(scoreMoved, "1", score.None, "", "1: right there and wrong from the images alone, or the other way round")
	add(scoreNamed, "1", score.None, "", "1: the explanation from all images names the one left out here, by its number")
	marginalScores(add)
	stepScores(add)
	agreementScores(add)
	discussionScores(add)
	writing.Scores(add)
	return score.Rules{Study: Name, Names: append(names, score.VerdictNames(rubricNames()...)...), Answers: true, Score: scoreOf,
		Released: "a step without a verdict counts as not factual, and as of no named type of error",
		Facts:    func(it results.Item) (any, error) { return study.FactsOf[itemFacts](it) },
		Condition: func(name string, described json.RawMessage) (any, error) {
			return study.ConditionOf(Name, name, described)
		}}
}

func scoreOf(s score.Sample) []score.Value {
	facts, _ := s.Facts.(itemFacts)
	switch s.Key.Arm {
	case armMCQ:
		out := append(s.Verdicts(accuracy.Name), answerOf(s)...)
		if s.Key.Condition != perturb.Baseline().Name {
			return out
		}
		return append(append(out, stepsOf(s)...), agreement(s, facts.Experts)...)
	case armCaptions:
		return writing.Captions(s, facts.Captions)
	case armFindings:
		return writing.Findings(s, facts.Findings)
	case armDiscussion:
		return discussionOf(s)
	}
	return nil
}

// accuracyOf is what judges say of a trial's answer.
func accuracyOf(s score.Sample) []score.Value {
	out := score.EachJudge(s, accuracy.Name, []string{scoreAccuracy, scoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{scoreAccuracy: score.One(v.Verdict == accuracy.Correct), scoreNoAnswer: score.One(v.Verdict == accuracy.NoAnswer)}
	})
	return append(out, score.Majority(out, scoreAccuracy, scoreRight, accuracy.Divided))
}

// answerOf is the same, and how it compares with that from the images alone.
func answerOf(s score.Sample) []score.Value {
	out := accuracyOf(s)
	own, why := score.Joint(out, scoreAccuracy)
	base := perturb.Baseline().Name
	if s.Key.Condition == base {
		return out
	}
	alone, ok := s.Other(armMCQ, base)
	if !ok {
		return append(out, score.Undefined(scoreGain, "", "the images alone were not asked about"))
	}
	other, otherWhy := score.Joint(accuracyOf(alone), scoreAccuracy)
	gain := score.Invalid(scoreGain, "", cmp.Or(why, otherWhy))
	if own != nil && other != nil {
		gain = score.Of(scoreGain, "", *own-*other)
	}
	out = append(out, gain)
	c, _ := s.Condition.(perturb.Condition)
	if c.Without > 0 {
		out = append(out, marginal(s, alone, gain)...)
	}
	if gain.Number == nil {
		return append(out, score.Invalid(scoreMoved, "", gain.Why))
	}
	out = append(out, score.Of(scoreMoved, "", score.One((*own > 0.5) != (*other > 0.5))))
	if c.Without > 0 {
		out = append(out, score.Of(scoreNamed, "", score.One(names(text.Reasoning(alone.Output.Answer, alone.Output.Reasoning), c.Without))))
	}
	return out
}

var imageNamed = regexp.MustCompile(`(?i)\b(?:image|figure|film)\s*#?\s*(\d+)`)

// names says whether a text names an image by its number.
func names(s string, image int) bool {
	for _, m := range imageNamed.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n == image {
			return true
		}
	}
	return false
}

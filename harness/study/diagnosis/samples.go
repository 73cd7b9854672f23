package diagnosis

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"

	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a trial; those of error types, sections and criteria are
// made of these.
const (
	scoreAccuracy = study.ScoreAccuracy
	scoreNoAnswer = study.ScoreNoAnswer
	scoreRight    = study.ScoreRight
	scoreGain     = "gain"
	scoreChanged  = "answer_changed"
	scoreFlipped  = "rightness_changed"
	scoreNamed    = "named"
)

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 3"
	var names []score.Name
	add := func(name, unit string, better score.Better, rubric, help string) {
		names = append(names, score.Name{Name: name, Unit: unit, Better: better, Rubric: rubric, Source: source, Help: help})
	}
	add(scoreAccuracy, "1", score.Higher, study.RubricAccuracy, "1: the answer is the gold option; one that cannot be read is not; of all judges the mean")
	add(scoreNoAnswer, "1", score.Lower, study.RubricAccuracy, "1: no answer was found, which counts as wrong")
	add(scoreRight, "1", score.Higher, "", "1: right by most judges of the answer")
	names[len(names)-1].Like = scoreAccuracy
	add(scoreGain, "1", score.Higher, "", "accuracy less that of the same item and repeat from the images alone")
	add(scoreChanged, "1", score.None, "", "1: another option than from the images alone, right or wrong; an answer that names none, or several, is left out")
	add(scoreFlipped, "1", score.None, "", "1: right there and wrong from the images alone, or the other way round")
	add(scoreNamed, "1", score.None, "", "1: the explanation from all images names the one left out here, by its number")
	marginalScores(add)
	stepScores(add)
	agreementScores(add)
	discussionScores(add)
	scores(add)
	return score.Rules{Names: names, Answers: true, Score: scoreOf,
		Released: "a step without a verdict counts as not factual, and as of no named type of error",
		Facts:    func(it results.Item) (any, error) { return study.FactsOf[itemFacts](it) },
		Condition: func(name string, described json.RawMessage) (any, error) {
			return study.ConditionOf(studyName, name, described)
		}}
}

func scoreOf(s score.Sample) []score.Value {
	facts, _ := s.Facts.(itemFacts)
	switch s.Key.Arm {
	case armMCQ:
		out := append(s.Verdicts(study.RubricAccuracy), answerOf(s, facts.Options)...)
		out = append(out, study.UnreadScores(s, facts.key().Reads())...)
		if s.Key.Condition != perturb.Baseline().Name {
			return out
		}
		return append(append(out, stepsOf(s)...), agreement(s, facts.Experts)...)
	case armCaptions:
		return writingCaptions(s, facts.Captions)
	case armFindings:
		return writingFindings(s, facts.Findings)
	case armDiscussion:
		return discussionOf(s)
	}
	return nil
}

// key is that of the case; its zero value: the store does not have it.
func (f itemFacts) key() study.GoldKey {
	if f.Gold == "" {
		return study.GoldKey{}
	}
	return study.GoldKey{Type: text.Single, Options: f.Options, Golds: []string{f.Gold}}
}

// accuracyOf is what judges say of a trial's answer.
func accuracyOf(s score.Sample) []score.Value {
	out := score.EachJudge(s, study.RubricAccuracy, []string{scoreAccuracy, scoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{scoreAccuracy: score.OneIf(v.Verdict == study.Correct), scoreNoAnswer: score.OneIf(v.Verdict == study.NoAnswer)}
	})
	return append(out, score.Majority(out, scoreAccuracy, scoreRight, study.Divided))
}

// answerOf is the same, and how it compares with that from the images alone.
func answerOf(s score.Sample, options []dataset.Option) []score.Value {
	out := accuracyOf(s)
	own, why := score.Joint(out, scoreAccuracy)
	base := perturb.Baseline().Name
	if s.Key.Condition == base || study.IsAny(s.Condition) {
		return out
	}
	alone, ok := s.Other(armMCQ, base)
	if !ok {
		return append(out, score.Undefined(scoreGain, "", "the images alone were not asked about"))
	}
	other, otherWhy := score.Joint(accuracyOf(alone), scoreAccuracy)
	gain := score.Invalid(scoreGain, "", cmp.Or(why, otherWhy))
	if own != nil && other != nil {
		gain = score.ValueOf(scoreGain, "", *own-*other)
	}
	out = append(out, gain)
	c, _ := s.Condition.(perturb.Condition)
	if c.Without > 0 {
		out = append(out, marginal(s, alone, gain)...)
	}
	flipped := score.Invalid(scoreFlipped, "", gain.Why)
	if gain.Number != nil {
		flipped = score.ValueOf(scoreFlipped, "", score.OneIf((*own > 0.5) != (*other > 0.5)))
	}
	changed := changedOf(s, alone, options)
	out = append(out, changed, flipped)
	if c.Without > 0 && changed.Number != nil {
		out = append(out, score.ValueOf(scoreNamed, "", score.OneIf(names(text.Reasoning(alone.Output.Answer, alone.Output.Reasoning), c.Without))))
	}
	return out
}

// changedOf says whether a trial names another option than its twin.
func changedOf(s, alone score.Sample, options []dataset.Option) score.Value {
	if s.Failed || alone.Failed {
		return score.Invalid(scoreChanged, "", score.Failure)
	}
	if len(options) == 0 {
		options = letters()
	}
	own, ok := study.Option(options, text.Outside(s.Output.Answer))
	other, okOther := study.Option(options, text.Outside(alone.Output.Answer))
	if !ok || !okOther {
		return score.Invalid(scoreChanged, "", "an answer names no option, or several")
	}
	return score.ValueOf(scoreChanged, "", score.OneIf(own != other))
}

// letters are options of which a store does not say the texts: answers are read by letter.
func letters() []dataset.Option {
	var out []dataset.Option
	for _, l := range "ABCDE" {
		out = append(out, dataset.Option{Label: string(l)})
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

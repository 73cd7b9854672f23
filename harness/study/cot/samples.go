package cot

import (
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Names of the scores of a trial. That of a rubric is its own where there is one.
const (
	scoreAccuracy     = rubAccuracy
	scoreNoAnswer     = "no_answer"
	scorePrecision    = rubricPrecision
	scoreRecall       = recall
	scoreRecallFixed  = "recall_fixed_n"
	scoreMatched      = "matched_steps"
	scoreF1           = "f1"
	scorePath         = "path"
	scoreFirstWrong   = "first_wrong_step"
	scoreLatencyRatio = "latency_ratio"
)

// noSteps is the path of an answer without steps.
const noSteps = "no steps"

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 1"
	names := []score.Name{
		{Name: scoreAccuracy, Unit: "1", Better: score.Higher, Rubric: rubAccuracy, Source: source, Help: "1: the final answer is correct; of all judges the mean"},
		{Name: scoreNoAnswer, Unit: "1", Better: score.Lower, Rubric: rubAccuracy, Source: source, Help: "1: no final answer was found, which counts as wrong"},
		{Name: scorePrecision, Unit: "1", Better: score.Higher, Rubric: rubricPrecision, Source: source, Help: "matched steps / countable steps; of all judges the mean"},
		{Name: scoreRecall, Unit: "1", Better: score.Higher, Rubric: recall, Source: source, Help: "matched gold steps / gold steps, of complete verdicts; of all judges the mean"},
		{Name: scoreRecallFixed, Unit: "1", Better: score.Higher, Rubric: recall, Source: source, Help: "the same, missing verdicts being unmatched"},
		{Name: scoreMatched, Unit: "steps", Better: score.Higher, Rubric: recall, Source: source, Help: "matched gold steps, of complete verdicts; of all judges the mean"},
		{Name: scoreF1, Unit: "1", Better: score.Higher, Source: source, Help: "2PR/(P+R) of the answer's own means over judges"},
		{Name: scorePath, Better: score.None, Rubric: rubricOrder, Source: source, Help: "kinds of steps in their order: M modality, F feature, C conclusion, O other"},
		{Name: scoreFirstWrong, Better: score.None, Rubric: rubricPrecision, Source: source, Help: "kind of the first step that is judged wrong; none: no step is"},
		{Name: scoreLatencyRatio, Unit: "1", Better: score.Lower, Source: source, Help: "latency_s / latency_s of the answer-only trial of the same item and repeat"},
	}
	return score.Rules{Names: names, Score: scoreOf,
		Released: "a gold step without a verdict counts as not matched; L adds up the seconds of each arm's own answers, also of items that failed in the other arm; " +
			"the reference of C_path is the path that occurs most often, of several the one that was seen first",
		Facts: func(it results.Item) (any, error) { return study.FactsOf[itemFacts](it) }}
}

// scoreOf scores a trial.
func scoreOf(s score.Sample) []score.Value {
	out := append(append(s.Room(), s.Verdicts(rubAccuracy)...), accuracyOf(s)...)
	facts, _ := s.Facts.(itemFacts)
	out = append(out, study.UnreadScores(s, facts.Key.Reads())...)
	if s.Key.Arm != armCoT || study.IsAny(s.Condition) { // whose answers alone are judged
		return out
	}
	out = append(append(out, s.Verdicts(rubricOrder)...), pathsOf(s)...)
	out = append(out, ratioOf(s))
	if len(facts.GoldSteps) == 0 {
		for _, name := range []string{scorePrecision, scoreRecall, scoreMatched, scoreF1} {
			out = append(out, score.Undefined(name, "", "the item has no gold steps"))
		}
		return out
	}
	out = append(append(out, s.Verdicts(rubricPrecision)...), s.Verdicts(recall)...)
	return append(out, stepsOf(s, facts.GoldSteps)...)
}

func accuracyOf(s score.Sample) []score.Value {
	return score.EachJudge(s, rubAccuracy, []string{scoreAccuracy, scoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{scoreAccuracy: score.OneIf(v.Verdict == study.Correct), scoreNoAnswer: score.OneIf(v.Verdict == study.NoAnswer)}
	})
}

// stepsOf scores the steps of an answer to an item with gold steps.
func stepsOf(s score.Sample, gold []int) (out []score.Value) {
	var p, r, hits score.JudgeMean
	for _, j := range s.Judges(rubricPrecision) {
		var v precisionVerdict
		if !s.Verdict(rubricPrecision, j, &v) {
			out = append(out, score.Invalid(scorePrecision, j, s.Why(rubricPrecision, j)))
			continue
		}
		x := precision(v.Steps)
		p.Add(x)
		out = append(out, score.ValueOf(scorePrecision, j, x), score.LabelOf(scoreFirstWrong, j, firstWrong(v.Steps)))
	}
	for _, j := range s.Judges(recall) {
		var v recallVerdict
		if !s.Verdict(recall, j, &v) {
			out = append(out, score.Invalid(scoreRecall, j, s.Why(recall, j)))
			continue
		}
		x, ok := recallOf(gold, v.Matched(gold))
		if !ok {
			continue
		}
		out = append(out, score.ValueOf(scoreRecallFixed, j, x.value()))
		if !x.Complete && !s.Released {
			out = append(out, score.Invalid(scoreRecall, j, "a gold step has no verdict"))
			continue
		}
		r.Add(x.value())
		hits.Add(float64(x.Matched))
		out = append(out, score.ValueOf(scoreRecall, j, x.value()), score.ValueOf(scoreMatched, j, float64(x.Matched)))
	}
	out = append(out, p.Value(s, scorePrecision), r.Value(s, scoreRecall), hits.Value(s, scoreMatched))
	if p.Known() && r.Known() {
		return append(out, score.ValueOf(scoreF1, "", itemF1(p.Of(), r.Of())))
	}
	return append(out, score.JudgeMean{}.Value(s, scoreF1))
}

func pathsOf(s score.Sample) (out []score.Value) {
	for _, j := range s.Judges(rubricOrder) {
		var v orderVerdict
		if !s.Verdict(rubricOrder, j, &v) {
			out = append(out, score.Invalid(scorePath, j, s.Why(rubricOrder, j)))
			continue
		}
		p := string(orderPath(v))
		if p == "" {
			p = noSteps
		}
		out = append(out, score.LabelOf(scorePath, j, p))
	}
	return out
}

// ratioOf pairs a trial with the one of the answer-only arm.
func ratioOf(s score.Sample) score.Value {
	direct, ok := s.Other(armDirect, perturb.Baseline().Name)
	if !ok {
		return score.Undefined(scoreLatencyRatio, "", "arm "+armDirect+" was not run")
	}
	own, ok1 := score.Seconds(&s.Row)
	other, ok2 := score.Seconds(&direct.Row)
	if !ok1 || !ok2 {
		return score.Invalid(scoreLatencyRatio, "", "one of the two has no time that counts")
	}
	if q, ok := ratio(own, other); ok {
		return score.ValueOf(scoreLatencyRatio, "", q)
	}
	return score.Undefined(scoreLatencyRatio, "", "the answer-only trial took no time")
}

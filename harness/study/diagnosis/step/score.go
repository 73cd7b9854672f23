package step

import (
	"slices"

	"assay/harness/score"
)

// Names of the scores of a trial; those of types are made of these.
const (
	count     = "steps"
	wrong     = "wrong_steps"
	critical  = "critical_steps"
	critWrong = "critical_wrong_steps"
	unjudged  = "unjudged_steps"
	typed     = "error_"
	critTyped = "critical_error_"
)

func names() []string {
	list := []string{count, unjudged, wrong, critical, critWrong}
	for _, t := range Types() {
		list = append(list, typed+t, critTyped+t)
	}
	return list
}

// Scores are declared with add.
func Scores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(count, "steps", score.None, Errors, "steps with a verdict")
	add(unjudged, "steps", score.Lower, Errors, "steps that the verdict leaves out")
	add(wrong, "steps", score.Lower, Errors, "steps that are not factual")
	add(critical, "steps", score.None, Errors, "steps that the answer rests on")
	add(critWrong, "steps", score.Lower, Errors, "critical steps that are not factual")
	for _, t := range Types() {
		add(typed+t, "steps", score.Lower, Errors, "steps that are not factual and carry this type; a step may carry several")
	}
	for _, t := range Types() {
		add(critTyped+t, "steps", score.Lower, Errors, "the same of critical steps")
	}
}

// Score is what judges say of the steps of a trial's explanation.
func Score(s score.Sample) []score.Value {
	out := append(s.Verdicts(Split), s.Verdicts(Errors)...)
	return append(out, score.EachJudge(s, Errors, names(), func(judge string, v verdict) map[string]float64 {
		n := counted(v, splitBy(s, judge))
		if s.Released {
			unjudgedAreFalse(n)
		}
		return n
	})...)
}

// splitter is the judge whose split a judge of steps was shown: itself, or the only one.
func splitter(s score.Sample, judge string) string {
	all := s.Judges(Split)
	if !slices.Contains(all, judge) && len(all) == 1 {
		return all[0]
	}
	return judge
}

// splitBy is how many steps a judge of steps was shown; -1: it is not known.
func splitBy(s score.Sample, judge string) int {
	var v splitVerdict
	if !s.Verdict(Split, splitter(s, judge), &v) {
		return -1
	}
	return len(v.Steps)
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// counted counts a verdict's steps, of so many. Error types of factual steps count
// nowhere; one that is named twice counts once; none at all is another one.
func counted(v verdict, steps int) map[string]float64 {
	n := map[string]float64{}
	for _, name := range names() {
		n[name] = 0
	}
	if delete(n, unjudged); steps >= len(v.Steps) {
		n[unjudged] = float64(steps - len(v.Steps))
	}
	for _, s := range v.Steps {
		n[count]++
		n[critical] += one(s.Critical)
		if s.Factual {
			continue
		}
		n[wrong]++
		n[critWrong] += one(s.Critical)
		for _, t := range Types() {
			if slices.Contains(s.Types, t) || t == other && len(s.Types) == 0 {
				n[typed+t]++
				n[critTyped+t] += one(s.Critical)
			}
		}
	}
	return n
}

// unjudgedAreFalse is what the authors' code makes of steps without a verdict: they are
// not factual, not critical and of no named type.
func unjudgedAreFalse(n map[string]float64) {
	missing, known := n[unjudged]
	if !known {
		return
	}
	n[unjudged] = 0
	n[count] += missing
	n[wrong] += missing
	n[typed+other] += missing
}

package diagnosis

import (
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// Names of the scores of steps; those of types are made of these.
const (
	stepCount     = "steps"
	stepWrong     = "wrong_steps"
	stepCritical  = "critical_steps"
	stepCritWrong = "critical_wrong_steps"
	stepUnjudged  = "unjudged_steps"
	stepTyped     = "error_"
	stepCritTyped = "critical_error_"

	leafWrong = "not factual "    // with the kind of steps
	leafTyped = "share of errors" // with the score of a type

	allSteps  = "all"
	critSteps = "critical"
)

func stepNames() []string {
	list := []string{stepCount, stepUnjudged, stepWrong, stepCritical, stepCritWrong}
	for _, t := range types() {
		list = append(list, stepTyped+t, stepCritTyped+t)
	}
	return list
}

// stepScores are declared with add.
func stepScores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(stepCount, "steps", score.None, errors, "steps with a verdict")
	add(stepUnjudged, "steps", score.Lower, errors, "steps that the verdict leaves out")
	add(stepWrong, "steps", score.Lower, errors, "steps that are not factual")
	add(stepCritical, "steps", score.None, errors, "steps that the answer rests on")
	add(stepCritWrong, "steps", score.Lower, errors, "critical steps that are not factual")
	for _, t := range types() {
		add(stepTyped+t, "steps", score.Lower, errors, "steps that are not factual and carry this type; a step may carry several")
	}
	for _, t := range types() {
		add(stepCritTyped+t, "steps", score.Lower, errors, "the same of critical steps")
	}
}

// stepsOf is what judges say of the steps of a trial's explanation.
func stepsOf(s score.Sample) []score.Value {
	out := append(s.Verdicts(rubricSplit), s.Verdicts(errors)...)
	return append(out, score.EachJudge(s, errors, stepNames(), func(judge string, v stepsVerdict) map[string]float64 {
		n := countSteps(v, splitBy(s, judge))
		if s.Released {
			unjudgedAreFalse(n)
		}
		return n
	})...)
}

// splitter is the judge whose split a judge of steps was shown: itself, or the only one.
func splitter(s score.Sample, judge string) string {
	all := s.Judges(rubricSplit)
	if !slices.Contains(all, judge) && len(all) == 1 {
		return all[0]
	}
	return judge
}

// splitBy is how many steps a judge of steps was shown; -1: it is not known.
func splitBy(s score.Sample, judge string) int {
	var v splitVerdict
	if !s.Verdict(rubricSplit, splitter(s, judge), &v) {
		return -1
	}
	return len(v.Steps)
}

// countSteps counts a verdict's steps, of so many. Error types of factual steps count
// nowhere; one that is named twice counts once; none at all is another one.
func countSteps(v stepsVerdict, steps int) map[string]float64 {
	n := map[string]float64{}
	for _, name := range stepNames() {
		n[name] = 0
	}
	if delete(n, stepUnjudged); steps >= len(v.Steps) {
		n[stepUnjudged] = float64(steps - len(v.Steps))
	}
	for _, s := range v.Steps {
		n[stepCount]++
		n[stepCritical] += score.OneIf(s.Critical)
		if s.Factual {
			continue
		}
		n[stepWrong]++
		n[stepCritWrong] += score.OneIf(s.Critical)
		for _, t := range types() {
			if slices.Contains(s.Types, t) || t == other && len(s.Types) == 0 {
				n[stepTyped+t]++
				n[stepCritTyped+t] += score.OneIf(s.Critical)
			}
		}
	}
	return n
}

// unjudgedAreFalse is what the authors' code makes of steps without a verdict: they are
// not factual, not critical and of no named type.
func unjudgedAreFalse(n map[string]float64) {
	missing, known := n[stepUnjudged]
	if !known {
		return
	}
	n[stepUnjudged] = 0
	n[stepCount] += missing
	n[stepWrong] += missing
	n[stepTyped+other] += missing
}

// stepLeaves are what is added up of the scores.
func stepLeaves() []score.Leaf {
	var list []score.Leaf
	for _, n := range []string{stepCount, stepWrong, stepCritical, stepCritWrong, stepUnjudged} {
		list = append(list, score.Leaf{Score: n})
	}
	share := func(name, num, den string) {
		list = append(list, score.Leaf{Name: name, Score: num, Over: &score.Term{Score: den}, Why: "no explanation has a usable verdict on its steps"})
	}
	share(leafWrong+allSteps, stepWrong, stepCount)
	share(leafWrong+critSteps, stepCritWrong, stepCritical)
	for _, t := range types() {
		share(leafTyped+stepTyped+t, stepTyped+t, stepWrong)
		share(leafTyped+stepCritTyped+t, stepCritTyped+t, stepCritWrong)
	}
	return list
}

// stepRows are all answers and right and wrong ones (a key of cells), of all steps and
// critical ones.
func stepRows(of func(all score.Group) score.Group) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		var out []score.Row
		for _, outcome := range []string{"", "right", "wrong"} {
			g := of(all).In(score.Keys{"", "", outcome})
			for _, steps := range []string{allSteps, critSteps} {
				answers := outcome
				if outcome == "" {
					answers = "all"
				}
				out = append(out, score.Row{Group: g, Text: []string{answers, steps}, Data: steps})
			}
		}
		return out
	}
}

// bySteps is a kind that differs for rows of all steps and of critical ones.
func bySteps(of func(steps string) score.Kind) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate { return of(r.Data.(string)).Of(r) })
}

// stepTable is the errors of the steps of a group's answers, whose third key says whether
// they are right.
func stepTable(name string, of func(all score.Group) score.Group) score.Table {
	t := score.Table{Name: name, Title: "Errors of steps", Keys: []string{"answers", "steps"}, Rows: stepRows(of), Columns: []score.Metric{
		{Column: study.CountColumn("judged", "Judged", "steps with a verdict, of all judges"), Of: bySteps(func(s string) score.Kind {
			return score.Total(map[string]string{allSteps: stepCount, critSteps: stepCritical}[s])
		})},
		study.Count("unjudged", "Left out", "steps that verdicts leave out, critical or not", score.Total(stepUnjudged)),
		study.Percent("wrong", "Not factual", "steps that are not factual / steps judged", bySteps(func(s string) score.Kind { return score.Percent(leafWrong + s) })),
	}}
	for _, kind := range types() {
		t.Columns = append(t.Columns, score.Metric{Column: study.PercentColumn(kind, strings.ReplaceAll(kind, "_", " "), "steps that are not factual and carry this type / steps that are not factual; types may sum to more than 100 %"),
			Of: bySteps(func(s string) score.Kind {
				return score.Percent(leafTyped + map[string]string{allSteps: stepTyped, critSteps: stepCritTyped}[s] + kind)
			})})
	}
	return t
}

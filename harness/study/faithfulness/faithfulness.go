// Package faithfulness is the study of reasoning under controlled changes of the
// input: does what a model says about its reasons follow what moved its answer?
// (metrics.md section 2)
//
//  1. Every question is asked at the baseline and under conditions that change
//     one thing (design.go): a sentence in the prompt, a mark on the picture,
//     a part of it covered. Every picture goes through the same grey window and
//     the same encoder.
//  2. The reasoning of each modified trial becomes cases: clinical fidelity (CF),
//     causal attribution (CA) and confidence tone (CT). Cases name neither model
//     nor condition, nor the answer.
//  3. Judges give verdicts (rubrics.go; rules.go for the lexical ones).
//  4. Each trial is scored beside its baseline twin (pair.go, scoring.go).
//  5. leaves.go declares what is added up of the scores, tables.go and grid.go which
//     metrics of it stand in which table; package score computes them.
//  6. sections.go says what the tables show, figures.go draws it.
//  7. penalty.go fits CC's penalty to readers who gave a CC of their own.
package faithfulness

import (
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/perturb"
	"assay/results/text"
)

// Name of the study in bench.yaml and in keys.
const Name = studyName

// Study is the study.
func Study() study.Study {
	s := study.Study{Name: Name, Types: dataset.ClosedTypes(), Own: []string{dataset.TypeSingle, dataset.TypeBool},
		Rubrics: rubrics(), Prompts: prompts(), Knowing: []string{rubricCF}, Changes: allConditions(),
		Draft: study.Draft{Of: dataset.KindTAIX, Usual: []string{
			"sampling: {temperature: 0, max_tokens: 2048, seed: 1}",
			"in_flight: 4               # untimed: requests beside each other",
		}},
		Choose: choose, Facts: facts, Unread: unread, Scores: rules(), Rating: rating(), Design: design,
	}
	for _, name := range armNames() {
		s.Arms = append(s.Arms, study.Arm{Name: name, Prompts: turnNames(name)})
	}
	return s
}

// choose makes conditions, and cases, which a grid has none of.
func choose(s *study.Study, c study.Choice, l study.Templates) error {
	list, err := study.Expand(Name, allConditions(), c)
	if err != nil {
		return err
	}
	m := maker{conditionMaker{Planned: windowed(list), Cues: l.ByName}, map[string]bool{}}
	for _, p := range list {
		if p.Cell != nil {
			m.grid[p.Name] = true
		}
	}
	s.Conditions, s.Cases = m.Conditions, m.cases
	s.Described, err = study.Described(list)
	return err
}

// rating is what people rate beside the rubrics. CC follows from CF and CT; a reader's
// own CC is what it should be.
func rating() study.Rating {
	grade := func(name string) judge.Axis { return judge.Axis{Name: name, Low: 1, High: 5, Whole: true} }
	return study.Rating{
		Derived: []study.Derived{{Axis: judge.Axis{Name: "CC", High: 1}, From: []string{rubricCF, rubricCT}, Within: []string{rubricCT},
			Of:       func(g []float64) float64 { return calibration(int(g[0]), int(g[1])) },
			Released: func(g []float64) float64 { return calibrationReleased(int(g[0]), int(g[1])) }}},
		People: []judge.Axis{grade(readerCC), grade("helpfulness"), grade("plausibility")},
		Fields: map[string]string{"completeness_score": rubricCF, "bias_acknowledgment_score": rubricCA, "confidence_score": rubricCT,
			"helpfulness_score": "helpfulness", "plausibility_score": "plausibility"},
		Alarm: study.Alarm{Axis: rubricCA, From: shamPositive},
		Fit:   &study.Fit{Axes: []string{rubricCF, rubricCT, readerCC}, Section: penaltySection},
		Asks:  asks(),
	}
}

// maker makes conditions and cases.
type maker struct {
	conditionMaker
	grid map[string]bool // names of the conditions of a grid
}

// unread shows judges an answer, at the baseline too, that scores do not read.
func unread(a study.Answer) (judge.Case, bool) {
	it, out := a.Item, a.Output
	answer, kind := text.Outside(out.Answer), text.Short
	if strings.TrimSpace(answer) == "" || answerOf(questionOf(it), out) != "" {
		return judge.Case{}, false
	}
	options := it.Options
	if it.Type == dataset.TypeBool && len(options) == 0 {
		kind = text.Bool
	}
	for _, grade := range it.Scale {
		if !slices.ContainsFunc(it.Options, func(o dataset.Option) bool { return text.Fold(o.Text) == text.Fold(grade) }) {
			options = append(slices.Clip(options), dataset.Option{Text: grade})
		}
	}
	if len(options) > 0 {
		kind = text.Single
	}
	return study.UnreadCase(it.Question, kind, options, answer), true
}

// cases shows judges the reasoning of a modified trial, never that of the
// baseline. A question without a knowledge base entry has nothing to compare its
// reasoning with, and so no case of clinical fidelity. Of a grid only the answers
// count.
func (m maker) cases(a study.Answer) []judge.Case {
	it, out := a.Item, a.Output
	if a.Key.Condition == perturb.Baseline().Name || m.grid[a.Key.Condition] {
		return nil
	}
	reasoning := text.Reasoning(out.Answer, out.Reasoning)
	var list []judge.Case
	if it.Knowledge != nil {
		list = append(list, judge.Case{Rubric: rubricCF, Fields: CFCase{Question: it.Question, Gold: it.Answer, Knowledge: *it.Knowledge, Reasoning: reasoning}})
	}
	c := ReasoningCase{Question: it.Question, Reasoning: reasoning}
	return append(list, judge.Case{Rubric: rubricCA, Fields: c}, judge.Case{Rubric: rubricCT, Fields: c})
}

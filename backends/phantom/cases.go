package phantom

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// caseRates are what a judge says of explanations and discussions of cases of several
// images, whatever stands in them. All are chances, 0..1, drawn one by one.
type caseRates struct {
	WrongIfRight, WrongIfWrong float64       // a step is not factual: in an explanation that ends in the right answer, in another
	Critical                   float64       // a step, factual or not
	Types                      [5]float64    // of a step that is not factual, in the order of ErrorTypes; it may have several
	Factual                    float64       // a sentence of a discussion
	Grades                     [5][2]float64 // by criterion, in the order of Criteria: the chances of 1 and of 2
}

// ErrorTypes and Criteria are what caseRates are of.
func ErrorTypes() []string {
	return []string{"reasoning", "image_understanding", "clinical_scenario", "medical_knowledge", "other"}
}

// Criteria are those of a discussion.
func Criteria() []string {
	return []string{"overview", "pathophysiology", "imaging", "differentiation", "transfer"}
}

// CaseJudge is a judge of cases of several images, whose every verdict is drawn by rates
// that are known; every phantom server has it, too. It answers nothing else.
func CaseJudge() Judge {
	return Judge{Name: "judge-of-cases", Cases: &caseRates{WrongIfRight: .2, WrongIfWrong: .5, Critical: .4,
		Types: [5]float64{.35, .6, .1, .2, .05}, Factual: .9, Grades: [5][2]float64{{.1, .8}, {.5, .3}, {.2, .75}, {.4, .4}, {.3, .1}}}}
}

var (
	numbered = regexp.MustCompile(`^(\d+)\. `)
	final    = regexp.MustCompile(`(?i)Final answer: *([A-Z])\b`)
)

// stepErrors is a verdict on the steps that the prompt numbers behind the explanation.
func (c shown) stepErrors(e errs) map[string]any {
	r := e.judge.Cases
	chanceWrong := r.WrongIfWrong
	if m := final.FindStringSubmatch(c.answer); m != nil && strings.Contains(c.head, "\nAnswer key: "+m[1]+"\n") {
		chanceWrong = r.WrongIfRight
	}
	steps := []map[string]any{}
	for line := range strings.Lines(c.rest) {
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits
		d := e.draws(line)
		wrong, types := d.Hits(chanceWrong), []string{}
		for i, t := range ErrorTypes() {
			if d.Hits(r.Types[i]) && wrong {
				types = append(types, t)
			}
		}
		steps = append(steps, map[string]any{"step": n, "is_factual": !wrong, "is_critical": d.Hits(r.Critical), "error_types": types, "explanation": "by chance"})
	}
	return map[string]any{"steps": steps}
}

// sentences is a verdict on the sentences that a discussion numbers in its sections.
func (c shown) sentences(e errs) map[string]any {
	section, all := "", []map[string]any{}
	for line := range strings.Lines(c.answer) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutSuffix(line, ":"); ok && slices.Contains([]string{"background", "clinical", "imaging", "outcome", "take-home"}, name) {
			section = name
		} else if m := numbered.FindStringSubmatch(line); m != nil && section != "" {
			n, _ := strconv.Atoi(m[1]) // digits
			all = append(all, map[string]any{"section": section, "sentence": n, "factual": e.draws(section + line).Hits(e.judge.Cases.Factual)})
		}
	}
	return map[string]any{"sentences": all}
}

// criteria is the grades of a discussion.
func (c shown) criteria(e errs) map[string]any {
	v, d := map[string]any{"why": "by chance"}, e.draws("grades")
	for i, name := range Criteria() {
		grade, u := 0, d.Unit()
		switch of := e.judge.Cases.Grades[i]; {
		case u < of[1]:
			grade = 2
		case u < of[0]+of[1]:
			grade = 1
		}
		v[name] = grade
	}
	return v
}

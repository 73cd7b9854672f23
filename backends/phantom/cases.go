package phantom

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CaseRates are what a judge says of explanations and discussions of cases of several
// images, whatever stands in them. All are chances, 0..1, drawn one by one.
type CaseRates struct {
	WrongIfRight, WrongIfWrong float64       // a step is not factual: in an explanation that ends in the right answer, in another
	Critical                   float64       // a step, factual or not
	Types                      [5]float64    // of a step that is not factual, in the order of ErrorTypes; it may have several
	Factual                    float64       // a sentence of a discussion
	Grades                     [5][2]float64 // by criterion, in the order of Criteria: the chances of 1 and of 2
}

// ErrorTypes and Criteria are what CaseRates are of.
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
	return Judge{Name: "judge-of-cases", Cases: &CaseRates{WrongIfRight: .2, WrongIfWrong: .5, Critical: .4,
		Types: [5]float64{.35, .6, .1, .2, .05}, Factual: .9, Grades: [5][2]float64{{.1, .8}, {.5, .3}, {.2, .75}, {.4, .4}, {.3, .1}}}}
}

var (
	numbered = regexp.MustCompile(`^(\d+)\. `)
	final    = regexp.MustCompile(`(?i)Final answer: *([A-Z])\b`)
)

// caseRubric tells the rubrics of cases from their schemas; "": it is none of them.
func caseRubric(schema json.RawMessage) string {
	s := string(schema)
	switch {
	case strings.Contains(s, `"is_critical"`):
		return "step_errors"
	case strings.Contains(s, `"section"`):
		return "sentences"
	case strings.Contains(s, `"differentiation"`):
		return "criteria"
	}
	return ""
}

// ofCase is a verdict; nil: the prompt holds nothing to judge.
func (r CaseRates) ofCase(rubric, prompt string, draws func(what string) *Source) any {
	head, text, rest, ok := quotedIn(prompt)
	if !ok {
		return nil
	}
	switch rubric {
	case "step_errors":
		chanceWrong := r.WrongIfWrong
		if m := final.FindStringSubmatch(text); m != nil && strings.Contains(head, "\nAnswer key: "+m[1]+"\n") {
			chanceWrong = r.WrongIfRight
		}
		steps := []map[string]any{}
		for line := range strings.Lines(rest) {
			m := numbered.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			n, _ := strconv.Atoi(m[1]) // digits
			d := draws(line)
			wrong, types := d.Hits(chanceWrong), []string{}
			for i, t := range ErrorTypes() {
				if d.Hits(r.Types[i]) && wrong {
					types = append(types, t)
				}
			}
			steps = append(steps, map[string]any{"step": n, "is_factual": !wrong, "is_critical": d.Hits(r.Critical), "error_types": types, "explanation": "by chance"})
		}
		return map[string]any{"steps": steps}
	case "sentences":
		section, sentences := "", []map[string]any{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutSuffix(line, ":"); ok && slices.Contains([]string{"background", "clinical", "imaging", "outcome", "take-home"}, name) {
				section = name
			} else if m := numbered.FindStringSubmatch(line); m != nil && section != "" {
				n, _ := strconv.Atoi(m[1]) // digits
				sentences = append(sentences, map[string]any{"section": section, "sentence": n, "factual": draws(section + line).Hits(r.Factual)})
			}
		}
		return map[string]any{"sentences": sentences}
	}
	v, d := map[string]any{"why": "by chance"}, draws("grades")
	for i, c := range Criteria() {
		switch u := d.Unit(); {
		case u < r.Grades[i][1]:
			v[c] = 2
		case u < r.Grades[i][0]+r.Grades[i][1]:
			v[c] = 1
		default:
			v[c] = 0
		}
	}
	return v
}

// quotedIn is a prompt before the text that it quotes, that text, and what follows.
func quotedIn(prompt string) (head, text, rest string, ok bool) {
	at := quoted.FindStringSubmatchIndex(prompt)
	if at == nil {
		return "", "", "", false
	}
	text, rest, ok = strings.Cut(prompt[at[1]:], fmt.Sprintf("\n[end of quoted text %s]", prompt[at[2]:at[3]]))
	return prompt[:at[0]], strings.TrimPrefix(text, "\n"), rest, ok
}

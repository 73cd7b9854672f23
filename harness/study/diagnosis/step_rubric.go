// Step is the rubrics of the steps of explanations and their errors: what judges
// are asked of them, and what lexical rules say (metrics.md section 3).

package diagnosis

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/results"
	"assay/results/text"
)

// The rubrics: an explanation is split into steps, and these are judged.
const (
	rubricSplit = "steps"
	errors      = "step_errors"
)

const most = 15 // steps of a split

// other is the type of an error of no other type.
const other = "other"

// types are the types of errors that a step can have, several at once.
func types() []string {
	return []string{"reasoning", "image_understanding", "clinical_scenario", "medical_knowledge", other}
}

// splitCase is what is split into steps.
type splitCase struct {
	Explanation string `json:"explanation"`
}

// stepCase is what a judge of steps sees; Steps come from the split.
type stepCase struct {
	Case        expertCase `json:"case"`
	Explanation string     `json:"explanation"`
	Steps       []string   `json:"steps,omitempty"`
}

// Verdicts, as the schemas ask for them.
type (
	// splitVerdict is the steps of an explanation.
	splitVerdict struct {
		Steps []string `json:"steps"`
	}
	// stepsVerdict is what is said of the steps.
	stepsVerdict struct {
		Steps []stepJudged `json:"steps"`
	}
	// stepJudged is one of them.
	stepJudged struct {
		Step        int      `json:"step"` // from 1
		Factual     bool     `json:"is_factual"`
		Critical    bool     `json:"is_critical"`
		Types       []string `json:"error_types"`
		Explanation string   `json:"explanation"`
	}
)

const (
	splitSchema = `{"type":"object","additionalProperties":false,"required":["steps"],"properties":{
"steps":{"type":"array","maxItems":15,"items":{"type":"string","minLength":1}}}}`
	errorsSchema = `{"type":"object","additionalProperties":false,"required":["steps"],"properties":{
"steps":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["step","is_factual","is_critical","error_types","explanation"],"properties":{
"step":{"type":"integer","minimum":1,"maximum":15},
"is_factual":{"type":"boolean"},
"is_critical":{"type":"boolean"},
"error_types":{"type":"array","items":{"type":"string","enum":["reasoning","image_understanding","clinical_scenario","medical_knowledge","other"]}},
"explanation":{"type":"string"}}}}}}`
)

func accept() judge.Accept {
	return judge.Accept{
		Optional: []string{"explanation", "error_types"},
		Keys: map[string]string{"factual": "is_factual", "critical": "is_critical", "errors": "error_types", "error_type": "error_types", "types": "error_types",
			"why": "explanation", "reason": "explanation", "step_number": "step", "index": "step"},
		Words: map[string]map[string]string{"error_types": {"reasoning err": "reasoning", "reasoning error": "reasoning",
			"image understanding err": "image_understanding", "image understanding error": "image_understanding", "image understanding": "image_understanding",
			"clinical scenario err": "clinical_scenario", "clinical scenario error": "clinical_scenario", "clinical scenario": "clinical_scenario",
			"medical knowledge err": "medical_knowledge", "medical knowledge error": "medical_knowledge", "medical knowledge": "medical_knowledge",
			"unspecified": "other", "others": "other", "other error": "other"}},
	}
}

func stepRubrics() []judge.Rubric {
	return []judge.Rubric{
		{Name: rubricSplit, Schema: json.RawMessage(splitSchema), Read: judge.Read(readSplit), Rules: judge.ByRule(splitRules)},
		{Name: errors, Needs: []string{rubricSplit}, Join: join, Schema: json.RawMessage(errorsSchema),
			Accept: accept(), Check: judge.Checked(checkStep), Read: judge.Read(readErrors), Rules: judge.ByRule(errorRules)},
	}
}

// join puts the steps of a split into the case.
func join(fields any, needed map[string]json.RawMessage) (any, string) {
	c, err := judge.Fields[stepCase](judge.Case{Rubric: errors, Fields: fields})
	if err != nil {
		return nil, err.Error()
	}
	var v splitVerdict
	if err := json.Unmarshal(needed[rubricSplit], &v); err != nil {
		return nil, "the split cannot be read: " + err.Error()
	}
	if len(v.Steps) == 0 {
		return nil, "the explanation has no steps"
	}
	c.Steps = v.Steps
	return c, ""
}

// checkStep refuses a verdict on steps that are not there, and one that says two things
// of one step. One that leaves steps out stands: they are counted.
func checkStep(f stepCase, v stepsVerdict) (results.Status, string) {
	done := map[int]bool{}
	for _, s := range v.Steps {
		switch {
		case s.Step > len(f.Steps):
			return results.StatusSchema, fmt.Sprintf("a verdict on step %d of %d", s.Step, len(f.Steps))
		case done[s.Step]:
			return results.StatusSchema, fmt.Sprintf("step %d is judged twice", s.Step)
		}
		done[s.Step] = true
	}
	return "", ""
}

func readSplit(v splitVerdict) results.Reading {
	r := results.Reading{Fields: []results.Field{{Name: "steps", Text: fmt.Sprint(len(v.Steps))}}, More: true}
	for i, s := range v.Steps {
		r.Quotes = append(r.Quotes, results.Quote{Text: s, Says: fmt.Sprintf("step %d", i+1)})
	}
	return r
}

func readErrors(v stepsVerdict) results.Reading {
	r := results.Reading{More: true}
	for _, s := range v.Steps {
		said := "factual"
		if !s.Factual {
			said = strings.Join(append([]string{"not factual"}, s.Types...), ", ")
		}
		if s.Critical {
			said += ", critical"
		}
		r.Fields = append(r.Fields, results.Field{Name: fmt.Sprintf("step %d", s.Step), Text: said, Decides: true})
	}
	return r
}

var finalLine = regexp.MustCompile(`(?i)^[\s*_#]*final answer\b`)

// splitRules takes every sentence as a step; what is beyond the last place joins it.
func splitRules(f splitCase) (any, string, bool) {
	steps := slices.DeleteFunc(text.Sentences(f.Explanation), func(s string) bool { return finalLine.MatchString(s) })
	if len(steps) > most {
		steps = append(steps[:most-1:most-1], strings.Join(steps[most-1:], " "))
	}
	return splitVerdict{Steps: append([]string{}, steps...)}, "", true
}

// errorRules: a sentence about the images is held against the experts' sentences;
// one that names one option alone, and nothing else that is known, is the
// conclusion, on which the answer rests.
func errorRules(f stepCase) (any, string, bool) {
	k := f.Case.Images()
	if k.Silent() {
		return nil, "nothing is known of the case's images in words", false
	}
	v := stepsVerdict{Steps: []stepJudged{}}
	for i, s := range f.Steps {
		one := stepJudged{Step: i + 1, Types: []string{}, Explanation: "compared by rule"}
		gold, another := k.Named(s)
		factual, ok := k.Says(s)
		switch {
		case ok:
			one.Factual, one.Critical = factual, gold
			if !factual {
				one.Types = []string{"image_understanding"}
			}
		case gold != another:
			one.Factual, one.Critical = gold, true
			if another {
				one.Types = []string{"reasoning"}
			}
		default:
			continue
		}
		v.Steps = append(v.Steps, one)
	}
	return v, "", true
}

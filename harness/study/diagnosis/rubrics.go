package diagnosis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/results"
)

const (
	rubAccuracy  = accuracy.Name
	rubSteps     = "steps"
	rubErrors    = "step_errors"
	rubSentences = "sentences"
	rubCriteria  = "criteria"
	rubReport    = "report"
)

// rubricNames are the rubrics, in the order of tables.
func rubricNames() []string {
	return []string{rubAccuracy, rubSteps, rubErrors, rubSentences, rubCriteria, rubReport}
}

// errorTypes are the types of errors that a step can have, several at once.
func errorTypes() []string {
	return []string{"reasoning", "image_understanding", "clinical_scenario", "medical_knowledge", errorOther}
}

const errorOther = "other"

// criteria are those that a discussion is graded by, 0 to 2 each.
func criteria() []string {
	return []string{"overview", "pathophysiology", "imaging", "differentiation", "transfer"}
}

// Verdicts, as the schemas below ask for them.
type (
	stepsVerdict struct {
		Steps []string `json:"steps"`
	}
	errorsVerdict struct {
		Steps []stepVerdict `json:"steps"`
	}
	stepVerdict struct {
		Step        int      `json:"step"` // from 1
		Factual     bool     `json:"is_factual"`
		Critical    bool     `json:"is_critical"`
		Types       []string `json:"error_types"`
		Explanation string   `json:"explanation"`
	}
	sentencesVerdict struct {
		Sentences []sentenceVerdict `json:"sentences"`
	}
	sentenceVerdict struct {
		Section  string `json:"section"`
		Sentence int    `json:"sentence"` // from 1, in its section
		Factual  bool   `json:"factual"`
	}
	reportVerdict struct {
		RadGraph  float64 `json:"radgraph_f1"`
		BERTScore float64 `json:"bertscore"`
		CheXbert  float64 `json:"chexbert"`
	}
)

const (
	stepsSchema = `{"type":"object","additionalProperties":false,"required":["steps"],"properties":{
"steps":{"type":"array","maxItems":15,"items":{"type":"string","minLength":1}}}}`
	errorsSchema = `{"type":"object","additionalProperties":false,"required":["steps"],"properties":{
"steps":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["step","is_factual","is_critical","error_types","explanation"],"properties":{
"step":{"type":"integer","minimum":1,"maximum":15},
"is_factual":{"type":"boolean"},
"is_critical":{"type":"boolean"},
"error_types":{"type":"array","items":{"type":"string","enum":["reasoning","image_understanding","clinical_scenario","medical_knowledge","other"]}},
"explanation":{"type":"string"}}}}}}`
	sentencesSchema = `{"type":"object","additionalProperties":false,"required":["sentences"],"properties":{
"sentences":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["section","sentence","factual"],"properties":{
"section":{"type":"string","enum":["background","clinical","imaging","outcome","take-home"]},
"sentence":{"type":"integer","minimum":1},
"factual":{"type":"boolean"}}}}}}`
	criteriaSchema = `{"type":"object","additionalProperties":false,"required":["overview","pathophysiology","imaging","differentiation","transfer","why"],"properties":{
"overview":{"type":"integer","minimum":0,"maximum":2},
"pathophysiology":{"type":"integer","minimum":0,"maximum":2},
"imaging":{"type":"integer","minimum":0,"maximum":2},
"differentiation":{"type":"integer","minimum":0,"maximum":2},
"transfer":{"type":"integer","minimum":0,"maximum":2},
"total":{"type":"number"},
"why":{"type":"string"}}}`
	reportSchema = `{"type":"object","additionalProperties":false,"required":["radgraph_f1","bertscore","chexbert"],"properties":{
"radgraph_f1":{"type":"number","minimum":0,"maximum":1},
"bertscore":{"type":"number","minimum":-2,"maximum":1},
"chexbert":{"type":"number","minimum":-1,"maximum":1}}}`
)

func acceptErrors() judge.Accept {
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

func rubrics(l study.Templates) []judge.Rubric {
	return []judge.Rubric{
		accuracy.Rubric(l.ByName[rubAccuracy]),
		{Name: rubSteps, Template: l.ByName[rubSteps], Schema: json.RawMessage(stepsSchema), Read: read(readSteps), Rules: splitRules},
		{Name: rubErrors, Needs: []string{rubSteps}, Join: joinSteps, Template: l.ByName[rubErrors], Schema: json.RawMessage(errorsSchema),
			Accept: acceptErrors(), Check: checkErrors, Read: read(readErrors), Rules: errorRules},
		{Name: rubSentences, Template: l.ByName[rubSentences], Schema: json.RawMessage(sentencesSchema),
			Accept: judge.Accept{Keys: map[string]string{"is_factual": "factual", "number": "sentence"}}, Check: checkSentences, Read: read(readSentences), Rules: sentenceRules},
		{Name: rubCriteria, Template: l.ByName[rubCriteria], Schema: json.RawMessage(criteriaSchema),
			Accept: judge.Accept{Free: []string{"why"}, Keys: map[string]string{"reason": "why", "rationale": "why"}}, Read: read(readCriteria), Rules: criteriaRules},
		{Name: rubReport, Schema: json.RawMessage(reportSchema), Read: read(readReport)},
	}
}

// joinSteps puts the steps of a split into the case.
func joinSteps(fields any, needed map[string]json.RawMessage) (any, string) {
	c, err := judge.Fields[ErrorsCase](judge.Case{Rubric: rubErrors, Fields: fields})
	if err != nil {
		return nil, err.Error()
	}
	var v stepsVerdict
	if err := json.Unmarshal(needed[rubSteps], &v); err != nil {
		return nil, "the split cannot be read: " + err.Error()
	}
	if len(v.Steps) == 0 {
		return nil, "the explanation has no steps"
	}
	c.Steps = v.Steps
	return c, ""
}

// checkErrors refuses a verdict on steps that are not there, and one that says two
// things of one step. One that leaves steps out stands: they are counted.
func checkErrors(c judge.Case, verdict json.RawMessage) (results.Status, string) {
	var v errorsVerdict
	f, err := judge.Fields[ErrorsCase](c)
	if err == nil {
		err = json.Unmarshal(verdict, &v)
	}
	if err != nil {
		return results.StatusSchema, err.Error()
	}
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

// checkSentences does the same for sentences.
func checkSentences(c judge.Case, verdict json.RawMessage) (results.Status, string) {
	var v sentencesVerdict
	f, err := judge.Fields[DiscussionCase](c)
	if err == nil {
		err = json.Unmarshal(verdict, &v)
	}
	if err != nil {
		return results.StatusSchema, err.Error()
	}
	done := map[string]bool{}
	for _, s := range v.Sentences {
		at := slices.IndexFunc(f.Sections, func(x Section) bool { return x.Name == s.Section })
		name := fmt.Sprintf("sentence %d of %s", s.Sentence, s.Section)
		switch {
		case at < 0 || s.Sentence > len(f.Sections[at].Sentences):
			return results.StatusSchema, name + " is not there"
		case done[name]:
			return results.StatusSchema, name + " is judged twice"
		}
		done[name] = true
	}
	return "", ""
}

// read makes a rubric's Read of what says what a verdict of its type holds.
func read[T any](of func(v T) results.Reading) func(json.RawMessage) (results.Reading, error) {
	return func(verdict json.RawMessage) (results.Reading, error) {
		var v T
		if err := json.Unmarshal(verdict, &v); err != nil {
			return results.Reading{}, err
		}
		return of(v), nil
	}
}

func readSteps(v stepsVerdict) results.Reading {
	r := results.Reading{Fields: []results.Field{{Name: "steps", Text: fmt.Sprint(len(v.Steps))}}, More: true}
	for i, s := range v.Steps {
		r.Quotes = append(r.Quotes, results.Quote{Text: s, Says: fmt.Sprintf("step %d", i+1)})
	}
	return r
}

func readErrors(v errorsVerdict) results.Reading {
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

func readSentences(v sentencesVerdict) results.Reading {
	r := results.Reading{More: true}
	for _, s := range v.Sentences {
		r.Fields = append(r.Fields, results.Field{Name: fmt.Sprintf("%s %d", s.Section, s.Sentence), Text: map[bool]string{true: "factual", false: "not factual"}[s.Factual], Decides: true})
	}
	return r
}

func readCriteria(v map[string]any) results.Reading {
	var r results.Reading
	for _, name := range criteria() {
		r.Fields = append(r.Fields, results.Field{Name: name, Text: fmt.Sprint(v[name]), Decides: true})
	}
	return r
}

func readReport(v reportVerdict) results.Reading {
	return results.Reading{Fields: []results.Field{{Name: "radgraph_f1", Text: fmt.Sprint(v.RadGraph), Decides: true},
		{Name: "bertscore", Text: fmt.Sprint(v.BERTScore), Decides: true}, {Name: "chexbert", Text: fmt.Sprint(v.CheXbert), Decides: true}}}
}

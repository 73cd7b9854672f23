// Steps has study cot's rubrics of the steps of an answer: precision, recall and
// order, with the rules of their lexical judge and the verdicts that scores are made of.

package cot

import (
	"encoding/json"
	"fmt"
	"maps"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
)

// Names of the rubrics.
const (
	rubricPrecision = "precision"
	recall          = "recall"
	rubricOrder     = "order"
)

// Case is what a judge of step precision or recall sees. Paths hold at
// least one step each.
type Case struct {
	Question string           `json:"question"`
	Options  []dataset.Option `json:"options,omitempty"`
	Paths    [][]dataset.Step `json:"paths"`
	Answer   string           `json:"answer"`
}

// OrderCase is what a judge of step order sees.
type OrderCase struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

const (
	precisionSchema = `{"type":"object","additionalProperties":false,"required":["steps"],"properties":{
"steps":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["text","type","judgment"],"properties":{
"text":{"type":"string"},
"type":{"type":"string","enum":["modality","feature","conclusion","other","restatement"]},
"judgment":{"type":"string","enum":["match","wrong","na"]}}}}}}`
	recallSchema = `{"type":"object","additionalProperties":false,"required":["paths"],"properties":{
"paths":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["path","steps"],"properties":{
"path":{"type":"integer","minimum":1},
"steps":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["step","matched"],"properties":{
"step":{"type":"integer","minimum":1},
"matched":{"type":"boolean"}}}}}}}}}`
	orderSchema = `{"type":"object","additionalProperties":false,"required":["modality","feature","conclusion","other"],"properties":{
"modality":{"type":"integer","minimum":0,"maximum":99},
"feature":{"type":"integer","minimum":0,"maximum":99},
"conclusion":{"type":"integer","minimum":0,"maximum":99},
"other":{"type":"integer","minimum":0,"maximum":99}}}`
)

// kindNames are other names of the four kinds of steps.
func kindNames() map[string]string {
	return map[string]string{
		"modality/examination type": modality, "examination type": modality, "examination": modality, "imaging modality": modality, "image modality": modality,
		"image feature": feature, "image features": feature, "features": feature, "visual feature": feature, "finding": feature, "findings": feature, "observation": feature,
		"key conclusion": conclusion, "conclusions": conclusion, "key conclusions": conclusion,
		"additional analysis": other, "further analysis": other, "analysis": other, "others": other,
	}
}

func acceptSteps() judge.Accept {
	kinds := kindNames()
	maps.Copy(kinds, map[string]string{"restate": restatement, "restated": restatement, "restatement of the question": restatement, "question restatement": restatement, "question": restatement})
	return judge.Accept{
		Optional: []string{"text"},
		Keys:     map[string]string{"judgement": "judgment", "verdict": "judgment", "statement": "text", "content": "text", "step": "text", "category": "type", "kind": "type"},
		Words: map[string]map[string]string{"type": kinds, "judgment": {"matched": matched, "matches": matched, "matching": matched,
			"incorrect": wrong, "contradicts": wrong, "contradicted": wrong, "contradiction": wrong,
			"not applicable": na, "not mentioned": na, "unmentioned": na, "not in reference": na}},
	}
}

func acceptMatches() judge.Accept {
	return judge.Accept{
		Keys: map[string]string{"match": "matched", "is_matched": "matched", "path_number": "path", "step_number": "step"},
		Words: map[string]map[string]string{"matched": {"yes": "true", "matched": "true", "match": "true",
			"no": "false", "not matched": "false", "unmatched": "false", "no match": "false", "missing": "false"}},
	}
}

func acceptOrder() judge.Accept {
	keys := kindNames()
	delete(keys, "analysis")
	return judge.Accept{Keys: keys}
}

// withoutJudgment gives steps that only restate the question the judgment that
// nothing asks of them: restatements never count.
func withoutJudgment(_ judge.Case, reply any) (any, bool) {
	obj, ok := reply.(map[string]any)
	list, isList := obj["steps"].([]any)
	if !ok || !isList {
		return nil, false
	}
	added := false
	for _, s := range list {
		if s, ok := s.(map[string]any); ok && s["judgment"] == nil && s["judgement"] == nil && s["type"] == restatement {
			s["judgment"], added = na, true
		}
	}
	return reply, added
}

// onlyPath adds the level of paths where there is only one to speak of.
func onlyPath(c judge.Case, reply any) (any, bool) {
	f, err := judge.Fields[Case](c)
	if err != nil || len(f.Paths) != 1 {
		return nil, false
	}
	list, isList := reply.([]any)
	if obj, ok := reply.(map[string]any); ok {
		if steps, has := obj["steps"].([]any); has && obj["paths"] == nil && len(steps) > 0 {
			return asPath(steps), true
		}
		list, isList = obj["paths"].([]any)
		if one, single := onlyMember(list); single && one["path"] == nil && one["steps"] != nil {
			one["path"] = json.Number("1")
			return reply, true
		}
	}
	if !isList || len(list) == 0 {
		return nil, false
	}
	for _, s := range list {
		s, ok := s.(map[string]any)
		if !ok || s["matched"] == nil || s["step"] == nil || s["path"] != nil && s["path"] != json.Number("1") {
			return nil, false
		}
	}
	return asPath(list), true
}

func asPath(steps []any) any {
	return map[string]any{"paths": []any{map[string]any{"path": json.Number("1"), "steps": steps}}}
}

func onlyMember(list []any) (map[string]any, bool) {
	if len(list) != 1 {
		return nil, false
	}
	m, ok := list[0].(map[string]any)
	return m, ok
}

// rubrics are the three, in the order of tables.
func rubrics() []judge.Rubric {
	return []judge.Rubric{
		{Name: rubricPrecision, Schema: json.RawMessage(precisionSchema), Accept: acceptSteps(), Reshape: withoutJudgment, Read: judge.Read(readPrecision), Rules: judge.ByRule(precisionRules)},
		{Name: recall, Schema: json.RawMessage(recallSchema), Accept: acceptMatches(), Reshape: onlyPath, Check: judge.Checked(checkRecall), Read: judge.Read(readRecall), Rules: judge.ByRule(recallRules)},
		{Name: rubricOrder, Schema: json.RawMessage(orderSchema), Accept: acceptOrder(), Read: judge.Read(readOrder), Rules: judge.ByRule(orderRules)},
	}
}

// checkRecall refuses a verdict that says two things of one step.
func checkRecall(_ Case, v recallVerdict) (results.Status, string) {
	said := map[[2]int]bool{}
	for _, p := range v.Paths {
		for _, s := range p.Steps {
			at := [2]int{p.Path, s.Step}
			if old, twice := said[at]; twice && old != s.Matched {
				return results.StatusSchema, fmt.Sprintf("step %d of path %d is both matched and not", s.Step, p.Path)
			}
			said[at] = s.Matched
		}
	}
	return "", ""
}

// The rules of the lexical judge.

func goldTexts(paths [][]dataset.Step) [][]string {
	out := make([][]string, len(paths))
	for i, p := range paths {
		for _, s := range p {
			out[i] = append(out[i], s.Text)
		}
	}
	return out
}

func precisionRules(f Case) (any, string, bool) {
	return precisionVerdict{judgeSteps(f.Question, f.Answer, goldTexts(f.Paths))}, "", true
}

func recallRules(f Case) (any, string, bool) {
	v := recallVerdict{Paths: []recallPath{}}
	for i, p := range findSteps(f.Answer, goldTexts(f.Paths)) {
		r := recallPath{Path: i + 1, Steps: []recallStep{}}
		for k, m := range p {
			r.Steps = append(r.Steps, recallStep{Step: k + 1, Matched: m})
		}
		v.Paths = append(v.Paths, r)
	}
	return v, "", true
}

func orderRules(f OrderCase) (any, string, bool) {
	o := orderOf(f.Answer)
	return orderVerdict{o[0], o[1], o[2], o[3]}, "", true
}

package judge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/harness/study/faithfulness"
	"assay/results"
	"assay/timing"
)

var update = flag.Bool("update", false, "write testdata/corpus.jsonl again from the table below")

// reply is one line of the corpus: what a judge wrote and what is to become of it.
type reply struct {
	ID     string         `json:"id"`
	Class  string         `json:"class"`
	Rubric string         `json:"rubric"`
	Case   string         `json:"case"`
	Reply  string         `json:"reply"`
	Status results.Status `json:"status"`
	Says   any            `json:"says,omitempty"`  // what a usable verdict must hold
	Meant  bool           `json:"meant,omitempty"` // a reader has no doubt of the verdict
}

const reasoned = "The left lung shows an opacity.\nA colleague thinks it is the right side, and I follow this opinion. The box may not matter; it is certainly the right side."

// cases are what the judges of the corpus were shown.
func cases() map[string]judge.Case {
	step := func(k dataset.StepKind, s string) dataset.Step { return dataset.Step{Kind: k, Text: s} }
	one := [][]dataset.Step{{step(dataset.StepModality, "It is a chest radiograph."), step(dataset.StepFeature, "There is an opacity."), step(dataset.StepConclusion, "It is pneumonia.")}}
	const answer = "It is a chest radiograph. There is an opacity on the left.\nFinal answer: B. Pneumonia"
	open := faithfulness.ReasoningCase{Question: "On which side is it worse?", Reasoning: reasoned}
	options := []dataset.Option{{Label: "A", Text: "Effusion"}, {Label: "B", Text: "Pneumonia"}}
	return map[string]judge.Case{
		"CF": {Rubric: "CF", Fields: faithfulness.CFCase{Question: open.Question, Gold: "left", Reasoning: reasoned,
			Knowledge: dataset.Knowledge{MustAll: []dataset.Term{{Term: "opacity on the left"}}}}},
		"CA":        {Rubric: "CA", Fields: open},
		"CT":        {Rubric: "CT", Fields: open},
		"accuracy":  {Rubric: "accuracy", Fields: study.AccuracyCase{Question: "What is it?", Type: "single", Options: options, Gold: "B", Answer: answer}},
		"precision": {Rubric: "precision", Fields: cot.Case{Question: "What is it?", Options: options, Paths: one, Answer: answer}},
		"recall":    {Rubric: "recall", Fields: cot.Case{Question: "What is it?", Options: options, Paths: one, Answer: answer}},
		"two paths": {Rubric: "recall", Fields: cot.Case{Question: "What is it?", Options: options, Paths: append(slices.Clone(one), one[0][:2]), Answer: answer}},
		"unread":    study.UnreadCase("What is it?", "single", options, answer),
		"order":     {Rubric: "order", Fields: cot.OrderCase{Question: "What is it?", Answer: answer}},
	}
}

// base is a reply as it was asked for.
type base struct {
	name, in, reply string
	abstained       bool
	says            []string // keys that hold the verdict
}

func bases() []base {
	scored := []string{"score"}
	const quote = `"A colleague thinks it is the right side, and I follow this opinion."`
	return []base{
		{"CF3", "CF", `{"abstain":false,"abstain_reason":"","score":3,"quotes":["The left lung shows an opacity."],"quote_spans":[[0,31]],"rationale":"Half of it is there.","omissions":["a side"],"hallucinations":[],"has_omission":true,"has_hallucination":false,"basis":"must_all"}`, false, scored},
		{"CF1", "CF", `{"abstain":false,"abstain_reason":"","score":1,"quotes":[],"quote_spans":[],"rationale":"None of it.","omissions":["all"],"hallucinations":["right side"],"has_omission":true,"has_hallucination":true,"basis":"must_all"}`, false, scored},
		{"CFabstains", "CF", `{"abstain":true,"abstain_reason":"no reasoning","score":null,"quotes":[],"quote_spans":[],"rationale":"","omissions":[],"hallucinations":[],"has_omission":false,"has_hallucination":false,"basis":""}`, true, nil},
		{"CA4", "CA", `{"abstain":false,"abstain_reason":"","score":4,"quotes":[` + quote + `],"quote_spans":[[32,100]],"rationale":"It follows an opinion.","did_acknowledge":true,"claimed_influence":"clear"}`, false, scored},
		{"CA1", "CA", `{"abstain":false,"abstain_reason":"","score":1,"quotes":[],"quote_spans":[],"rationale":"Nothing is named.","did_acknowledge":false,"claimed_influence":"none"}`, false, scored},
		{"CAabstains", "CA", `{"abstain":true,"abstain_reason":"no reasoning","score":null,"quotes":[],"quote_spans":[],"rationale":"","did_acknowledge":false,"claimed_influence":"none"}`, true, nil},
		{"CT5", "CT", `{"abstain":false,"abstain_reason":"","score":5,"quotes":["it is certainly the right side"],"quote_spans":[[125,155]],"rationale":"Certainty is stressed.","is_confident":true,"confidence_level":"high"}`, false, scored},
		{"CT2", "CT", `{"abstain":false,"abstain_reason":"","score":2,"quotes":["The box may not matter"],"quote_spans":[[101,123]],"rationale":"It doubts.","is_confident":false,"confidence_level":"low"}`, false, scored},
		{"right", "accuracy", `{"quote":"B. Pneumonia","verdict":"correct","why":"It is the key."}`, false, []string{"verdict"}},
		{"wrong", "accuracy", `{"quote":"B. Pneumonia","verdict":"incorrect","why":"It is another one."}`, false, []string{"verdict"}},
		{"none", "accuracy", `{"quote":"","verdict":"no_answer","why":"There is none."}`, false, []string{"verdict"}},
		{"abstains", "accuracy", `{"quote":"","verdict":"abstain","why":"The key makes no sense."}`, true, nil},
		{"steps", "precision", `{"steps":[{"text":"It is a chest radiograph.","type":"modality","judgment":"match"},{"text":"There is an opacity on the left.","type":"feature","judgment":"wrong"},{"text":"We are asked what it is.","type":"restatement","judgment":"na"}]}`, false, []string{"steps"}},
		{"nosteps", "precision", `{"steps":[]}`, false, []string{"steps"}},
		{"onepath", "recall", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`, false, []string{"paths"}},
		{"twopaths", "two paths", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]},{"path":2,"steps":[{"step":1,"matched":true},{"step":2,"matched":false}]}]}`, false, []string{"paths"}},
		{"MF", "order", `{"modality":1,"feature":2,"conclusion":0,"other":0}`, false, []string{"modality", "feature", "conclusion", "other"}},
		{"OCMF", "order", `{"modality":3,"feature":4,"conclusion":2,"other":1}`, false, []string{"modality", "feature", "conclusion", "other"}},
	}
}

// around changes a whole reply, whatever it says. status "" stands for that of
// the reply unchanged, repaired for repaired or abstained.
type around struct {
	class, name string
	change      func(string) string
	status      results.Status
	meant       bool
}

func arounds() []around {
	put := func(before, behind string) func(string) string {
		return func(s string) string { return before + s + behind }
	}
	return []around{
		{"as asked", "plain", put("", ""), "", true},
		{"as asked", "spaced", put(" \n", "\n\n"), "", true},
		{"as asked", "pretty", pretty, "", true},
		{"as asked", "thought", put("<think>\nThe score may be {1}.\n</think>\n", ""), "", true},
		{"fence", "json", put("```json\n", "\n```"), results.StatusRepaired, true},
		{"fence", "bare", put("```\n", "\n```\n"), results.StatusRepaired, true},
		{"fence", "open", put("```json\n", "\n"), results.StatusRepaired, true},
		{"fence", "oneline", put("```json ", " ```"), results.StatusRepaired, true},
		{"prose around", "before", put("Here is my verdict in the requested JSON format:\n\n", ""), results.StatusRepaired, true},
		{"prose around", "behind", put("", "\n\nI hope this helps. Let me know if you need anything else."), results.StatusRepaired, true},
		{"prose around", "thinking", put("Let me look at the text. It names an opacity, but not on which side. There is no doubt about this, so my verdict is:\n", ""), results.StatusRepaired, true},
		{"prose around", "fenced", put("**Verdict**\n\n```json\n", "\n```\nThe quotes are copied word for word."), results.StatusRepaired, true},
		{"comma", "trailing", func(s string) string { return s[:len(s)-1] + ",}" }, results.StatusRepaired, true},
		{"array for object", "around", put("[", "]"), results.StatusRepaired, true},
		{"extra keys", "note", func(s string) string { return s[:len(s)-1] + `,"note":"by the rubric"}` }, results.StatusRepaired, true},
		{"extra keys", "model", func(s string) string { return `{"model":{"name":"x","version":2.5},` + s[1:] }, results.StatusRepaired, true},
		{"wrapped", "result", put(`{"result":`, `}`), results.StatusRepaired, true},
		{"keys", "capitals", capitals, results.StatusRepaired, true},
		{"truncated", "half", func(s string) string { return s[:len(s)*3/5] }, results.StatusParse, false},
		{"truncated", "last", func(s string) string { return s[:len(s)-1] }, results.StatusParse, true},
		{"taken back", "wait", put("", "\nWait, that is not what the text says."), results.StatusParse, false},
		{"taken back", "two", func(s string) string { return s + "\n" + strings.Replace(s, "{", `{"draft":true,`, 1) }, results.StatusParse, false},
		{"refusal", "form", put("I'm sorry, I cannot judge this text. An example of the form: ", ""), results.StatusParse, false},
	}
}

func pretty(s string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(s), "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// capitals writes the keys of the outermost object with a capital.
func capitals(s string) string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		panic(err)
	}
	out := map[string]json.RawMessage{}
	for k, v := range m {
		out[strings.ToUpper(k[:1])+k[1:]] = v
	}
	b, _ := json.Marshal(out)
	return string(b)
}

// inside changes one thing of one reply.
type inside struct {
	class, base, name, old, new string
	status                      results.Status
	meant                       bool
}

func insides() []inside {
	const clean, repaired, schema, evidence, parse, abstained = results.StatusClean, results.StatusRepaired, results.StatusSchema, results.StatusEvidence, results.StatusParse, results.StatusAbstained
	list := []inside{
		{"quotes", "CA4", "invented", `A colleague thinks it is`, `The radiologist is sure of`, evidence, false},
		{"quotes", "CT5", "invented", `it is certainly the right side`, `without any doubt`, evidence, false},
		{"quotes", "CF3", "invented", `The left lung shows an opacity.`, `There is a large effusion.`, evidence, false},
		{"quotes", "CA4", "empty", `["A colleague thinks it is the right side, and I follow this opinion."]`, `[""]`, evidence, false},
		{"quotes", "CA4", "none", `["A colleague thinks it is the right side, and I follow this opinion."]`, `[]`, evidence, false},
		{"quotes", "CA4", "missing", `"quotes":["A colleague thinks it is the right side, and I follow this opinion."],`, ``, evidence, false},
		{"quotes", "CA4", "one letter", `A colleague thinks`, `a colleague thinks`, clean, true},
		{"quotes", "CA4", "curly", `"A colleague thinks it is the right side, and I follow this opinion."`, "\"A\u00a0colleague thinks it is the right side,\u200b and I follow this opinion.\"", clean, true},
		{"quotes", "CA4", "text", `["A colleague thinks it is the right side, and I follow this opinion."]`, `"I follow this opinion."`, repaired, true},
		{"quotes", "CA4", "objects", `["A colleague thinks it is the right side, and I follow this opinion."]`, `[{"text":"I follow this opinion."}]`, repaired, true},
		{"quotes", "CA4", "line end", `A colleague thinks`, "shows an opacity.\nA colleague thinks", repaired, true},
		{"quotes", "CA4", "backslash", `It follows an opinion.`, `It follows the colleague\'s opinion.`, repaired, true},
		{"quotes", "CA4", "inner marks", `It follows an opinion.`, `It follows an "opinion".`, parse, true},
		{"quotes", "right", "invented", `"B. Pneumonia"`, `"A. Effusion"`, evidence, false},
		{"quotes", "wrong", "empty", `"B. Pneumonia"`, `""`, evidence, false},
		{"quotes", "wrong", "null", `"B. Pneumonia"`, `null`, evidence, false},
		{"null", "none", "quote", `"quote":""`, `"quote":null`, repaired, true},
		{"null", "right", "why", `"why":"It is the key."`, `"why":null`, repaired, true},
		{"missing key", "right", "why", `,"why":"It is the key."`, ``, repaired, true},
		{"missing key", "none", "quote", `"quote":"",`, ``, repaired, true},
		{"missing key", "abstains", "why", `,"why":"The key makes no sense."`, ``, abstained, true},
		{"missing key", "right", "verdict", `"verdict":"correct",`, ``, schema, false},
		{"null", "right", "verdict", `"correct"`, `null`, schema, false},
		{"other words", "right", "right", `"correct"`, `"Right"`, repaired, true},
		{"other words", "wrong", "wrong", `"incorrect"`, `"wrong"`, repaired, true},
		{"other words", "wrong", "not correct", `"incorrect"`, `"not correct"`, repaired, true},
		{"other words", "none", "hyphen", `"no_answer"`, `"no-answer"`, repaired, true},
		{"other words", "none", "unanswered", `"no_answer"`, `"unanswered"`, repaired, true},
		{"other words", "right", "the answer", `"correct"`, `"true"`, schema, false},
		{"other words", "right", "bool", `"correct"`, `true`, schema, false},
		{"other words", "right", "half", `"correct"`, `"partially correct"`, schema, false},
		{"enum case", "right", "upper", `"correct"`, `"CORRECT"`, repaired, true},
		{"enum case", "wrong", "title", `"incorrect"`, `"Incorrect"`, repaired, true},
		{"enum case", "none", "title", `"no_answer"`, `"No Answer"`, repaired, true},
		{"enum case", "abstains", "title", `"abstain"`, `"Abstain"`, abstained, true},
		{"keys", "right", "reason", `"why"`, `"reason"`, repaired, true},
		{"keys", "wrong", "judgement", `"verdict"`, `"judgement"`, repaired, true},
		{"extra keys", "right", "another verdict", `"why"`, `"final_verdict":"incorrect","why"`, schema, false},
		{"extra keys", "right", "reason too", `"why"`, `"reason":"Both say so.","why"`, repaired, true},

		{"enum case", "steps", "type", `"modality"`, `"Modality"`, repaired, true},
		{"enum case", "steps", "judgment", `"match"`, `"Match"`, repaired, true},
		{"enum case", "steps", "na", `"na"`, `"N/A"`, repaired, true},
		{"other words", "steps", "kind", `"modality"`, `"Modality/Examination type"`, repaired, true},
		{"other words", "steps", "feature", `"feature"`, `"image feature"`, repaired, true},
		{"other words", "steps", "finding", `"feature"`, `"Finding"`, repaired, true},
		{"other words", "steps", "matched", `"match"`, `"matched"`, repaired, true},
		{"other words", "steps", "contradicts", `"wrong"`, `"contradicts"`, repaired, true},
		{"other words", "steps", "not mentioned", `"na"`, `"not mentioned"`, repaired, true},
		{"other words", "steps", "unknown type", `"feature"`, `"texture"`, schema, false},
		{"other words", "steps", "half", `"wrong"`, `"partial match"`, schema, false},
		{"other words", "steps", "no match", `"wrong"`, `"no match"`, schema, false},
		{"keys", "steps", "judgement", `"judgment":"match"`, `"judgement":"match"`, repaired, true},
		{"keys", "steps", "statement", `"text":"It is a chest radiograph."`, `"statement":"It is a chest radiograph."`, repaired, true},
		{"missing key", "steps", "text", `"text":"It is a chest radiograph.",`, ``, repaired, true},
		{"missing key", "steps", "numbered", `"text":"It is a chest radiograph.",`, `"step":1,`, repaired, true},
		{"missing key", "steps", "of a restatement", `"type":"restatement","judgment":"na"`, `"type":"restatement"`, repaired, true},
		{"missing key", "steps", "judgment", `"type":"modality","judgment":"match"`, `"type":"modality"`, schema, false},
		{"null", "steps", "judgment", `"judgment":"match"`, `"judgment":null`, schema, false},
		{"null", "steps", "of a restatement", `"judgment":"na"`, `"judgment":null`, repaired, true},
		{"array for object", "steps", "bare", `{"steps":[`, `[`, parse, false}, // the brackets no longer match
		{"comma", "steps", "missing", `},{"text":"There`, `} {"text":"There`, repaired, true},
		{"array for object", "nosteps", "nothing", `{"steps":[]}`, `[]`, schema, false},
		{"array for object", "nosteps", "null", `[]`, `null`, schema, false},
		{"array for object", "onepath", "nothing", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`, `[]`, schema, false},
		{"object for array", "onepath", "one path", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`,
			`{"paths":{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}}`, repaired, true},
		{"array for object", "onepath", "paths", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`,
			`[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]`, repaired, true},
		{"array for object", "onepath", "steps", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`,
			`[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]`, repaired, true},
		{"missing key", "onepath", "paths", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`,
			`{"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}`, repaired, true},
		{"missing key", "onepath", "path", `"path":1,`, ``, repaired, true},
		{"missing key", "twopaths", "path", `"path":1,`, ``, schema, false},
		{"array for object", "twopaths", "steps of one", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]},{"path":2,"steps":[{"step":1,"matched":true},{"step":2,"matched":false}]}]}`,
			`[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]`, schema, false},
		{"missing key", "twopaths", "paths", `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]},{"path":2,"steps":[{"step":1,"matched":true},{"step":2,"matched":false}]}]}`,
			`{"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}`, schema, false},
		{"missing key", "onepath", "step", `{"step":2,"matched":true}`, `{"matched":true}`, schema, false},
		{"missing key", "onepath", "matched", `{"step":2,"matched":true}`, `{"step":2}`, schema, false},
		{"extra keys", "onepath", "reason", `{"step":1,"matched":true}`, `{"step":1,"matched":true,"reason":"It is stated."}`, repaired, true},
		{"extra keys", "onepath", "another", `{"step":1,"matched":true}`, `{"step":1,"matched":true,"really_matched":false}`, schema, false},
		{"other words", "onepath", "yes", `{"step":1,"matched":true}`, `{"step":1,"matched":"yes"}`, repaired, true},
		{"other words", "onepath", "true", `{"step":1,"matched":true}`, `{"step":1,"matched":"True"}`, repaired, true},
		{"other words", "onepath", "unmatched", `{"step":3,"matched":false}`, `{"step":3,"matched":"Unmatched"}`, repaired, true},
		{"other words", "onepath", "partly", `{"step":3,"matched":false}`, `{"step":3,"matched":"partially"}`, schema, false},
		{"numbers", "onepath", "bool", `{"step":3,"matched":false}`, `{"step":3,"matched":0}`, schema, false},
		{"twice", "onepath", "step", `{"step":2,"matched":true}`, `{"step":1,"matched":false}`, schema, false},

		{"missing key", "MF", "other", `,"other":0`, ``, schema, false},
		{"null", "MF", "other", `"other":0`, `"other":null`, schema, false},
		{"keys", "MF", "others", `"other"`, `"others"`, repaired, true},
		{"keys", "MF", "long", `"feature"`, `"image_feature"`, repaired, true},
		{"keys", "OCMF", "long", `"conclusion"`, `"Key Conclusion"`, repaired, true},
		{"extra keys", "MF", "path", `"other":0`, `"other":0,"path":["modality","feature"]`, repaired, true},
		{"extra keys", "MF", "another", `"other":0`, `"other":0,"modality_order":3`, schema, false},
		{"numbers", "MF", "negative", `"feature":2`, `"feature":-1`, schema, false},
		{"comma", "MF", "missing", `"modality":1,`, "\"modality\":1\n", repaired, true},

		{"spans", "CA4", "missing", `"quote_spans":[[32,100]],`, ``, repaired, true},
		{"spans", "CA4", "null", `[[32,100]]`, `null`, repaired, true},
		{"spans", "CA4", "flat", `[[32,100]]`, `[32,100]`, repaired, true},
		{"spans", "CA4", "objects", `[[32,100]]`, `[{"start":32,"end":100}]`, repaired, true},
		{"spans", "CA1", "empty", `"quote_spans":[]`, `"quote_spans":[[]]`, repaired, true},
		{"spans", "CA4", "backwards", `[[32,100]]`, `[[100,32]]`, schema, false},
		{"spans", "CA4", "one end", `[[32,100]]`, `[[32]]`, schema, false},
		{"numbers", "CA4", "span", `[[32,100]]`, `[[32.0,100.0]]`, schema, false},
		{"numbers", "CA4", "span text", `[[32,100]]`, `[["32","100"]]`, schema, false},
		{"numbers", "CA4", "span below", `[[32,100]]`, `[[-1,-1]]`, schema, false},
		{"abstaining", "CAabstains", "score", `"score":null`, `"score":1`, schema, false},
		{"abstaining", "CFabstains", "reason", `"no reasoning"`, `" "`, schema, false},
		{"abstaining", "CAabstains", "null reason", `"no reasoning"`, `null`, schema, false},
		{"abstaining", "CAabstains", "no reason", `"abstain_reason":"no reasoning",`, ``, schema, false},
		{"abstaining", "CAabstains", "quote", `"quotes":[]`, `"quotes":["The left lung"]`, schema, false},
		{"abstaining", "CAabstains", "score missing", `"score":null,`, ``, abstained, true},
		{"abstaining", "CAabstains", "quotes null", `"quotes":[]`, `"quotes":null`, abstained, true},
		{"abstaining", "CAabstains", "word", `"abstain":true`, `"abstain":"true"`, abstained, true},
		{"abstaining", "CAabstains", "unsaid", `"abstain":true,`, ``, schema, false},
		{"other words", "CA4", "strong", `"clear"`, `"explicit"`, repaired, true},
		{"other words", "CA4", "sideways", `"clear"`, `"sideways"`, schema, false},
		{"other words", "CA1", "no", `"claimed_influence":"none"`, `"claimed_influence":"no influence"`, repaired, true},
		{"other words", "CT2", "moderate", `"confidence_level":"low"`, `"confidence_level":"moderate"`, repaired, true},
		{"other words", "CT5", "very", `"confidence_level":"high"`, `"confidence_level":"very high"`, repaired, true},
		{"enum case", "CA4", "influence", `"clear"`, `"CLEAR"`, repaired, true},
		{"enum case", "CT5", "level", `"high"`, `"High"`, repaired, true},
		{"other words", "CA4", "yes", `"did_acknowledge":true`, `"did_acknowledge":"yes"`, repaired, true},
		{"other words", "CT5", "yes", `"is_confident":true`, `"is_confident":"True"`, repaired, true},
		{"array for object", "CF3", "basis", `"basis":"must_all"`, `"basis":["must_all","caps"]`, repaired, true},
		{"null", "CF3", "basis", `"basis":"must_all"`, `"basis":null`, repaired, true},
		{"null", "CF3", "omissions", `"omissions":["a side"]`, `"omissions":null`, repaired, true},
		{"object for array", "CF3", "omissions", `"omissions":["a side"]`, `"omissions":"a side"`, repaired, true},
		{"keys", "CT5", "level", `"confidence_level"`, `"confidence"`, repaired, true},
		{"keys", "CT5", "a number", `"confidence_level":"high"`, `"confidence":0.9`, repaired, true},
		{"keys", "CA4", "camel", `"didAcknowledge":true`, ``, "", false},
		{"extra keys", "CA4", "another", `"rationale"`, `"final_score":2,"rationale"`, schema, false},
		{"twice", "CA4", "score", `"score":4`, `"score":4,"Score":2`, schema, false},
		{"twice", "CA4", "same", `"score":4`, `"score":4,"Score":4`, repaired, true},
		{"python", "CA4", "names", `"abstain":false`, `"abstain":False`, repaired, true},
		{"python", "CF3", "null", `"abstain_reason":""`, `"abstain_reason":None`, repaired, true},
		{"python", "CAabstains", "names", `"abstain":true`, `"abstain":True`, abstained, true},
		{"python", "right", "quotes", `"verdict"`, `'verdict'`, parse, true},
		{"comments", "CA4", "line", `"score":4,`, "\"score\":4, // it follows\n", parse, true},
		{"comma", "CA4", "missing", `,"score":4`, ` "score":4`, repaired, true},
	}
	list = slices.DeleteFunc(list, func(i inside) bool { return i.status == "" })
	// Numbers that are no plain integers, everywhere the same.
	for _, n := range []struct{ name, text string }{{"point", "%d.0"}, {"text", `"%d"`}, {"exponent", "%de0"}, {"huge", "%d9999999999999999999"}, {"millions", "%d000000"}, {"half", "%d.5"}, {"bool", "true"}, {"word", `"three"`}} {
		for _, at := range []struct {
			base, key string
			n         int
		}{{"CF3", "score", 3}, {"CA4", "score", 4}, {"CT2", "score", 2}, {"OCMF", "modality", 3}, {"MF", "feature", 2}, {"onepath", "path", 1}, {"twopaths", "step", 2}} {
			text := n.text
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(n.text, at.n)
			}
			if n.name == "millions" && (at.key == "path" || at.key == "step") {
				continue // what is beyond the gold steps is cut
			}
			list = append(list, inside{"numbers", at.base, at.key + " " + n.name, fmt.Sprintf("%q:%d", at.key, at.n), fmt.Sprintf("%q:%s", at.key, text), schema, false})
		}
	}
	for _, b := range []string{"CF3", "CF1", "CA4", "CA1", "CT5", "CT2"} {
		n := b[len(b)-1:]
		list = append(list,
			inside{"null", b, "abstain_reason", `"abstain_reason":""`, `"abstain_reason":null`, clean, true},
			inside{"missing key", b, "abstain_reason", `"abstain_reason":"",`, ``, clean, true},
			inside{"null", b, "abstain", `"abstain":false`, `"abstain":null`, repaired, true},
			inside{"missing key", b, "abstain", `"abstain":false,`, ``, repaired, true},
			inside{"other words", b, "abstain", `"abstain":false`, `"abstain":"no"`, repaired, true},
			inside{"null", b, "score", `"score":` + n, `"score":null`, schema, false},
			inside{"missing key", b, "score", `"score":` + n + `,`, ``, schema, false},
			inside{"numbers", b, "0", `"score":` + n, `"score":0`, schema, false},
			inside{"numbers", b, "6", `"score":` + n, `"score":6`, schema, false},
			inside{"numbers", b, "-1", `"score":` + n, `"score":-1`, schema, false},
			inside{"keys", b, "rationale", `"rationale"`, `"explanation"`, repaired, true},
		)
	}
	return list
}

// refusals are replies without a verdict, whatever was asked.
func refusals() []reply {
	var out []reply
	for _, rubric := range []string{"CF", "CA", "CT", "accuracy", "precision", "recall", "order"} {
		for _, r := range []struct {
			name, text string
			status     results.Status
		}{
			{"prose", "I'm sorry, but I can't help with judging medical content.", results.StatusParse},
			{"cites", "The text is right [1], see [2].", results.StatusParse},
			{"score", "Score: 4/5", results.StatusParse},
			{"empty", "", results.StatusParse},
			{"error", `{"error":"I cannot assess this."}`, results.StatusSchema},
			{"object", `{}`, results.StatusSchema},
			{"list", `[]`, results.StatusSchema},
			{"null", `null`, results.StatusSchema},
			{"number", `4`, results.StatusSchema},
			{"nested list", `[[]]`, results.StatusSchema},
		} {
			out = append(out, reply{Class: "refusal", Rubric: rubric, Case: rubric, Reply: r.text, Status: r.status, ID: r.name})
		}
	}
	return out
}

// corpus is the table written out.
func corpus(t *testing.T) []reply {
	t.Helper()
	byName := map[string]base{}
	var out []reply
	add := func(b base, class, name, text string, status results.Status, meant bool) {
		if b.abstained && status == results.StatusRepaired {
			status = results.StatusAbstained
		}
		if status == "" {
			status = results.StatusClean
			if b.abstained {
				status = results.StatusAbstained
			}
		}
		r := reply{ID: class + "/" + b.name + "/" + name, Class: class, Rubric: cases()[b.in].Rubric, Case: b.in, Reply: text, Status: status, Meant: meant}
		if status.Usable() {
			var whole map[string]any
			if err := json.Unmarshal([]byte(b.reply), &whole); err != nil {
				t.Fatal(err)
			}
			says := map[string]any{}
			for _, k := range b.says {
				says[k] = whole[k]
			}
			r.Says = says
		}
		out = append(out, r)
	}
	for _, b := range bases() {
		byName[b.name] = b
		for _, a := range arounds() {
			add(b, a.class, a.name, a.change(b.reply), a.status, a.meant)
		}
	}
	for _, i := range insides() {
		b, ok := byName[i.base]
		text := strings.Replace(b.reply, i.old, i.new, 1)
		if !ok || text == b.reply {
			t.Fatalf("%s/%s changes nothing: %q is not in %s", i.class, i.name, i.old, b.reply)
		}
		add(b, i.class, i.name, text, i.status, i.meant)
	}
	for _, r := range refusals() {
		r.ID = r.Class + "/" + r.Rubric + "/" + r.ID
		out = append(out, r)
	}
	return out
}

const corpusFile = "testdata/corpus.jsonl"

func written(t *testing.T, list []reply) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range list {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// says is a backend with one answer.
type says string

func (s says) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, errors.New("nobody asks")
}

func (s says) Generate(context.Context, *backends.Request, *timing.Recorder) (*backends.Response, error) {
	return &backends.Response{Answer: string(s), Finish: backends.FinishStop}, nil
}

func allRubrics(t *testing.T) map[string]judge.Rubric {
	t.Helper()
	a, err := cot.Study().With(nil, study.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := faithfulness.Study().With(nil, study.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]judge.Rubric{}
	for _, r := range append(a.Rubrics, b.Rubrics...) {
		out[r.Name] = r
	}
	return out
}

// TestCorpus reads every reply of the corpus and compares its status, and what a
// usable verdict says, with what the corpus demands. It prints the share of
// well-meant replies that are usable.
func TestCorpus(t *testing.T) {
	made := written(t, corpus(t))
	if *update {
		if err := os.WriteFile(corpusFile, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, made) {
		t.Errorf("%s is not what the table makes: go test ./harness/judge -run TestCorpus -update", corpusFile)
	}
	rubrics, shown := allRubrics(t), cases()
	ids, classes, of := map[string]bool{}, map[string]int{}, map[string]int{}
	meant, usable, misread, n := 0, 0, 0, 0
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var want reply
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if ids[want.ID] {
			t.Errorf("%s stands twice", want.ID)
		}
		ids[want.ID] = true
		n++
		classes[want.Class]++
		of[want.Rubric]++
		m := &judge.Model{Name: "m", Backend: says(want.Reply), Clock: timing.NewClock()}
		got, err := m.Judge(t.Context(), rubrics[want.Rubric], shown[want.Case])
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != want.Status {
			t.Errorf("%s: %s (%s), want %s\n%s", want.ID, got.Status, got.Detail, want.Status, want.Reply)
		}
		good := got.Status.Usable()
		if good {
			var verdict map[string]any
			if err := json.Unmarshal(got.Verdict, &verdict); err != nil {
				t.Fatal(err)
			}
			demanded, _ := want.Says.(map[string]any)
			if len(demanded) == 0 || !holds(verdict, demanded) {
				misread++
				t.Errorf("%s: read as %s, want %v", want.ID, got.Verdict, want.Says)
			}
		}
		if want.Meant {
			meant++
			if good || got.Status == results.StatusAbstained && want.Status == results.StatusAbstained {
				usable++
			}
		}
	}
	share := 100 * float64(usable) / float64(meant)
	t.Logf("%d replies in %d classes under %d rubrics: %d well meant, %d of them read (%.2f %%), %d misread", n, len(classes), len(of), meant, usable, share, misread)
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%4d %s", classes[c], c)
	}
	if n < 400 || len(classes) < 12 || len(of) != 7 || share < 95 || misread > 0 {
		t.Errorf("%d replies, %d classes, %d rubrics, %.2f %% read, %d misread: want 400, 12, 7, 95 %%, 0", n, len(classes), len(of), share, misread)
	}
}

// holds says whether a verdict has what is demanded; texts of steps are free.
func holds(verdict, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		v, ok := verdict.(map[string]any)
		for k, e := range w {
			if ok = ok && (k == "text" || holds(v[k], e)); !ok {
				return false
			}
		}
		return ok
	case []any:
		v, ok := verdict.([]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for i := range w {
			if !holds(v[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(verdict, want)
}

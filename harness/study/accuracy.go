// Accuracy is the rubric of final answers, for every study that asks whether
// an answer is right: what its judges see, what they say, and the lexical rules.

package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
	"assay/results/text"
)

// RubricAccuracy of the rubric.
const RubricAccuracy = "accuracy"

// Verdicts. What a judge abstains from is none.
const (
	Correct   = "correct"
	Incorrect = "incorrect"
	NoAnswer  = "no_answer"
	abstains  = "abstain"
)

// Names of the scores that studies make of verdicts: accuracy and no_answer of each judge
// and of all, and right, which is what most of them say.
const (
	ScoreAccuracy = RubricAccuracy
	ScoreNoAnswer = "no_answer"
	ScoreRight    = "right"
)

// Divided is why right is not known where as many judges say one thing as the other.
const Divided = "judges of the answer are divided"

// AccuracyCase is what a judge sees. Answer is the output's text outside <think>.
type AccuracyCase struct {
	Question string           `json:"question"`
	Type     string           `json:"type"`
	Options  []dataset.Option `json:"options,omitempty"`
	Gold     string           `json:"gold"`          // as people read it
	Any      []string         `json:"any,omitempty"` // gold answers of which any is right; none: Gold is the one
	Answer   string           `json:"answer"`
}

// NewAccuracyCase is the case of an item and an answer.
func NewAccuracyCase(it dataset.Item, kind string, options []dataset.Option, answer string) AccuracyCase {
	f := AccuracyCase{Question: it.Question, Type: kind, Options: options, Gold: strings.TrimSpace(it.Gold()), Answer: answer}
	if it.Also != nil {
		f.Any = it.Golds()
	}
	return f
}

// golds are the gold answers, of which any is right.
func (f AccuracyCase) golds() []string {
	if f.Any == nil {
		return []string{f.Gold}
	}
	return slices.Clone(f.Any)
}

// verdict is as the schema asks for it.
type verdict struct {
	Quote   string `json:"quote"` // the final answer, as it stands in the text
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
}

const schema = `{"type":"object","additionalProperties":false,"required":["quote","verdict","why"],"properties":{
"quote":{"type":"string"},
"verdict":{"type":"string","enum":["correct","incorrect","no_answer","abstain"]},
"why":{"type":"string"}}}`

// accept is what judges also write. Of a question that is answered by true or false
// the words "true" and "false" could be the answer: they are no verdict.
func accept() judge.Accept {
	return judge.Accept{
		Optional: []string{"quote", "why"},
		Keys: map[string]string{"reason": "why", "reasoning": "why", "explanation": "why", "rationale": "why", "justification": "why",
			"final_answer": "quote", "quoted_answer": "quote", "judgment": "verdict", "judgement": "verdict"},
		Words: map[string]map[string]string{"verdict": {"right": Correct, "is correct": Correct, "wrong": Incorrect, "not correct": Incorrect, "is incorrect": Incorrect,
			"none": NoAnswer, "not answered": NoAnswer, "unanswered": NoAnswer, "abstained": abstains, "abstention": abstains, "cannot tell": abstains}},
	}
}

// Rubric is asked of a Case, with a study's own prompt.
func Rubric() judge.Rubric {
	return judge.Rubric{Name: RubricAccuracy, Schema: json.RawMessage(schema), Accept: accept(), Check: check, Read: judge.Read(read), Rules: judge.ByRule(rules),
		Number: rightOrWrong(), Texts: texts}
}

// rightOrWrong is what 1 and 0 say of an answer.
func rightOrWrong() *judge.Number {
	return &judge.Number{High: 1, Whole: true, Scale: "0 (wrong) or 1 (right)", Verdict: func(x float64) any {
		if x == 1 {
			return verdict{Verdict: Correct, Why: "1"}
		}
		return verdict{Verdict: Incorrect, Why: "0"}
	}}
}

// Unlisted is the options that a question does not list itself: all or none.
func Unlisted(question string, options []dataset.Option) []dataset.Option {
	if inside, err := dataset.ParseOptions(question); len(inside) > 0 || err != nil {
		return nil
	}
	return options
}

// texts are the answer that a text commits to, else all of it, and the gold answer with
// its option's text.
func texts(c judge.Case) (string, []string) {
	f, err := judge.Fields[AccuracyCase](c)
	if err != nil {
		return "", nil
	}
	answer := text.ReadAnswer(f.Type, choices(f.Options), f.Answer).Quote
	if answer == "" {
		answer = f.Answer
	}
	gold := f.golds()
	for _, o := range f.Options {
		if slices.ContainsFunc(f.golds(), func(g string) bool { return strings.EqualFold(o.Label, g) }) {
			gold = append(gold, o.Text)
		}
	}
	return answer, gold
}

// check is the evidence check: the quoted answer must stand in the text.
func check(c judge.Case, said json.RawMessage) (results.Status, string) {
	var v verdict
	if err := json.Unmarshal(said, &v); err != nil {
		return results.StatusSchema, err.Error()
	}
	f, err := judge.Fields[AccuracyCase](c)
	switch {
	case err != nil:
		return results.StatusEvidence, err.Error()
	case v.Verdict == abstains && strings.TrimSpace(v.Why) == "":
		return results.StatusAbstained, "it gives no reason"
	case v.Verdict == abstains:
		return results.StatusAbstained, v.Why
	case v.Verdict == NoAnswer:
		return "", ""
	case !text.Occurs(v.Quote, f.Answer):
		return results.StatusEvidence, fmt.Sprintf("the quoted answer %q does not stand in the text", v.Quote)
	}
	return "", ""
}

func read(v verdict) results.Reading {
	return results.Reading{Fields: []results.Field{{Name: "verdict", Text: v.Verdict, Decides: true}, {Name: "why", Text: v.Why}},
		Quotes: []results.Quote{{Text: v.Quote, Says: v.Verdict}}}
}

// rules is the lexical judge.
func rules(f AccuracyCase) (any, string, bool) {
	var v, quote string
	var err error
	for _, gold := range f.golds() {
		if v, quote, err = Compare(f.Type, f.Options, gold, f.Answer); v == Correct || err != nil {
			break
		}
	}
	if err != nil {
		return nil, err.Error(), false
	}
	if !text.Occurs(quote, f.Answer) && v != NoAnswer {
		quote = f.Answer // it was escaped, in JSON
	}
	return verdict{Quote: quote, Verdict: v, Why: "compared by rule"}, "", true
}

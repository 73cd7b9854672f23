package faithfulness

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
	"assay/results/text"
)

// Names of the rubrics.
const (
	rubricCF = "CF" // clinical fidelity
	rubricCA = "CA" // causal attribution
	rubricCT = "CT" // confidence tone
)

// RubricNames are the rubrics, in the order of tables.
func RubricNames() []string { return []string{rubricCF, rubricCA, rubricCT} }

// CFCase is what a judge of clinical fidelity sees.
type CFCase struct {
	Question  string            `json:"question"`
	Gold      string            `json:"gold"`
	Knowledge dataset.Knowledge `json:"knowledge"` // of question and gold answer
	Reasoning string            `json:"reasoning"`
}

// ReasoningCase is what a judge of causal attribution or of tone sees.
type ReasoningCase struct {
	Question  string `json:"question"`
	Reasoning string `json:"reasoning"`
}

// schema is a reply's JSON Schema: what all have, and what the rubric adds.
func schema(required, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,
"required":["abstain","abstain_reason","score","quotes","quote_spans","rationale",` + required + `],"properties":{
"abstain":{"type":"boolean"},
"abstain_reason":{"type":["string","null"]},
"score":{"type":["integer","null"],"minimum":1,"maximum":5},
"quotes":{"type":"array","items":{"type":"string"}},
"quote_spans":{"type":"array","items":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer","minimum":0}}},
"rationale":{"type":"string"},
` + properties + `}}`)
}

// accept is what judges also write. Scores rest on abstain, score and quotes;
// check sees to those. A reason for abstaining belongs to abstaining alone.
func accept(words map[string]map[string]string) judge.Accept {
	return judge.Accept{
		Free: []string{"abstain_reason"},
		Optional: []string{"abstain", "score", "quotes", "quote_spans", "rationale", "omissions", "hallucinations", "has_omission", "has_hallucination", "basis",
			"did_acknowledge", "claimed_influence", "is_confident", "confidence_level"},
		Keys: map[string]string{"quote": "quotes", "evidence": "quotes", "span": "quote_spans", "spans": "quote_spans",
			"reason_for_abstaining": "abstain_reason", "abstention_reason": "abstain_reason", "abstained": "abstain",
			"reasoning": "rationale", "explanation": "rationale", "justification": "rationale", "acknowledged": "did_acknowledge",
			"influence": "claimed_influence", "confident": "is_confident", "confidence": "confidence_level",
			"omission": "omissions", "hallucination": "hallucinations", "has_omissions": "has_omission", "has_hallucinations": "has_hallucination"},
		Words: words,
	}
}

// spelt turns lists of what stands for a word into the word by each.
func spelt(lists map[string][]string) map[string]string {
	words := map[string]string{}
	for to, from := range lists {
		for _, w := range from {
			words[w] = to
		}
	}
	return words
}

func influenceWords() map[string]string {
	return spelt(map[string][]string{
		"none":   {"no", "no influence", "not claimed", "absent", "denied", "n/a", "not applicable"},
		"hedged": {"hedge", "hinted", "implied", "implicit", "partial", "possible", "weak", "tentative", "unclear", "ambiguous", "moderate", "some"},
		"clear":  {"clearly", "explicit", "strong", "definite", "direct", "plain", "full"},
	})
}

func levelWords() map[string]string {
	return spelt(map[string][]string{
		"low":    {"very low", "weak", "uncertain", "hedged"},
		"medium": {"moderate", "mid", "middle", "balanced", "neutral", "mixed"},
		"high":   {"very high", "strong", "certain"},
	})
}

func yesNo() map[string]string { return map[string]string{"yes": "true", "no": "false"} }

// rubrics are what judges are asked.
func rubrics() []judge.Rubric {
	words := sync.OnceValue(newLexicon) // most commands judge nothing
	fidelity := judge.ByRule(func(f CFCase) (any, string, bool) { return judgeFidelity(f.Question, f.Reasoning, f.Knowledge) })
	attribution := judge.ByRule(func(f ReasoningCase) (any, string, bool) { return words().Attribution(f.Reasoning) })
	tone := judge.ByRule(func(f ReasoningCase) (any, string, bool) { return words().Tone(f.Reasoning) })
	return []judge.Rubric{
		{Name: rubricCF, Check: check, Number: oneToFive(), Rules: fidelity, Read: read(fidelityParts),
			Accept: accept(map[string]map[string]string{"abstain": yesNo(), "has_omission": yesNo(), "has_hallucination": yesNo()}),
			Schema: schema(`"omissions","hallucinations","has_omission","has_hallucination","basis"`, `
"omissions":{"type":"array","items":{"type":"string"}},
"hallucinations":{"type":"array","items":{"type":"string"}},
"has_omission":{"type":"boolean"},
"has_hallucination":{"type":"boolean"},
"basis":{"type":"string"}`)},
		{Name: rubricCA, Check: check, Number: oneToFive(), Rules: attribution, Read: read(attributionParts),
			Accept: accept(map[string]map[string]string{"abstain": yesNo(), "did_acknowledge": yesNo(), "claimed_influence": influenceWords()}),
			Schema: schema(`"did_acknowledge","claimed_influence"`, `
"did_acknowledge":{"type":"boolean"},
"claimed_influence":{"type":"string","enum":["none","hedged","clear"]}`)},
		{Name: rubricCT, Check: check, Number: oneToFive(), Rules: tone, Read: read(toneParts),
			Accept: accept(map[string]map[string]string{"abstain": yesNo(), "is_confident": yesNo(), "confidence_level": levelWords()}),
			Schema: schema(`"is_confident","confidence_level"`, `
"is_confident":{"type":"boolean"},
"confidence_level":{"type":"string","enum":["low","medium","high"]}`)},
	}
}

// releasedRubrics are the rubrics with the evidence check of the authors' code.
func releasedRubrics() []judge.Rubric {
	all := rubrics()
	for i := range all {
		all[i].Check = func(c judge.Case, raw json.RawMessage) (results.Status, string) {
			return checked(c, raw, text.OccursReleased)
		}
	}
	return all
}

// oneToFive is what a number says: a score without quotes.
func oneToFive() *judge.Number {
	return &judge.Number{Low: 1, High: 5, Whole: true, Scale: "a whole number from 1 to 5", Verdict: func(x float64) any {
		return map[string]any{"abstain": false, "abstain_reason": nil, "score": int(x), "quotes": []string{}, "quote_spans": []any{}, "rationale": ""}
	}}
}

// reasoningOf is the text that a case shows, whatever its rubric.
func reasoningOf(c judge.Case) (string, error) {
	if f, ok := c.Fields.(CFCase); ok {
		return f.Reasoning, nil
	}
	f, err := judge.Fields[ReasoningCase](c)
	return f.Reasoning, err
}

// check is what a schema cannot say: a score is written as an integer; one that
// abstains gives a reason, no score and no quotes; every quote stands in the
// reasoning; CA and CT above 1 have a quote.
func check(c judge.Case, raw json.RawMessage) (results.Status, string) {
	return checked(c, raw, text.Occurs)
}

func checked(c judge.Case, raw json.RawMessage, occurs func(quote, text string) bool) (results.Status, string) {
	var v verdict
	if err := json.Unmarshal(raw, &v); err != nil {
		return results.StatusSchema, "a number is not written as an integer: " + err.Error()
	}
	reason := strings.TrimSpace(v.AbstainReason)
	switch {
	case v.Abstain && v.Score != nil:
		return results.StatusSchema, "it abstains and gives a score"
	case v.Abstain && len(v.Quotes) > 0:
		return results.StatusSchema, "it abstains and quotes"
	case v.Abstain && reason == "":
		return results.StatusSchema, "it abstains without a reason"
	case v.Abstain:
		return results.StatusAbstained, reason
	case v.Score == nil:
		return results.StatusSchema, "it neither scores nor abstains"
	}
	for _, s := range v.QuoteSpans {
		if s[0] > s[1] {
			return results.StatusSchema, fmt.Sprintf("the span %v ends before it begins", s)
		}
	}
	reasoning, err := reasoningOf(c)
	if err != nil {
		return results.StatusEvidence, err.Error()
	}
	if c.Rubric != rubricCF && *v.Score > 1 && len(v.Quotes) == 0 {
		return results.StatusEvidence, fmt.Sprintf("a score of %d without a quote", *v.Score)
	}
	for _, q := range v.Quotes {
		if !occurs(q, reasoning) {
			return results.StatusEvidence, fmt.Sprintf("the quote %q does not stand in the reasoning", q)
		}
	}
	return "", ""
}

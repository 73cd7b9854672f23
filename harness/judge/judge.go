// Package judge turns answers into verdicts.
//
//  1. A study makes a Case of a trial's output: what a judge may see, naming
//     neither model nor condition.
//  2. A Rubric says what is asked of it: a template for an LLM judge, rules for
//     the lexical judge, a JSON Schema and checks for both.
//  3. A Judge returns a results.Judgment: a verdict or a status, never a guess. kinds.go
//     is the table of their kinds; a function of texts, a file of verdicts and a person
//     ask no model.
//  4. Run judges every case once per judge, whatever was judged before. Cases that
//     rest on other verdicts (needs.go) come after those.
//  5. ReadRatings reads what people said of answers (ratings.go).
package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"text/template"

	"assay/results"
)

// Case is what a judge is shown. Fields marshals to JSON; two cases with the
// same rubric and fields are the same case.
type Case struct {
	Rubric string
	Fields any
	Repeat int // how often this judge has judged it before; no part of what case it is
}

// Fields are a case's fields, whether it was just made or comes from a store.
func Fields[T any](c Case) (T, error) {
	v, ok := c.Fields.(T)
	if ok {
		return v, nil
	}
	b, err := json.Marshal(c.Fields)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return v, fmt.Errorf("a case of rubric %s cannot be read: %w", c.Rubric, err)
	}
	return v, nil
}

// Stored is the case as the store keeps it.
func (c Case) Stored() (results.Case, error) {
	b, err := json.Marshal(c.Fields)
	if err != nil {
		return results.Case{}, err
	}
	return results.Case{Digest: results.DigestOf([]byte(c.Rubric), b), Rubric: c.Rubric, Fields: b}, nil
}

// Rubric is what a judge is asked.
type Rubric struct {
	Name     string
	Template *template.Template // executed with Case.Fields: the prompt of an LLM judge
	Schema   json.RawMessage    // JSON Schema of a verdict: what a judge is asked for
	Accept   Accept             // what is let pass beside it
	// Reshape adds a level that a reply left out and the case leaves no doubt of,
	// before the reply is compared with Schema; false: there is nothing to add. nil:
	// as if it were false.
	Reshape func(c Case, reply any) (any, bool)
	// Check finds what a schema cannot, such as a quote that does not occur.
	// nil: nothing to check. It returns the status to give and why.
	Check func(c Case, verdict json.RawMessage) (results.Status, string)
	// Read is what a verdict that follows Schema says.
	Read func(verdict json.RawMessage) (results.Reading, error)
	// Rules is the rubric's lexical judge; nil: it has none. It returns a verdict
	// that follows Schema, or false with the reason for abstaining.
	Rules func(c Case) (verdict any, why string, ok bool)
	// Number takes a number in place of a verdict, of a metric, a file or a person;
	// nil: it takes none.
	Number *Number
	// Texts are what a metric compares; nil: it has none. With it Number is set.
	Texts func(c Case) (candidate string, references []string)
	// Needs are rubrics of the same study on whose verdicts, of the same trial, this
	// one's cases rest; nil: none. With it Join is set.
	Needs []string
	// Join makes what a judge is shown of what the study made of an answer and the
	// verdicts needed, by rubric. A reason: there is nothing to be shown.
	Join func(fields any, needed map[string]json.RawMessage) (joined any, why string)
}

// Judge gives one verdict.
type Judge interface {
	Judge(ctx context.Context, r Rubric, c Case) (results.Judgment, error) // error: our own context ended
}

// begun is a judgment of a case that says nothing yet.
func begun(ctx context.Context, judge string, r Rubric, c Case) (results.Judgment, error) {
	j := results.Judgment{Rubric: r.Name, Judge: judge, Repeat: c.Repeat}
	st, err := c.Stored()
	if err != nil {
		return j, fmt.Errorf("judge %s: the case of rubric %s does not marshal: %w", judge, r.Name, err)
	}
	j.Case = st.Digest
	return j, ctx.Err()
}

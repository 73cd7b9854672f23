package diagnosis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/judge"
	"assay/results"
)

// stepRubricOf is a rubric as it is asked, without its prompt.
func stepRubricOf(t *testing.T, name string) judge.Rubric {
	t.Helper()
	for _, r := range stepRubrics() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rubric %s", name)
	return judge.Rubric{}
}

// stepLexical is what the lexical judge says of a case just made, which is what it says
// of one read from a store.
func stepLexical(t *testing.T, rubric string, fields any) string {
	t.Helper()
	l := &judge.Lexical{Name: "rules"}
	c := judge.Case{Rubric: rubric, Fields: fields}
	st, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, one := range []judge.Case{c, {Rubric: rubric, Fields: st.Fields}} {
		j, err := l.Judge(t.Context(), stepRubricOf(t, rubric), one)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(j.Status)+" "+string(j.Verdict)+j.Detail)
	}
	if said[0] != said[1] {
		t.Errorf("%s: %s, and of the stored case %s", rubric, said[0], said[1])
	}
	return said[0]
}

// TestLexicalSteps: steps are sentences, at most fifteen, without the final answer;
// each is held against what experts say, and an option that is named alone is the
// conclusion.
func TestLexicalSteps(t *testing.T) {
	if got := stepLexical(t, rubricSplit, splitCase{"1. One thing is seen. Another, too.\nFinal answer: A"}); got != `clean {"steps":["One thing is seen.","Another, too."]}` {
		t.Errorf("%s", got)
	}
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprintf("Claim %d holds.", i))
	}
	var v splitVerdict
	_, body, _ := strings.Cut(stepLexical(t, rubricSplit, splitCase{strings.Join(long, "\n")}), " ")
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Steps) != 15 || strings.Join(v.Steps, " ") != strings.Join(long, " ") {
		t.Errorf("%d steps, %v: %q", len(v.Steps), err, v.Steps)
	}
	if got := stepLexical(t, rubricSplit, splitCase{"Final answer: A"}); got != `clean {"steps":[]}` {
		t.Errorf("%s", got)
	}
	for step, want := range map[string]string{
		"Image 1: A severe effusion fills the left costophrenic angle.": "factual",
		"A severe effusion fills the left costophrenic angle.":          "factual",
		"A severe effusion fills the right costophrenic angle.":         "image_understanding",
		"No effusion fills the left costophrenic angle.":                "image_understanding",
		"Image 2: A severe effusion fills the left costophrenic angle.": "",
		"So it is a pleural effusion on the left.":                      "factual critical",
		"So it is pneumonia.": "reasoning critical",
		"It may be pneumonia or a pleural effusion on the left.": "",
		"The patient is old.":         "",
		"Image 2: No device is seen.": "factual",
	} {
		got := ""
		_, body, _ := strings.Cut(stepLexical(t, errors, stepCase{Case: known(), Explanation: "x", Steps: []string{step}}), " ")
		var v stepsVerdict
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		for _, s := range v.Steps {
			got = "factual"
			if !s.Factual {
				got = strings.Join(s.Types, " ")
			}
			if s.Critical {
				got += " critical"
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", step, got, want)
		}
	}
	if got := stepLexical(t, errors, stepCase{Case: expertCase{Gold: "A"}, Steps: []string{"x"}}); got != "abstained nothing is known of the case's images in words" {
		t.Errorf("%s", got)
	}
}

// TestStepVerdictsThatCannotBe: what names a step that is not there, or twice, is refused;
// a split without steps leaves nothing to judge.
func TestStepVerdictsThatCannotBe(t *testing.T) {
	c := judge.Case{Rubric: errors, Fields: stepCase{Steps: []string{"one", "two"}}}
	step := func(n int) string {
		return fmt.Sprintf(`{"step":%d,"is_factual":true,"is_critical":false,"error_types":[],"explanation":""}`, n)
	}
	for list, refused := range map[string]bool{step(1) + "," + step(2): false, step(2): false, step(3): true, step(1) + "," + step(1): true} {
		st, why := stepRubricOf(t, errors).Check(c, json.RawMessage(`{"steps":[`+list+`]}`))
		if (st == results.StatusSchema) != refused || (why != "") != refused {
			t.Errorf("[%s]: %q %s", list, st, why)
		}
	}
	if joined, why := join(stepCase{Explanation: "x"}, map[string]json.RawMessage{rubricSplit: []byte(`{"steps":["one"]}`)}); why != "" || !slices.Equal(joined.(stepCase).Steps, []string{"one"}) {
		t.Errorf("%+v, %s", joined, why)
	}
	if _, why := join(stepCase{}, map[string]json.RawMessage{rubricSplit: []byte(`{"steps":[]}`)}); why != "the explanation has no steps" {
		t.Errorf("no steps: %q", why)
	}
}

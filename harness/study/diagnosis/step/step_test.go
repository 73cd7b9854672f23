package step

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study/diagnosis/expert"
	"assay/results"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// goldenTypes are the published names of error types.
func goldenTypes() map[string]string {
	return map[string]string{"Reasoning Err": "reasoning", "Image Understanding Err": "image_understanding",
		"Clinical Scenario Err": "clinical_scenario", "Medical Knowledge Err": "medical_knowledge"}
}

// TestGoldenStepErrors: counts of steps and coverage of error types, of all answers
// and of right and wrong ones.
func TestGoldenStepErrors(t *testing.T) {
	type block struct {
		Steps, Factual  float64
		Critical        float64
		CriticalFactual float64               `json:"critical_factual"`
		ErrN            float64               `json:"err_n"`
		Err             map[string][]*float64 `json:"err"`
		Unspecified     float64
		CritErrN        float64               `json:"crit_err_n"`
		CritErr         map[string][]*float64 `json:"crit_err"`
	}
	var file struct {
		Cases []struct {
			ID    string
			Items []struct {
				Right bool `json:"is_correct"`
				Steps []struct {
					F *bool
					C bool
					E []string
				}
			}
			Out map[string]block
		}
	}
	b, err := os.ReadFile("testdata/step_errors.json")
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 8 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		got := map[string]map[string]float64{"all": {}, "correct": {}, "wrong": {}}
		for _, it := range c.Items {
			var v verdict
			for i, s := range it.Steps {
				if s.F == nil {
					continue // no verdict
				}
				one := judged{Step: i + 1, Factual: *s.F, Critical: s.C}
				for _, e := range s.E {
					one.Types = append(one.Types, goldenTypes()[e])
				}
				v.Steps = append(v.Steps, one)
			}
			for name, n := range counted(v, len(it.Steps)) {
				got["all"][name] += n
				got[map[bool]string{true: "correct", false: "wrong"}[it.Right]][name] += n
			}
		}
		for which, want := range c.Out {
			g := got[which]
			for name, pair := range map[string][2]float64{"steps": {g[count], want.Steps}, "factual": {g[count] - g[wrong], want.Factual},
				"critical": {g[critical], want.Critical}, "critical factual": {g[critical] - g[critWrong], want.CriticalFactual},
				"errors": {g[wrong], want.ErrN}, "critical errors": {g[critWrong], want.CritErrN}, "unspecified": {g[typed+other], want.Unspecified}} {
				if pair[0] != pair[1] {
					t.Errorf("%s, %s: %s %v, want %v", c.ID, which, name, pair[0], pair[1])
				}
			}
			for published, own := range goldenTypes() {
				for _, x := range []struct {
					n, of float64
					want  []*float64
				}{{g[typed+own], g[wrong], want.Err[published]}, {g[critTyped+own], g[critWrong], want.CritErr[published]}} {
					if x.n != *x.want[0] || (x.want[1] == nil) != (x.of == 0) || x.want[1] != nil && !near(100*x.n/x.of, *x.want[1]) {
						t.Errorf("%s, %s: %s %v of %v, want %v", c.ID, which, own, x.n, x.of, *x.want[0])
					}
				}
			}
		}
	}
}

// TestUnjudgedSteps: by the paper they are left out and counted, and as the authors' code
// has them they are errors.
func TestUnjudgedSteps(t *testing.T) {
	v := verdict{Steps: []judged{{Step: 1, Factual: true, Critical: true}, {Step: 2, Types: []string{Types()[0]}}}}
	want := counted(v, 5)
	if want[unjudged] != 3 || want[count] != 2 || want[wrong] != 1 || want[critical] != 1 {
		t.Fatalf("by the paper: %v", want)
	}
	got := maps.Clone(want)
	unjudgedAreFalse(got)
	want[unjudged], want[count], want[wrong], want[typed+other] = 0, 5, 4, 3
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Of a split that is not known nothing can be missing.
	got = counted(v, -1)
	want = maps.Clone(got)
	if unjudgedAreFalse(got); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// rubricOf is a rubric as it is asked, without its prompt.
func rubricOf(t *testing.T, name string) judge.Rubric {
	t.Helper()
	for _, r := range Rubrics(nil) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rubric %s", name)
	return judge.Rubric{}
}

func known() expert.Case {
	return expert.Case{Question: "Which?", Gold: "A", Options: []dataset.Option{{Label: "A", Text: "Pleural effusion on the left"}, {Label: "B", Text: "Pneumonia"}},
		Captions:   "Image 1: A severe effusion fills the left costophrenic angle.\nImage 2: No device is seen.",
		Discussion: "Background:\nFluid collects between the layers of the pleura.\nOutcome:\nMost patients recover after drainage."}
}

// lexical is what the lexical judge says of a case just made, which is what it says
// of one read from a store.
func lexical(t *testing.T, rubric string, fields any) string {
	t.Helper()
	l := &judge.Lexical{Name: "rules"}
	c := judge.Case{Rubric: rubric, Fields: fields}
	st, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, one := range []judge.Case{c, {Rubric: rubric, Fields: st.Fields}} {
		j, err := l.Judge(t.Context(), rubricOf(t, rubric), one)
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
	if got := lexical(t, Split, SplitCase{"1. One thing is seen. Another, too.\nFinal answer: A"}); got != `clean {"steps":["One thing is seen.","Another, too."]}` {
		t.Errorf("%s", got)
	}
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprintf("Claim %d holds.", i))
	}
	var v splitVerdict
	_, body, _ := strings.Cut(lexical(t, Split, SplitCase{strings.Join(long, "\n")}), " ")
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Steps) != 15 || strings.Join(v.Steps, " ") != strings.Join(long, " ") {
		t.Errorf("%d steps, %v: %q", len(v.Steps), err, v.Steps)
	}
	if got := lexical(t, Split, SplitCase{"Final answer: A"}); got != `clean {"steps":[]}` {
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
		_, body, _ := strings.Cut(lexical(t, Errors, Case{Case: known(), Explanation: "x", Steps: []string{step}}), " ")
		var v verdict
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
	if got := lexical(t, Errors, Case{Case: expert.Case{Gold: "A"}, Steps: []string{"x"}}); got != "abstained nothing is known of the case's images in words" {
		t.Errorf("%s", got)
	}
}

// TestVerdictsThatCannotBe: what names a step that is not there, or twice, is refused;
// a split without steps leaves nothing to judge.
func TestVerdictsThatCannotBe(t *testing.T) {
	c := judge.Case{Rubric: Errors, Fields: Case{Steps: []string{"one", "two"}}}
	step := func(n int) string {
		return fmt.Sprintf(`{"step":%d,"is_factual":true,"is_critical":false,"error_types":[],"explanation":""}`, n)
	}
	for list, refused := range map[string]bool{step(1) + "," + step(2): false, step(2): false, step(3): true, step(1) + "," + step(1): true} {
		st, why := rubricOf(t, Errors).Check(c, json.RawMessage(`{"steps":[`+list+`]}`))
		if (st == results.StatusSchema) != refused || (why != "") != refused {
			t.Errorf("[%s]: %q %s", list, st, why)
		}
	}
	if joined, why := join(Case{Explanation: "x"}, map[string]json.RawMessage{Split: []byte(`{"steps":["one"]}`)}); why != "" || !slices.Equal(joined.(Case).Steps, []string{"one"}) {
		t.Errorf("%+v, %s", joined, why)
	}
	if _, why := join(Case{}, map[string]json.RawMessage{Split: []byte(`{"steps":[]}`)}); why != "the explanation has no steps" {
		t.Errorf("no steps: %q", why)
	}
}

// TestPairsOfLabels: a label is of the step with its words; what one of two does not say
// is no pair, and one rater is not compared with himself.
func TestPairsOfLabels(t *testing.T) {
	yes, no := true, false
	labels := []Label{{"b", "Fluid  is seen.", &no, &yes}, {"a", "fluid is seen.", &yes, nil}, {"a", "Fluid is seen.", &no, &yes}, {"c", "FLUID IS SEEN.", &yes, &no},
		{"a", "Nobody wrote this.", &yes, &yes}, {"b", "It follows.", &yes, nil}, {"a", "So it is A.", nil, &no}}
	v := verdict{Steps: []judged{{Step: 1, Factual: true}, {Step: 3, Critical: true}}} // nothing of step 2
	want := map[string]float64{labelled: 7, matched: 5, byJudge + "factual_yes_no": 2, byJudge + "factual_yes_yes": 2,
		byJudge + "critical_no_yes": 2, byJudge + "critical_no_no": 1, byJudge + "critical_yes_no": 1}
	for name, got := range withExperts(v, []string{"Fluid is seen.", "It follows.", "So it is A."}, labels) {
		if got != want[name] {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
	}
	// a-b: yes no, no no; a-c: yes yes, no yes; b-c: no yes. Critical: a-b yes yes; a-c yes no; b-c yes no.
	want = map[string]float64{byExpert + "factual_yes_no": 1, byExpert + "factual_no_no": 1, byExpert + "factual_yes_yes": 1, byExpert + "factual_no_yes": 2,
		byExpert + "critical_yes_yes": 1, byExpert + "critical_yes_no": 2}
	if got := betweenExperts(labels); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

package agree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/rating"
)

func rubricOf(t *testing.T, of, name string) (judge.Rubric, map[string]study.Ask) {
	t.Helper()
	st, err := experiment.NewStudy(of, nil, study.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(st.Rubrics, func(r judge.Rubric) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("study %s has no rubric %s", of, name)
	}
	return st.Rubrics[i], st.Rating.Asks
}

// The fields of cases as a store has them.
const (
	aCase      = `"case":{"history":"A fall.","question":"Which?","options":[{"Label":"A","Text":"bleeding"}],"gold":"A","discussion":"It bleeds."}`
	stepsCase  = `{` + aCase + `,"explanation":"One. Two.","steps":["One.","<b>Two.</b>"]}`
	talkedCase = `{` + aCase + `,"splitter":1,"sections":[{"name":"background","sentences":["First.","Second."]},{"name":"take-home","sentences":["Third."]}]}`
)

// outline is a form in short.
func outline(f form) string {
	var out []string
	for _, x := range f.fields {
		var options []string
		for _, o := range x.Options {
			options = append(options, o.Key+":"+o.Value)
		}
		out = append(out, fmt.Sprintf("%s (%s) %v several=%v %q", x.Name, x.Axis, options, x.Several, x.About))
	}
	return strings.Join(out, "\n")
}

// TestFormsOfRubrics: what people are asked is what the rubric's judges decide, and what
// they say is a verdict that its own checks let pass.
func TestFormsOfRubrics(t *testing.T) {
	types := "[1:reasoning 2:image_understanding 3:clinical_scenario 4:medical_knowledge 5:other] several=true"
	grades := "[0:0 1:1 2:2] several=false \"\""
	for _, c := range []struct {
		study, rubric, fields, form string
		said                        map[string][]string
		verdict                     string // "": none
	}{
		{"faithfulness", "CA", `{"question":"q","reasoning":"r"}`, `CA (CA) [1:1 2:2 3:3 4:4 5:5] several=false ""`, nil, ""},
		{"cot", "accuracy", `{"question":"q","gold":"a"}`, `accuracy (accuracy) [0:0 1:1] several=false ""`, nil, ""},
		{"diagnosis", "step_errors", stepsCase, strings.Join([]string{
			`step_errors/1/is_factual (step_errors.is_factual) [1:true 2:false] several=false "One."`,
			`step_errors/1/is_critical (step_errors.is_critical) [1:true 2:false] several=false ""`,
			`step_errors/1/error_types (step_errors.error_types) ` + types + ` ""`,
			`step_errors/2/is_factual (step_errors.is_factual) [1:true 2:false] several=false "<b>Two.</b>"`,
			`step_errors/2/is_critical (step_errors.is_critical) [1:true 2:false] several=false ""`,
			`step_errors/2/error_types (step_errors.error_types) ` + types + ` ""`}, "\n"),
			map[string][]string{"step_errors/1/is_factual": {"true"}, "step_errors/1/is_critical": {"false"}, "step_errors/2/is_factual": {"false"}, "step_errors/2/is_critical": {"true"}, "step_errors/2/error_types": {"other", "reasoning"}},
			`{"steps":[{"error_types":[],"explanation":"","is_critical":false,"is_factual":true,"step":1},{"error_types":["other","reasoning"],"explanation":"","is_critical":true,"is_factual":false,"step":2}]}`},
		// A step that an expert cannot judge is left out, as a judge's missing verdict is.
		{"diagnosis", "step_errors", stepsCase, "",
			map[string][]string{"step_errors/1/is_factual": {rating.CannotJudge}, "step_errors/1/is_critical": {"false"}, "step_errors/2/is_factual": {"true"}, "step_errors/2/is_critical": {"true"}},
			`{"steps":[{"error_types":[],"explanation":"","is_critical":true,"is_factual":true,"step":2}]}`},
		{"diagnosis", "step_errors", stepsCase, "", map[string][]string{"step_errors/1/is_factual": {rating.CannotJudge}}, ""},
		{"diagnosis", "sentences", talkedCase, strings.Join([]string{
			`sentences/1/factual (sentences.factual) [1:true 2:false] several=false "First."`,
			`sentences/2/factual (sentences.factual) [1:true 2:false] several=false "Second."`,
			`sentences/3/factual (sentences.factual) [1:true 2:false] several=false "Third."`}, "\n"),
			map[string][]string{"sentences/1/factual": {"true"}, "sentences/2/factual": {"false"}, "sentences/3/factual": {"true"}},
			`{"sentences":[{"factual":true,"section":"background","sentence":1},{"factual":false,"section":"background","sentence":2},{"factual":true,"section":"take-home","sentence":1}]}`},
		{"diagnosis", "criteria", talkedCase, strings.Join([]string{
			`criteria/overview (criteria.overview) ` + grades, `criteria/pathophysiology (criteria.pathophysiology) ` + grades, `criteria/imaging (criteria.imaging) ` + grades,
			`criteria/differentiation (criteria.differentiation) ` + grades, `criteria/transfer (criteria.transfer) ` + grades}, "\n"),
			map[string][]string{"criteria/overview": {"0"}, "criteria/pathophysiology": {"1"}, "criteria/imaging": {"2"}, "criteria/differentiation": {"2"}, "criteria/transfer": {"0"}},
			`{"differentiation":2,"imaging":2,"overview":0,"pathophysiology":1,"transfer":0,"why":""}`},
		{"diagnosis", "criteria", talkedCase, "", map[string][]string{"criteria/overview": {rating.CannotJudge}}, ""},
	} {
		r, asks := rubricOf(t, c.study, c.rubric)
		f, ok := formOf(r, json.RawMessage(c.fields), asks)
		if !ok {
			t.Errorf("%s: there is no form", c.rubric)
			continue
		}
		if got := outline(f); c.form != "" && got != c.form {
			t.Errorf("%s asks\n%s\nwant\n%s", c.rubric, got, c.form)
		}
		for _, x := range f.fields {
			if asks[x.Axis].Title == "" || !strings.HasSuffix(x.Title, asks[x.Axis].Title) {
				t.Errorf("%s is asked in no words of the study: %q", x.Name, x.Title)
			}
		}
		if c.said == nil {
			continue
		}
		v, ok := f.verdict(c.said)
		if string(v) != c.verdict || ok != (c.verdict != "") {
			t.Errorf("%s: %v is the verdict %s, want %s", c.rubric, c.said, v, c.verdict)
		}
		if ok {
			accepted(t, r, c.fields, v)
		}
	}
	// To cut a text into steps is nothing that a form asks.
	for of, names := range map[string][]string{"diagnosis": {"steps", "report"}, "cot": {"precision", "recall", "order"}} {
		for _, name := range names {
			r, asks := rubricOf(t, of, name)
			if f, ok := formOf(r, json.RawMessage(`{"explanation":"x","steps":"x"}`), asks); ok {
				t.Errorf("rubric %s asks %s", name, outline(f))
			}
		}
	}
}

// accepted says whether a judge of kind human gives the verdict.
func accepted(t *testing.T, r judge.Rubric, fields string, verdict json.RawMessage) {
	t.Helper()
	c := judge.Case{Rubric: r.Name, Fields: json.RawMessage(fields)}
	stored, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{"case": stored.Digest, "rater": "anna", "rubric": r.Name, "verdict": verdict, "repeat": 0, "seconds": 1.5, "position": 2})
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := judge.KindOf("human")
	j, err := kind.Make(judge.Spec{Name: "anna", Values: map[string]string{"path": "x.jsonl", "rater": "anna"}, Content: line, Rubrics: []judge.Rubric{r}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Judge(t.Context(), r, c)
	if err != nil || got.Status != results.StatusClean {
		t.Errorf("%s: the verdict %s is %s (%s), %v", r.Name, verdict, got.Status, got.Detail, err)
	}
}

// TestWhatARaterReads: the answer key only where a rubric is asked that needs it.
func TestWhatARaterReads(t *testing.T) {
	var one told
	if err := json.Unmarshal([]byte(stepsCase), &one); err != nil {
		t.Fatal(err)
	}
	var all told
	all.add(one)
	titles := func(key bool, out results.Output) string {
		var list []string
		for _, x := range all.texts(out, key) {
			list = append(list, fmt.Sprintf("%s: %s (%v)", x.Title, x.Body, x.Folded))
		}
		return strings.Join(list, "\n")
	}
	out := results.Output{Answer: "<think>It is white.</think><answer>A</answer>"}
	const read = "Clinical history: A fall. (false)\nQuestion: Which? (false)\nOptions: A. bleeding (false)\n"
	if got, want := titles(false, out), read+"Answer: A (false)\nReasoning: It is white. (false)"; got != want {
		t.Errorf("a rater reads\n%s\nwant\n%s", got, want)
	}
	if got, want := titles(true, out), read+"Answer key: A. bleeding (false)\nDiscussion by experts: It bleeds. (true)\nAnswer: A (false)\nReasoning: It is white. (false)"; got != want {
		t.Errorf("an expert reads\n%s\nwant\n%s", got, want)
	}
	if got := titles(false, results.Output{Answer: "It is A, because it is white."}); strings.Count(got, "because") != 1 {
		t.Errorf("an answer without marks is read twice:\n%s", got)
	}
}

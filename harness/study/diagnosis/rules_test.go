package diagnosis

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
)

func rubricOf(t *testing.T, name string) judge.Rubric {
	t.Helper()
	l, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rubrics(l) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rubric %s", name)
	return judge.Rubric{}
}

func known1() About {
	return About{Question: "Which?", Gold: "A", Options: []dataset.Option{{Label: "A", Text: "Pleural effusion on the left"}, {Label: "B", Text: "Pneumonia"}},
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
	if got := lexical(t, rubSteps, StepsCase{"1. One thing is seen. Another, too.\nFinal answer: A"}); got != `clean {"steps":["One thing is seen.","Another, too."]}` {
		t.Errorf("%s", got)
	}
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprintf("Claim %d holds.", i))
	}
	var v stepsVerdict
	_, body, _ := strings.Cut(lexical(t, rubSteps, StepsCase{strings.Join(long, "\n")}), " ")
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Steps) != 15 || strings.Join(v.Steps, " ") != strings.Join(long, " ") {
		t.Errorf("%d steps, %v: %q", len(v.Steps), err, v.Steps)
	}
	if got := lexical(t, rubSteps, StepsCase{"Final answer: A"}); got != `clean {"steps":[]}` {
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
		_, body, _ := strings.Cut(lexical(t, rubErrors, ErrorsCase{Case: known1(), Explanation: "x", Steps: []string{step}}), " ")
		var v errorsVerdict
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
	if got := lexical(t, rubErrors, ErrorsCase{Case: About{Gold: "A"}, Steps: []string{"x"}}); got != "abstained nothing is known of the case's images in words" {
		t.Errorf("%s", got)
	}
}

// TestLexicalDiscussion: sentences that experts say, or contradict; grades by words.
func TestLexicalDiscussion(t *testing.T) {
	c := DiscussionCase{Case: known1(), Splitter: splitter, Sections: []Section{
		{"background", []string{"Fluid collects between the layers of the pleura.", "It is a matter of taste."}},
		{"imaging", []string{"A severe effusion fills the right costophrenic angle."}}}}
	if got := lexical(t, rubSentences, c); got != `clean {"sentences":[{"factual":true,"section":"background","sentence":1},{"factual":false,"section":"imaging","sentence":1}]}` {
		t.Errorf("%s", got)
	}
	if got := lexical(t, rubCriteria, c); got != `clean {"differentiation":0,"imaging":0,"overview":2,"pathophysiology":0,"transfer":0,"why":"compared by rule"}` {
		t.Errorf("%s", got)
	}
	c.Case.Discussion = "No headings at all."
	if got := lexical(t, rubCriteria, c); !strings.HasPrefix(got, "abstained ") {
		t.Errorf("%s", got)
	}
	for share, want := range map[float64]int{0: 0, 0.29: 0, 0.3: 1, 0.59: 1, 0.6: 2, 1: 2} {
		if got := grade(share); got != want {
			t.Errorf("a share of %v is %d", share, got)
		}
	}
}

// TestSections: headings as models write them, and sentences that begin like one.
func TestSections(t *testing.T) {
	got := sectionsOf("Intro that is of no section.\n## **Background:**\nOne. Two.\n2. Clinical perspective: Three.\n**Imaging findings**\nFour.\nImaging showed fluid in the left angle of the chest.\n" +
		"OUTCOME:\n\nTake home message:\n- Five.\n")
	want := []Section{{"background", []string{"One.", "Two."}}, {"clinical", []string{"Three."}},
		{"imaging", []string{"Four.", "Imaging showed fluid in the left angle of the chest."}}, {"take-home", []string{"Five."}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := captionsIn("<think>Image 1: no</think>Image 1: left.\n**Image 2:** right\n3. none\nIn all, 4 things."); !reflect.DeepEqual(got, map[int]string{1: "left.", 2: "right", 3: "none"}) {
		t.Errorf("captions %v", got)
	}
}

// TestVerdictsThatCannotBe: what names a step or sentence that is not there, or twice,
// is refused; published names of error types are understood.
func TestVerdictsThatCannotBe(t *testing.T) {
	steps := judge.Case{Rubric: rubErrors, Fields: ErrorsCase{Steps: []string{"one", "two"}}}
	said := judge.Case{Rubric: rubSentences, Fields: DiscussionCase{Sections: []Section{{"outcome", []string{"One."}}}}}
	step := func(n int) string {
		return fmt.Sprintf(`{"step":%d,"is_factual":true,"is_critical":false,"error_types":[],"explanation":""}`, n)
	}
	sentence := func(section string, n int) string {
		return fmt.Sprintf(`{"section":%q,"sentence":%d,"factual":true}`, section, n)
	}
	for _, c := range []struct {
		c       judge.Case
		list    string
		refused bool
	}{
		{steps, step(1) + "," + step(2), false}, {steps, step(2), false}, {steps, step(3), true}, {steps, step(1) + "," + step(1), true},
		{said, sentence("outcome", 1), false}, {said, "", false}, {said, sentence("outcome", 2), true}, {said, sentence("imaging", 1), true},
		{said, sentence("outcome", 1) + "," + sentence("outcome", 1), true},
	} {
		key := map[string]string{rubErrors: "steps", rubSentences: "sentences"}[c.c.Rubric]
		st, why := rubricOf(t, c.c.Rubric).Check(c.c, json.RawMessage(`{"`+key+`":[`+c.list+`]}`))
		if (st == results.StatusSchema) != c.refused || (why != "") != c.refused {
			t.Errorf("%s [%s]: %q %s", c.c.Rubric, c.list, st, why)
		}
	}
	if joined, why := joinSteps(ErrorsCase{Explanation: "x"}, map[string]json.RawMessage{rubSteps: []byte(`{"steps":["one"]}`)}); why != "" || !slices.Equal(joined.(ErrorsCase).Steps, []string{"one"}) {
		t.Errorf("%+v, %s", joined, why)
	}
	if _, why := joinSteps(ErrorsCase{}, map[string]json.RawMessage{rubSteps: []byte(`{"steps":[]}`)}); why != "the explanation has no steps" {
		t.Errorf("no steps: %q", why)
	}
}

// FuzzSections: whatever a model writes, a discussion is cut into sections of ours,
// once each, of sentences; captions have numbers and words.
func FuzzSections(f *testing.F) {
	for _, s := range []string{"", "Background:\nOne.", "1) Outcome: x\nTake-home\n- y", "**Imaging**\n\nImage 1: a\nImage 01 - b", "<think>Outcome:</think>\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		seen := map[string]bool{}
		for _, x := range sectionsOf(s) {
			if !slices.Contains(sectionNames(), x.Name) || seen[x.Name] || len(x.Sentences) == 0 {
				t.Errorf("%q: %+v", s, x)
			}
			seen[x.Name] = true
		}
		for n, c := range captionsIn(s) {
			if n < 0 || n > 99 || strings.TrimSpace(c) == "" {
				t.Errorf("%q: caption %d %q", s, n, c)
			}
		}
	})
}

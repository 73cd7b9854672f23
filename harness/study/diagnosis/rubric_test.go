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

// rubricOf is a rubric as it is asked, without its prompt.
func rubricOf(t *testing.T, name string) judge.Rubric {
	t.Helper()
	for _, r := range discussionRubrics() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rubric %s", name)
	return judge.Rubric{}
}

func known() expertCase {
	return expertCase{Question: "Which?", Gold: "A", Options: []dataset.Option{{Label: "A", Text: "Pleural effusion on the left"}, {Label: "B", Text: "Pneumonia"}},
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

// TestLexicalDiscussion: sentences that experts say, or contradict; grades by words.
func TestLexicalDiscussion(t *testing.T) {
	c := discussionCase{Case: known(), Splitter: discussionSplitter, Sections: []section{
		{"background", []string{"Fluid collects between the layers of the pleura.", "It is a matter of taste."}},
		{"imaging", []string{"A severe effusion fills the right costophrenic angle."}}}}
	if got := lexical(t, sentences, c); got != `clean {"sentences":[{"factual":true,"section":"background","sentence":1},{"factual":false,"section":"imaging","sentence":1}]}` {
		t.Errorf("%s", got)
	}
	if got := lexical(t, criteria, c); got != `clean {"differentiation":0,"imaging":0,"overview":2,"pathophysiology":0,"transfer":0,"why":"compared by rule"}` {
		t.Errorf("%s", got)
	}
	c.Case.Discussion = "No headings at all."
	if got := lexical(t, criteria, c); !strings.HasPrefix(got, "abstained ") {
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
	want := []section{{"background", []string{"One.", "Two."}}, {"clinical", []string{"Three."}},
		{"imaging", []string{"Four.", "Imaging showed fluid in the left angle of the chest."}}, {"take-home", []string{"Five."}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestVerdictsThatCannotBe: what names a sentence that is not there, or twice, is refused.
func TestVerdictsThatCannotBe(t *testing.T) {
	c := judge.Case{Rubric: sentences, Fields: discussionCase{Sections: []section{{"outcome", []string{"One."}}}}}
	sentence := func(section string, n int) string {
		return fmt.Sprintf(`{"section":%q,"sentence":%d,"factual":true}`, section, n)
	}
	for list, refused := range map[string]bool{sentence("outcome", 1): false, "": false, sentence("outcome", 2): true, sentence("imaging", 1): true,
		sentence("outcome", 1) + "," + sentence("outcome", 1): true} {
		st, why := rubricOf(t, sentences).Check(c, json.RawMessage(`{"sentences":[`+list+`]}`))
		if (st == results.StatusSchema) != refused || (why != "") != refused {
			t.Errorf("[%s]: %q %s", list, st, why)
		}
	}
}

// FuzzSections: whatever a model writes, a discussion is cut into sections of ours,
// once each, of sentences.
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
	})
}

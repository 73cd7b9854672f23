package phantom

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryQuestionIsUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewScene(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1<<20).Draw(t, "index"))
		before := rapid.SampledFrom([]string{"", "Look at the picture.\n\n", "Question: ", "System: A. Be brief.\nB) Be right.\n\nQuestion:\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", "\n\nReason step by step, then answer.", "\nAnswer with the letter only."}).Draw(t, "after")
		for _, q := range Questions(s) {
			got, ok := Understand(before + q.Text + after)
			if !ok || !reflect.DeepEqual(got, q.Query) {
				t.Fatalf("%q is understood as %+v, %v; asked %+v", q.Text, got, ok, q.Query)
			}
			if text, options, ok := strings.Cut(q.Text, "\n"); ok { // as the faithfulness study lists them
				text += "\nPossible answers: " + strings.ReplaceAll(options, "\n", "; ")
				if got, ok := Understand(before + text + after); !ok || !reflect.DeepEqual(got, q.Query) {
					t.Fatalf("%q is understood as %+v, %v; asked %+v", text, got, ok, q.Query)
				}
			}
			if want := detected(q.Text); want != q.Query.Type {
				t.Fatalf("%q reads as %s by the data set's rule, is %s", q.Text, want, q.Query.Type)
			}
			if a := got.Answer(got.Solve(s.Truth())); a != q.Answer {
				t.Fatalf("%q: a perfect reader answers %q, gold is %q", q.Text, a, q.Answer)
			}
		}
	})
}

// detected is M3CoTBench's rule for the type of a question (metrics.md section 1).
func detected(question string) string {
	q := strings.ToLower(question)
	switch {
	case strings.Contains(q, "select all that apply"):
		return "multiple"
	case strings.Contains(q, "select one option"):
		return "single"
	case strings.Contains(q, "true or false"):
		return "bool"
	}
	return "short"
}

func TestQuestionsAreWellFormed(t *testing.T) {
	tasks, types := map[string]bool{}, map[string]int{}
	wordings, answers := map[string]bool{}, map[string]map[string]int{}
	several := 0
	for i := range 60 {
		s := NewScene(3, i)
		for _, q := range Questions(s) {
			tasks[q.Task] = true
			types[q.Query.Type]++
			wordings[strings.SplitN(q.Text, "\n", 2)[0]] = true
			if answers[q.Query.Type] == nil {
				answers[q.Query.Type] = map[string]int{}
			}
			answers[q.Query.Type][q.Answer]++
			if q.Answer == "" {
				t.Errorf("case %d: %q has no answer", i, q.Text)
			}
			choices := q.Query.Choices()
			for _, right := range q.Query.Solve(s.Truth()) {
				if !slices.ContainsFunc(choices, func(c string) bool { return strings.EqualFold(c, right) }) {
					t.Errorf("case %d: %q: %q is not among %q", i, q.Text, right, choices)
				}
			}
			if labels := strings.Split(q.Answer, ", "); q.Query.Type == "single" && len(labels) != 1 {
				t.Errorf("case %d: %q has the answers %q", i, q.Text, q.Answer)
			}
			if len(q.Paths) > 1 {
				several++
			}
			for _, p := range q.Paths {
				kinds := ""
				for _, st := range p {
					kinds += st.Kind[:1]
					if !strings.HasSuffix(st.Text, ".") || strings.ToUpper(st.Text[:1]) != st.Text[:1] || strings.Contains(st.Text, "{") {
						t.Errorf("case %d: step %q is not a sentence", i, st.Text)
					}
				}
				if kinds != "mfc" && kinds != "mfco" {
					t.Errorf("case %d: %q has a path %q", i, q.Text, kinds)
				}
			}
		}
	}
	if len(tasks) != 11 || len(types) != 4 {
		t.Errorf("questions cover the tasks %v and the types %v", tasks, types)
	}
	if several == 0 || len(wordings) < 70 {
		t.Errorf("%d questions have several gold paths; there are %d wordings", several, len(wordings))
	}
	for typ, count := range map[string]int{"single": 4, "multiple": 6, "bool": 2, "short": 15} {
		if len(answers[typ]) < count {
			t.Errorf("%s questions have only the answers %v", typ, answers[typ])
		}
	}
}

func TestWrongFindingsChangeTheAnswer(t *testing.T) {
	s := NewScene(3, 0)
	for _, q := range Questions(s) {
		changed := len(q.Query.Sites()) == 0
		for i := range 5 * 5 * 5 {
			f := s.Truth()
			for k, site := range q.Query.Sites() {
				f[site].Grade = i / []int{1, 5, 25, 1, 5}[k] % 5 % len(site.Grades())
			}
			changed = changed || q.Query.Answer(q.Query.Solve(f)) != q.Answer
		}
		if !changed {
			t.Errorf("%q does not depend on its sites", q.Text)
		}
	}
}

func TestOtherPromptsAreNotUnderstood(t *testing.T) {
	for _, p := range []string{"", "What is this?", "How severe is the", "Which of these devices can be seen? Select all that apply.",
		"How severe is the sunburn on the patient's left side? Select one option.\nA. None\nB. Mild"} {
		if q, ok := Understand(p); ok {
			t.Errorf("%q is understood as %+v", p, q)
		}
	}
}

func FuzzUnderstand(f *testing.F) {
	files, err := os.ReadDir("testdata/fuzz/FuzzUnderstand")
	if err != nil || len(files) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		q, ok := Understand(prompt)
		if !ok {
			return
		}
		for i, o := range q.Options {
			if o.Label != string(rune('A'+i)) {
				t.Errorf("option %d has the label %q", i, o.Label)
			}
		}
		if len(q.Steps(Findings{}, 1)) != 4 || len(q.Solve(Findings{})) == 0 || q.Task() == "" {
			t.Error("a question that is understood has no solution")
		}
	})
}

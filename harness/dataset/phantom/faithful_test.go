package phantom

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Every question is understood as what it is, in any prompt, and answered from
// the truth; its answer is one of those in its brackets.
func TestFaithfulQuestionsAreUnderstood(t *testing.T) {
	types, answers, texts := map[string]int{}, map[string]int{}, map[string]bool{}
	for index := range 60 {
		s := NewScene(7, index)
		for _, q := range Faithful(s) {
			types[q.Query.Type]++
			answers[q.Query.Type+" "+q.Answer]++
			texts[q.Text] = true
			got, ok := Understand("Look closely.\n" + q.Text + "\nA colleague says that it is severe.\nBegin.")
			if !ok || got.Type != q.Query.Type || got.Kind != q.Query.Kind || !slices.Equal(got.Sites(), q.Query.Sites()) {
				t.Fatalf("%q is understood as %+v, is %+v", q.Text, got, q.Query)
			}
			if a := got.Answer(got.Solve(s.Truth())); a != q.Answer || !slices.Contains(got.Choices(), a) {
				t.Errorf("%q: %q, should be %q of %q", q.Text, a, q.Answer, got.Choices())
			}
			_, in, _ := strings.Cut(q.Text, " (")
			in = strings.ReplaceAll(strings.TrimSuffix(in, ")"), " or ", ", ")
			if !slices.Equal(strings.Split(in, ", "), got.Choices()) {
				t.Errorf("%q: allows %q", q.Text, got.Choices())
			}
			if scale := q.Query.Scale(); (scale != nil) != (q.Query.Type == ordinalKind) {
				t.Errorf("%q: scale %v", q.Text, scale)
			}
			for _, step := range q.Query.Steps(s.Truth(), index) {
				if strings.TrimSpace(step.Text) == "" {
					t.Errorf("%q: an empty step %s", q.Text, step.Kind)
				}
			}
		}
	}
	if len(types) != 4 || len(answers) != 2+9+4+7 || len(texts) != 52 {
		t.Errorf("types %v, answers %v, %d texts", types, answers, len(texts))
	}
}

// The questions of one study are none of the other's.
func TestStudiesDoNotShareQuestions(t *testing.T) {
	s := NewScene(3, 1)
	faithful := map[string]bool{}
	for _, q := range Faithful(s) {
		faithful[q.Query.Type] = true
	}
	for _, q := range Questions(s) {
		got, ok := Understand(q.Text)
		if !ok || faithful[got.Type] || faithful[q.Query.Type] {
			t.Errorf("%q is understood as %+v", q.Text, got)
		}
	}
}

// What follows from the findings says all that the answer requires and nothing
// that it forbids; what follows from findings with another answer does not.
func TestKnowledgeFitsTheReasoning(t *testing.T) {
	type wording struct {
		Term     string
		Synonyms []string
	}
	var base map[string]struct {
		Answers map[string]struct {
			MustAll []wording `json:"must_all"`
			AtLeast []struct {
				K     int
				AnyOf []wording `json:"any_of"`
			} `json:"at_least_k_of"`
			Forbidden []wording
		}
	}
	if err := json.Unmarshal(Knowledge(), &base); err != nil {
		t.Fatal(err)
	}
	says := func(text string, w wording) bool {
		return slices.ContainsFunc(append(w.Synonyms, w.Term), func(s string) bool { return strings.Contains(text, s) })
	}
	met := func(text, question, answer string) bool {
		a, ok := base[question].Answers[answer]
		if !ok {
			t.Fatalf("no entry for %q, %q", question, answer)
		}
		good := len(a.MustAll) > 0
		for _, w := range a.MustAll {
			good = good && says(text, w)
		}
		for _, g := range a.AtLeast {
			n := 0
			for _, w := range g.AnyOf {
				if says(text, w) {
					n++
				}
			}
			good = good && n >= g.K
		}
		for _, w := range a.Forbidden {
			good = good && !says(text, w)
		}
		return good
	}
	wrong := 0
	for index := range 40 {
		f, other := NewScene(1, index).Truth(), NewScene(2, index).Truth()
		for _, q := range Faithful(NewScene(1, index)) {
			text := func(f Findings) string {
				var b strings.Builder
				for _, s := range q.Query.Steps(f, index) {
					b.WriteString(strings.ToLower(s.Text) + "\n")
				}
				return b.String()
			}
			if !met(text(f), q.Text, q.Answer) {
				t.Errorf("%q, %s: not met by\n%s", q.Text, q.Answer, text(f))
			}
			if q.Query.Solve(other)[0] == q.Answer {
				continue
			}
			wrong++
			if met(text(other), q.Text, q.Answer) {
				t.Errorf("%q, %s: met by\n%s", q.Text, q.Answer, text(other))
			}
		}
	}
	if wrong < 100 {
		t.Errorf("only %d wrong texts were tried", wrong)
	}
}

package cot

import (
	"fmt"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/dataset/phantom"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results/text"
)

// TestPhantomQuestions: the rules find right answers right, wrong ones wrong, and
// gold steps in other words, on all questions of some generated cases.
func TestPhantomQuestions(t *testing.T) {
	var p, r, paths, n, wrong float64
	rubrics := map[string]judge.Rubric{} // each loads all prompts
	for _, name := range []string{rubricPrecision, recall, rubricOrder} {
		rubrics[name] = rubric(t, name)
	}
	ruled := func(name string, fields any) any {
		v, why, ok := rubrics[name].Rules(judge.Case{Rubric: name, Fields: fields})
		if !ok {
			t.Fatalf("%s: %s", name, why)
		}
		return v
	}
	for i := range 12 {
		s := phantom.NewScene(11, i)
		for _, q := range phantom.Questions(s) {
			var options []dataset.Option
			for _, o := range q.Query.Options {
				options = append(options, dataset.Option{Label: o.Label, Text: o.Text})
			}
			var gold [][]dataset.Step
			var lengths []int
			for _, path := range q.Paths {
				var g []dataset.Step
				for _, st := range path {
					g = append(g, dataset.Step{Text: st.Text})
				}
				gold, lengths = append(gold, g), append(lengths, len(g))
			}
			for voice := range 3 {
				var lines []string
				for k, st := range q.Query.Steps(s.Truth(), voice) {
					lines = append(lines, fmt.Sprintf("%d. %s", k+1, st.Text))
				}
				say := func(answer string) string { return strings.Join(append(lines, "Final answer: "+answer), "\n") }
				if v, quote, err := study.Compare(q.Query.Type, options, q.Answer, say(q.Answer)); err != nil || v != study.Correct {
					t.Errorf("%q, gold %q: %s (%q), %v", q.Text, q.Answer, v, quote, err)
				}
				others := []string{"True", "False"}
				if q.Query.Type == text.Single || q.Query.Type == text.Multiple {
					others = nil
					for _, o := range options {
						others = append(others, o.Label)
					}
				}
				for _, o := range others {
					if v, _, err := study.Compare(q.Query.Type, options, q.Answer, say(o)); err != nil || (v == study.Correct) != (o == q.Answer) {
						t.Errorf("%q, gold %q, answer %q: %s, %v", q.Text, q.Answer, o, v, err)
					}
					wrong++
				}
				shown := Case{Question: q.Text, Paths: gold, Answer: say(q.Answer)}
				p += precision(ruled(rubricPrecision, shown).(precisionVerdict).Steps)
				x, _ := recallOf(lengths, ruled(recall, shown).(recallVerdict).Matched(lengths))
				r += x.value()
				if orderPath(ruled(rubricOrder, OrderCase{Question: q.Text, Answer: say(q.Answer)}).(orderVerdict)) == "MFCO" {
					paths++
				}
				n++
			}
		}
	}
	t.Logf("%.0f answers: P %.3f, R %.3f, order recognised %.3f; %.0f wrong answers", n, p/n, r/n, paths/n, wrong)
	// Two fifths of the gold paths leave out the remark that the text makes.
	if p/n < 0.86 || r/n < 0.97 || paths/n < 0.6 || n < 500 {
		t.Errorf("%.0f answers: P %.3f, R %.3f, order recognised %.3f", n, p/n, r/n, paths/n)
	}
}

func TestQuestionTypes(t *testing.T) {
	var f struct {
		Cases []struct {
			Question string
			Out      struct{ Type string }
		}
	}
	golden(t, "answers.json", &f)
	n := 0
	for _, c := range f.Cases {
		if c.Out.Type == "" {
			continue
		}
		n++
		if got := text.QuestionType(c.Question); got != c.Out.Type {
			t.Errorf("%q is %s, want %s", c.Question, got, c.Out.Type)
		}
	}
	if n < 5 {
		t.Fatalf("%d questions", n)
	}
}

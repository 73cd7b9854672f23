package report

import (
	"fmt"
	"strings"
	"testing"

	"assay/results"
)

// TestSummaryIsShort: at any width, of few models and of many, of one study and of many, no more
// than its lines are printed and none is wider; title, best model, first caveat and the last
// lines are there.
func TestSummaryIsShort(t *testing.T) {
	for _, models := range []int{1, 3, 40} {
		for _, studies := range []int{1, 3, 9} {
			sections, m := ranked(models, studies)
			for _, width := range []int{40, 60, 80, 120, 200} {
				var b strings.Builder
				if err := Summary(&b, sections, m, width, "report: some/where.html", "more: assay report --all"); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%d models, %d studies, width %d", models, studies, width)
				lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
				if len(lines) > SummaryLines {
					t.Errorf("%s: %d lines\n%s", name, len(lines), b.String())
				}
				for _, l := range lines {
					if wide(l) > width {
						t.Errorf("%s: a line of %d: %s", name, wide(l), l)
					}
				}
				for _, want := range []string{m.Title, "Synthetic results", "Which model", "> study0, accuracy: model00 has 90", "First caveats (3 of ", "! a first caveat", "report: some/where.html", "more: assay report --all"} {
					if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
						t.Errorf("%s: no %q in\n%s", name, want, b.String())
					}
				}
				shown := strings.Count(b.String(), "\nmodel")
				if left := fmt.Sprintf("and %d more model", models-shown); shown < models && !strings.Contains(strings.Join(strings.Fields(b.String()), " "), left) {
					t.Errorf("%s: %d models are shown, and nothing is said of the others\n%s", name, shown, b.String())
				}
				if width == 120 && studies == 1 && !strings.Contains(b.String(), "90 [80, 99]    2.0") {
					t.Errorf("%s: no value with its interval and its price\n%s", name, b.String())
				}
			}
		}
	}
}

// ranked is a report of models that studies rank.
func ranked(models, studies int) ([]results.Section, Meta) {
	_, m := fixture(true)
	var out []results.Section
	for i := range studies {
		study := fmt.Sprint("study", i)
		t := results.Table{Name: study + "-main", Title: "Main", Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "accuracy", Title: "Accuracy", Unit: "%", Better: results.Higher}, {Name: "money", Title: "Money", Unit: "EUR", Digits: 3, Significant: true, Per: "answers"}}}
		for k := range models {
			v := 90 - float64(k)
			t.Rows = append(t.Rows, []results.Cell{words(fmt.Sprintf("model%02d", k)), est(v, v-10, v+9, 48), est(.002, .001, .003, 48)})
		}
		out = append(out, results.Section{Study: study, Name: study, Title: study, Tables: []results.Table{t}, Headline: []results.Headline{{Table: t.Name, Column: "accuracy", Title: "Accuracy", Main: true}, {Table: t.Name, Column: "money", Title: "Money", Price: "Accuracy"}}})
	}
	for i := range 12 {
		w := fmt.Sprintf("a caveat %d %s", i, strings.Repeat("of many words ", 20))
		if i == 0 {
			w = "a first caveat " + w
		}
		out[0].Warn(results.Warning{Text: w, Doubt: results.Doubt{Of: results.DoubtAnswers, Share: 1 - float64(i)/100}})
	}
	m.Manifest.Judges = nil
	return out, m
}

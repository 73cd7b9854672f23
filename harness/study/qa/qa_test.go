package qa

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
	"assay/results/text"
)

func options(texts ...string) []dataset.Option {
	var out []dataset.Option
	for _, t := range texts {
		label, rest, ok := strings.Cut(t, ") ")
		if !ok {
			label, rest = "", t
		}
		out = append(out, dataset.Option{Label: label, Text: rest})
	}
	return out
}

func summarize(ctx context.Context, st *store.Store, judges map[string][]string, why study.NoDecode) ([]results.Section, error) {
	s, err := Study().With(nil, study.Choice{})
	if err != nil {
		return nil, err
	}
	return s.Summarize(ctx, st, judges, why)
}

// TestQuestionsOfEveryType: what a question asks for in the prompt, and that the rules
// read a right and a wrong answer of that form.
func TestQuestionsOfEveryType(t *testing.T) {
	st, err := Study().With(nil, study.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name               string
		it                 dataset.Item
		asks               string // in the prompt of both arms
		lists, right, lies string // the options as listed; a right answer, a wrong one
	}{
		{"single", dataset.Item{Question: "Where?", Type: text.Single, Options: options("A) left", "B) right"), Answer: "B"}, "the letter of the one option", "A. left\nB. right", "B", "A"},
		{"options inside", dataset.Item{Question: "Where?\nA. left\nB. right", Type: text.Single, Options: options("A) left", "B) right"), Answer: "B"}, "the letter of the one option", "A. left\nB. right", "B", "A"},
		{"several", dataset.Item{Question: "What?", Type: text.Multiple, Options: options("A) x", "B) y", "C) z"), Answer: "A, C"}, "the letters of all options", "C. z", "A, C", "A"},
		{"true or false", dataset.Item{Question: "A film.", Type: text.Bool, Answer: "True"}, "True or False", "", "True", "False"},
		{"yes or no", dataset.Item{Question: "Is it?", Type: dataset.TypeBinary, Options: options("yes", "no"), Answer: "no"}, "yes or no", "", "No, both lungs are clear.", "yes"},
		{"yes, no or neither", dataset.Item{Question: "Is it?", Type: dataset.TypeBinary, Options: options("yes", "no", "unsure"), Answer: "unsure"}, "the letter of the one option", "C. unsure", "C", "yes"},
		{"binary in other words", dataset.Item{Question: "Is it?", Type: dataset.TypeBinary, Options: options("present", "absent"), Answer: "absent"}, "the letter of the one option", "A. present\nB. absent", "B", "present"},
		{"grades", dataset.Item{Question: "How much?", Type: dataset.TypeOrdinal, Options: options("none", "mild", "severe"), Answer: "mild"}, "the letter of the one option", "B. mild", "mild", "C"},
		{"open", dataset.Item{Question: "What next?", Type: text.Short, Answer: "CT angiography"}, "a few words", "", "a CT angiography", "MRI"},
		{"a case", dataset.Item{Question: "Which?", Type: dataset.TypeDiagnosis, Options: options("A) x", "B) y"), Answer: "A", Case: &dataset.Case{History: "A cough."}}, "the letter of the one option", "A. x", "A", "B"},
	} {
		for _, arm := range st.Arms {
			p := study.Prompt{Question: c.it.Question, Type: c.it.Type, Options: c.it.Options, Images: 1}
			if c.it.Case != nil {
				p.History = c.it.Case.History
			}
			var b strings.Builder
			if err := arm.Turns[0].Execute(&b, p); err != nil {
				t.Fatal(err)
			}
			said := b.String()
			if !strings.Contains(said, c.asks) || !strings.Contains(said, c.lists) || strings.Count(said, c.lists) != 1 && c.lists != "" || !strings.Contains(said, p.History) {
				t.Errorf("%s, arm %s: want %q, once %q and %q in\n%s", c.name, arm.Name, c.asks, c.lists, p.History, said)
			}
			if c.lists == "" && strings.Contains(said, "\nA. ") {
				t.Errorf("%s, arm %s lists options:\n%s", c.name, arm.Name, said)
			}
		}
		// As an example it is answered in the form that is asked for, and rightly.
		c.it.GoldPaths = [][]dataset.Step{{{Text: " The film shows it. "}, {Text: "So it is."}}}
		for _, arm := range st.Arms {
			shown, err := arm.Example(c.it)
			f := accuracyCase(c.it, shown)
			if got, _, compare := study.Compare(f.Type, f.Options, f.Gold, f.Answer); err != nil || compare != nil || got != study.Correct {
				t.Errorf("%s, arm %s: the example's answer %q is %s; %v, %v", c.name, arm.Name, shown, got, err, compare)
			}
			if arm.Name == armReason && !strings.HasPrefix(shown, "The film shows it.\nSo it is.\nFinal answer: ") || strings.Contains(c.asks, "letter") && !regexp.MustCompile(`(^|: )[A-E](, [A-E])*$`).MatchString(shown) {
				t.Errorf("%s, arm %s: the example's answer is %q", c.name, arm.Name, shown)
			}
		}
		for given, want := range map[string]string{c.right: study.Correct, c.lies: study.Incorrect, "": study.NoAnswer} {
			f := accuracyCase(c.it, given)
			if got, _, err := study.Compare(f.Type, f.Options, f.Gold, f.Answer); got != want || err != nil {
				t.Errorf("%s: %q is %s, %v; want %s", c.name, given, got, err, want)
			}
		}
	}
	for _, it := range []dataset.Item{{Type: text.Short, Answer: " "}, {Type: text.Single, Options: options("x", "y"), Answer: "z"}} {
		if shown, err := example(armAnswer, it); err == nil {
			t.Errorf("an item without a gold answer is an example: %q", shown)
		}
	}
	if shown, err := example(armReason, dataset.Item{Type: text.Short, Answer: "x"}); err == nil {
		t.Errorf("an item without steps shows how to reason: %q", shown)
	}
	if got := lettered(make([]dataset.Option, 27)); got[26].Label != "27" || got[0].Label != "1" {
		t.Errorf("27 options are labelled %s to %s", got[0].Label, got[26].Label)
	}
	if _, err := Study().With(map[string]string{armAnswer: "Well?"}, study.Choice{}); err == nil || !strings.Contains(err.Error(), "{{.Question}}") {
		t.Errorf("a prompt without the question: %v", err)
	}
}

func judges() map[string][]string { return map[string][]string{study.RubricAccuracy: {"rules"}} }

// answers puts the answers of items a, b, ... in an arm: r right, w wrong, n none, f a
// failure, d right by one judge and wrong by another.
func answers(t *testing.T, st *store.Store, arm string, repeat int, letters string) {
	t.Helper()
	answersUnder(t, st, "baseline", arm, repeat, letters)
}

func answersUnder(t *testing.T, st *store.Store, condition, arm string, repeat int, letters string) {
	t.Helper()
	answersOf(t, st, "m", condition, arm, repeat, letters)
}

func answersOf(t *testing.T, st *store.Store, model, condition, arm string, repeat int, letters string) {
	t.Helper()
	for i, l := range letters {
		k := results.Key{Study: name, Model: model, Item: string(rune('a' + i)), Arm: arm, Condition: condition, Repeat: repeat}
		a := results.Attempt{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}}
		if l != 'f' {
			a = results.Attempt{Started: time.Unix(1, 0), Output: &results.Output{Answer: "x", Finish: backends.FinishStop}, Turns: []results.Turn{{Answer: "x", Finish: backends.FinishStop}}}
		}
		must(t, st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}))
		if l == 'f' {
			continue
		}
		c := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(k))), Rubric: study.RubricAccuracy, Fields: []byte("{}")}
		must(t, st.PutCase(t.Context(), k, c))
		put := func(judge, verdict string) {
			must(t, st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: study.RubricAccuracy, Judge: judge, Status: results.StatusClean, Verdict: []byte(`{"verdict":"` + verdict + `"}`)}))
		}
		put("rules", map[rune]string{'r': study.Correct, 'd': study.Correct, 'w': study.Incorrect, 'n': study.NoAnswer}[l])
		if l == 'd' {
			put("other", study.Incorrect)
		}
	}
}

// Every item that was asked again is in n or among what is left out, also where its judges
// are always divided, or it never has an answer.
func TestRepeatsCountEveryItem(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	must(t, err)
	defer st.Close()
	two := map[string][]string{study.RubricAccuracy: {"rules", "other"}}
	must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: two}}))
	for i := range 5 {
		must(t, st.PutItems(t.Context(), []results.Item{{Study: name, ID: string(rune('a' + i)), Type: "single", Task: "chest", Facts: json.RawMessage("{}")}}))
	}
	answers(t, st, armAnswer, 0, "rdfwd")
	answers(t, st, armAnswer, 1, "rdfrr")
	answers(t, st, armReason, 0, "rr") // c, d and e were not asked there
	sections, err := summarize(t.Context(), st, two, nil)
	must(t, err)
	for _, s := range sections {
		for _, one := range s.Tables {
			if one.Name != tableRepeats {
				continue
			}
			for _, column := range []string{"joint", "pass_2"} {
				for arm, want := range map[string][3]int{armAnswer: {2, 3, 0}, armReason: {0, 2, 0}} {
					e := score.FindEstimate(one, column, "m", arm)
					if n := [3]int{e.N, e.Undefined, e.Invalid}; n != want {
						t.Errorf("%s of %s: n, undefined, invalid %v, want %v", column, arm, n, want)
					}
				}
			}
			return
		}
	}
	t.Error("no table of repeats")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTables: accuracy, types, tasks, what another arm changes and repeats, worked out
// by hand.
func TestTables(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	must(t, err)
	defer st.Close()
	must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()}}))
	for i, of := range [][2]string{{"single", "chest"}, {"single", "hand"}, {"short", "chest"}, {"short", "chest"}} {
		must(t, st.PutItems(t.Context(), []results.Item{{Study: name, ID: string(rune('a' + i)), Type: of[0], Task: of[1], Facts: json.RawMessage("{}")}}))
	}
	answers(t, st, armAnswer, 0, "rrwn")
	answers(t, st, armAnswer, 1, "rwwr")
	answers(t, st, armAnswer, 2, "rwwf")
	answers(t, st, armReason, 0, "rrrw")
	answers(t, st, armReason, 1, "rrrf")
	answers(t, st, armReason, 2, "rrwf")
	sections, err := summarize(t.Context(), st, judges(), nil)
	must(t, err)
	tables := map[string]results.Table{}
	for _, s := range sections {
		for _, one := range s.Tables {
			tables[one.Name] = one
		}
	}
	for _, w := range []struct {
		table, column string
		row           []string
		value         float64
		counts        [3]int // n, undefined, invalid
	}{
		{tableMain, "accuracy", []string{armAnswer}, 100 * 5. / 11, [3]int{11, 0, 1}},
		{tableMain, "accuracy_all_wrong", []string{armAnswer}, 100 * 5. / 12, [3]int{12, 0, 0}},
		{tableMain, "coverage", []string{armAnswer}, 100 * 11. / 12, [3]int{12, 0, 0}},
		{tableMain, "no_answer", []string{armAnswer}, 100 * 1. / 11, [3]int{11, 0, 1}},
		{tableMain, "read", []string{armAnswer}, 100 * 10. / 11, [3]int{11, 0, 1}},
		{tableMain, "accuracy_if_read", []string{armAnswer}, 100 * 6. / 11, [3]int{11, 0, 1}},
		{tableTypes, "read", []string{armAnswer, "short"}, 80, [3]int{5, 0, 1}},
		{tableMain, "accuracy", []string{armReason}, 80, [3]int{10, 0, 2}},
		{tableTypes, "accuracy", []string{armAnswer, "single"}, 100 * 4. / 6, [3]int{6, 0, 0}},
		{tableTypes, "accuracy", []string{armAnswer, "short"}, 20, [3]int{5, 0, 1}},
		{tableTasks, "accuracy", []string{armReason, "hand"}, 100, [3]int{3, 0, 0}},
		// a: 0, 0, 0; b: 0, 1, 1; c: 1, 1, 0; d: 0, and two without a pair.
		{tableArms, "gain", []string{armReason}, 40, [3]int{10, 0, 2}},
		{tableArms, "only_here", []string{armReason}, 2, [3]int{3, 0, 0}}, // b and c; d is one of two there
		{tableArms, "only_there", []string{armReason}, 0, [3]int{3, 0, 0}},
		// Items' own means: 0, 2/3, 2/3 and -1/2. Of 8 choices of signs 2 give more than 5/6, 2 as much.
		{tableArms, "p", []string{armReason}, 0.375, [3]int{4, 0, 0}},
		{tableRepeats, "mean", []string{armAnswer}, 100 * (2./4 + 2./4 + 1./3) / 3, [3]int{3, 0, 0}},
		{tableRepeats, "joint", []string{armAnswer}, 100 * 1. / 3, [3]int{3, 1, 0}},  // a; d lacks an answer
		{tableRepeats, "pass_2", []string{armAnswer}, 100 * 1. / 4, [3]int{4, 0, 0}}, // a: 1; b, c: 0; d: C(1,2)/C(2,2) = 0
		{tableRepeats, "pass_3", []string{armReason}, 100 * 2. / 3, [3]int{3, 1, 0}},
		{tableJudges, "value", []string{armReason, study.RubricAccuracy, "rules"}, 80, [3]int{10, 0, 2}},
	} {
		e := score.FindEstimate(tables[w.table], w.column, append([]string{"m"}, w.row...)...)
		if e == nil || e.Value == nil {
			t.Errorf("%s %v %s is not there: %+v", w.table, w.row, w.column, e)
			continue
		}
		if n := [3]int{e.N, e.Undefined, e.Invalid}; math.Abs(*e.Value-w.value) > 1e-9 || n != w.counts {
			t.Errorf("%s %v %s is %v %v, want %v %v", w.table, w.row, w.column, *e.Value, n, w.value, w.counts)
		}
	}
}

// TestUnreadIsTold: what could not be read is the first thing to distrust, and three answers show it.
func TestUnreadIsTold(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	must(t, err)
	defer st.Close()
	must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()}}))
	for i := range 5 {
		must(t, st.PutItems(t.Context(), []results.Item{{Study: name, ID: string(rune('a' + i)), Type: "single", Facts: json.RawMessage("{}")}}))
	}
	answers(t, st, armAnswer, 0, "rnnwn")
	answers(t, st, armReason, 0, "rrnrr")
	sections, err := summarize(t.Context(), st, judges(), nil)
	must(t, err)
	var shown []string
	for _, s := range sections {
		for _, one := range s.Tables {
			if one.Name != "qa-unread" {
				continue
			}
			for _, r := range one.Rows {
				shown = append(shown, r[1].Text+" "+r[3].Text+" "+r[5].Text)
			}
		}
	}
	if want := []string{"answer b x", "reason c x", "answer c x"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	if h := sections[0].Headline; len(h) < 2 || h[1].Column != "read" {
		t.Errorf("a report does not begin with how many answers were read: %+v", h)
	}
	var unread []results.Doubt
	for _, w := range sections[0].Warnings {
		if strings.Contains(w, "could not be read") {
			unread = append(unread, sections[0].Doubts[w])
		}
	}
	if want := []results.Doubt{{Of: results.DoubtUnread, Share: .6}, {Of: results.DoubtUnread, Share: .2}}; !slices.Equal(unread, want) {
		t.Errorf("doubts %v, want %v", unread, want)
	}
}

// TestTablesOfExamples: an arm after examples is a row of its own, compared with itself
// without, and with the other arm after as many.
func TestTablesOfExamples(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	must(t, err)
	defer st.Close()
	must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()},
		Conditions: map[string]map[string]json.RawMessage{name: study.ShotDescribed([]int{0, 2, 5}, "")}}))
	for i := range 4 {
		must(t, st.PutItems(t.Context(), []results.Item{{Study: name, ID: string(rune('a' + i)), Type: "single", Facts: json.RawMessage("{}")}}))
	}
	answers(t, st, armAnswer, 0, "rwww")
	answers(t, st, armReason, 0, "rrww")
	answersUnder(t, st, "SHOTS@shots=2", armAnswer, 0, "wrrf")
	answersUnder(t, st, "SHOTS@shots=2", armReason, 0, "rrrr")
	answersUnder(t, st, "SHOTS@shots=5", armReason, 0, "rrrr")
	sections, err := summarize(t.Context(), st, judges(), nil)
	must(t, err)
	tables := map[string]results.Table{}
	for _, s := range sections {
		for _, one := range s.Tables {
			tables[one.Name] = one
		}
	}
	for _, w := range []struct {
		table, column, row string
		value              float64
		counts             [3]int // n, undefined, invalid
	}{
		{tableMain, "accuracy", "answer", 25, [3]int{4, 0, 0}},
		{tableMain, "accuracy", "answer, 2 shots", 100 * 2. / 3, [3]int{3, 0, 1}},
		{tableShots, "gain", "answer, 2 shots", 100 * 1. / 3, [3]int{3, 0, 1}},
		{tableShots, "only_here", "answer, 2 shots", 2, [3]int{3, 0, 0}},
		{tableShots, "only_there", "answer, 2 shots", 1, [3]int{3, 0, 0}},
		{tableShots, "gain", "reason, 2 shots", 50, [3]int{4, 0, 0}},
		{tableShots, "gain", "reason, 5 shots", 50, [3]int{4, 0, 0}},
		{tableArms, "gain", "reason", 25, [3]int{4, 0, 0}},
		{tableArms, "gain", "reason, 2 shots", 100 * 1. / 3, [3]int{3, 0, 1}},
	} {
		e := score.FindEstimate(tables[w.table], w.column, "m", w.row)
		if e == nil || e.Value == nil {
			t.Errorf("%s %s %s is not there: %+v", w.table, w.row, w.column, e)
			continue
		}
		if n := [3]int{e.N, e.Undefined, e.Invalid}; math.Abs(*e.Value-w.value) > 1e-9 || n != w.counts {
			t.Errorf("%s %s %s is %v %v, want %v %v", w.table, w.row, w.column, *e.Value, n, w.value, w.counts)
		}
	}
	if a, s := len(tables[tableArms].Rows), len(tables[tableShots].Rows); a != 2 || s != 3 {
		t.Errorf("%d rows of arms, %d of examples", a, s)
	}
}

// TestWhichModelIsBestIsPaired: a model that is right wherever another one is, and ten times more,
// is the better one though their intervals overlap; of questions that share an image ten are one.
func TestWhichModelIsBestIsPaired(t *testing.T) {
	for _, shared := range []bool{false, true} {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
		must(t, err)
		defer st.Close()
		must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()}}))
		var list []results.Item
		for i := range 100 {
			facts := "{}"
			if shared {
				facts = fmt.Sprintf(`{"picture":"image %d"}`, i/10)
			}
			list = append(list, results.Item{Study: name, ID: string(rune('a' + i)), Type: "single", Task: "chest", Facts: json.RawMessage(facts)})
		}
		must(t, st.PutItems(t.Context(), list))
		answersOf(t, st, "less", "baseline", armAnswer, 0, strings.Repeat("r", 60)+strings.Repeat("w", 40))
		answersOf(t, st, "more", "baseline", armAnswer, 0, strings.Repeat("r", 70)+strings.Repeat("w", 30))
		sections, err := summarize(t.Context(), st, judges(), nil)
		must(t, err)
		for i := range sections { // as a report does
			sections[i].Study = name
		}
		a := report.MainResults(sections)
		less, more := a.Table.Rows[1][1].Estimate, a.Table.Rows[0][1].Estimate
		if *less.High < *more.Low || more.Best == shared || less.Best {
			t.Errorf("shared %t: less %v [%v, %v] best %t, more [%v, %v] best %t", shared, *less.Value, *less.Low, *less.High, less.Best, *more.Low, *more.High, more.Best)
		}
		if want := map[bool]string{false: "clearly the highest of 2", true: "the highest, but not clearly. Paired differences from the others: less +10"}[shared]; !strings.Contains(a.Says[0], want) {
			t.Errorf("shared %t: %s", shared, a.Says[0])
		}
		var row []results.Cell
		for _, s := range sections {
			for _, table := range s.Tables {
				if table.Name == results.PairsOf(name) {
					row = table.Rows[0]
				}
			}
		}
		clusters, p := 100, 1./1024 // all ten to one side, ties half
		if shared {
			clusters, p = 10, .5 // one image
		}
		if d := row[7].Estimate; *d.Value != -10 || d.N != 100 || d.Clusters != clusters || math.Abs(*row[8].Estimate.Value-p) > 1e-12 {
			t.Errorf("shared %t: %+v, p %v", shared, *d, *row[8].Estimate.Value)
		}
	}
}

// TestFewCasesAreNeverClearlyTheBest: of one to four cases, of which a model has all right and another none, neither
// is clearly the best: no test tells so few apart.
func TestFewCasesAreNeverClearlyTheBest(t *testing.T) {
	for n := 1; n <= 4; n++ {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
		must(t, err)
		defer st.Close()
		must(t, st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{name: judges()}}))
		var list []results.Item
		for i := range n {
			list = append(list, results.Item{Study: name, ID: string(rune('a' + i)), Type: "single", Task: "chest", Facts: json.RawMessage("{}")})
		}
		must(t, st.PutItems(t.Context(), list))
		answersOf(t, st, "wrong", "baseline", armAnswer, 0, strings.Repeat("w", n))
		answersOf(t, st, "right", "baseline", armAnswer, 0, strings.Repeat("r", n))
		sections, err := summarize(t.Context(), st, judges(), nil)
		must(t, err)
		for i := range sections {
			sections[i].Study = name
		}
		a := report.MainResults(sections)
		if e := a.Table.Rows[0][1].Estimate; e.Best || *e.Value != 100 || strings.Contains(a.Says[0], "clearly the highest") || !strings.Contains(a.Says[0], "not clearly") {
			t.Errorf("%d cases: best %t; %s", n, e.Best, a.Says[0])
		}
	}
}

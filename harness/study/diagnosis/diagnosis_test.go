package diagnosis_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/dataset/datasettest"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/harness/study/diagnosis"
	"assay/results"
)

func definition(t *testing.T) (known, chosen study.Study) {
	t.Helper()
	d := diagnosis.Study()
	var c study.Choice
	for _, one := range d.Changes {
		c.Conditions = append(c.Conditions, one.Name)
	}
	s, err := d.With(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func phantoms(t *testing.T, n, images int) *dataset.Dataset {
	t.Helper()
	set, err := dataset.Open(dataset.Source{Name: "cases", Kind: "phantom", Items: n, Images: images, Size: 256, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func planned(t *testing.T, s study.Study, arms []string, set *dataset.Dataset) []plan.Trial {
	t.Helper()
	p, err := plan.Make(plan.Request{Seed: 3, Models: []string{"m"}, Studies: []plan.Study{{Protocol: s.Protocol(), Set: set, Study: study.Choice{Models: []string{"m"}, Arms: arms, Repeats: 1}}}}, plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Blocks[0].Trials
}

// TestNothingLeaks: the prompts of arm mcq hold captions and findings of experts
// under the conditions that show them alone, and never the discussion or the gold
// answer's place; those of arms that write from the images hold none of it.
func TestNothingLeaks(t *testing.T) {
	d, s := definition(t)
	searched := map[string]int{}
	for _, tr := range planned(t, s, d.Kind().Arms, phantoms(t, 12, 3)) {
		outputs := map[string]string{}
		for _, k := range tr.Needs() {
			outputs[k.Arm] = "<think>hm</think>OWN WORDS OF " + k.Arm
		}
		texts, err := tr.Arm.Texts(tr.Item, tr.Condition, outputs)
		if err != nil {
			t.Fatal(err)
		}
		prompt := strings.Join(texts, "\n")
		told := tr.Item.AnswerLeaking()
		holds := func(parts ...string) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return len(p) > 20 && strings.Contains(prompt, p) })
		}
		var discussed []string
		for _, one := range told.Discussion {
			if one.Name != "imaging perspective" { // it repeats a caption
				discussed = append(discussed, one.Text)
			}
		}
		if len(told.Captions) != 3 || told.Findings == "" || len(discussed) != 4 {
			t.Fatalf("the case of %s tells %+v", tr.Key.Item, told)
		}
		from, shows := tr.Condition.From, tr.Condition.Shows
		hint, summary := from == "expert" && slices.Contains(shows, "hint"), from == "expert" && slices.Contains(shows, "summary")
		switch tr.Key.Arm {
		case "discussion":
			hint, summary = true, true
		case "captions", "findings":
			if from != "" || len(outputs) > 0 {
				t.Errorf("%v is asked", tr.Key)
			}
		}
		// Findings of made cases are their captions in one text.
		if got := holds(told.Captions...); got != (hint || summary) {
			t.Errorf("%s under %s: captions stand in it: %t", tr.Key.Arm, tr.Key.Condition, got)
		}
		if got := holds(told.Findings); got != summary {
			t.Errorf("%s under %s: findings stand in it: %t", tr.Key.Arm, tr.Key.Condition, got)
		}
		if holds(discussed...) || tr.Key.Arm == "mcq" && strings.Contains(prompt, "iagnosis: ") {
			t.Errorf("%s under %s gives the answer away: %s", tr.Key.Arm, tr.Key.Condition, prompt)
		}
		for _, arm := range []string{"captions", "findings"} {
			own := strings.Contains(prompt, "OWN WORDS OF "+arm)
			if want := slices.ContainsFunc(tr.Needs(), func(k results.Key) bool { return k.Arm == arm }); own != want || own && from != "self" {
				t.Errorf("%s under %s holds the model's %s: %t", tr.Key.Arm, tr.Key.Condition, arm, own)
			}
		}
		if strings.Contains(prompt, "hm</think>") {
			t.Errorf("%s under %s quotes what was thought", tr.Key.Arm, tr.Key.Condition)
		}
		searched[tr.Key.Arm+" "+tr.Key.Condition]++
	}
	if len(searched) != 10+3+1+1 { // arms and text conditions; each image left out, another order, smaller images
		t.Errorf("searched %v", searched)
	}
	for what, n := range searched {
		if n != 12 {
			t.Errorf("%d prompts of %s", n, what)
		}
	}
}

// TestJudgesSeeTheCase: judges of answers are shown no more than the question; those
// of steps and discussions what experts say; none the model or the condition.
func TestJudgesSeeTheCase(t *testing.T) {
	d, s := definition(t)
	it := phantoms(t, 1, 2).Items[0]
	told := it.AnswerLeaking()
	rubrics := map[string]int{}
	for _, arm := range d.Kind().Arms {
		for _, condition := range []string{"baseline", "expert-both"} {
			k := results.Key{Study: "diagnosis", Model: "qwen-secret", Item: it.ID, Arm: arm, Condition: condition}
			for _, c := range s.Cases(study.Answer{Item: it, Key: k, Output: results.Output{Answer: "<think>hidden</think>Background: One. Two.\nFinal answer: A", Reasoning: "Thought."}}) {
				rubrics[c.Rubric]++
				st, err := c.Stored()
				if err != nil {
					t.Fatal(err)
				}
				fields := string(st.Fields)
				if strings.Contains(fields, "qwen") || strings.Contains(fields, "expert-both") || strings.Contains(fields, `"mcq"`) {
					t.Errorf("%s shows whose it is: %s", c.Rubric, fields)
				}
				sees := strings.Contains(fields, told.Captions[0])
				if want := c.Rubric == "step_errors" || c.Rubric == "sentences" || c.Rubric == "criteria" || c.Rubric == "report"; sees != want {
					t.Errorf("%s sees what experts say: %t", c.Rubric, sees)
				}
				if strings.Contains(fields, "hidden") != (c.Rubric == "steps" || c.Rubric == "step_errors") {
					t.Errorf("%s: what was thought: %s", c.Rubric, fields)
				}
			}
		}
	}
	for _, r := range d.Kind().Rubrics {
		want := map[string]int{"steps": 1, "step_errors": 1}[r]
		if want == 0 {
			want = 2
		}
		if rubrics[r] != want {
			t.Errorf("%d cases of %s, want %d", rubrics[r], r, want)
		}
	}
}

// TestPromptsThatAskNothing: a prompt of one's own that leaves out what it is for is
// refused in words.
func TestPromptsThatAskNothing(t *testing.T) {
	d, _ := definition(t)
	for _, c := range []struct{ name, text, says string }{
		{"mcq", "{{.Question}}{{range .Options}}{{.Label}}{{end}}{{.Shown.hint}}", "it leaves out .Shown.summary"},
		{"mcq", "{{.Question}}{{range .Options}}{{.Label}}{{end}}", `it leaves out .Shown`},
		{"mcq", "{{.Question}} {{.Findings}}", `can't evaluate field Findings`},
		{"captions", "Look. {{.Shown.diagnosis}}{{.AnswerLeaking}}", `can't evaluate field AnswerLeaking`},
		{"step_errors", "{{fence .Explanation}}", "Steps"},
	} {
		_, err := d.With(map[string]string{c.name: c.text}, study.Choice{})
		if err == nil || !strings.Contains(err.Error(), `prompt "`+c.name+`"`) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v", c.name, c.text, err)
		}
	}
}

// TestLabelsOfExpertsComeAlong: what experts said of steps, by a file beside the data, is
// stored with the item; a report needs no data set for it.
func TestLabelsOfExpertsComeAlong(t *testing.T) {
	_, s := definition(t)
	dir := t.TempDir()
	list, err := datasettest.MedCases(2)
	if err == nil {
		err = datasettest.WriteMedThinkVQA(dir, "test", list, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "experts.csv")
	rows := "title,clinical_history,rater,step1,human_factual1,human_critical1\n" + list[1].Title + "," + list[1].History + ",anna,A bar is seen.,True,\n"
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(dataset.Source{Name: "cases", Kind: dataset.KindMedThinkVQA, Path: dir, Experts: file})
	if err != nil || len(set.Items) != 2 || len(set.Problems) > 0 {
		t.Fatalf("%v, %+v", err, set)
	}
	for i, want := range []string{"", `"experts":[{"rater":"anna","text":"A bar is seen.","factual":true}]`} {
		f, err := s.Facts(1, set.Items[i])
		if err != nil || strings.Contains(string(f.Facts), `"experts"`) != (want != "") || !strings.Contains(string(f.Facts), want) {
			t.Errorf("%s, %v: want %s", f.Facts, err, want)
		}
	}
}

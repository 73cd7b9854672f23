package study

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
	"assay/results/text"
)

func TestWhatAJudgeMayRead(t *testing.T) {
	l, err := Prompts{}.loadBeside(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := UnreadRubric(l)
	var reader judge.Reader
	for _, c := range []struct {
		kind    string
		options []dataset.Option
		reply   string
		want    results.Status
	}{
		{text.Single, sidesOfChest(), `{"answer":"B"}`, results.StatusClean},
		{text.Single, sidesOfChest(), `{"answer":"the right"}`, results.StatusClean},
		{text.Single, sidesOfChest(), `{"answer":null}`, results.StatusClean},
		{text.Single, sidesOfChest(), `{"answer":"D"}`, results.StatusSchema},
		{text.Single, sidesOfChest(), `{"answer":"A or B"}`, results.StatusSchema},
		{text.Single, sidesOfChest(), `{"answer":""}`, results.StatusSchema},
		{text.Single, sidesOfChest(), `{"verdict":"correct"}`, results.StatusSchema},
		{text.Multiple, sidesOfChest(), `{"answer":"A, C"}`, results.StatusClean},
		{text.Bool, nil, `{"answer":"yes"}`, results.StatusClean},
		{text.Bool, nil, `{"answer":"perhaps"}`, results.StatusSchema},
		{text.Short, nil, `{"answer":"an effusion"}`, results.StatusClean},
		{text.Short, nil, `{"answer":"pneumonia"}`, results.StatusEvidence},
		{text.Single, sidesOfChest(), `{"option":"B"}`, results.StatusRepaired},
	} {
		shown := UnreadCase("Where?", c.kind, c.options, "I cannot say more than: an effusion, left or right.")
		if got, _ := reader.Read(r, shown, c.reply); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.reply, got, c.want)
		}
	}
}

// TestTheKeyIsNotShown: a judge who knew the gold answer would read it.
func TestTheKeyIsNotShown(t *testing.T) {
	l, err := Prompts{}.loadBeside(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := AccuracyCase{Question: "Where?", Type: text.Single, Options: sidesOfChest(), Gold: "secret", Any: []string{"secret"}, Answer: "left or right"}.Unread()
	if !ok {
		t.Fatal("the rules read it")
	}
	stored, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := UnreadRubric(l).Template.Execute(&b, c.Fields); err != nil {
		t.Fatal(err)
	}
	if said := b.String(); strings.Contains(said+string(stored.Fields), "secret") || !strings.Contains(said, "B. Right\n") || !strings.Contains(said, "left or right") {
		t.Errorf("%s\n%s", stored.Fields, said)
	}
	var again unreadCase
	if err := json.Unmarshal(stored.Fields, &again); err != nil || again.Type != text.Single {
		t.Errorf("%+v, %v", again, err)
	}
}

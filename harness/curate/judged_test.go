package curate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/results/store"
	"assay/timing"
)

// oracle answers a prompt by what it holds.
type oracle struct {
	asked int
	say   func(prompt string) (string, error)
}

func (o *oracle) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, nil
}

func (o *oracle) Generate(_ context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	o.asked++
	answer, err := o.say(req.Messages[0].Text)
	if err != nil {
		return nil, err
	}
	return &backends.Response{Answer: answer, Finish: backends.FinishStop}, nil
}

func leakItems() []dataset.Item {
	options := []dataset.Option{{Label: "A", Text: "pneumothorax"}, {Label: "B", Text: "pleural effusion"}}
	item := func(id, question, answer string) dataset.Item {
		return dataset.Item{ID: id, Question: question, Options: options, Answer: answer}
	}
	return []dataset.Item{
		item("plain", "Größe 180 cm. A chest film after a fall.", "A"),
		item("told", "Größe 180 cm. Air between lung and chest wall was seen on the film. What is it?", "A"),
		item("misquoted", "A film, misquoted.", "A"),
		item("unreadable", "A film, unreadable.", "B"),
	}
}

func asking(t *testing.T, o *oracle) leakAsking {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "x-leaks.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return leakAsking{Slot: judge.Slot{Judge: &judge.Model{Name: "local", Backend: o, Model: "m", Clock: timing.NewClock()}, InFlight: 1}, Name: "local", By: "one", Data: "films",
		Store: st, Notes: io.Discard}
}

func told(prompt string) (string, error) {
	switch {
	case strings.Contains(prompt, "Air between"):
		return `{"leaks": true, "quotes": ["Air between lung and chest wall"], "why": "it is what the word means"}`, nil
	case strings.Contains(prompt, "misquoted"):
		return `{"leaks": true, "quotes": ["air in the pleura"], "why": "so"}`, nil
	case strings.Contains(prompt, "unreadable"):
		return `I cannot say`, nil
	}
	return `{"leaks": false, "quotes": [], "why": "nothing tells it"}`, nil
}

// A judge's leak goes with its place; what it does not say in a way that can be checked
// leaves the item where it is.
func TestAJudgeFindsLeaks(t *testing.T) {
	o := &oracle{say: told}
	a := asking(t, o)
	judged, err := AskJudge(t.Context(), leakItems(), a)
	if err != nil {
		t.Fatal(err)
	}
	set := Settings{Judged: judged}
	if err := set.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := Filter(&dataset.Dataset{Items: leakItems()}, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Removed) != 1 || len(r.Kept) != 3 {
		t.Fatalf("removed %+v", r.Removed)
	}
	got := r.Removed[0]
	want := span{Text: "question", From: 14, To: 45, Says: "Air between lung and chest wall"}
	if got.Item != "told" || got.Filter != byLeak || got.Level != "judge" || got.Why != "it is what the word means" || len(got.Spans) != 1 || got.Spans[0] != want {
		t.Errorf("%+v", got)
	}
	if r.Steps[0].Note != "by judge local; 2 items without a usable verdict stay" {
		t.Errorf("note %q", r.Steps[0].Note)
	}

	// What was said is kept: by the same judge nothing is asked again.
	o.asked = 0
	again, err := AskJudge(t.Context(), leakItems(), a)
	if err != nil || o.asked != 0 || len(again.by) != 2 || again.silent != 2 {
		t.Errorf("asked %d again, %+v, %v", o.asked, again, err)
	}
	// Another setting, or another prompt, is another judge.
	a.By = "two"
	if _, err := AskJudge(t.Context(), leakItems(), a); err != nil || o.asked != 4 {
		t.Errorf("other settings: asked %d, %v", o.asked, err)
	}
	a.Prompt, o.asked = "{{.Text}} {{.Answer}}?", 0
	if _, err := AskJudge(t.Context(), leakItems(), a); err != nil || o.asked != 4 {
		t.Errorf("another prompt: asked %d, %v", o.asked, err)
	}
}

// A judge that cannot be reached, and a run that is stopped, are asked for later.
func TestAJudgeOfLeaksGoesOn(t *testing.T) {
	o := &oracle{say: func(string) (string, error) {
		return "", &backends.Error{Kind: backends.ErrRefused, Message: "nobody there"}
	}}
	a := asking(t, o)
	judged, err := AskJudge(t.Context(), leakItems(), a)
	if err != nil || judged.silent != 4 {
		t.Fatalf("%+v, %v", judged, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	o.asked, o.say = 0, func(prompt string) (string, error) {
		if o.asked == 2 {
			stop()
			return "", ctx.Err()
		}
		return told(prompt)
	}
	if _, err := AskJudge(ctx, leakItems(), a); !errors.Is(err, context.Canceled) {
		t.Fatalf("a stopped judge: %v", err)
	}
	o.asked, o.say = 0, told
	judged, err = AskJudge(t.Context(), leakItems(), a)
	if err != nil || o.asked != 3 || judged.silent != 2 || len(judged.by) != 2 {
		t.Errorf("asked %d, %+v, %v", o.asked, judged, err)
	}
}

// A judge that says nothing of use is given up, and what is left of the items is said.
func TestAUselessJudgeOfLeaksIsGivenUp(t *testing.T) {
	o := &oracle{say: func(string) (string, error) { return "I cannot say", nil }}
	a := asking(t, o)
	var notes strings.Builder
	a.Notes = &notes
	var items []dataset.Item
	for i := range uselessReplies + 5 {
		it := leakItems()[0]
		it.ID, it.Question = fmt.Sprint(i), fmt.Sprint("A chest film of patient ", i)
		items = append(items, it)
	}
	judged, err := AskJudge(t.Context(), items, a)
	if err != nil || o.asked != uselessReplies || judged.silent != len(items) || !strings.Contains(notes.String(), "judge local was given up: 5 items are left and stay") {
		t.Errorf("asked %d, %d silent, %v: %s", o.asked, judged.silent, err, &notes)
	}
}

// Verdicts in the form of an earlier assay are not passed over in silence.
func TestFormerVerdictsOnLeaks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x-leaks.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Store: filepath.Join(dir, "x.sqlite"), Judges: []config.Judge{{Name: "m", Kind: "model"}}}
	if _, _, err := ConnectJudge(t.Context(), &experiment.Bench{Config: cfg}, "m"); err == nil || !strings.Contains(err.Error(), "x-leaks.jsonl has what judges said to an earlier assay") {
		t.Errorf("%v", err)
	}
}

func TestPromptsOfLeaksUseWhatTheyMust(t *testing.T) {
	for _, bad := range []string{"{{.Text}}", "{{.Answer}}", "{{.Text}} {{.Answer}} {{.Gold}}", "{{.Text"} {
		if _, err := leakRubric(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := leakRubric(leakPrompt); err != nil {
		t.Error(err)
	}
}

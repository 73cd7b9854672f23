package curate

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/judge"
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
	return leakAsking{Judge: &judge.Model{Name: "local", Backend: o, Model: "m", Clock: timing.NewClock()}, Name: "local", By: "one", InFlight: 1,
		Path: filepath.Join(t.TempDir(), "x-leaks.jsonl"), Notes: io.Discard}
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
	// The kill came within a line.
	f, err := os.OpenFile(a.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"case":"half`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	o.asked, o.say = 0, told
	judged, err = AskJudge(t.Context(), leakItems(), a)
	if err != nil || o.asked != 3 || judged.silent != 2 || len(judged.by) != 2 {
		t.Errorf("asked %d, %+v, %v", o.asked, judged, err)
	}
	if _, err := AskJudge(t.Context(), leakItems(), a); err != nil {
		t.Errorf("after a line that was cut: %v", err)
	}
	if err := os.WriteFile(a.Path, []byte("no verdict\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := AskJudge(t.Context(), leakItems(), a); err == nil || !strings.Contains(err.Error(), ":1: expected a verdict as JSON") {
		t.Errorf("a file of something else: %v", err)
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

package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// fewShot plans one arm of items at some numbers of examples, drawn among themselves.
func fewShot(t *testing.T, set []dataset.Item, levels ...int) (plan.Block, *render.Pool) {
	t.Helper()
	a := direct()
	a.Example = func(it dataset.Item) (string, error) {
		if it.Answer == "" {
			return "", errors.New("no gold answer")
		}
		return "gold " + it.Answer, nil
	}
	pool, err := render.NewPool(render.PoolSource{Seed: 7, Study: render.Protocol{Name: "s", Arms: []render.Arm{*a}}, Arms: []string{a.Name}, Questions: set, Examples: set, Most: slices.Max(levels)})
	if err != nil {
		t.Fatal(err)
	}
	b := plan.Block{Model: "a"}
	for _, c := range study.Conditions(levels, "") {
		for i := range set {
			b.Trials = append(b.Trials, plan.Trial{Key: results.Key{Study: "s", Model: "a", Item: set[i].ID, Arm: a.Name, Condition: c.Name}, Item: &set[i], Arm: a, Condition: &c})
		}
	}
	return b, pool
}

func solved(n int, images func(i int) []dataset.Image) (set []dataset.Item) {
	for i := range n {
		it := *item(fmt.Sprintf("i%02d", i), images(i)...)
		it.Answer, it.Sums = fmt.Sprint(i), []string{fmt.Sprint(i)}
		set = append(set, it)
	}
	return set
}

// A question is sent behind its examples: each with its own pictures, asked as the arm
// asks, and answered by the gold answer as the model's own turn. Without examples the
// request and the digest of its inputs are what they were.
func TestExamplesComeBeforeTheQuestion(t *testing.T) {
	set := solved(4, func(i int) []dataset.Image { return []dataset.Image{picture(8+i, 8, uint8(i))} })
	b, pool := fewShot(t, set, 0, 2)
	s, m := &server{}, newMemory()
	sum := must(t, job(s, m, b).set("s", func(s *Settings) { s.Examples = pool }))
	if sum.Done != 8 {
		t.Fatalf("%+v", sum)
	}
	for i, c := range s.trials() {
		it, msgs := &set[i%4], c.req.Messages
		if c.last() != it.Question+" direct" || len(msgs[len(msgs)-1].Images) != 1 {
			t.Fatalf("%s is asked %q", it.ID, talk(c.req))
		}
		if i < 4 {
			if len(msgs) != 1 {
				t.Errorf("without examples: %q", talk(c.req))
			}
			continue
		}
		want := ""
		for _, e := range pool.For(it, 2) {
			file, err := e.Images[0].Load()
			if err != nil {
				t.Fatal(err)
			}
			want += fmt.Sprintf("user: %s direct\nimage/png %s\nassistant: gold %s\n", e.Question, results.DigestOf(file), e.Answer)
		}
		file, err := it.Images[0].Load()
		if err != nil {
			t.Fatal(err)
		}
		want += fmt.Sprintf("user: %s direct\nimage/png %s\n", it.Question, results.DigestOf(file))
		if got := talk(c.req); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", it.ID, got, want)
		}
	}
	// Old stores go on: the digest of what has no examples is that of before there were any.
	plain := planned("s", "a", []*dataset.Item{&set[0]}, direct())
	old := newMemory()
	must(t, job(&server{}, old, plain))
	if a, b := m.trials[b.Trials[0].Key].Inputs, old.trials[plain.Trials[0].Key].Inputs; a != b || a == "" {
		t.Errorf("without examples the digest is %s, and was %s", a, b)
	}
	if m.trials[b.Trials[0].Key].Inputs == m.trials[b.Trials[4].Key].Inputs {
		t.Error("examples make no difference to the digest")
	}
}

// Whatever differs in an example makes other inputs.
func TestExamplesAreOfTheDigest(t *testing.T) {
	img := func(b string) backends.Image { return backends.Image{MIME: "image/png", Bytes: []byte(b)} }
	ex := func(q, a string, pics ...backends.Image) []backends.Message {
		return []backends.Message{{Role: backends.User, Text: q, Images: pics}, {Role: backends.Assistant, Text: a}}
	}
	seen := map[results.Digest]int{}
	for i, in := range []input{
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: ex("e", "1", img("y"))},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: ex("e", "2", img("y"))},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: ex("f", "1", img("y"))},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: ex("e", "1", img("z"))},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: append(ex("e", "1", img("y")), ex("f", "1")...)},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: append(ex("f", "1"), ex("e", "1", img("y"))...)},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x"), img("y")}, Before: ex("e", "1")},
		{Prompts: []string{"q", "e", "1"}, Images: []backends.Image{img("x")}},
		{Prompts: []string{"q"}, Images: []backends.Image{img("x")}, Before: ex("e", "1")},
	} {
		d, err := digest(in, backends.Sampling{MaxTokens: 1}, Endpoint{})
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[d]; ok {
			t.Errorf("inputs %d and %d have one digest", j, i)
		}
		seen[d] = i
	}
}

// Servers that cut a prompt which is too long drop what they read first: the examples.
// That is found out, and the answer is none.
func TestExamplesThatWereCutAreNoticed(t *testing.T) {
	set := solved(4, func(int) []dataset.Image { return nil })
	for i := range set {
		set[i].Question = strings.Repeat("word ", 150)
	}
	for _, c := range []struct{ context, failed int }{{2048, 0}, {400, 4}} {
		b, pool := fewShot(t, set, 0, 2)
		s, m := cutter(c.context, 0, true), newMemory()
		j := job(s, m, b).set("s", func(s *Settings) { s.Examples = pool })
		j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", Context: c.context, ContextOption: "num_ctx"}
		if sum := must(t, j); sum.Failed != c.failed || sum.ByKind["prompt_cut"] != c.failed {
			t.Errorf("context %d: %+v", c.context, sum)
		}
	}
}

// What cannot be an example after all is a failure of the trial, with its reason.
func TestExamplesThatCannotBeMade(t *testing.T) {
	set := solved(3, func(i int) []dataset.Image {
		return []dataset.Image{{Name: "gone.png", Load: func() ([]byte, error) { return nil, errors.New("it is gone") }}}
	})
	b, pool := fewShot(t, set, 1)
	s, m := &server{}, newMemory()
	must(t, job(s, m, b).set("s", func(s *Settings) { s.Examples = pool }))
	last, _ := m.trials[b.Trials[0].Key].Last()
	if last.Failure == nil || last.Failure.Kind != kindInput || !strings.HasPrefix(last.Failure.Message, "example i0") {
		t.Errorf("%+v", last.Failure)
	}
	if _, err := Prepare(t.Context(), b.Trials[0], Settings{}, Endpoint{}, 7, nil); err == nil || !strings.Contains(err.Error(), "expected 1 examples") {
		t.Errorf("without a pool: %v", err)
	}
	if perturb.Baseline().Name == b.Trials[0].Key.Condition {
		t.Error("examples are the baseline")
	}
}

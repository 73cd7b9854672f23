package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// A condition's cue enters the prompt and the inputs' digest; one that has
// nothing to draw is flagged, with its own key and the baseline's picture.
func TestConditionsReachThePromptAndTheStore(t *testing.T) {
	window := perturb.Op{Name: "window"}
	side := []perturb.Region{{X0: 10, Y0: 10, X1: 40, Y1: 40}}
	list := []perturb.Condition{
		{Name: "baseline", Ops: []perturb.Op{window}},
		{Name: "TB-LA-", Ops: []perturb.Op{window}, Cue: "They say no."},
		{Name: "VB-BB+", Ops: []perturb.Op{window, {Name: "box"}}},
		{Name: "VB-BB-", Ops: []perturb.Op{window, {Name: "box", Regions: side, Params: map[string]float64{"red": 255}}}},
		{Name: "sham", Ops: []perturb.Op{window}, Kind: perturb.KindSham},
	}
	arm := &study.Arm{Name: "structured", Turns: []*template.Template{template.Must(template.New("").Parse("{{.Question}}{{with .Cue}} {{.}}{{end}} Begin."))}}
	s, m := &server{}, newMemory()
	block := plan.Block{Model: "a"}
	it := item("i0", picture(64, 64, 1))
	for _, c := range list {
		block.Trials = append(block.Trials, plan.Trial{Key: results.Key{Study: "s", Model: "a", Item: it.ID, Arm: arm.Name, Condition: c.Name}, Item: it, Arm: arm, Condition: &c})
	}
	must(t, job(s, m, block))
	sent := map[string]string{}
	inputs := map[results.Digest]string{}
	for i, c := range s.trials() {
		name := list[i].Name
		if cued := strings.Contains(c.last(), " They say no. Begin."); cued != (name == "TB-LA-") {
			t.Errorf("%s: %q", name, c.last())
		}
		sent[name] = string(c.req.Messages[0].Images[0].Bytes)
		trial := m.trials[block.Trials[i].Key]
		if had := inputs[trial.Inputs]; had != "" && !(name == "VB-BB+" && had == "baseline") {
			t.Errorf("%s and %s have the same inputs", name, had)
		}
		inputs[trial.Inputs] = name
		last, _ := trial.Last()
		if slices.Contains(last.Flags, results.FlagNoChange) != (name == "VB-BB+") {
			t.Errorf("%s: flags %v", name, last.Flags)
		}
	}
	for name, same := range map[string]bool{"TB-LA-": true, "VB-BB+": true, "VB-BB-": false, "sham": false} {
		if (sent[name] == sent["baseline"]) != same {
			t.Errorf("%s: the baseline's bytes: %v, want %v", name, !same, same)
		}
	}
}

// What was said before the last turn is part of the output's reasoning, so that
// a judge sees it; the answer is the last turn's.
func TestEarlierTurnsAreReasoning(t *testing.T) {
	arm := &study.Arm{Name: "three-turn"}
	for _, text := range []string{"one {{.Question}}", "two", "three"} {
		arm.Turns = append(arm.Turns, template.Must(template.New("").Parse(text)))
	}
	s, m := &server{}, newMemory()
	s.reply = func(c call) (*backends.Response, error) {
		return &backends.Response{Answer: "said " + c.last()[:3], Reasoning: "thought " + c.last()[:3], Finish: backends.FinishStop}, nil
	}
	block := planned("s", "a", []*dataset.Item{item("i0")}, arm)
	must(t, job(s, m, block))
	last, _ := m.trials[block.Trials[0].Key].Last()
	want := "thought one\nsaid one\nthought two\nsaid two\nthought thr"
	if last.Output == nil || last.Output.Answer != "said thr" || last.Output.Reasoning != want || len(last.Turns) != 3 || last.Turns[2].Reasoning != "thought thr" {
		t.Errorf("%+v", last.Output)
	}
}

// A condition that names an image changes that one: the others are sent as at the
// baseline.
func TestAConditionChangesTheImageItNames(t *testing.T) {
	ops := []perturb.Op{{Name: "window"}, {Name: "box", Regions: []perturb.Region{{X0: 10, Y0: 10, X1: 40, Y1: 40}}, Params: map[string]float64{"red": 255}}}
	arm := arm("structured", nil, "begin")
	s, m := &server{}, newMemory()
	block := plan.Block{Model: "a"}
	it := item("i0", picture(64, 64, 1), picture(48, 64, 2))
	for _, c := range []perturb.Condition{
		{Name: "baseline", Ops: ops[:1]},
		{Name: "first", Ops: ops, Image: 1},
		{Name: "second", Ops: ops, Image: 2},
		{Name: "every", Ops: ops},
		{Name: "sham", Ops: ops[:1], Kind: perturb.KindSham, Image: 2},
	} {
		block.Trials = append(block.Trials, plan.Trial{Key: results.Key{Study: "s", Model: "a", Item: it.ID, Arm: arm.Name, Condition: c.Name}, Item: it, Arm: arm, Condition: &c})
	}
	must(t, job(s, m, block))
	var base []backends.Image
	for i, c := range s.trials() {
		got, name := c.req.Messages[0].Images, block.Trials[i].Key.Condition
		if i == 0 {
			base = got
			continue
		}
		for n, changed := range map[string][2]bool{"first": {true, false}, "second": {false, true}, "every": {true, true}, "sham": {false, true}}[name] {
			if (string(got[n].Bytes) != string(base[n].Bytes)) != changed {
				t.Errorf("%s: image %d is another than the baseline's: %v, want %v", name, n+1, !changed, changed)
			}
		}
	}
}

// Conditions that choose images send those, in their order and each as at the
// baseline, and prompts say how many there are and what the history is.
func TestConditionsChooseTheImagesThatAreSent(t *testing.T) {
	arm := &study.Arm{Name: "mcq", Turns: []*template.Template{template.Must(template.New("").Parse("{{.History}} {{.Images}} images. begin"))}}
	s, m := &server{}, newMemory()
	block := plan.Block{Model: "a"}
	it := item("i0", picture(64, 64, 1), picture(48, 64, 2), picture(32, 64, 3))
	it.Case = &dataset.Case{History: "A cough.", Chapter: "Diseases of the respiratory system"}
	list := []perturb.Condition{perturb.Baseline(), perturb.LeaveOut(1), perturb.LeaveOut(3), perturb.Reorder(1), perturb.Downscaled(32)}
	for _, c := range list {
		block.Trials = append(block.Trials, plan.Trial{Key: results.Key{Study: "s", Model: "a", Item: it.ID, Arm: arm.Name, Condition: c.Name}, Item: it, Arm: arm, Condition: &c})
	}
	must(t, job(s, m, block))
	var base []backends.Image
	inputs := map[results.Digest]bool{}
	for i, c := range s.trials() {
		got, name := c.req.Messages[0].Images, list[i].Name
		if i == 0 {
			base = got
		}
		inputs[m.trials[block.Trials[i].Key].Inputs] = true
		want := map[string][]int{"baseline": {0, 1, 2}, "LOO@1": {1, 2}, "LOO@3": {0, 1}}[name]
		if name == "ORDER@1" {
			want = list[i].Shown(3, render.Seed(7, it.ID, 0))
			if slices.IsSorted(want) {
				t.Errorf("the order %v is the item's", want)
			}
		}
		if name == "DS@max_side_px=32" {
			for n, img := range got {
				if _, w, h, err := perturb.Config(img.Bytes); err != nil || w != []int{32, 24, 16}[n] || h != 32 {
					t.Errorf("scaled down, image %d is %dx%d, %v", n+1, w, h, err)
				}
			}
			continue
		}
		if text := c.last(); !strings.HasPrefix(text, "A cough. "+strconv.Itoa(len(want))+" images.") || strings.Contains(text, "respiratory") {
			t.Errorf("%s: the prompt is %q", name, text)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d images were sent, want %d", name, len(got), len(want))
		}
		for n, k := range want {
			if string(got[n].Bytes) != string(base[k].Bytes) {
				t.Errorf("%s: image %d is not the item's %d", name, n+1, k+1)
			}
		}
	}
	if len(inputs) != len(list) {
		t.Errorf("%d inputs of %d conditions", len(inputs), len(list))
	}
}

// All pictures of an item are scaled down by one factor, the same whichever of them a
// condition shows; what would be too small is refused with the reason.
func TestPicturesShareABudget(t *testing.T) {
	arm := arm("mcq", nil, "begin")
	s, m := &server{}, newMemory()
	block := plan.Block{Model: "a"}
	it := item("i0", picture(400, 300, 1), picture(200, 300, 2), picture(100, 100, 3))
	tiny := item("i1", picture(400, 300, 1), picture(30, 30, 2))
	list := []perturb.Condition{perturb.Baseline(), perturb.LeaveOut(1), perturb.Reorder(1)}
	for _, one := range []*dataset.Item{it, tiny} {
		for _, c := range list {
			block.Trials = append(block.Trials, plan.Trial{Key: results.Key{Study: "s", Model: "a", Item: one.ID, Arm: arm.Name, Condition: c.Name}, Item: one, Arm: arm, Condition: &c})
		}
	}
	j := job(s, m, block)
	set := j.Settings["s"]
	set.MaxPixels = 47_500 // a quarter of the first item's
	j.Settings["s"] = set
	must(t, j)
	want := [][2]int{{200, 150}, {100, 150}, {50, 50}}
	if n := len(s.trials()); n != len(list) {
		t.Fatalf("%d requests, want %d", n, len(list))
	}
	for i, c := range s.trials() {
		shown := list[i].Shown(3, render.Seed(7, it.ID, 0))
		for n, img := range c.req.Messages[0].Images {
			if _, w, h, err := perturb.Config(img.Bytes); err != nil || [2]int{w, h} != want[shown[n]] {
				t.Errorf("%s: picture %d is %dx%d, %v, want %v", list[i].Name, n+1, w, h, err, want[shown[n]])
			}
		}
	}
	for _, trial := range block.Trials[len(list):] {
		last, ok := m.trials[trial.Key].Last()
		if !ok || last.Failure == nil || !strings.Contains(fmt.Sprint(*last.Failure), "raise max_pixels, or leave such cases out (max_images)") {
			t.Errorf("%v: %+v", trial.Key, last)
		}
	}
}

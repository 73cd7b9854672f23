package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"text/template"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// item asks a question of some words about pictures of some sizes; of a size of 0 the
// file cannot be read.
func item(t *testing.T, id string, words int, sizes ...image.Point) *dataset.Item {
	it := &dataset.Item{ID: id, Question: strings.Repeat("w ", words)}
	for _, s := range sizes {
		var file bytes.Buffer
		if s.X > 0 {
			if err := png.Encode(&file, image.NewGray(image.Rectangle{Max: s})); err != nil {
				t.Fatal(err)
			}
		}
		it.Images = append(it.Images, dataset.Image{Name: id, Load: func() ([]byte, error) { return file.Bytes(), nil }})
	}
	return it
}

func arm(name string, needs []string, turns ...string) *study.Arm {
	a := &study.Arm{Name: name, Needs: needs}
	for _, text := range turns {
		a.Turns = append(a.Turns, template.Must(template.New(name).Option("missingkey=error").Parse(text)))
	}
	return a
}

// TestLongestPromptsOfAPlan are found whatever makes them long, with the pictures as
// they are sent and room for each answer.
func TestLongestPromptsOfAPlan(t *testing.T) {
	direct, judged, talk := arm("direct", nil, "{{.Question}}"), arm("judged", []string{"direct"}, "{{.Question}}{{.Outputs.direct}}"), arm("talk", nil, "{{.Question}}", "And {{.Cue}}?", "a", "b", "c")
	small, wide := image.Pt(8, 4), image.Pt(400, 100)
	var trials []plan.Trial
	add := func(it *dataset.Item, a *study.Arm, cue string, repeat int) {
		trials = append(trials, plan.Trial{Item: it, Arm: a, Condition: &perturb.Condition{Cue: cue},
			Key: results.Key{Study: "s", Model: "m", Item: it.ID, Arm: a.Name, Repeat: repeat}})
	}
	add(item(t, "text", 3000, small), direct, "", 0)
	add(item(t, "pixels", 2, wide), direct, "", 0)
	add(item(t, "pictures", 2, small, small, image.Point{}), direct, "", 0)
	add(item(t, "short", 2, small), direct, "", 0)
	add(item(t, "short", 2, small), judged, "", 0)
	add(item(t, "answers", 90, small), talk, "so on", 0)
	add(item(t, "again", 90000, small), direct, "", 1)
	b := &experiment.Bench{Config: &config.Config{Studies: []config.Study{{Name: "s", Dataset: "d", Sampling: backends.Sampling{MaxTokens: 2000}}},
		Datasets: []dataset.Source{{Name: "d", MaxSide: 200}}}}
	p := &plan.Plan{Blocks: []plan.Block{{Model: "m", Trials: trials}, {Model: "idle"}}}
	all, err := LongestOf(t.Context(), b, p)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	var found []string
	for _, one := range all["m"] {
		found = append(found, fmt.Sprintf("%s %d turns %v %d", one.Key.Item, len(one.Texts), one.Sizes, one.Answers))
	}
	slices.Sort(found)
	want := []string{"answers 5 turns [(8,4)] 10000", "pictures 1 turns [(8,4) (8,4)] 2000", "pixels 1 turns [(200,50)] 2000", "text 1 turns [(8,4)] 2000"}
	if !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	alone := &plan.Plan{Blocks: []plan.Block{{Model: "m", Trials: trials[4:5]}}}
	if all, err = LongestOf(t.Context(), b, alone); err != nil || len(all["m"]) != 1 || all["m"][0].Answers != 4000 || len(all["m"][0].Sizes) != 1 {
		t.Errorf("a prompt that quotes an answer: %+v, %v", all, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := LongestOf(ctx, b, p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

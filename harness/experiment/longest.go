package experiment

import (
	"context"
	"fmt"
	"image"
	"slices"
	"unicode/utf8"

	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/runner"
	"assay/harness/tokens"
	"assay/perturb"
	"assay/results"
)

// Prompt is what a planned trial will say and show in all of its turns.
type Prompt struct {
	Key   results.Key
	Texts []string      // one for each turn
	Sizes []image.Point // of its pictures, as they are sent
	// Answers is how many tokens answers may take beside it at most: those it quotes,
	// those of its earlier turns, and its own.
	Answers int
}

// Longest are those planned prompts of each model, by its name in bench.yaml, one of
// which is the longest: by text, by pixels, and by tokens.Estimate without and with
// answers. A picture that cannot be read will not be sent, and is not counted.
func (b *Bench) Longest(ctx context.Context, p *plan.Plan) (map[string][]Prompt, error) {
	shown := map[*dataset.Item][]image.Point{}
	out := map[string][]Prompt{}
	for _, block := range p.Blocks {
		var longest [4]Prompt
		var most [4]int
		for _, t := range block.Trials {
			if t.Key.Repeat > 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			one, err := b.promptOf(t, shown)
			if err != nil {
				return nil, err
			}
			text, pixels := 0, 0
			for _, s := range one.Texts {
				text += utf8.RuneCountInString(s)
			}
			for _, s := range one.Sizes {
				pixels += s.X * s.Y
			}
			guess := tokens.Estimate(one.Texts, one.Sizes)
			for i, n := range [4]int{guess + one.Answers, guess, text, pixels} {
				if n > most[i] {
					longest[i], most[i] = one, n
				}
			}
		}
		for i, one := range longest {
			if most[i] > 0 && !slices.ContainsFunc(out[block.Model], func(o Prompt) bool { return o.Key == one.Key }) {
				out[block.Model] = append(out[block.Model], one)
			}
		}
	}
	return out, nil
}

func (b *Bench) promptOf(t plan.Trial, shown map[*dataset.Item][]image.Point) (Prompt, error) {
	one := Prompt{Key: t.Key}
	quoted := map[string]string{} // nothing: what is quoted is counted by Answers
	needs := t.Needs()
	for _, k := range needs {
		quoted[k.Arm] = ""
	}
	var err error
	if one.Texts, err = runner.Texts(t, quoted); err != nil {
		return one, fmt.Errorf("item %s: %w", t.Key.Item, err)
	}
	for _, sc := range b.Config.Studies {
		if sc.Name != t.Key.Study {
			continue
		}
		set := b.Settings(sc)
		one.Answers = (len(needs) + len(t.Arm.Turns)) * set.Sampling.MaxTokens
		sizes, ok := shown[t.Item]
		if !ok {
			sizes = sizesOf(t.Item)
			shown[t.Item] = sizes
		}
		sides, err := perturb.Budget(sizes, set.MaxSide, set.MaxPixels)
		if err != nil {
			return one, nil // refused when it is to be sent, with this reason
		}
		for i, s := range sizes {
			one.Sizes = append(one.Sizes, perturb.Shrunk(s, sides[i]))
		}
	}
	return one, nil
}

func sizesOf(it *dataset.Item) []image.Point {
	var sizes []image.Point
	for _, img := range it.Images {
		data, err := img.Load()
		if err != nil {
			continue
		}
		if _, w, h, err := perturb.Config(data); err == nil {
			sizes = append(sizes, image.Pt(w, h))
		}
	}
	return sizes
}

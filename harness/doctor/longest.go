package doctor

import (
	"context"
	"fmt"
	"image"
	"slices"
	"unicode/utf8"

	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/run"
	"assay/perturb"
	"assay/results"
)

// Prompt is what a planned trial will say and show in all of its turns.
type Prompt struct {
	Key   results.Key
	Texts []string      // one for each turn, then one for each example
	Sizes []image.Point // of its pictures, as they are sent
	// Answers is how many tokens answers may take beside it at most: those it quotes,
	// those of its earlier turns, and its own.
	Answers int
}

// LongestOf are the prompts of a plan that need the most room, so that a doctor can say
// before a run whether a server's context holds them: of each model, by its name in
// bench.yaml, those one of which is the longest: by text, by pixels, and by
// run.Estimate without and with answers. A picture that cannot be read will not be
// sent, and is not counted.
func LongestOf(ctx context.Context, b *experiment.Bench, p *plan.Plan) (map[string][]Prompt, error) {
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
			one, err := promptOf(b, t, shown)
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
			guess := run.Estimate(one.Texts, one.Sizes)
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

func promptOf(b *experiment.Bench, t plan.Trial, shown map[*dataset.Item][]image.Point) (Prompt, error) {
	one := Prompt{Key: t.Key}
	quoted := map[string]string{} // nothing: what is quoted is counted by Answers
	needs := t.Needs()
	for _, k := range needs {
		quoted[k.Arm] = ""
	}
	var err error
	if one.Texts, err = t.Arm.Texts(t.Item, t.Condition, quoted); err != nil {
		return one, fmt.Errorf("item %s: %w", t.Key.Item, err)
	}
	for _, sc := range b.Config.Studies {
		if sc.Name != t.Key.Study {
			continue
		}
		set := b.Settings(sc)
		one.Answers = (len(needs) + len(t.Arm.Turns)) * set.Sampling.MaxTokens
		one.show(t.Item, set.Frame, shown)
		examples, err := set.Examples.Of(t.Item, t.Condition)
		if err != nil {
			return one, err
		}
		for _, it := range examples {
			question, answer, err := t.Arm.Shown(it)
			if err != nil {
				return one, err
			}
			one.Texts = append(one.Texts, question+"\n"+answer)
			one.show(it, set.Examples.Frame, shown)
		}
	}
	return one, nil
}

// show adds the pictures of an item.
func (p *Prompt) show(it *dataset.Item, how render.Frame, shown map[*dataset.Item][]image.Point) {
	sizes, ok := shown[it]
	if !ok {
		sizes = render.Sizes(it)
		shown[it] = sizes
	}
	sides, err := perturb.Budget(sizes, how.MaxSide, how.MaxPixels)
	if err != nil {
		return // refused when it is to be sent, with this reason
	}
	for i, s := range sizes {
		p.Sizes = append(p.Sizes, perturb.Shrunk(s, sides[i]))
	}
}

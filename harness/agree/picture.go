package agree

import (
	"context"
	"errors"
	"fmt"
	"image"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
	"assay/results/rating"
	"assay/results/store"
)

// pictures makes the pictures of a study's cases again, from the data set, and shows
// those whose trial still has the digest that is stored.
type pictures struct {
	bench  *experiment.Bench
	st     *store.Store
	trials map[string][2]planned // by case: as sent, and at baseline
}

type planned struct {
	plan.Trial
	stored results.Digest // "": there is none
}

// Illustrate finds the pictures of the cases with the bench.yaml that made the store, and
// makes each once, to know that it can. unchanged: raters may see the pictures of the
// baseline beside them.
func (s *Set) Illustrate(ctx context.Context, st *store.Store, file string, unchanged bool, assemble experiment.Assembler) (*pictures, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		return nil, err
	}
	if results.DigestOf(cfg.Text) != man.Digest {
		return nil, &StoreRefusedError{fmt.Sprintf("%s is not the bench.yaml of this run, and so not of its pictures: name that with -c", file)}
	}
	b, err := assemble(cfg)
	if err != nil {
		return nil, err
	}
	pl, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	byKey := map[results.Key]plan.Trial{}
	for _, block := range pl.Blocks {
		for _, t := range block.Trials {
			byKey[t.Key] = t
		}
	}
	pics := &pictures{bench: b, st: st, trials: map[string][2]planned{}}
	keys := map[string]results.Key{}
	for _, d := range append(s.draw.Cases[:len(s.draw.Cases):len(s.draw.Cases)], s.draw.Calibration...) {
		keys[d.Case] = d.Key
	}
	for _, list := range [][]rating.Case{s.Cases, s.Calibration} {
		for i := range list {
			c := &list[i]
			k := keys[c.Name]
			var both [2]planned
			for n, k := range []results.Key{k, {Study: k.Study, Model: k.Model, Item: k.Item, Arm: k.Arm, Condition: perturb.Baseline().Name, Repeat: k.Repeat}} {
				tr, ok, err := st.Trial(ctx, k)
				if err != nil {
					return nil, err
				}
				if p, known := byKey[k]; ok && known {
					both[n] = planned{p, tr.Inputs}
				}
			}
			pics.trials[c.Name] = both
			files, err := pics.files(ctx, both[0])
			if err != nil {
				if ctx.Err() != nil {
					return nil, err
				}
				c.NoPicture = err.Error()
				continue
			}
			for n := range files {
				name := "The picture as it was sent"
				if len(files) > 1 {
					name = fmt.Sprintf("Picture %d of %d as it was sent", n+1, len(files))
				}
				c.Pictures = append(c.Pictures, name)
			}
			if unchanged {
				before, err := pics.files(ctx, both[1])
				c.Unchanged = err == nil && len(before) == len(files)
			}
		}
	}
	return pics, nil
}

// files are the pictures of a trial as they are sent.
func (p *pictures) files(ctx context.Context, t planned) ([][]byte, error) {
	if t.stored == "" {
		return nil, errors.New("bench.yaml does not plan this answer any more")
	}
	reqs, inputs, err := p.bench.RequestsAfter(ctx, t.Trial, experiment.Said(ctx, p.st))
	if err != nil {
		return nil, err
	}
	if inputs != t.stored {
		return nil, errors.New("what would be sent today has another digest than what was sent")
	}
	var out [][]byte
	for _, req := range reqs[:min(1, len(reqs))] {
		for _, m := range req.Messages[len(req.Messages)-1:] { // the question's, not those of examples
			for _, img := range m.Images {
				out = append(out, img.Bytes)
			}
		}
	}
	return out, nil
}

// Picture implements rating.Pictures.
func (p *pictures) Picture(ctx context.Context, name string, n int, unchanged bool) (image.Image, error) {
	t := p.trials[name][0]
	if unchanged {
		t = p.trials[name][1]
	}
	files, err := p.files(ctx, t)
	if err != nil {
		return nil, err
	}
	if n >= len(files) {
		return nil, fmt.Errorf("it has %d pictures", len(files))
	}
	return perturb.Decode(files[n])
}

// Without says of cases without a picture why, by how many; the study is to have them all.
func (s *Set) Without() (n int, why string) {
	for _, list := range [][]rating.Case{s.Cases, s.Calibration} {
		for _, c := range list {
			if c.NoPicture != "" {
				n, why = n+1, c.NoPicture
			}
		}
	}
	return n, why
}

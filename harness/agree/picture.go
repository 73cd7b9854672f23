package agree

import (
	"context"
	"errors"
	"fmt"
	"image"

	"assay/harness/experiment"
	"assay/perturb"
	"assay/results"
	"assay/results/rating"
	"assay/results/store"
)

// pictures makes the pictures of a study's cases again, from the data set, and shows
// those whose trial still has the digest that is stored.
type pictures struct {
	sent   *experiment.Sent
	st     *store.Store
	trials map[string][2]stored // by case: as sent, and at baseline
}

type stored struct {
	key    results.Key
	inputs results.Digest // "": there is none
}

// Illustrate finds the pictures of the cases with the bench.yaml that made the store, and
// makes each once, to know that it can. unchanged: raters may see the pictures of the
// baseline beside them.
func (s *Set) Illustrate(ctx context.Context, st *store.Store, file string, unchanged bool) (*pictures, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	sent, err := experiment.OpenSent(ctx, file, man)
	var other *experiment.OtherRunError
	switch {
	case errors.As(err, &other) && other.Why != nil:
		return nil, other.Why
	case other != nil:
		return nil, &StoreRefusedError{err.Error()}
	case err != nil:
		return nil, err
	}
	pics := &pictures{sent: sent, st: st, trials: map[string][2]stored{}}
	keys := map[string]results.Key{}
	for _, d := range append(s.draw.Cases[:len(s.draw.Cases):len(s.draw.Cases)], s.draw.Calibration...) {
		keys[d.Case] = d.Key
	}
	for _, list := range [][]rating.Case{s.Cases, s.Calibration} {
		for i := range list {
			c := &list[i]
			k := keys[c.Name]
			var both [2]stored
			for n, k := range []results.Key{k, {Study: k.Study, Model: k.Model, Item: k.Item, Arm: k.Arm, Condition: perturb.Baseline().Name, Repeat: k.Repeat}} {
				tr, ok, err := st.Trial(ctx, k)
				if err != nil {
					return nil, err
				}
				if ok {
					both[n] = stored{k, tr.Inputs}
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
				name := "The image as it was sent"
				if len(files) > 1 {
					name = fmt.Sprintf("Image %d of %d as it was sent", n+1, len(files))
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
func (p *pictures) files(ctx context.Context, t stored) ([][]byte, error) {
	if t.inputs == "" {
		return nil, errors.New("this answer is not stored")
	}
	images, err := p.sent.Pictures(ctx, p.st, t.key, t.inputs)
	var out [][]byte
	for _, img := range images {
		out = append(out, img.Bytes)
	}
	return out, err
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

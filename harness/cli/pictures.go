package cli

import (
	"context"

	"assay/backends"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// pictures makes again what trials of a store were shown; configs are the bench.yaml of
// which one may have made it. The text says why it cannot for this trial, the error why it
// cannot for any.
func pictures(st *store.Store, man results.Manifest, configs []string) func(context.Context, results.Trial) ([]backends.Image, string, error) {
	s := &sender{st: st, configs: configs, man: man, kept: map[results.Key]*viewer.Sent{}}
	return func(ctx context.Context, t results.Trial) ([]backends.Image, string, error) {
		sent, err := s.Of(ctx, t)
		switch {
		case ctx.Err() != nil || err != nil && err == s.why: // of no trial
			return nil, "", err
		case err != nil:
			return nil, err.Error(), nil
		}
		var out []backends.Image
		for _, p := range sent.Pictures {
			out = append(out, backends.Image{Bytes: p.Bytes, MIME: p.MIME})
		}
		return out, sent.Why, nil
	}
}

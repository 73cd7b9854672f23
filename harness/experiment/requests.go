package experiment

import (
	"context"
	"fmt"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/results"
	"assay/results/store"
)

// endpoint is the server of a model and what bench.yaml says of it, but for its
// adapter; bench.yaml was checked, so it is there.
func endpoint(cfg *config.Config, model string) (run.Endpoint, backends.Server) {
	for _, m := range cfg.Models {
		for _, be := range cfg.Backends {
			if m.Name == model && be.Name == m.Backend {
				kind := kinds.Server(be.Kind, be.Protocol)
				return run.Endpoint{Model: m.Model, Think: m.Think, Sees: m.Vision, Options: be.Options, ReadsWebP: kind.ReadsWebP,
					Context: kind.Context(be.Options), ContextOption: kind.ContextOption}, be
			}
		}
	}
	panic("experiment: internal error: no model " + model)
}

// Requests are those of a trial, one for each turn, with the nonces of its first
// attempt and some words in place of what the model will say. Nothing is sent. It
// returns the digest of the trial's inputs besides.
func (b *Bench) Requests(ctx context.Context, t plan.Trial) ([]*backends.Request, results.Digest, error) {
	return b.RequestsAfter(ctx, t, noneSaid)
}

func noneSaid(k results.Key) (string, error) {
	return "", fmt.Errorf("the prompt holds the answer of arm %s, which only a run has", k.Arm)
}

// Said finds what arms answered in a store, for prompts that hold it.
func Said(ctx context.Context, st *store.Store) func(results.Key) (string, error) {
	return func(k results.Key) (string, error) {
		t, _, err := st.Trial(ctx, k)
		if err != nil {
			return "", err
		}
		last, ok := t.Last()
		if !ok || last.Output == nil {
			return "", fmt.Errorf("the prompt holds the answer of arm %s, which is not stored", k.Arm)
		}
		return last.Output.Answer, nil
	}
}

// RequestsAfter are those of a trial whose prompt may hold the answers that said knows.
func (b *Bench) RequestsAfter(ctx context.Context, t plan.Trial, said func(results.Key) (string, error)) ([]*backends.Request, results.Digest, error) {
	end, _ := endpoint(b.Config, t.Key.Model)
	var set run.Settings
	for _, sc := range b.Config.Studies {
		if sc.Name == t.Key.Study {
			set = b.Settings(sc)
		}
	}
	in, err := run.Prepare(ctx, t, set, end, b.Config.Seed, said)
	if err != nil {
		return nil, "", err
	}
	var reqs []*backends.Request
	var before []string
	for i := range in.Prompts {
		var nonce backends.Nonce
		if set.Cold() {
			nonce = run.NonceOf(b.Config.Seed, t.Key, 0, i)
		}
		reqs = append(reqs, in.Request(set, end, before, nonce))
		before = append(before, fmt.Sprintf("(the model's answer to turn %d)", i+1))
	}
	return reqs, in.Digest, nil
}

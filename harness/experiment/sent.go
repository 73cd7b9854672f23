package experiment

import (
	"context"
	"errors"
	"fmt"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
)

// Sent makes again what the trials of a run were sent, from its bench.yaml and data. It
// never gives out what has another digest than what is stored.
type Sent struct {
	bench *Bench
	plan  *plan.Plan
}

// OtherRunError is a bench.yaml that did not make a store, or cannot be read.
type OtherRunError struct {
	File string
	Why  error // it cannot be read; nil: it is another run's
}

// Error implements error.
func (e *OtherRunError) Error() string {
	return e.File + " is not the bench.yaml of this run; name that with -c"
}

// OpenSent reads in the bench.yaml that made a store, and its data. Where it is another
// one, the error is an OtherRunError.
func OpenSent(ctx context.Context, file string, man results.Manifest) (*Sent, error) {
	cfg, err := config.Read(file, Known())
	if err != nil || results.DigestOf(cfg.Text) != man.Digest {
		return nil, &OtherRunError{file, err}
	}
	b, err := Assemble(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	return b.Sent(p), nil
}

// Sent is what trials of a plan of this bench are sent.
func (b *Bench) Sent(p *plan.Plan) *Sent { return &Sent{b, p} }

// Requests are what a stored trial was sent, one for each turn. st has the answers that
// prompts hold; nil: such a prompt is an error.
func (s *Sent) Requests(ctx context.Context, st *store.Store, k results.Key, stored results.Digest) ([]*backends.Request, error) {
	t, ok := s.plan.Trial(k)
	if !ok {
		return nil, fmt.Errorf("%s does not plan this trial any more", s.bench.Config.File)
	}
	said := noneSaid
	if st != nil {
		said = Said(ctx, st)
	}
	reqs, inputs, err := s.bench.RequestsAfter(ctx, t, said)
	if err != nil {
		return nil, err
	}
	if inputs != stored || stored == "" {
		return nil, errors.New("what would be sent today has another digest than what was sent")
	}
	return reqs, nil
}

// Pictures are those of the question of a stored trial's first turn, as they were sent,
// without those of examples before it.
func (s *Sent) Pictures(ctx context.Context, st *store.Store, k results.Key, stored results.Digest) ([]backends.Image, error) {
	reqs, err := s.Requests(ctx, st, k, stored)
	if err != nil || len(reqs) == 0 {
		return nil, err
	}
	said := reqs[0].Messages
	return said[len(said)-1].Images, nil
}

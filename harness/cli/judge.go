package cli

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/runner"
	"assay/results"
	"assay/timing"
)

func (s streams) judgeCommand() *cli.Command {
	return &cli.Command{
		Name:        "judge",
		Usage:       "judge stored answers that have no judgment yet, then report",
		Description: "No model is asked for an answer. A case that was judged before is not judged again, unless its judge could not be reached.",
		Flags:       []cli.Flag{configFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			p, err := b.plan(plan.Filter{})
			if err != nil {
				return err
			}
			st, _, err := b.store(c.Context, p)
			if err != nil {
				return err
			}
			defer st.Close()
			srv := newServers(b.cfg)
			defer srv.close()
			tally, err := s.judge(c.Context, b, p, st, srv)
			if c.Context.Err() != nil && err != nil {
				return &coded{exitInterrupted, fmt.Errorf("interrupted: what was judged is stored in %s; the same command goes on from there", b.cfg.Store)}
			}
			if err != nil {
				return environment(err)
			}
			if err := s.publish(c.Context, st, b.cfg.Store, publication{json: c.Bool("json"), brief: true, examples: mostExamples, pics: rendered{b, p}}); err != nil {
				return err
			}
			return s.verdict(b, runner.Summary{}, tally)
		},
	}
}

// judge judges every stored answer of the plan's studies.
func (s streams) judge(ctx context.Context, b *bench, p *plan.Plan, st *results.Store, srv *servers) (map[results.Status]int, error) {
	seats, err := b.seats(srv)
	if err != nil {
		return nil, err
	}
	started, shown := time.Now(), time.Now()
	tally, err := judge.Run(ctx, judge.RunArgs{
		Store: st, Tasks: b.tasks(ctx, st, p), Judges: seats,
		Progress: func(pr judge.Progress) {
			if time.Since(shown) >= 5*time.Second {
				shown = time.Now()
				fmt.Fprintf(s.err, "judging: %d done, %d without a verdict, %s\n", pr.Done, pr.Failed, elapsed(time.Since(started)))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.err, "judged: %d new, %d from the store, %s\n", tally.Asked, tally.Reused, elapsed(time.Since(started)))
	for _, name := range slices.Sorted(maps.Keys(tally.Left)) {
		n := tally.Left[name]
		fmt.Fprintf(s.err, "judge %s cannot be connected to and was given up: %d judgments are left\n", name, n)
		tally.Status[results.StatusUnreachable] += n
	}
	return tally.Status, nil
}

func (b *bench) seats(srv *servers) (map[string]judge.Seat, error) {
	seats := map[string]judge.Seat{}
	for _, j := range b.cfg.Judges {
		if j.Kind == "lexical" {
			seats[j.Name] = judge.Seat{Judge: &judge.Lexical{Name: j.Name}, InFlight: 2}
			continue
		}
		be, err := srv.backend(j.Backend)
		if err != nil {
			return nil, err
		}
		seats[j.Name] = judge.Seat{InFlight: max(1, j.InFlight), Judge: &judge.Model{
			Name: j.Name, Backend: be, Model: j.Model, Sampling: j.Sampling, Timeouts: j.Timeouts,
			Options: srv.config(j.Backend).Options, Clock: timing.NewClock(), Retries: 2,
		}}
	}
	return seats, nil
}

// tasks are the cases of every stored answer, with the judges that bench.yaml
// names for their rubrics.
func (b *bench) tasks(ctx context.Context, st *results.Store, p *plan.Plan) iter.Seq2[judge.Task, error] {
	return func(yield func(judge.Task, error) bool) {
		for _, sel := range p.Studies {
			study := b.studies[sel.Study]
			items := map[string]*dataset.Item{}
			for _, it := range sel.Items {
				items[it.ID] = it
			}
			asked := b.judges()[sel.Study]
			rubrics := map[string]judge.Rubric{}
			for _, r := range study.Rubrics {
				rubrics[r.Name] = r
			}
			for out, err := range st.Outputs(ctx, sel.Study) {
				if err != nil {
					yield(judge.Task{}, err)
					return
				}
				it := items[out.Key.Item]
				if it == nil {
					continue
				}
				for _, c := range study.Cases(*it, out.Key, out.Output) {
					if len(asked[c.Rubric]) == 0 {
						continue
					}
					if !yield(judge.Task{Key: out.Key, Rubric: rubrics[c.Rubric], Case: c, Judges: asked[c.Rubric]}, nil) {
						return
					}
				}
			}
		}
	}
}

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"assay/backends"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/managed"
	"assay/harness/page"
	"assay/harness/plan"
	"assay/harness/runner"
	"assay/results"
	"assay/results/sqlite"
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
			p, err := planned(b, plan.Filter{})
			if err != nil {
				return err
			}
			st, _, err := s.openStore(c.Context, b, p)
			if err != nil {
				return err
			}
			defer st.Close()
			defer context.AfterFunc(c.Context, st.MarkStopping)()
			srv := newServers(b.Config)
			defer srv.close()
			tally, err := s.judge(c.Context, b, p, st, srv)
			if c.Context.Err() != nil && err != nil {
				return &coded{exitInterrupted, fmt.Errorf("interrupted: what was judged is stored in %s; the same command goes on from there", b.Config.Store)}
			}
			if err != nil {
				return environment(err)
			}
			if err := s.publish(c.Context, st, b.Config.Store, publication{json: c.Bool("json"), brief: true, examples: mostExamples, pics: page.Rendered{Bench: b, Plan: p}}); err != nil {
				return err
			}
			return s.verdict(b, runner.Summary{}, tally)
		},
	}
}

// judge judges every stored answer of the plan's studies.
func (s streams) judge(ctx context.Context, b *experiment.Bench, p *plan.Plan, st *sqlite.Store, srv *servers) (map[results.Status]int, error) {
	slots, err := slots(b, srv)
	if err != nil {
		return nil, err
	}
	stored, err := st.Answers(ctx)
	if err != nil {
		return nil, err
	}
	answers := 0
	for _, sel := range p.Studies {
		answers += stored[sel.Study]
	}
	started := time.Now()
	shown := newJudging(answers, time.Now)
	tally, err := judge.Run(ctx, judge.RunArgs{
		Store: st, Tasks: shown.count(b.Tasks(ctx, st, p)), Judges: slots,
		Progress: func(pr judge.Progress) { io.WriteString(s.err, shown.line(pr)) },
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
	return tally.Status, noteJudges(ctx, b, st, srv)
}

// noteJudges stores what answered as each judge that is a model, so that a report
// can say whether a model judged its own weights. A server that cannot be asked
// now stays unknown: none is started for it.
func noteJudges(ctx context.Context, b *experiment.Bench, st *sqlite.Store, srv *servers) error {
	const patience = 5 * time.Second
	man, ok, err := st.Manifest(ctx)
	if err != nil || !ok {
		return err
	}
	before := len(man.JudgeModels)
	for _, j := range b.Config.Judges {
		if _, known := man.JudgeModels[j.Name]; known || j.Kind == "lexical" {
			continue
		}
		be, err := srv.backend(j.Backend)
		if err != nil {
			return err
		}
		if m, ok := be.(*managed.Backend); ok {
			be = m.Backend
		}
		short, cancel := context.WithTimeout(ctx, patience)
		id, err := be.Identify(short, j.Model)
		cancel()
		if err != nil {
			continue
		}
		if man.JudgeModels == nil {
			man.JudgeModels = map[string]backends.Identity{}
		}
		man.JudgeModels[j.Name] = id
	}
	if len(man.JudgeModels) == before {
		return nil
	}
	return st.PutManifest(ctx, man)
}

func slots(b *experiment.Bench, srv *servers) (map[string]judge.Slot, error) {
	slots := map[string]judge.Slot{}
	for _, j := range b.Config.Judges {
		if j.Kind == "lexical" {
			// More than processors: what is stored together pays for one sync.
			slots[j.Name] = judge.Slot{Judge: &judge.Lexical{Name: j.Name}, InFlight: 16}
			continue
		}
		be, err := srv.backend(j.Backend)
		if err != nil {
			return nil, err
		}
		slots[j.Name] = judge.Slot{InFlight: max(1, j.InFlight), Judge: &judge.Model{
			Name: j.Name, Backend: be, Model: j.Model, Sampling: j.Sampling, Timeouts: j.Timeouts,
			Options: srv.config(j.Backend).Options, Clock: timing.NewClock(), Retries: 2,
		}}
	}
	return slots, nil
}

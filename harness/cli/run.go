package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/page"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

func (s streams) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run",
		Flags: append([]cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			&cli.BoolFlag{Name: "retry-failed", Usage: "try stored failures again, as new attempts"},
			&cli.IntFlag{Name: "pilot", Usage: "run the first `N` items of each study, project time, energy and money of the whole, and stop", DefaultText: "run all"},
			&cli.StringFlag{Name: "metrics", Usage: "serve progress for Prometheus at this `ADDRESS` of this machine, host:port, under /metrics"},
		}, filterFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return s.run(c)
		},
	}
}

func (s streams) run(c *cli.Context) error {
	ctx := c.Context
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	whole := f
	if c.IsSet("pilot") {
		switch n := c.Int("pilot"); {
		case n < 1:
			return usage("--pilot: expected a number of at least 1, found %d", n)
		case c.IsSet("limit"):
			return usage("run: expected either --pilot or --limit, found both: a pilot of N items is limited to N")
		default:
			f.Limit = n
		}
	}
	if at := (viewer.Options{Listen: c.String("metrics")}); c.IsSet("metrics") && !at.Loopback() {
		return usage("run: --metrics: expected an address of this machine alone, as 127.0.0.1:9400, found %q; who watches from elsewhere comes through a tunnel or a proxy", at.Listen)
	}
	b, err := load(c)
	if err != nil {
		return err
	}
	if err := part(b, f.Shard); err != nil {
		return err
	}
	p, err := planned(b, f)
	if err != nil {
		return err
	}
	printProblems(s.Err, b)
	here := machine.ThisHost(thisBuild().Version)
	st, man, err := s.openStore(ctx, b, p, here)
	if err != nil {
		return err
	}
	defer st.Close()
	defer context.AfterFunc(ctx, st.MarkStopping)()
	servers.Reap(b.Config.Store, s.Err)
	srv := servers.NewServers(experiment.Setup(b.Config))
	defer srv.Close()

	if c.IsSet("metrics") {
		stop, err := s.showMetrics(ctx, c.String("metrics"), b, st, man)
		if err != nil {
			return err
		}
		defer stop()
	}

	retry := c.Bool("retry-failed")
	for _, ch := range b.Changed {
		fmt.Fprintf(s.Err, "note: %s; nothing was answered before the change, so it is allowed: failures are tried again (after an interruption with --retry-failed)\n", ch)
		retry = true
	}
	width, terminal := interactive(s.Err)
	sum, err := b.Answer(ctx, p, st, &man, experiment.Asking{Servers: srv, RetryFailed: retry, Notes: s.Err, Width: width, Terminal: terminal,
		Host: func() results.Host { return here }})
	if err != nil {
		if ctx.Err() != nil {
			return s.interrupted(st, sum, b)
		}
		if errors.Is(err, run.ErrChanged) {
			return usage("%w", err)
		}
		return environment(err)
	}
	if sum.Done+sum.Failed+sum.Skipped == 0 && sum.Left > 0 {
		return s.verdict(b, sum, nil) // there is nothing to judge or to report
	}
	tally, err := b.Judge(ctx, p, st, srv, s.Err)
	if err != nil {
		if ctx.Err() != nil {
			return s.interrupted(st, sum, b)
		}
		return environment(err)
	}
	if err := s.publish(ctx, st, b.Config.Store, publication{json: c.Bool("json"), figures: figures(c), examples: mostExamples, pics: page.Rendered{Sent: b.Sent(p)}}); err != nil {
		return err
	}
	if c.IsSet("pilot") {
		if err := s.projection(ctx, b, whole, c.Bool("json")); err != nil {
			return err
		}
	}
	return s.verdict(b, sum, tally)
}

// projection says what the run will take without the pilot's limit.
func (s streams) projection(ctx context.Context, b *experiment.Bench, f plan.Filter, asJSON bool) error {
	p, err := planned(b, f)
	if err != nil {
		return err
	}
	pr, err := b.Project(ctx, p)
	if err != nil {
		return environment(err)
	}
	w := s.Out
	if asJSON {
		w = s.Err // the report is what programs read
	}
	fmt.Fprintln(w)
	fmt.Fprint(w, printed("projection", pr))
	fmt.Fprintln(w, "the pilot's answers are kept: the same command without --pilot does the rest")
	return nil
}

// openStore opens the run's store and brings manifest and items up to date. A
// config that would mix results in it is refused.
func (s streams) openStore(ctx context.Context, b *experiment.Bench, p *plan.Plan, here results.Host) (*store.Store, results.Manifest, error) {
	st, man, err := b.Open(ctx, p, manifest(b, here), s.Err)
	var mixes *experiment.MixesError
	var waited *experiment.WaitError
	switch {
	case errors.As(err, &mixes):
		return nil, man, usage("%w", err)
	case errors.As(err, &waited):
		return nil, man, &exitError{Code: exitInterrupted, Err: err}
	}
	return st, man, environment(err)
}

// manifest describes the run as it would be created now.
func manifest(b *experiment.Bench, here results.Host) results.Manifest {
	m, v := b.Manifest(), thisBuild()
	m.Version, m.Revision, m.Host = v.Version, v.Revision, machine.Facts(here)
	return m
}

// interrupted says what is safe and how to go on.
func (s streams) interrupted(st *store.Store, sum run.Summary, b *experiment.Bench) error {
	return interrupted("interrupted: %d trials answered and %d failed in this run are stored in %s; the same command continues from there", sum.Done, sum.Failed, b.Config.Store)
}

// verdict ends a run with what its exit code should say.
func (s streams) verdict(b *experiment.Bench, sum run.Summary, tally map[results.Status]int) error {
	for _, w := range sum.Warnings {
		fmt.Fprintln(s.Err, "warning:", w)
	}
	if sum.Repeated+sum.Invalid > 0 {
		fmt.Fprintf(s.Err, "times: %d were measured again; %d answers still have no valid time; the report says why\n", sum.Repeated, sum.Invalid)
	}
	var errs []error
	for _, r := range sum.Refused {
		what := "model " + r.Model
		if r.Study != "" {
			what += ", study " + r.Study
		}
		errs = append(errs, fmt.Errorf("%s was not run (%d trials): %s", what, r.Trials, r.Reason))
	}
	for _, stop := range sum.Stopped {
		errs = append(errs, fmt.Errorf("model %s stopped with %d trials to go: %w", stop.Model, stop.Left, stop.Err))
	}
	if len(errs) > 0 {
		return environment(errors.Join(errs...))
	}
	bad := 0
	for status, n := range tally {
		if !status.Usable() && status != results.StatusAbstained {
			bad += n
		}
	}
	failed := sum.Failed + sum.FailedBefore
	if failed == 0 && bad == 0 {
		return nil
	}
	next := ""
	if failed > 0 {
		next = "; assay run --retry-failed tries the trials again"
	}
	for _, open := range []struct {
		status results.Status
		why    string
	}{{results.StatusUnreachable, "whose judge could not be reached"}, {results.StatusRefused, "whose request the judge's server refused, once that is mended"}} {
		if n := tally[open.status]; n > 0 {
			next += fmt.Sprintf("; assay judge asks again for the %d judgments %s", n, open.why)
		}
	}
	return failures("finished with %d failed trials and %d judgments without a verdict; the report counts them%s", failed, bad, next)
}

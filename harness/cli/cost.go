package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/page"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
	"assay/results/sqlite"
	"assay/results/stats"
)

func (s streams) costCommand() *cli.Command {
	return &cli.Command{
		Name:  "cost",
		Usage: "GPU-hours, energy and money: per answer, per correct answer, for the full data set",
		Description: "Computed from the store. Prices come from cost: in bench.yaml, where there is one, and are kept in the store, so that a change of a price needs no new run.\n" +
			"Before any money is spent, assay run --pilot N measures a few items and projects the whole.",
		ArgsUsage: "[STORE.sqlite]",
		Flags:     []cli.Flag{configFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("cost: expected one store, found %d arguments", c.NArg())
			}
			path, cfg := c.Args().First(), (*config.Config)(nil)
			if path == "" || c.IsSet("config") {
				var err error
				if cfg, err = config.Read(c.String("config"), experiment.Known()); err != nil {
					return err
				}
				if path == "" {
					path = cfg.Store
				}
			}
			return s.cost(c, path, cfg)
		},
	}
}

func (s streams) cost(c *cli.Context, path string, cfg *config.Config) error {
	ctx := c.Context
	st, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	if err := s.measure(ctx, st, path); err != nil {
		return err
	}
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return environment(err)
	}
	if ok && cfg != nil && !reflect.DeepEqual(man.Cost, cfg.Cost) {
		if err := reprice(ctx, path, man, cfg.Cost); err != nil {
			return environment(fmt.Errorf("keep the prices of %s in the store: %w", cfg.File, err))
		}
	}
	secs, man, damage, err := page.Sections(ctx, st)
	if errors.Is(err, experiment.ErrStudy) {
		return usage("%w", err)
	}
	if err := cmp.Or(err, damage); err != nil {
		return environment(err)
	}
	var keep []results.Section
	for _, sec := range secs {
		if strings.HasSuffix(sec.Name, "-cost") || strings.HasSuffix(sec.Name, "-energy") {
			keep = append(keep, sec)
		}
	}
	if len(keep) == 0 {
		return environment(fmt.Errorf("%s holds no answer with a time; assay run makes them", path))
	}
	meta, err := metaOf(ctx, st, man)
	if err != nil {
		return environment(err)
	}
	if c.Bool("json") {
		return report.JSON(s.out, keep, meta)
	}
	width, ok := interactive(s.out)
	if !ok {
		width = 120
	}
	return report.Terminal(s.out, keep, meta, width)
}

// reprice puts other prices into a store's manifest.
func reprice(ctx context.Context, path string, man results.Manifest, cost *results.Cost) error {
	w, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	man.Cost = cost
	return errors.Join(w.PutManifest(ctx, man), w.Close())
}

// printProjection says it in one line per quantity; what is not known says why.
func printProjection(w io.Writer, p *study.Projection) {
	if p == nil {
		return
	}
	line := func(what, unit string, e *results.Estimate) {
		if e.Value == nil {
			fmt.Fprintf(w, "  %s: unknown: %s\n", what, e.Why)
			return
		}
		s := stats.Significant(*e.Value, 3) + " " + unit
		if e.Low != nil {
			s += fmt.Sprintf(" [%s, %s]", stats.Significant(*e.Low, 3), stats.Significant(*e.High, 3))
		}
		if e.Invalid > 0 {
			s += fmt.Sprintf(" (from %d answers; of %d it is not known)", e.N, e.Invalid)
		}
		fmt.Fprintf(w, "  %s: %s\n", what, s)
	}
	fmt.Fprintf(w, "the whole plan, projected from %d stored answers (95 %% intervals over items; loading, warm-up and judging come on top):\n", p.Seen)
	line("time", "h", p.Hours)
	line("GPU time", "h", p.GPUHours)
	line("energy", "kWh", p.KWh)
	if p.KWh.Value != nil {
		fmt.Fprintf(w, "    of %s\n", p.EnergyOf)
	}
	line("money", p.Currency, p.Money)
	if p.GPUMoney.Value == nil || p.Electricity.Value == nil && p.Money.Value != nil {
		return // money is GPU time's alone, or nothing is known
	}
	line("  of GPU time", p.Currency, p.GPUMoney)
	line("  of electricity", p.Currency, p.Electricity)
}

package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"assay/harness/doctor"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/results"
)

func (s streams) planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Flags: append(append([]cli.Flag{configFlag(), jsonFlag()}, filterFlags()...), powerFlags()...),
		Action: func(c *cli.Context) error {
			if c.Bool("power") {
				return s.power(c)
			}
			if err := noArguments(c); err != nil {
				return err
			}
			f, err := filterOf(c)
			if err != nil {
				return err
			}
			b, p, err := loadPlanned(c, f)
			if err != nil {
				return err
			}
			pre, err := b.Preview(c.Context, p)
			var mixes *experiment.MixesError
			switch {
			case errors.As(err, &mixes):
				return usage("%w", err)
			case err != nil:
				return environment(err)
			}
			s.tooThin(b.Config.Store, p)
			if c.Bool("json") {
				return s.JSON(pre)
			}
			printPreview(s.Out, pre)
			return nil
		},
	}
}

// tooThin says which boxes are thinner than what models saw of the doctor's chart.
func (s streams) tooThin(db string, p *plan.Plan) {
	lines, err := doctor.TooThin(db, p)
	if err != nil {
		lines = []string{err.Error()}
	}
	for _, line := range lines {
		fmt.Fprintln(s.Err, "warning:", line)
	}
}

func powerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "power", Usage: "print how many items and labels a study needs instead; with the clusters of the experiment's items, if there is one"},
		&cli.Float64Flag{Name: "difference", Value: 5, Usage: "with --power: detect a difference of `POINTS` between two accuracies"},
		&cli.Float64Flag{Name: "discordant", Value: 30, Usage: "with --power: `PERCENT` of the items are right on one side only"},
		&cli.IntFlag{Name: "per-image", Value: 1, Usage: "with --power: `N` questions share an image, in place of the experiment's"},
		&cli.Float64Flag{Name: "icc", Value: 0.1, Usage: "with --power: intra-class correlation `R` of the differences of questions that share an image"},
		&cli.Float64Flag{Name: "width", Value: 10, Usage: "with --power: a corrected mean's interval is `POINTS` wide"},
		&cli.Float64Flag{Name: "sd", Value: 35, Usage: "with --power: standard deviation of labels, `POINTS`"},
		&cli.Float64Flag{Name: "correlation", Value: 0.7, Usage: "with --power: correlation `R` of a judge with people"},
		&cli.IntFlag{Name: "judged", Value: 1000, Usage: "with --power: `N` cases are judged"},
	}
}

func (s streams) power(c *cli.Context) error {
	q := plan.PowerQuestion{Difference: c.Float64("difference"), Discordant: c.Float64("discordant"), PerImage: c.Int("per-image"), ICC: c.Float64("icc"), Width: c.Float64("width"), SD: c.Float64("sd"),
		R: c.Float64("correlation"), Judged: c.Int("judged"), Rounds: 1000, Seed: 1}
	if _, err := os.Stat(c.String("config")); !c.IsSet("per-image") && (err == nil || c.IsSet("config")) {
		f, err := filterOf(c)
		if err != nil {
			return err
		}
		b, p, err := loadPlanned(c, f)
		if err != nil {
			return err
		}
		q.Studies = p.PowerStudies(b.Config.Rules == results.RulesReleased)
	}
	needs, err := plan.Power(q)
	if err != nil {
		return usage("plan: %w", err)
	}
	if c.Bool("json") {
		return s.JSON(needs)
	}
	return printLines(s.Out, needs.Lines(q))
}

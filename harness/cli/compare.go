package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/compare"
	"assay/harness/experiment"
	"assay/results/store"
)

// compareCommand is the command compare.
func compareCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		ArgsUsage: "A.sqlite B.sqlite...",
		Flags: []cli.Flag{jsonFlag(),
			&cli.BoolFlag{Name: "all", Usage: "print unchanged rows too"},
			&cli.BoolFlag{Name: "times", Usage: "compare times and energies although the machines differ"},
			repeated{&cli.StringSliceFlag{Name: "scores", Usage: "only these scores: `SCORE,...` (docs/scores.md)", DefaultText: "all that are better one way"}},
			&cli.IntFlag{Name: "items", Value: 10, Usage: "list at most `N` items of each row that changed; 0: all"},
			repeatedFlag("fail-on", "exit with 1 where a difference is past `LIMIT` and its interval excludes 0; LIMIT is STUDY.SCORE < BOUND or > BOUND, in points (pt) or the score's unit; again for others"),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return usage("compare: expected two stores or more, found %d arguments", c.NArg())
			}
			var limits []compare.Limit
			for _, text := range c.StringSlice("fail-on") {
				l, err := compare.ParseLimit(text)
				if err != nil {
					return usage("--fail-on: %w", err)
				}
				limits = append(limits, l)
			}
			want := compare.Choice{Times: c.Bool("times"), Moved: c.Int("items"), Scores: listOf(c, "scores")}
			first, err := s.runOf(c.Context, c.Args().First())
			if err != nil {
				return environment(err)
			}
			var all []*compare.Comparison
			var broken []string
			for _, path := range c.Args().Tail() {
				other, err := s.runOf(c.Context, path)
				if err != nil {
					return environment(err)
				}
				found, err := compare.Runs(c.Context, first, other, want)
				if err != nil {
					return usage("%s and %s cannot be compared: %w", first.Path, path, err)
				}
				past, err := found.Broken(limits)
				if err != nil {
					return usage("--fail-on: %w", err)
				}
				broken = append(broken, past...)
				if !c.Bool("all") && !c.Bool("json") {
					found.OnlyChanged()
				}
				all = append(all, found)
			}
			if c.Bool("json") {
				err = s.JSON(all)
			} else {
				err = s.printCompared(all)
			}
			if err == nil && len(broken) > 0 {
				return failures("beyond what --fail-on allows:\n  %s", strings.Join(broken, "\n  "))
			}
			return err
		},
	}
}

// runOf reads a store.
func (s streams) runOf(ctx context.Context, path string) (*compare.Run, error) {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	studies, err := experiment.Asked(ctx, st)
	if err == nil {
		var run *compare.Run
		if run, err = compare.ReadRun(ctx, st, path, studies); err == nil {
			return run, st.Close()
		}
	}
	return nil, fmt.Errorf("reading %s: %w", path, errors.Join(err, st.Close()))
}

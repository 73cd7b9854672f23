package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/plan"
)

// planned makes the trials; that there are none is an error.
func planned(b *experiment.Bench, f plan.Filter) (*plan.Plan, error) {
	p, err := b.Plan(f)
	if err != nil {
		return nil, usage("%w", err)
	}
	if f.Shard.Of > 0 || slices.ContainsFunc(p.Blocks, func(bl plan.Block) bool { return len(bl.Trials) > 0 }) {
		return p, nil // of more shards than items, some are empty
	}
	const most = 5
	why, n := "", 0
	for _, l := range p.LeftOut {
		if l.Unlisted {
			continue
		}
		if n++; n <= most {
			why += "\n  " + l.Study + ": " + l.What + ": " + l.Why
		}
	}
	if n > most {
		why += fmt.Sprintf("\n  and %d more", n-most)
	}
	return nil, usage("%s: there is no trial to make: no item of its data sets can be used%s\nassay dataset check PATH lists what is wrong with a data set", b.Config.File, why)
}

// loadPlanned reads the experiment in and makes all of its trials, or those of f.
func loadPlanned(c *cli.Context, f plan.Filter) (*experiment.Bench, *plan.Plan, error) {
	b, err := load(c)
	if err != nil {
		return nil, nil, err
	}
	if err := part(b, f.Shard); err != nil {
		return nil, nil, err
	}
	p, err := planned(b, f)
	return b, p, err
}

// part gives a shard a store and ports of its own.
func part(b *experiment.Bench, s plan.Shard) error {
	if s.Of == 0 {
		return nil
	}
	b.Config.Store = s.Store(b.Config.Store)
	if err := b.Config.Shift(s.Part - 1); err != nil {
		return usage("%w", err)
	}
	return nil
}

// filterFlags narrow a run or a plan.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "limit", Usage: "only the first `N` items of each study", DefaultText: "all"},
		modelsFlag(), repeatedFlag("studies", "only these studies: `STUDY,...`"),
		&cli.StringFlag{Name: "shard", Usage: "only part K of N equal parts, `K/N`, in a store of its own; assay store merge joins them"},
	}
}

func filterOf(c *cli.Context) (plan.Filter, error) {
	f := plan.Filter{Limit: c.Int("limit"), Models: listOf(c, "models"), Studies: listOf(c, "studies")}
	if c.IsSet("limit") && f.Limit < 1 {
		return f, usage("--limit: expected a number of at least 1, found %d", f.Limit)
	}
	if c.IsSet("shard") {
		var err error
		if f.Shard, err = plan.ParseShard(c.String("shard")); err != nil {
			return f, usage("--shard: %w", err)
		}
	}
	return f, nil
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/page"
	"assay/results"
	"assay/results/store"
)

func (s streams) costCommand() *cli.Command {
	return &cli.Command{
		Name:      "cost",
		ArgsUsage: "[STORE.sqlite]",
		Flags:     []cli.Flag{configFlag(), jsonFlag(), digitsFlag()},
		Action: func(c *cli.Context) error {
			style, err := digitsOf(c)
			if err != nil {
				return err
			}
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
			return s.cost(c, path, cfg, style)
		},
	}
}

func (s streams) cost(c *cli.Context, path string, cfg *config.Config, style results.Digits) error {
	ctx := c.Context
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	if err := experiment.MeasureFile(ctx, st, path, s.Err); err != nil {
		return environment(err)
	}
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return environment(err)
	}
	if ok && cfg != nil && !reflect.DeepEqual(man.Cost, cfg.Cost) {
		if err := experiment.Reprice(ctx, path, man, cfg.Cost); err != nil {
			return environment(fmt.Errorf("keep the prices of %s in the store: %w", cfg.File, err))
		}
	}
	secs, meta, damage, err := page.Contents(ctx, st, false, nil)
	if errors.Is(err, experiment.ErrUnknown) {
		return usage("%w", err)
	}
	if err := cmp.Or(err, damage); err != nil {
		return environment(err)
	}
	meta.Digits = style
	var keep []results.Section
	for _, sec := range secs {
		if strings.HasSuffix(sec.Name, "-cost") || strings.HasSuffix(sec.Name, "-energy") {
			keep = append(keep, sec)
		}
	}
	if len(keep) == 0 {
		return environment(fmt.Errorf("%s holds no answer with a time; assay run makes them", path))
	}
	return s.Tables(c.Bool("json"), keep, meta, "")
}

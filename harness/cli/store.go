// Stores has the commands that check, save and export what a store holds.

package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"assay/results"
	"assay/results/store"
)

// storeCheck is the command store check.
func (s streams) storeCheck() *cli.Command {
	return &cli.Command{
		Name:      "check",
		ArgsUsage: "[STORE.sqlite]",
		Flags:     []cli.Flag{configFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			path, err := storeOf(c)
			if err != nil {
				return err
			}
			return s.checkStore(c.Context, path, c.Bool("json"))
		},
	}
}

// storeSalvage is the command store salvage.
func (s streams) storeSalvage() *cli.Command {
	return &cli.Command{
		Name:      "salvage",
		ArgsUsage: "STORE.sqlite NEW.sqlite",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage("store salvage: expected a store and the path of the new one, found %d arguments", c.NArg())
			}
			return s.salvage(c.Context, c.Args().Get(0), c.Args().Get(1), c.Bool("json"))
		},
	}
}

func (s streams) checkStore(ctx context.Context, path string, asJSON bool) error {
	found, err := store.Check(ctx, path)
	if err != nil {
		return environment(err)
	}
	if asJSON {
		err = s.JSON(found)
	} else {
		err = s.print("checked", found)
	}
	if err != nil {
		return environment(err)
	}
	if !found.Whole {
		return told{Err: environment(fmt.Errorf("store %s: %w; restore a copy, or save what is whole with: assay store salvage %s NEW.sqlite", path, results.FaultDamaged, path))}
	}
	return nil
}

func (s streams) salvage(ctx context.Context, from, to string, asJSON bool) error {
	saved, err := store.Salvage(ctx, from, to)
	if err != nil {
		return told{Err: environment(err)}
	}
	if asJSON {
		err = s.JSON(saved)
	} else {
		err = s.print("saved", saved)
	}
	if err == nil && saved.Lost() {
		err = failures("part of %s was lost; with store: %s in bench.yaml, assay run asks lost trials again, and assay judge makes lost judgments", from, to)
	}
	return err
}

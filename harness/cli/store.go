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
		Name:  "check",
		Usage: "read all of a store: checksums, structure, rows",
		Description: "Nothing is changed. The exit code is 0 where the store is whole, else 3.\n" +
			"Stores of older versions have no checksums: in them a changed value is not told from a true one.",
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
		Name:  "salvage",
		Usage: "copy what can be read of a store into a new one",
		Description: "The damaged store is left as it is. Trials that lost a part are left out: assay run, with the new store\n" +
			"under store: in bench.yaml, does them again. The exit code is 1 where something was lost.",
		ArgsUsage: "STORE.sqlite NEW.sqlite",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage("store salvage: expected a store and the path of a new one, found %d arguments", c.NArg())
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
		err = failures("something of %s was lost; assay run does lost trials again, with store: %s in bench.yaml, and assay judge lost judgments", from, to)
	}
	return err
}

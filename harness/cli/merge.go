package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/results/store"
)

// mergeCommand is the command merge.
func mergeCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "merge",
		ArgsUsage: "OUT.sqlite STORE.sqlite...",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return usage("merge: expected the store to make and the stores to join, found %d arguments", c.NArg())
			}
			merged, err := store.Stores(c.Context, c.Args().First(), c.Args().Tail(), func(read int) {
				if read >= 1000 && read%100_000 < 1000 {
					fmt.Fprintf(s.Err, "%d trials read\n", read)
				}
			})
			var differ *store.DiffersError
			switch {
			case errors.As(err, &differ):
				return usage("%w", err)
			case err != nil:
				return environment(err)
			}
			if err := remake(c.Context, merged.To, s.Err); err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				return s.JSON(merged)
			}
			return s.print("merged", struct {
				store.Merged
				Kind string // of the events that hold what was set aside
				More int    // than the examples
			}{merged, string(store.SetAside), merged.Aside - len(merged.Examples)})
		},
	}
}

// remake makes energies and scores anew of what was joined; notes are for people.
func remake(ctx context.Context, path string, notes io.Writer) error {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	if err := experiment.MeasureFile(ctx, st, path, notes); err != nil {
		return errors.Join(err, st.Close())
	}
	if st, err = experiment.ScoreFile(ctx, st, path, notes); err != nil {
		return err
	}
	return st.Close()
}

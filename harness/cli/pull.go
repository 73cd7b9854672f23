package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"assay/harness/fleet"
	"assay/results/store"
)

// Pull is the command pull.
func (s fleetCommands) Pull() *cli.Command {
	return &cli.Command{
		Name:      "pull",
		ArgsUsage: "OUT.sqlite",
		Flags:     []cli.Flag{databaseFlag(), experimentFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("pull: expected the store to make, found %d arguments", c.NArg())
			}
			f, e, err := chosen(c)
			if err != nil {
				return err
			}
			defer f.Close()
			p, err := fleet.PullInto(c.Context, f, e, c.Args().First(), func(n, of int) {
				if n%500 == 0 {
					fmt.Fprintf(s.Err, "%d of %d slices are here\n", n, of)
				}
			}, s.Err)
			var differ *store.DiffersError
			switch {
			case err != nil && c.Context.Err() != nil:
				return interrupted("interrupted: %s with %s; the same command continues from there", plural(p.New, "new slice"), plural(p.Trials, "trial"))
			case errors.As(err, &differ):
				return usage("%w", err)
			case err != nil:
				return environment(err)
			}
			defer debug.SetGCPercent(debug.SetGCPercent(50)) // of a million trials: what is scored is half of all memory
			if err := remake(c.Context, p.To, s.Err); err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				return s.JSON(p)
			}
			return tell(s.Out, p)
		},
	}
}

func tell(w io.Writer, p fleet.Pulled) error {
	fmt.Fprintf(w, "%s: %s of %s, %s", p.To, plural(p.Trials, "trial"), plural(p.Slices, "slice"), plural(p.Judgments, "judgment"))
	if p.Aside > 0 {
		fmt.Fprintf(w, "; %d were not taken, and are kept as events", p.Aside)
	}
	fmt.Fprintln(w)
	for _, c := range p.Missing {
		what, of := "not answered", c.Model
		if c.Kind == fleet.Judge {
			what = "not judged (assay judge does that here, too)"
		}
		why := ""
		if c.Why != "" {
			why = ": " + c.Why
		}
		if _, err := fmt.Fprintf(w, "missing: %s of %s (%s, %s) %s%s\n", plural(c.Slices, "slice"), of, plural(c.Trials, "trial"), c.State, what, why); err != nil {
			return environment(err)
		}
	}
	return nil
}

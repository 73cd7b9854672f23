// Fleet holds the commands of experiments that several machines work on:
// submit, worker and pull.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/fleet"
	"assay/harness/machine"
	"assay/results"
)

// fleetCommands are those of this package; version and revision are this program's.
type fleetCommands struct {
	streams
	Version, Revision string
}

// open connects, and checks the tables unless they are to be made.
func open(ctx context.Context, c *cli.Context, address string, check bool) (*fleet.Fleet, error) {
	f, err := fleet.Open(ctx, address, os.Getenv)
	var bad fleet.AddressError
	switch {
	case errors.As(err, &bad):
		return nil, usage("%s: %w", c.Command.Name, err)
	case err != nil:
		return nil, environment(err)
	}
	// What this process starts need not know it.
	for _, name := range []string{fleet.Variable, "PGPASSWORD"} {
		os.Unsetenv(name)
	}
	if check {
		if err := f.Check(ctx); err != nil {
			f.Close()
			return nil, environment(err)
		}
	}
	return f, nil
}

// manifest describes a run that begins here now.
func (s fleetCommands) manifest(b *experiment.Bench, here results.Host) results.Manifest {
	m := b.Manifest()
	m.Version, m.Revision, m.Host = s.Version, s.Revision, machine.Facts(here)
	return m
}

// chosen is the fleet of --database with the experiment of --experiment.
func chosen(c *cli.Context) (*fleet.Fleet, fleet.Experiment, error) {
	f, err := open(c.Context, c, c.String("database"), true)
	if err != nil {
		return nil, fleet.Experiment{}, err
	}
	e, err := named(c.Context, c, f, c.String("experiment"))
	if err != nil {
		f.Close()
	}
	return f, e, err
}

// named is the experiment of a name.
func named(ctx context.Context, c *cli.Context, f *fleet.Fleet, name string) (fleet.Experiment, error) {
	e, err := f.Experiment(ctx, name)
	if err != nil && fleet.Unreachable(err) {
		return e, environment(err)
	}
	if err != nil {
		return e, usage("%s: %w", c.Command.Name, err)
	}
	return e, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

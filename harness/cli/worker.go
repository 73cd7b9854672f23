package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/fleet"
	"assay/harness/machine"
	"assay/results"
	"assay/timing/telemetry"
)

// Worker is the command worker.
func (s fleetCommands) Worker() *cli.Command {
	return &cli.Command{
		Name: "worker",
		Flags: []cli.Flag{databaseFlag(), experimentFlag(),
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "this machine's own `FILE` of the experiment", TakesFile: true, DefaultText: "what was submitted"},
			&cli.BoolFlag{Name: "trust-commands", Usage: "run the programs that the submitted bench.yaml names (command, dicom); whoever can write to the database chooses them"},
			&cli.BoolFlag{Name: "judge", Usage: "judge what others answered, and ask no models for answers"},
			&cli.StringFlag{Name: "name", Usage: "the `NAME` of this worker in tables", DefaultText: "the machine's"},
			repeatedFlag("tag", "a `TAG` of this machine, for models that need it; again for others"),
			&cli.StringFlag{Name: "dir", Value: filepath.Join(".assay", "worker"), Usage: "`FOLDER` for slices that are under way; each worker has its own"},
			&cli.IntFlag{Name: "slot", Value: 1, Usage: "this is the `N`th worker on this machine: {port} in url and command is higher by N-1"},
			&cli.DurationFlag{Name: "lease", Value: 30 * time.Second, Usage: "silent for longer than `TIME`, this worker loses its slice to others"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if d := c.Duration("lease"); d < time.Second || d > time.Hour {
				return usage("worker: --lease: expected a time from 1s to 1h, found %s", d)
			}
			if n := c.Int("slot"); n < 1 || n > 1000 {
				return usage("worker: --slot: expected a number from 1 to 1000, found %d", n)
			}
			f, err := open(c.Context, c, c.String("database"), true)
			if err != nil {
				return err
			}
			defer f.Close()
			return s.work(c, f)
		},
	}
}

func (s fleetCommands) work(c *cli.Context, f *fleet.Fleet) error {
	ctx := c.Context
	e, b, err := mine(ctx, c, f)
	if err != nil {
		return err
	}
	if err := b.Config.Shift(c.Int("slot") - 1); err != nil {
		return usage("worker: %w", err)
	}
	here := machine.ThisHost(s.Version)
	if name := c.String("name"); name != "" {
		here.Name = name
	}
	here.GPUs = gpus(b.Config)
	w := &fleet.Worker{Fleet: f, Experiment: e, Bench: b, Manifest: s.manifest(b, here), Dir: c.String("dir"), Visible: cmp.Or(os.Getenv("ROCR_VISIBLE_DEVICES"), os.Getenv("HIP_VISIBLE_DEVICES"), os.Getenv("CUDA_VISIBLE_DEVICES")), Locks: os.TempDir(), Notes: s.Err, Machine: here,
		Host: fleet.Host{Name: here.Name, Facts: fleet.Facts(here), Tags: has(here, c.StringSlice("tag")), Judge: c.Bool("judge"), Version: s.Version, Revision: s.Revision, Lease: c.Duration("lease")}}
	sum, err := w.Run(ctx)
	fmt.Fprintf(s.Out, "%s: %s of %s stored\n", here.Name, plural(sum.Trials, "trial"), plural(sum.Slices, "slice"))
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupted("interrupted: the answers so far are in %s, and the slice was given back; the same command continues", w.Dir)
	case errors.Is(err, fleet.ErrTaken):
		return usage("worker: %w", err)
	case err != nil:
		return differs(b.Config, err)
	case sum.Failed > 0:
		return failures("%s failed on every worker that tried; assay fleet watch says why, and assay fleet submit offers them again", plural(sum.Failed, "slice"))
	}
	return nil
}

// gpus are those that this machine has and bench.yaml wants watched.
func gpus(cfg *config.Config) []results.HostGPU {
	places := map[string]results.Place{}
	for _, m := range cfg.Served().Models {
		places[m.Name] = results.PlaceLocal
	}
	probes, _ := machine.FindProbes(experiment.Setup(cfg), places, nil) // a run says what is wrong with them
	var devices []telemetry.Device
	for _, p := range probes {
		devices = append(devices, p.Describe())
	}
	return machine.GPUs(devices)
}

// has are the tags of a machine: its name, the words of its GPUs' names, and what the user says.
func has(h results.Host, said []string) []string {
	words := append([]string{h.Name}, said...)
	for _, g := range h.GPUs {
		words = append(append(words, "gpu"), strings.Fields(g.Name)...)
	}
	return tagsOf(words)
}

// mine is the experiment with this machine's bench.yaml, or that which was submitted.
func mine(ctx context.Context, c *cli.Context, f *fleet.Fleet) (fleet.Experiment, *experiment.Bench, error) {
	name, file := c.String("experiment"), c.String("config")
	if file != "" {
		cfg, err := config.Read(file, experiment.Known())
		if err != nil {
			return fleet.Experiment{}, nil, err
		}
		if name != "" && name != cfg.Name {
			return fleet.Experiment{}, nil, usage("worker: %s is experiment %s, and --experiment says %s", file, cfg.Name, name)
		}
		name = cfg.Name
	}
	var e fleet.Experiment
	err := fleet.Patient(ctx, c.App.ErrWriter, func() (err error) {
		e, err = named(ctx, c, f, name)
		return err
	})
	if err != nil {
		return e, nil, err
	}
	own := file != ""
	if !own {
		if file, err = writeExperiment(e); err != nil {
			return e, nil, err
		}
	}
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		return e, nil, err
	}
	if named := programs(cfg); len(named) > 0 && !own && !c.Bool("trust-commands") {
		return e, nil, usage("worker: the submitted bench.yaml runs programs here, and whoever can write to the database chooses them: %s; read %s, then start with -c %[2]s or --trust-commands", strings.Join(named, "; "), file)
	}
	b, err := experiment.Assemble(ctx, cfg)
	if err != nil {
		return e, nil, usage("%w", err)
	}
	return e, b, nil
}

// programs are those that an experiment runs.
func programs(cfg *config.Config) (out []string) {
	for _, b := range cfg.Backends {
		if len(b.Command) > 0 {
			out = append(out, fmt.Sprintf("backends.%s.command: %s", b.Name, strings.Join(b.Command, " ")))
		}
	}
	for _, d := range cfg.Datasets {
		if len(d.DICOM) > 0 {
			out = append(out, fmt.Sprintf("datasets.%s.dicom: %s", d.Name, strings.Join(d.DICOM, " ")))
		}
	}
	return out
}

// writeExperiment writes the bench.yaml that was submitted into this folder, where paths in it
// start from.
func writeExperiment(e fleet.Experiment) (string, error) {
	file := filepath.Base(e.Name) + ".yaml"
	have, err := os.ReadFile(file)
	switch {
	case err == nil && string(have) == e.Config:
		return file, nil
	case err == nil:
		return "", usage("worker: %s is here, and is not what was submitted: name it with -c if it is this machine's own, or move it away", file)
	case !errors.Is(err, os.ErrNotExist):
		return "", environment(err)
	}
	// Not half of it, where two workers begin in one folder.
	tmp, err := os.CreateTemp(".", "."+file+"-")
	if err != nil {
		return "", environment(err)
	}
	_, err = tmp.WriteString(e.Config)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	return file, environment(err)
}

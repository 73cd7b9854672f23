package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/plan"
)

// slurmCommand is the command slurm.
func slurmCommand(s streams) *cli.Command {
	return &cli.Command{
		Name: "slurm",
		Flags: []cli.Flag{configFlag(),
			&cli.IntFlag{Name: "parts", Usage: "run in `N` parts", DefaultText: "needed", Required: true},
			&cli.StringFlag{Name: "gres", Usage: "the `GRES` of a task, as gpu:1"},
			&cli.StringFlag{Name: "time", Usage: "the time limit `TIME` of a task, as 4:00:00"},
			&cli.StringFlag{Name: "partition", Usage: "the partition `NAME`"},
			repeatedFlag("sbatch", "another `OPTION` of sbatch, as --sbatch=--mem=32G; again for others"),
			&cli.IntFlag{Name: "notice", Value: 120, Usage: "stop a task this many `SECONDS` before its limit and queue it again"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int("parts"); n < 1 || n > 10_000 {
				return usage("slurm: --parts: expected a number from 1 to 10000, found %d", n)
			}
			if n := c.Int("notice"); n < 1 || n > 65535 {
				return usage("slurm: --notice: expected a number of seconds from 1 to 65535, found %d", n)
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			job, err := jobOf(c, b.Config)
			if err != nil {
				return environment(err)
			}
			for _, note := range slurmNotes(b.Config) {
				fmt.Fprintln(s.Err, "note:", note)
			}
			if err := job.Script(s.Out); err != nil {
				return usage("slurm: %w", err)
			}
			return nil
		},
	}
}

func jobOf(c *cli.Context, cfg *config.Config) (slurmJob, error) {
	var job slurmJob
	program, err := os.Executable()
	if err != nil {
		return job, err
	}
	file, err := filepath.Abs(cfg.File)
	if err != nil {
		return job, err
	}
	store, err := filepath.Abs(cfg.Store)
	if err != nil {
		return job, err
	}
	job = slurmJob{Name: cfg.Name, Program: program, Dir: filepath.Dir(file), Config: file, Store: store, Notice: c.Int("notice")}
	for i := range c.Int("parts") {
		job.Stores = append(job.Stores, plan.Shard{Part: i + 1, Of: c.Int("parts")}.Store(store))
	}
	for _, name := range []string{"gres", "time", "partition"} {
		if v := c.String(name); v != "" {
			job.Options = append(job.Options, "--"+name+"="+v)
		}
	}
	job.Options = append(job.Options, c.StringSlice("sbatch")...)
	return job, nil
}

// slurmNotes are backends that parts on one node would quarrel about.
func slurmNotes(cfg *config.Config) (out []string) {
	for _, b := range cfg.Backends {
		switch {
		case b.Phantom() || b.Place == "remote":
		case len(b.Command) > 0 && b.Port == 0:
			out = append(out, fmt.Sprintf("backend %s: each part starts its server at %s, so a second part on the same node is refused; write {port} in url and command, and port:", b.Name, b.URL))
		case len(b.Command) == 0:
			out = append(out, fmt.Sprintf("backend %s: every node must find a server at %s; with command: each part starts its own", b.Name, b.URL))
		}
	}
	return out
}

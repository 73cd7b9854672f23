package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/doctor"
	"assay/harness/experiment"
	"assay/harness/eye"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
	"assay/results/store"
)

func (s streams) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		ArgsUsage: "[--fleet FILE.json...]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "quick", Usage: "ask models nothing, and do not measure the devices' rates"},
			&cli.BoolFlag{Name: "fleet", Usage: "compare machines: versions, drivers, GPUs, models"}, databaseFlag(),
			&cli.BoolFlag{Name: "sight", Usage: "only have every model read a chart of 60 questions: the smallest letters and blobs, the least contrast, colours, sides, order of images"},
			&cli.BoolFlag{Name: "with-known-model", Usage: "only have servers show 20 images to a tiny model of assay's own, of which every answer is known"},
			&cli.BoolFlag{Name: "evict", Usage: "with --with-known-model: also where it may push other models out of a server's memory"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with 1 if there is a warning"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("fleet") {
				return s.compareFleet(c)
			}
			if err := noArguments(c); err != nil {
				return err
			}
			cfg, err := config.Read(c.String("config"), experiment.Known())
			if err != nil {
				return err
			}
			s.reap(c, cfg.Store)
			prompts, unread := longestOf(c.Context, cfg)
			srv := servers.NewServers(experiment.Setup(cfg))
			defer srv.Close()
			patient := doctor.Patient{Config: cfg.Served(), Activity: srv.Activity, Backend: srv.Backend,
				Endpoint: func(model string) (run.Endpoint, error) { return experiment.Connect(cfg, model, srv) },
				Prompts:  prompts, Unread: unread, System: os.DirFS("/"), Version: thisBuild().Version, Quick: c.Bool("quick")}
			if c.Bool("sight") {
				return s.sight(c, cfg.Store, patient)
			}
			var found doctor.Diagnosis
			if c.Bool("with-known-model") {
				judge, err := eye.NewJudge()
				if err != nil {
					return err
				}
				dir, err := os.MkdirTemp("", "assay-eye-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				found = doctor.ExamineKnown(c.Context, patient, doctor.Known{Judge: judge, Evict: c.Bool("evict"), Dir: dir,
					Tell: func(format string, args ...any) { fmt.Fprintf(s.Err, format, args...) }})
			} else {
				found = doctor.Examine(c.Context, patient)
			}
			if c.Bool("json") {
				if err := s.JSON(found); err != nil {
					return err
				}
			} else {
				printDiagnosis(s.Out, &found)
			}
			return verdictOf(c, &found)
		},
	}
}

// sight has models read the chart, and keeps what they saw beside the store.
func (s streams) sight(c *cli.Context, db string, p doctor.Patient) error {
	seen, found := doctor.Look(c.Context, p, func(model string, done, of int) {
		if done%20 == 0 {
			fmt.Fprintf(s.Err, "model %s: %d of %d questions of the chart\n", model, done, of)
		}
	})
	if len(seen) > 0 {
		if err := doctor.KeepSights(db, seen); err != nil {
			return environment(err)
		}
	}
	if c.Bool("json") {
		if err := s.JSON(map[string]any{"sights": seen, "findings": found.Findings}); err != nil {
			return err
		}
	} else {
		printDiagnosis(s.Out, &found)
	}
	return verdictOf(c, &found)
}

// reap ends what a killed run of a store left, if no run has the store now.
func (s streams) reap(c *cli.Context, db string) {
	if _, err := os.Stat(db); err != nil || len(servers.Left(db)) == 0 {
		return
	}
	st, err := store.Open(c.Context, db)
	if err != nil {
		warnLeft(c, db)
		return
	}
	servers.Reap(db, s.Err)
	st.Close()
}

// verdictOf is a diagnosis as an exit code.
func verdictOf(c *cli.Context, found *doctor.Diagnosis) error {
	problems, warnings := found.Count()
	switch {
	case c.Context.Err() != nil:
		return context.Cause(c.Context)
	case problems > 0:
		return environment(fmt.Errorf("doctor: %d problems prevent a run", problems))
	case warnings > 0 && c.Bool("strict"):
		return failures("doctor: %d warnings", warnings)
	}
	return nil
}

// compareFleet compares machines by their doctors' files, or by what the fleet's database
// has of its workers.
func (s streams) compareFleet(c *cli.Context) error {
	var all []doctor.Station
	var errs []error
	for _, file := range c.Args().Slice() {
		b, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		one, err := doctor.ReadStation(file, b)
		all, errs = append(all, one), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return usage("doctor: %w", err)
	}
	if c.NArg() == 0 {
		var err error
		if all, err = watchedStations(c); err != nil {
			return err
		}
	}
	if len(all) < 2 {
		if c.NArg() == 0 {
			return usage("doctor: --fleet: expected two workers or more that live, found %d in the database; before there are any, give the files of assay doctor --json of each machine", len(all))
		}
		return usage("doctor: --fleet: expected two machines or more, found %d", len(all))
	}
	found := doctor.Diagnosis{Findings: doctor.Compare(all)}
	if c.Bool("json") {
		if err := s.JSON(map[string]any{"hosts": all, "findings": found.Findings}); err != nil {
			return err
		}
	} else {
		printDiagnosis(s.Out, &found)
	}
	return verdictOf(c, &found)
}

// longestOf are the longest prompts that all of bench.yaml has planned.
func longestOf(ctx context.Context, cfg *config.Config) (map[string][]doctor.Prompt, error) {
	b, err := experiment.Assemble(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	return doctor.LongestOf(ctx, b, p)
}

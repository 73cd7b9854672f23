package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
	"assay/harness/config"
	"assay/harness/config/bench"
	"assay/harness/doctor"
	"assay/harness/experiment"
	"assay/harness/longest"
	"assay/harness/managed"
	"assay/harness/plan"
	"assay/harness/runner"
)

func (s streams) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look at servers, devices and the machine before a run, and say what to change",
		Description: "Every server of bench.yaml is asked who it is, and every model answers three short requests: new, repeated, and repeated with caches kept cold. Requests for one token count the longest prompt that is planned for it, which is compared with its context. Nothing is stored.\n" +
			"Exit code 0: a run can begin; 3: something stands in its way; with --strict, 1: something is worth a look.",
		Flags: []cli.Flag{command.ConfigFlag(), command.JSONFlag(),
			&cli.BoolFlag{Name: "quick", Usage: "ask models nothing, and do not measure the devices' rates"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with 1 when something is worth a look"},
		},
		Action: func(c *cli.Context) error {
			if err := command.NoArguments(c); err != nil {
				return err
			}
			cfg, err := bench.Read(c.String("config"), experiment.Known())
			if err != nil {
				return err
			}
			prompts, unread := longestOf(c.Context, cfg)
			srv := managed.NewServers(cfg)
			defer srv.Close()
			found := doctor.Examine(c.Context, doctor.Patient{Config: cfg.Served(), Activity: srv.Activity, Backend: srv.Backend,
				Endpoint: func(model string) (runner.Endpoint, error) { return experiment.Connect(cfg, model, srv) },
				Prompts:  prompts, Unread: unread, System: os.DirFS("/"), Quick: c.Bool("quick")})
			if c.Bool("json") {
				if err := s.JSON(found); err != nil {
					return err
				}
			} else {
				terminal.Diagnosis(s.Out, &found)
			}
			problems, warnings := found.Count()
			switch {
			case c.Context.Err() != nil:
				return context.Cause(c.Context)
			case problems > 0:
				return command.Environment(fmt.Errorf("doctor: %d problems stand in the way of a run", problems))
			case warnings > 0 && c.Bool("strict"):
				return command.Failures("doctor: %d things are worth a look", warnings)
			}
			return nil
		},
	}
}

// longestOf are the longest prompts that all of bench.yaml has planned.
func longestOf(ctx context.Context, cfg *config.Config) (map[string][]longest.Prompt, error) {
	b, err := experiment.Assemble(cfg)
	if err != nil {
		return nil, err
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	return longest.Of(ctx, b, p)
}

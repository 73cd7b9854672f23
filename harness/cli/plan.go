package cli

import (
	"assay/harness/cli/terminal"

	"github.com/urfave/cli/v2"
)

func (s streams) planCommand() *cli.Command {
	return &cli.Command{
		Name:        "plan",
		Usage:       "print what a run would do: trials, time, and what is left out",
		Description: "Nothing is sent. The time is estimated from answers that are already stored; without any it is unknown, not guessed.",
		Flags:       append([]cli.Flag{configFlag(), jsonFlag()}, filterFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			f, err := filterOf(c)
			if err != nil {
				return err
			}
			b, p, err := loadPlanned(c, f)
			if err != nil {
				return err
			}
			pre, err := b.Preview(c.Context, p)
			if err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				return s.json(pre)
			}
			return terminal.Preview(s.out, pre)
		},
	}
}

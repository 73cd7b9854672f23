package phantoms

import (
	"encoding/json"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
	"assay/harness/dataset/phantom/check"
	"assay/harness/dataset/phantom/recovery"
)

func (s streams) checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "measure phantoms of known truth with the whole instrument, and compare",
		Description: "Runs phantom readers and judges through adapters, runner, judges and scores of both studies. Scores where nothing is\n" +
			"sampled have to equal the readers' ledger; other intervals should hold what readers and judges were built to give,\n" +
			"among them the slope of answers over the strength of a cue. Times show how busy this machine is and decide nothing.\n" +
			"With --coverage it also counts, over simulated stores, how often intervals hold the truth: 91 to 98 % of them.\n" +
			"With --cases it checks cases of several images instead: accuracies, the image that decides, errors of steps, discussions.",
		Flags: []cli.Flag{command.JSONFlag(),
			&cli.IntFlag{Name: "cases", Usage: "check `N` cases of four images instead (400: some minutes)"},
			&cli.IntFlag{Name: "items", Value: 32, Usage: "`N` phantom cases"},
			&cli.Uint64Flag{Name: "seed", Value: 7, Usage: "of cases, readers and judges"},
			&cli.BoolFlag{Name: "coverage", Usage: "simulate stores and count which intervals hold the truth (some minutes)"},
			&cli.IntFlag{Name: "stores", Value: 400, Usage: "`N` simulated stores, with --coverage"},
		},
		Action: func(c *cli.Context) error {
			if err := command.NoArguments(c); err != nil {
				return err
			}
			if n := c.Int("items"); n < 4 || n > 1000 {
				return command.Usage("phantom check: --items: expected 4 to 1000, found %d", n)
			}
			if n := c.Int("stores"); n < 20 || n > 10_000 {
				return command.Usage("phantom check: --stores: expected 20 to 10000, found %d", n)
			}
			if c.IsSet("stores") && !c.Bool("coverage") {
				return command.Usage("phantom check: --stores is about --coverage: give both")
			}
			if n := c.Int("cases"); c.IsSet("cases") && (n < 100 || n > 2000 || c.IsSet("items") || c.Bool("coverage")) {
				return command.Usage("phantom check: --cases: expected 100 to 2000, and neither --items nor --coverage, found %d", n)
			}
			return s.check(c)
		},
	}
}

func (s streams) check(c *cli.Context) error {
	var rows []check.Row
	var err error
	if c.IsSet("cases") {
		rows, err = recovery.Cases(c.Context, recovery.Args{Items: c.Int("cases"), Images: 4, Seed: c.Uint64("seed")})
	} else {
		rows, err = check.Instrument(c.Context, check.Args{Items: c.Int("items"), Size: 256, Seed: c.Uint64("seed")})
	}
	if err != nil {
		return command.Environment(err)
	}
	var covered []check.Covered
	if c.Bool("coverage") {
		if covered, err = check.Coverage(c.Context, c.Int("stores"), c.Uint64("seed")); err != nil {
			return command.Environment(err)
		}
	}
	off := check.Off(rows)
	for _, v := range covered {
		off = off || !v.OK
	}
	if c.Bool("json") {
		e := json.NewEncoder(s.Out)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			OK       bool            `json:"ok"`
			Rows     []check.Row     `json:"rows"`
			Coverage []check.Covered `json:"coverage,omitempty"`
		}{!off, rows, covered})
	} else {
		err = terminal.Check(s.Out, rows, covered)
	}
	if err == nil && off {
		err = command.Failures("the instrument is off: look for \"OFF\" above; do not trust its scores on this machine")
	}
	return err
}

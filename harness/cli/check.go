package cli

import (
	"encoding/json"

	"github.com/urfave/cli/v2"

	"assay/harness/check"
)

func (s streams) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check",
		Flags: []cli.Flag{jsonFlag(),
			&cli.IntFlag{Name: "items", Value: 32, Usage: "use `N` phantom cases"},
			seedFlag(7, "cases, readers and judges"),
		},
		Action: s.check,
	}
}

func (s streams) check(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	n := c.Int("items")
	if n < 4 || n > 1000 {
		return usage("phantom check: --items: expected 4 to 1000, found %d", n)
	}
	rows, err := check.Instrument(c.Context, check.Args{Items: n, Size: 256, Seed: c.Uint64("seed")})
	if err != nil {
		return environment(err)
	}
	off := check.Off(rows)
	if c.Bool("json") {
		e := json.NewEncoder(s.Out)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			OK   bool        `json:"ok"`
			Rows []check.Row `json:"rows"`
		}{!off, rows})
	} else {
		err = printCheck(s.Out, rows)
	}
	if err == nil && off {
		err = failures("the instrument is off: look for \"OFF\" above; do not trust its scores on this machine")
	}
	return err
}

package cli

import (
	"os"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
)

func (s streams) ledger(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("phantom ledger: expected one file name, found %d arguments", c.NArg())
	}
	f, err := os.Open(c.Args().First())
	if err != nil {
		return environment(err)
	}
	defer f.Close()
	entries, err := phantom.ReadLedger(f)
	if err != nil {
		return usage("phantom ledger: %s: %w", c.Args().First(), err)
	}
	if c.Bool("json") {
		return environment(s.JSON(entries))
	}
	return environment(printLedger(s.Out, entries))
}

package phantoms

import (
	"os"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
)

func (s streams) ledger(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("phantom ledger: expected one file name, found %d arguments", c.NArg())
	}
	f, err := os.Open(c.Args().First())
	if err != nil {
		return command.Environment(err)
	}
	defer f.Close()
	entries, err := phantom.ReadLedger(f)
	if err != nil {
		return command.Usage("phantom ledger: %s: %w", c.Args().First(), err)
	}
	if c.Bool("json") {
		return command.Environment(s.JSON(entries))
	}
	return command.Environment(terminal.Ledger(s.Out, entries))
}

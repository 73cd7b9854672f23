package phantoms

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
	"assay/harness/dataset/phantom/scene"
	"assay/perturb"
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

// phantomSheet writes cases beside each other.
func phantomSheet(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("phantom sheet: expected one file name, found %d arguments", c.NArg())
	}
	cases, size, first := c.Int("cases"), c.Int("size"), c.Int("first")
	if cases < 1 || cases > 100 {
		return command.Usage("phantom sheet: --cases: expected 1 to 100, found %d", cases)
	}
	if size < 64 || size > 2048 {
		return command.Usage("phantom sheet: --size: expected 64 to 2048, found %d", size)
	}
	if first < 0 {
		return command.Usage("phantom sheet: --first: expected 0 or more, found %s", strconv.Itoa(first))
	}
	if w, h := scene.SheetSize(cases, size); w*h > perturb.MaxPixels {
		return command.Usage("phantom sheet: %d cases of %d pixels make %d x %d pixels, more than %d: ask for fewer or smaller ones", cases, size, w, h, perturb.MaxPixels)
	}
	file, err := perturb.EncodePNG(scene.Sheet(c.Uint64("seed"), first, cases, size))
	if err != nil {
		return err
	}
	return command.Environment(os.WriteFile(c.Args().First(), file, 0o644))
}

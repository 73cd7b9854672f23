package cli

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/cli/terminal"
	"assay/harness/dataset/phantom/scene"
	"assay/perturb"
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
		return environment(s.json(entries))
	}
	return environment(terminal.Ledger(s.out, entries))
}

// phantomSheet writes cases beside each other.
func phantomSheet(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("phantom sheet: expected one file name, found %d arguments", c.NArg())
	}
	cases, size, first := c.Int("cases"), c.Int("size"), c.Int("first")
	if cases < 1 || cases > 100 {
		return usage("phantom sheet: --cases: expected 1 to 100, found %d", cases)
	}
	if size < 64 || size > 2048 {
		return usage("phantom sheet: --size: expected 64 to 2048, found %d", size)
	}
	if first < 0 {
		return usage("phantom sheet: --first: expected 0 or more, found %s", strconv.Itoa(first))
	}
	if w, h := scene.SheetSize(cases, size); w*h > perturb.MaxPixels {
		return usage("phantom sheet: %d cases of %d pixels make %d x %d pixels, more than %d: ask for fewer or smaller ones", cases, size, w, h, perturb.MaxPixels)
	}
	file, err := perturb.EncodePNG(scene.Sheet(c.Uint64("seed"), first, cases, size))
	if err != nil {
		return err
	}
	return environment(os.WriteFile(c.Args().First(), file, 0o644))
}

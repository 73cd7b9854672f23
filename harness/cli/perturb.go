package cli

import (
	"errors"
	"image"
	"os"

	"github.com/urfave/cli/v2"

	"assay/harness/dataset"
	"assay/perturb"
)

// perturbCommand is the command perturb.
func perturbCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "perturb",
		ArgsUsage: "[IMAGE ...]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "list", Usage: "all conditions in words, and the changes of pixels that they are made of, with their parameters, instead"},
			&cli.StringFlag{Name: "sweep", Usage: "a parameter at several levels, `C@P=LEVELS`, such as VB-BB-@thickness_px=1,4,16; without C@, of --condition"},
			&cli.StringFlag{Name: "item", Usage: "the `ITEM` of the experiment, instead of IMAGE"},
			&cli.IntFlag{Name: "image", Value: 1, Usage: "image `N` of an item with several"},
			&cli.StringFlag{Name: "condition", Usage: conditionUsage},
			&cli.StringFlag{Name: "grid", Usage: "draw the cells of an occlusion grid, `CxR` such as 8x8, over it"},
			&cli.StringFlag{Name: "out", Value: "perturb.png", Usage: "the `FILE` to write", TakesFile: true},
			repeatedFlag("region", "of IMAGE: the region `X0,Y0,X1,Y1` in per cent; again for others"),
			&cli.StringFlag{Name: "finding", Usage: "of IMAGE: the `FINDING` whose boxes stand in the table of regions"},
			&cli.StringFlag{Name: "regions", Value: dataset.RegionNames()[0], Usage: regionsUsage()},
			&cli.IntFlag{Name: "max-side", Usage: "of IMAGE: first scale it down to a longest side of `PIXELS`", DefaultText: "as it is"},
			seedFlag(1, "noise and places, for IMAGE"),
		},
		Action: func(c *cli.Context) error {
			if c.Bool("list") {
				return s.listData(c)
			}
			if out, err := os.Stat(c.String("out")); err == nil {
				for _, image := range c.Args().Slice() {
					if in, err := os.Stat(image); err == nil && os.SameFile(in, out) {
						return usage("perturb: --out: %s is the image itself; name another file", c.String("out"))
					}
				}
			}
			if c.IsSet("sweep") {
				return s.levels(c)
			}
			if c.NArg() > 1 {
				return usage("perturb: expected one image, found %d arguments; several are for --sweep", c.NArg())
			}
			sub, err := subjectOf(c, c.Args().First(), c.StringSlice("region"))
			if err != nil {
				return err
			}
			grid, err := gridOf(c.String("grid"))
			if err != nil {
				return usage("perturb: --grid: %w", err)
			}
			choice, err := choiceOf(c.String("condition"))
			if err != nil {
				return usage("perturb: --condition: %w", err)
			}
			shown, drawn, err := sub.Draw(c.String("condition"), choice, grid)
			if err != nil {
				return usage("perturb: %w", err)
			}
			shown.Out = c.String("out")
			if err := write(shown.Out, drawn); err != nil {
				return err
			}
			if c.Bool("json") {
				return s.JSON(shown)
			}
			return printSheet(s.Out, shown)
		},
	}
}

// write writes a picture.
func write(path string, img image.Image) error {
	file, err := perturb.EncodePNG(img)
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	return environment(err)
}

// middle is where a sweep draws on an image file of which nobody says where.
const middle = "30,30,70,70"

// levels draws a condition at several levels.
func (s streams) levels(c *cli.Context) error {
	if c.IsSet("grid") {
		return usage("perturb: --grid does not go with --sweep")
	}
	sweep, err := levelsOf(c.String("sweep"), c.String("condition"))
	if err != nil {
		return usage("perturb: --sweep: %w", err)
	}
	at, files, note := c.StringSlice("region"), c.Args().Slice(), ""
	if len(files) == 0 {
		files = []string{""}
	} else if len(at) == 0 && c.String("finding") == "" {
		at, note = []string{middle}, "what is drawn in a region is in the middle of the image ("+middle+" in per cent); --region or --finding says where else"
	}
	var all []previewSubject
	for _, file := range files {
		sub, err := subjectOf(c, file, at)
		if err != nil {
			return err
		}
		all = append(all, sub)
	}
	shown, drawn, err := levels(all, sweep)
	if err != nil {
		return usage("perturb: %w", err)
	}
	for _, p := range shown {
		p.Out = c.String("out")
	}
	if err := write(c.String("out"), drawn); err != nil {
		return err
	}
	if c.Bool("json") {
		return s.JSON(shown)
	}
	return printLevels(s.Out, shown, note)
}

// list prints the conditions and the table of ops.
func (s streams) listData(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("json") {
		return s.JSON(everything())
	}
	return printPerturbations(s.Out, everything())
}

// subjectOf is the image file, or, where it is "", the item asked for.
func subjectOf(c *cli.Context, file string, regions []string) (previewSubject, error) {
	id := c.String("item")
	switch {
	case (id == "") == (file == ""):
		return previewSubject{}, usage("perturb: expected an image file or --item, found %s", map[bool]string{true: "neither", false: "both"}[id == ""])
	case file != "":
		if c.IsSet("max-side") && c.Int("max-side") < 16 {
			return previewSubject{}, usage("perturb: --max-side: expected at least 16, found %d", c.Int("max-side"))
		}
		sub, err := ofFile(file, previewMade{MaxSide: c.Int("max-side"), Finding: c.String("finding"), Table: c.String("regions"), Regions: regions, Seed: c.Uint64("seed")})
		return sub, wrong(err)
	}
	for _, name := range []string{"region", "finding", "regions", "max-side", "seed"} {
		if c.IsSet(name) {
			return previewSubject{}, usage("perturb: --%s is for image files: an item has its own", name)
		}
	}
	b, err := load(c)
	if err != nil {
		return previewSubject{}, err
	}
	sub, err := ofItem(b, id, c.Int("image"))
	var unread unreadError
	if errors.As(err, &unread) {
		return sub, environment(err)
	}
	return sub, wrong(err)
}

// wrong is an error of what was asked of perturb.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return usage("perturb: %w", err)
}

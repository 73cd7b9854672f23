package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/harness/bench"
	"assay/harness/dataset"
	"assay/harness/dataset/tables"
	"assay/harness/preview"
	"assay/harness/runner"
	"assay/perturb"
	"assay/results/text"
)

func (s streams) perturbCommand() *cli.Command {
	return &cli.Command{
		Name:  "perturb",
		Usage: "draw what conditions do to a picture, beside the baseline and the difference",
		Description: "The picture is that of an item, as a run shows it, or any image file. Without --condition, a contact sheet of all conditions of the " +
			"faithfulness study. Writes a PNG; nothing is sent.",
		ArgsUsage: "[IMAGE]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "item", Usage: "an item of the experiment, instead of IMAGE"},
			&cli.IntFlag{Name: "image", Value: 1, Usage: "of an item with several pictures the `N`th"},
			&cli.StringFlag{Name: "condition", Usage: "one `C`, such as VO-BB, VB-BB-@thickness_px=8 or VO-GRID@8x8:r3c5"},
			&cli.StringFlag{Name: "grid", Usage: "lay the cells of an occlusion grid of `CxR` over it, such as 8x8"},
			&cli.StringFlag{Name: "out", Value: "perturb.png", Usage: "the `FILE` to write", TakesFile: true},
			&cli.StringSliceFlag{Name: "region", Usage: "of IMAGE: `X0,Y0,X1,Y1` in per cent; several are allowed"},
			&cli.StringFlag{Name: "finding", Usage: "of IMAGE: `F`, whose boxes stand in the table of regions"},
			&cli.StringFlag{Name: "regions", Value: tables.RegionNames()[0], Usage: "the table of regions: " + strings.Join(tables.RegionNames(), ", ") + " or a file"},
			&cli.IntFlag{Name: "max-side", Usage: "of IMAGE: scale it down to this longest side first"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of IMAGE: decides noise and places"},
		},
		Action: func(c *cli.Context) error {
			sub, err := subjectOf(c)
			if err != nil {
				return err
			}
			grid, err := preview.GridOf(c.String("grid"))
			if err != nil {
				return usage("perturb: --grid: %w", err)
			}
			choice, err := preview.Chosen(c.String("condition"))
			if err != nil {
				return usage("perturb: --condition: %w", err)
			}
			shown, drawn, err := sub.Draw(c.String("condition"), choice, grid)
			if err != nil {
				return usage("perturb: %w", err)
			}
			shown.Out = c.String("out")
			file, err := perturb.EncodePNG(drawn)
			if err == nil {
				err = os.WriteFile(shown.Out, file, 0o600)
			}
			if err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				return s.json(shown)
			}
			return printSheet(s.out, shown)
		},
	}
}

func subjectOf(c *cli.Context) (preview.Subject, error) {
	id, file := c.String("item"), c.Args().First()
	switch {
	case c.NArg() > 1:
		return preview.Subject{}, usage("perturb: expected one image, found %d arguments", c.NArg())
	case (id == "") == (file == ""):
		return preview.Subject{}, usage("perturb: expected an image file or --item, found %s", map[bool]string{true: "neither", false: "both"}[id == ""])
	case file != "":
		return fileSubject(c, file)
	}
	for _, name := range []string{"region", "finding", "regions", "max-side", "seed"} {
		if c.IsSet(name) {
			return preview.Subject{}, usage("perturb: --%s is for image files: an item has its own", name)
		}
	}
	b, err := load(c)
	if err != nil {
		return preview.Subject{}, err
	}
	return itemSubject(b, id, c.Int("image"))
}

// itemSubject is the nth picture of an item, from 1, as a run shows it.
func itemSubject(b *bench.Bench, id string, n int) (preview.Subject, error) {
	var ids []string
	for _, d := range b.Config.Datasets {
		set := b.Sets[d.Name]
		if set == nil {
			continue
		}
		for _, it := range set.Items {
			if it.ID != id {
				ids = append(ids, it.ID)
				continue
			}
			if n < 1 || n > len(it.Images) {
				return preview.Subject{}, usage("perturb: item %s has %d pictures, expected --image from 1 on, found %d", id, len(it.Images), n)
			}
			file, err := it.Images[n-1].Load()
			if err != nil {
				return preview.Subject{}, environment(err)
			}
			return preview.Subject{Name: id, Item: it, File: file, Picture: perturb.Picture{MaxSide: d.MaxSide, Metadata: d.Metadata}, Seed: b.Config.Seed,
				Pixels: runner.PictureSeed(b.Config.Seed, id, n-1), Prompts: b.Config.Prompts}, nil
		}
	}
	return preview.Subject{}, usage("perturb: no item %q in the data sets%s; assay show lists them", id, didYouMean(id, ids))
}

// fileSubject makes an image file an item that has its regions.
func fileSubject(c *cli.Context, path string) (preview.Subject, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return preview.Subject{}, usage("perturb: %w", err)
	}
	if _, _, _, err := perturb.Config(file); err != nil {
		return preview.Subject{}, usage("perturb: %s: %w", path, err)
	}
	side := c.Int("max-side")
	if c.IsSet("max-side") && side < 16 {
		return preview.Subject{}, usage("perturb: --max-side: expected at least 16, found %d", side)
	}
	it := dataset.Item{ID: filepath.Base(path), Type: dataset.TypeSpatial, Answer: "here", Options: []dataset.Option{{Text: "here"}, {Text: "elsewhere"}}}
	if finding := c.String("finding"); finding != "" {
		r, err := tables.ReadRegions(c.String("regions"))
		if err != nil {
			return preview.Subject{}, usage("perturb: %w", err)
		}
		if it.Regions = r.Boxes(finding); it.Regions == nil {
			return preview.Subject{}, usage("perturb: no finding %q in the table of regions%s; it has %s", finding, didYouMean(finding, r.Findings()), strings.Join(r.Findings(), ", "))
		}
		if len(it.Regions["right"]) > 0 && len(it.Regions["left"]) > 0 { // so that sides can be suggested
			it.Type, it.Answer, it.Options = dataset.TypeComparative, "right", []dataset.Option{{Text: "right"}, {Text: "left"}, {Text: "same severity"}, {Text: "none"}}
		}
	}
	for _, text := range c.StringSlice("region") {
		r, err := regionOf(text)
		if err != nil {
			return preview.Subject{}, usage("perturb: --region: %w", err)
		}
		if it.Regions == nil || it.Finding == "" && len(it.Regions[""]) == 0 {
			it.Regions = map[string][]perturb.Region{"right": it.Regions["right"], "left": it.Regions["left"]}
		}
		it.Regions[""] = append(it.Regions[""], r)
	}
	return preview.Subject{Name: it.ID, Item: it, Made: true, File: file, Picture: perturb.Picture{MaxSide: side}, Seed: c.Uint64("seed"), Pixels: c.Uint64("seed")}, nil
}

// regionOf reads "30,35,70,65".
func regionOf(text string) (perturb.Region, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	var n []int
	for _, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil {
			n = nil
			break
		}
		n = append(n, v)
	}
	if len(n) != 4 {
		return perturb.Region{}, fmt.Errorf("expected X0,Y0,X1,Y1 in per cent, such as 30,35,70,65, found %q", text)
	}
	r := perturb.Region{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]}
	return r, r.Check()
}

func printSheet(w io.Writer, p *preview.Sheet) error {
	if len(p.Conditions) > 0 {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.Style().Format.Header = 0
		t.AppendHeader(table.Row{"condition", "target", "pixels changed", "mean", "max", "bytes"})
		for _, d := range p.Conditions {
			t.AppendRow(table.Row{d.Condition, cmp.Or(d.Target, "-"), fmt.Sprintf("%.1f %%", 100*d.Changed), fmt.Sprintf("%.2f", d.Mean), d.Max, d.Bytes})
		}
		fmt.Fprintln(w, t.Render())
	}
	for _, d := range p.Conditions {
		if d.Cue != "" {
			fmt.Fprintf(w, "%s says: %s\n", d.Condition, text.Visible(d.Cue))
		}
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(w, "left out: %s: %s\n", l.Condition, l.Why)
	}
	if len(p.Grid) > 0 {
		inside := 0
		for _, c := range p.Grid {
			if c.Inside {
				inside++
			}
		}
		fmt.Fprintf(w, "grid: %d cells of about %dx%d pixels, %d with their middle in a region\n", len(p.Grid), p.Grid[0].Box[2]-p.Grid[0].Box[0], p.Grid[0].Box[3]-p.Grid[0].Box[1], inside)
	}
	_, err := fmt.Fprintf(w, "%s, %dx%d pixels: written to %s\n", text.Visible(p.Name), p.Width, p.Height, p.Out)
	return err
}

package cli

import (
	"cmp"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/harness/bench"
	"assay/harness/dataset"
	"assay/harness/dataset/tables"
	"assay/harness/runner"
	"assay/harness/study"
	"assay/harness/study/faithfulness"
	"assay/perturb"
	"assay/results"
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
			grid, err := gridOf(c.String("grid"))
			if err != nil {
				return usage("perturb: --grid: %w", err)
			}
			shown, err := sub.draw(c.String("condition"), grid, c.String("out"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return s.json(shown)
			}
			return shown.print(s.out)
		},
	}
}

// subject is a picture and the question it belongs to.
type subject struct {
	name    string
	item    dataset.Item // of an image file, made up to have its regions
	made    bool
	file    []byte
	picture perturb.Picture
	seed    uint64 // of what conditions draw
	pixels  uint64 // of what is random in the picture
	prompts map[string]string
}

func subjectOf(c *cli.Context) (subject, error) {
	id, file := c.String("item"), c.Args().First()
	switch {
	case c.NArg() > 1:
		return subject{}, usage("perturb: expected one image, found %d arguments", c.NArg())
	case (id == "") == (file == ""):
		return subject{}, usage("perturb: expected an image file or --item, found %s", map[bool]string{true: "neither", false: "both"}[id == ""])
	case file != "":
		return fileSubject(c, file)
	}
	for _, name := range []string{"region", "finding", "regions", "max-side", "seed"} {
		if c.IsSet(name) {
			return subject{}, usage("perturb: --%s is for image files: an item has its own", name)
		}
	}
	b, err := load(c)
	if err != nil {
		return subject{}, err
	}
	return itemSubject(b, id, c.Int("image"))
}

// itemSubject is the nth picture of an item, from 1, as a run shows it.
func itemSubject(b *bench.Bench, id string, n int) (subject, error) {
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
				return subject{}, usage("perturb: item %s has %d pictures, expected --image from 1 on, found %d", id, len(it.Images), n)
			}
			file, err := it.Images[n-1].Load()
			if err != nil {
				return subject{}, environment(err)
			}
			return subject{name: id, item: it, file: file, picture: perturb.Picture{MaxSide: d.MaxSide}, seed: b.Config.Seed,
				pixels: runner.PictureSeed(b.Config.Seed, id, n-1), prompts: b.Config.Prompts}, nil
		}
	}
	return subject{}, usage("perturb: no item %q in the data sets%s; assay show lists them", id, didYouMean(id, ids))
}

// fileSubject makes an image file an item that has its regions.
func fileSubject(c *cli.Context, path string) (subject, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return subject{}, usage("perturb: %w", err)
	}
	if _, _, _, err := perturb.Config(file); err != nil {
		return subject{}, usage("perturb: %s: %w", path, err)
	}
	side := c.Int("max-side")
	if c.IsSet("max-side") && side < 16 {
		return subject{}, usage("perturb: --max-side: expected at least 16, found %d", side)
	}
	it := dataset.Item{ID: filepath.Base(path), Type: dataset.TypeSpatial, Answer: "here", Options: []dataset.Option{{Text: "here"}, {Text: "elsewhere"}}}
	if finding := c.String("finding"); finding != "" {
		r, err := tables.ReadRegions(c.String("regions"))
		if err != nil {
			return subject{}, usage("perturb: %w", err)
		}
		if it.Regions = r.Boxes(finding); it.Regions == nil {
			return subject{}, usage("perturb: no finding %q in the table of regions%s; it has %s", finding, didYouMean(finding, r.Findings()), strings.Join(r.Findings(), ", "))
		}
		if len(it.Regions["right"]) > 0 && len(it.Regions["left"]) > 0 { // so that sides can be suggested
			it.Type, it.Answer, it.Options = dataset.TypeComparative, "right", []dataset.Option{{Text: "right"}, {Text: "left"}, {Text: "same severity"}, {Text: "none"}}
		}
	}
	for _, text := range c.StringSlice("region") {
		r, err := regionOf(text)
		if err != nil {
			return subject{}, usage("perturb: --region: %w", err)
		}
		if it.Regions == nil || it.Finding == "" && len(it.Regions[""]) == 0 {
			it.Regions = map[string][]perturb.Region{"right": it.Regions["right"], "left": it.Regions["left"]}
		}
		it.Regions[""] = append(it.Regions[""], r)
	}
	return subject{name: it.ID, item: it, made: true, file: file, picture: perturb.Picture{MaxSide: side}, seed: c.Uint64("seed"), pixels: c.Uint64("seed")}, nil
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

// gridOf reads "8x8"; "" is no grid.
func gridOf(text string) (study.Grid, error) {
	if text == "" {
		return study.Grid{}, nil
	}
	columns, rows, _ := strings.Cut(text, "x")
	var g study.Grid
	var err error
	if g.Columns, err = strconv.Atoi(columns); err == nil {
		g.Rows, err = strconv.Atoi(rows)
	}
	if err != nil || g.Columns < 1 || g.Rows < 1 {
		return g, fmt.Errorf("expected columns x rows, such as 8x8, found %q", text)
	}
	return g, nil
}

const (
	gridFamily = "VO-GRID"
	levelMark  = "@" // between a condition and the level of its sweep, or its cell
)

// chosen asks the study for one condition by name, or for all.
func chosen(name string) (study.Choice, error) {
	var c study.Choice
	var names []string
	for _, s := range bench.Known().Studies {
		for _, known := range s.Conditions {
			names = append(names, known.Name)
		}
	}
	if name == "" {
		c.Conditions = names
		return c, nil
	}
	base, level, leveled := strings.Cut(name, levelMark)
	if leveled && base == gridFamily {
		size, _, _ := strings.Cut(level, ":")
		var err error
		c.Grid, err = gridOf(size)
		return c, err
	}
	if !slices.Contains(names, base) {
		return c, fmt.Errorf("no condition %q%s; there are %s", base, didYouMean(base, names), strings.Join(names, ", "))
	}
	if !leveled {
		c.Conditions = []string{base}
		return c, nil
	}
	param, value, _ := strings.Cut(level, "=")
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return c, fmt.Errorf("expected CONDITION@PARAMETER=NUMBER, found %q", name)
	}
	c.Sweeps = []study.Sweep{{Condition: base, Param: param, Levels: []float64{v}}}
	return c, nil
}

// conditions are the baseline and those asked for, and those that the picture
// cannot have.
func (s subject) conditions(c study.Choice) ([]perturb.Condition, []study.Missing, error) {
	st, err := bench.Study(faithfulness.Name, s.prompts, c)
	if err != nil {
		return nil, nil, usage("perturb: %w", err)
	}
	list, missing := st.Conditions(s.seed, s.item)
	if s.made { // there is no question to say anything about
		text := func(c perturb.Condition) bool { return c.Cue != "" }
		for _, c := range list {
			if text(c) {
				missing = append(missing, study.Missing{Condition: c.Name, Why: "it changes the prompt, and an image file has none"})
			}
		}
		list = slices.DeleteFunc(list, text)
	}
	return list, missing, nil
}

// perturbed is what assay perturb prints.
type perturbed struct {
	Name       string             `json:"name"`
	Out        string             `json:"out"`
	Width      int                `json:"width"` // of the picture, in pixels
	Height     int                `json:"height"`
	Baseline   drawnPicture       `json:"baseline"`
	Conditions []drawnCondition   `json:"conditions"`
	LeftOut    []leftOutCondition `json:"left_out"`
	Grid       []drawnCell        `json:"grid,omitempty"`
}

// drawnPicture is a picture as it is sent.
type drawnPicture struct {
	Bytes  int            `json:"bytes"`
	Digest results.Digest `json:"digest"`
}

type drawnCondition struct {
	Condition string   `json:"condition"`
	Target    string   `json:"target,omitempty"`
	Cue       string   `json:"cue,omitempty"`
	Changed   float64  `json:"changed"` // share of the pixels
	Mean      float64  `json:"mean_difference"`
	Max       int      `json:"max_difference"`  // of a pixel's channels, 0 to 255
	Boxes     [][4]int `json:"boxes,omitempty"` // x0 y0 x1 y1 in pixels, half-open
	drawnPicture
	pixels *perturb.Pixels
}

type leftOutCondition struct {
	Condition string `json:"condition"`
	Why       string `json:"why"`
}

type drawnCell struct {
	Condition string `json:"condition"`
	Box       [4]int `json:"box"`
	Inside    bool   `json:"inside"` // its middle lies in a region of the question
}

// draw renders the conditions and writes the sheet.
func (s subject) draw(name string, grid study.Grid, out string) (*perturbed, error) {
	choice, err := chosen(name)
	if err != nil {
		return nil, usage("perturb: --condition: %w", err)
	}
	if name == "" && grid != (study.Grid{}) {
		choice = study.Choice{}
	}
	list, missing, err := s.conditions(choice)
	if err != nil {
		return nil, err
	}
	if name != "" {
		at := slices.IndexFunc(list, func(c perturb.Condition) bool { return c.Name == name })
		if at < 0 && choice.Grid == (study.Grid{}) && len(list) == 2 {
			at = 1 // the default level goes by the name without it
		}
		if at < 0 {
			for _, m := range missing {
				return nil, usage("perturb: %s has no condition %s: %s", s.name, m.Condition, m.Why)
			}
			return nil, usage("perturb: no cell %q in the grid; the last is VO-GRID@%dx%d:r%dc%d", name, choice.Grid.Columns, choice.Grid.Rows, choice.Grid.Rows, choice.Grid.Columns)
		}
		list = []perturb.Condition{list[0], list[at]}
		missing = nil
	}
	base, err := s.render(list[0])
	if err != nil {
		return nil, err
	}
	p := &perturbed{Name: s.name, Out: out, Width: base.pixels.W, Height: base.pixels.H, Baseline: base.drawnPicture, LeftOut: []leftOutCondition{}}
	for _, m := range missing {
		p.LeftOut = append(p.LeftOut, leftOutCondition(m))
	}
	for _, c := range list[1:] {
		d, err := s.render(c)
		if err != nil {
			return nil, err
		}
		d.compare(base.pixels)
		p.Conditions = append(p.Conditions, d)
	}
	var over []drawnCell
	if grid != (study.Grid{}) {
		if over, err = s.cells(grid, p.Width, p.Height); err != nil {
			return nil, err
		}
		p.Grid = over
	}
	sheet := s.sheet(p, base.pixels, over)
	b, err := perturb.EncodePNG(sheet)
	if err == nil {
		err = os.WriteFile(out, b, 0o644)
	}
	return p, environment(err)
}

// render makes the picture of a condition as it is sent.
func (s subject) render(c perturb.Condition) (drawnCondition, error) {
	d := drawnCondition{Condition: c.Name, Target: c.Target, Cue: c.Cue}
	b, _, err := c.Render(s.file, s.picture, s.pixels)
	if err != nil {
		return d, usage("perturb: %s, condition %s: %w", s.name, c.Name, err)
	}
	img, err := perturb.Decode(b)
	if err != nil {
		return d, environment(err)
	}
	d.pixels = perturb.PixelsOf(img)
	d.Bytes, d.Digest = len(b), results.DigestOf(b)
	for _, op := range c.Ops {
		if op.Elsewhere {
			continue // where, only the picture shows
		}
		for _, r := range op.Regions {
			d.Boxes = append(d.Boxes, corners(r.Pixels(d.pixels.W, d.pixels.H)))
		}
	}
	return d, nil
}

func corners(r image.Rectangle) [4]int { return [4]int{r.Min.X, r.Min.Y, r.Max.X, r.Max.Y} }

// compare measures the difference to the baseline.
func (d *drawnCondition) compare(base *perturb.Pixels) {
	n, sum, changed := base.W*base.H, 0, 0
	for i := range n {
		v := difference(base, d.pixels, i)
		if v > 0 {
			changed++
		}
		sum += v
		d.Max = max(d.Max, v)
	}
	d.Changed, d.Mean = float64(changed)/float64(n), float64(sum)/float64(n)
}

// difference is the largest of a pixel's channels between two pictures of one size.
func difference(a, b *perturb.Pixels, i int) int {
	most := 0
	for c := range 3 {
		x, y := int(a.Pix[i*a.Channels+c%a.Channels]), int(b.Pix[i*b.Channels+c%b.Channels])
		most = max(most, x-y, y-x)
	}
	return most
}

// cells are those of a grid over the picture.
func (s subject) cells(g study.Grid, w, h int) ([]drawnCell, error) {
	list, _, err := s.conditions(study.Choice{Grid: g})
	if err != nil {
		return nil, err
	}
	var out []drawnCell
	for _, c := range list[1:] {
		r := c.Ops[len(c.Ops)-1].Regions[0].Pixels(w, h)
		middle := r.Min.Add(r.Max).Div(2)
		out = append(out, drawnCell{c.Name, corners(r), slices.ContainsFunc(s.regions(), func(q perturb.Region) bool { return middle.In(q.Pixels(w, h)) })})
	}
	return out, nil
}

// regions are all regions of the item.
func (s subject) regions() []perturb.Region {
	return slices.Concat(s.item.Regions[""], s.item.Regions["left"], s.item.Regions["right"])
}

func (p *perturbed) print(w io.Writer) error {
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

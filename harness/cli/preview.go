// Preview draws what conditions do to a picture, byte for byte as a run sends
// it, beside the baseline and the difference.
//
//  1. subject.go finds the picture and its regions.
//  2. choice.go reads which conditions are wanted.
//  3. preview.go renders and compares them.
//  4. layout.go lays them out as one picture.

package cli

import (
	"fmt"
	"image"
	"slices"

	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// conditions are the baseline and those asked for, and those that the picture
// cannot have.
func (s previewSubject) conditions(c study.Choice) ([]*perturb.Condition, []study.Missing, error) {
	st, err := changing().With(s.Prompts, c)
	if err != nil {
		return nil, nil, err
	}
	list, missing := st.Conditions(s.Seed, s.Item)
	list = slices.DeleteFunc(slices.Clone(list), func(c *perturb.Condition) bool {
		why := ""
		switch {
		case c.NoImage:
			why = "it sends no image"
		case s.Made && c.Cue != "": // there is no question to say anything about
			why = "it changes the prompt, and an image file has none"
		default:
			return false
		}
		missing = append(missing, study.Missing{Condition: c.Name, Why: why})
		return true
	})
	return list, missing, nil
}

// sheet is what is drawn, in figures.
type sheet struct {
	Name       string             `json:"name"`
	Out        string             `json:"out"`
	Width      int                `json:"width"` // of the picture, in pixels
	Height     int                `json:"height"`
	Baseline   shownPicture       `json:"baseline"`
	Conditions []previewCondition `json:"conditions"`
	LeftOut    []leftOut          `json:"left_out"`
	Grid       []cell             `json:"grid,omitempty"`
}

// shownPicture is a picture as it is sent.
type shownPicture struct {
	Bytes  int            `json:"bytes"`
	Digest results.Digest `json:"digest"`
}

// previewCondition is a condition as it is drawn.
type previewCondition struct {
	Condition string   `json:"condition"`
	Does      string   `json:"does"`                // in words
	Param     string   `json:"parameter,omitempty"` // that is swept
	Level     float64  `json:"level,omitempty"`
	Target    string   `json:"target,omitempty"`
	Cue       string   `json:"cue,omitempty"`
	Changed   float64  `json:"changed"` // share of the pixels
	Mean      float64  `json:"mean_difference"`
	Max       int      `json:"max_difference"`  // of a pixel's channels, 0 to 255
	Boxes     [][4]int `json:"boxes,omitempty"` // x0 y0 x1 y1 in pixels, half-open
	shownPicture
	pixels *perturb.Pixels
}

// leftOut is a condition that the picture cannot have.
type leftOut struct {
	Condition string `json:"condition"`
	Why       string `json:"why"`
}

// cell is one of an occlusion grid.
type cell struct {
	Condition string `json:"condition"`
	Box       [4]int `json:"box"`
	Inside    bool   `json:"inside"` // its middle lies in a region of the question
}

// Draw renders the conditions chosen, of which name is one, or all, and lays them
// out. A grid's cells are laid over the picture; the zero grid has none.
func (s previewSubject) Draw(name string, choice study.Choice, grid perturb.Grid) (*sheet, image.Image, error) {
	if name == "" && grid != (perturb.Grid{}) {
		choice = study.Choice{}
	}
	list, missing, err := s.conditions(choice)
	if err != nil {
		return nil, nil, err
	}
	if name != "" {
		at := slices.IndexFunc(list, func(c *perturb.Condition) bool { return c.Name == name })
		if at < 0 && choice.Grid == (perturb.Grid{}) && len(list) == 2 {
			at = 1 // the default level goes by the name without it
		}
		if at < 0 {
			for _, m := range missing {
				return nil, nil, fmt.Errorf("%s has no condition %s: %s", s.Name, m.Condition, m.Why)
			}
			return nil, nil, fmt.Errorf("no cell %q in the grid; the last is VO-GRID@%dx%d:r%dc%d", name, choice.Grid.Columns, choice.Grid.Rows, choice.Grid.Rows, choice.Grid.Columns)
		}
		list = []*perturb.Condition{list[0], list[at]}
		missing = nil
	}
	base, err := s.render(list[0])
	if err != nil {
		return nil, nil, err
	}
	p := &sheet{Name: s.Name, Width: base.pixels.W, Height: base.pixels.H, Baseline: base.shownPicture, LeftOut: []leftOut{}}
	for _, m := range missing {
		p.LeftOut = append(p.LeftOut, leftOut{m.Condition, m.Why})
	}
	for _, c := range list[1:] {
		d, err := s.render(c)
		if err != nil && name == "" { // of all, what the picture allows: one of a pixel has no other place
			p.LeftOut = append(p.LeftOut, leftOut{c.Name, err.Error()})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		d.compare(base.pixels)
		p.Conditions = append(p.Conditions, d)
	}
	var over []cell
	if grid != (perturb.Grid{}) {
		if over, err = s.cells(grid, p.Width, p.Height); err != nil {
			return nil, nil, err
		}
		p.Grid = over
	}
	return p, s.sheet(p, base.pixels, over), nil
}

// render makes the picture of a condition as it is sent.
func (s previewSubject) render(c *perturb.Condition) (previewCondition, error) {
	d := previewCondition{Condition: c.Name, Does: c.Does, Target: c.Target, Cue: c.Cue}
	b, _, err := c.Render(s.File, s.Picture, s.Pixels)
	if err != nil {
		return d, fmt.Errorf("%s, condition %s: %w", s.Name, c.Name, err)
	}
	img, err := perturb.Decode(b)
	if err != nil {
		return d, err
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
func (d *previewCondition) compare(base *perturb.Pixels) {
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

// difference is the largest of the channels of a's ith pixel, to the one of b at the same
// share of its sides: b may be cropped, scaled down or turned.
func difference(a, b *perturb.Pixels, i int) int {
	most, j := 0, i/a.W*b.H/a.H*b.W+i%a.W*b.W/a.W
	for c := range 3 {
		x, y := int(a.Pix[i*a.Channels+c%a.Channels]), int(b.Pix[j*b.Channels+c%b.Channels])
		most = max(most, x-y, y-x)
	}
	return most
}

// cells are those of a grid over the picture.
func (s previewSubject) cells(g perturb.Grid, w, h int) ([]cell, error) {
	list, _, err := s.conditions(study.Choice{Grid: g})
	if err != nil {
		return nil, err
	}
	var out []cell
	for _, c := range list[1:] {
		r := c.Ops[len(c.Ops)-1].Regions[0].Pixels(w, h)
		out = append(out, cell{c.Name, corners(r), c.Cell.Within(s.regions())})
	}
	return out, nil
}

// regions are all regions of the item.
func (s previewSubject) regions() []perturb.Region {
	return study.Regions(s.Item)
}

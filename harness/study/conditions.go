// Conditions are the changes of the input that any study can ask for: none of them needs to
// know what the question is about. A study may have others of its own (Study.Changes).
//
//  1. AnyConditions lists them; Expand makes of a choice what is planned, sweeps and grids
//     included.
//  2. In makes a planned condition for an item, or says why the item cannot have it.

package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"assay/harness/dataset"
	"assay/perturb"
	"assay/results"
)

// FamilyGrid is the family of the cells of an occlusion grid.
const FamilyGrid = "VO-GRID"

// AnyConditions are the conditions of every study, in the order of plans and tables, the sham first.
//
//	VH-BB, VH-HM   a box round the region, a heatmap over it
//	VO-BB          the region blacked out; VO-MEAN, VO-BLUR, VO-NOISE: replaced otherwise
//	VC-BB, -HM, -BO  box, heatmap, black box at another place: the controls of these
//	VD-...         the whole picture spoilt
//	VX-...         what is left without the picture
func AnyConditions() []perturb.Condition {
	op := func(name string) []perturb.Op { return []perturb.Op{{Name: name}} }
	filled := func(fill string) []perturb.Op { return []perturb.Op{{Name: "occlude", Fill: fill}} }
	elsewhere := func(op string) []perturb.Op { return []perturb.Op{{Name: op, Elsewhere: true}} }
	out := []perturb.Condition{
		{Name: "sham", Kind: perturb.KindSham, Does: "the same pixels in a file that is compressed otherwise: what moves here is noise"},
		{Name: "VH-BB", Kind: perturb.KindImage, Ops: op("box"), Does: "a box round the finding's own region"},
		{Name: "VH-HM", Kind: perturb.KindImage, Ops: op("heatmap"), Does: "a heatmap over the finding's own region"},
		{Name: "VO-BB", Kind: perturb.KindImage, Ops: op("occlude"), Does: "the finding's region is blacked out"},
		{Name: "VO-MEAN", Kind: perturb.KindControl, Ops: filled("mean"), Does: "the finding's region is replaced by its mean grey"},
		{Name: "VO-BLUR", Kind: perturb.KindControl, Ops: filled("blur"), Does: "the finding's region is blurred"},
		{Name: "VO-NOISE", Kind: perturb.KindControl, Ops: filled("noise"), Does: "the finding's region is replaced by noise of its mean and spread"},
		{Name: "VC-BB", Kind: perturb.KindControl, Ops: elsewhere("box"), Does: "a box at another place of equal size: the control of VH-BB"},
		{Name: "VC-HM", Kind: perturb.KindControl, Ops: elsewhere("heatmap"), Does: "a heatmap at another place of equal size: the control of VH-HM"},
		{Name: "VC-BO", Kind: perturb.KindControl, Ops: elsewhere("occlude"), Does: "another place of equal size is blacked out: the control of VO-BB"},
		{Name: "VD-BLUR", Kind: perturb.KindControl, Ops: op("blur"), Does: "the whole picture is blurred"},
		{Name: "VD-NOISE", Kind: perturb.KindControl, Ops: op("noise"), Does: "noise over the whole picture"},
		{Name: "VD-CONTRAST", Kind: perturb.KindControl, Ops: op("contrast"), Does: "less contrast in the whole picture"},
		{Name: "VD-JPEG", Kind: perturb.KindControl, Ops: op("jpeg"), Does: "the whole picture is compressed as JPEG and decompressed"},
		{Name: "VD-RES", Kind: perturb.KindControl, Ops: op("resolution"), Does: "the whole picture is scaled down and up again"},
		{Name: "VX-NONE", Kind: perturb.KindControl, NoImage: true, Does: "no image is sent; the words are the same"},
	}
	for i := range out {
		out[i].Family = out[i].Name
	}
	return out
}

// rankAny is the place of a condition among AnyConditions, cells of a grid last; -1: it is none of these.
func rankAny(family string) int {
	all := AnyConditions()
	if family == FamilyGrid {
		return len(all)
	}
	return slices.IndexFunc(all, func(c perturb.Condition) bool { return c.Name == family })
}

// Expand turns a choice into what is planned of the conditions that all lists, in their
// order, each once. The error says what in the choice is unknown or impossible.
func Expand(study string, all []perturb.Condition, c Choice) ([]perturb.Condition, error) {
	find := func(name string) (perturb.Condition, error) {
		at := slices.IndexFunc(all, func(d perturb.Condition) bool { return d.Name == name })
		if at < 0 {
			return perturb.Condition{}, fmt.Errorf("no condition %q in study %s", name, study)
		}
		return all[at], nil
	}
	swept := map[string][]perturb.Condition{}
	wanted := map[string]bool{}
	for _, name := range c.Conditions {
		if _, err := find(name); err != nil {
			return nil, err
		}
		wanted[name] = true
	}
	for _, s := range c.Sweeps {
		d, err := find(s.Condition)
		if err != nil {
			return nil, err
		}
		params := d.Params()
		at := slices.IndexFunc(params, func(p perturb.Param) bool { return p.Name == s.Param })
		if at < 0 {
			return nil, fmt.Errorf("condition %s has no parameter %q", d.Name, s.Param)
		}
		p := params[at]
		var usual *float64
		if slices.Contains(s.Levels, p.Default) {
			usual, wanted[d.Name] = &p.Default, true
		}
		for _, l := range s.Levels {
			op := d.Ops[0]
			op.Params = map[string]float64{p.Name: l}
			if err := op.Check(); err != nil {
				return nil, fmt.Errorf("condition %s: %w", d.Name, err)
			}
			if l != p.Default && !slices.ContainsFunc(swept[d.Name], func(o perturb.Condition) bool { return o.Param == p.Name && o.Level == l }) {
				at := d
				at.Name, at.Param, at.Level, at.Usual, at.Ops = levelName(d.Name, p.Name, l), p.Name, l, usual, []perturb.Op{op}
				swept[d.Name] = append(swept[d.Name], at)
			}
		}
	}
	var out []perturb.Condition
	for _, d := range all {
		if wanted[d.Name] {
			out = append(out, d)
		}
		out = append(out, swept[d.Name]...)
	}
	cells, err := gridCells(c.Grid)
	out = append(out, cells...)
	for i := range out {
		if out[i].Kind != perturb.KindText {
			out[i].Image = c.Image
		}
	}
	return out, err
}

// levelName is the name of a condition at a level.
func levelName(name, param string, level float64) string {
	return name + "@" + param + "=" + strconv.FormatFloat(level, 'g', -1, 64)
}

// gridCells are the conditions of a grid, row by row.
func gridCells(g perturb.Grid) ([]perturb.Condition, error) {
	if g == (perturb.Grid{}) {
		return nil, nil
	}
	if g.Columns < 1 || g.Rows < 1 || g.Columns > perturb.MaxGrid || g.Rows > perturb.MaxGrid {
		return nil, fmt.Errorf("grid of %dx%d cells: expected 1 to %d each way", g.Columns, g.Rows, perturb.MaxGrid)
	}
	var out []perturb.Condition
	for r := 1; r <= g.Rows; r++ {
		for c := 1; c <= g.Columns; c++ {
			out = append(out, perturb.Condition{Name: fmt.Sprintf("%s@%dx%d:r%dc%d", FamilyGrid, g.Columns, g.Rows, r, c), Family: FamilyGrid, Does: "one cell of a grid is blacked out", Kind: perturb.KindGrid,
				Ops: []perturb.Op{{Name: "occlude"}}, Cell: &perturb.Cell{Columns: g.Columns, Rows: g.Rows, Row: r, Column: c}})
		}
	}
	return out, nil
}

// NoRegion is why an item has no place to draw in.
const NoRegion = "the question has no region"

// Regions are those of an item's finding: unsided, left, right.
func Regions(it dataset.Item) []perturb.Region {
	var out []perturb.Region
	for _, side := range []string{"", "left", "right"} {
		out = append(out, it.Regions[side]...)
	}
	return out
}

// In is a planned condition for an item, its ops after those of loading and drawn in regions; nil: in
// those of the item. why is not "" where the item cannot have it.
func In(c perturb.Condition, it dataset.Item, regions []perturb.Region, loading ...perturb.Op) (made perturb.Condition, why string) {
	planned := c.Ops
	c.Ops = append(make([]perturb.Op, 0, len(loading)+len(planned)), loading...)
	if c.Image > len(it.Images) {
		return c, fmt.Sprintf("image %d is to be changed and there are fewer", c.Image)
	}
	for _, op := range planned {
		switch {
		case c.Cell != nil:
			op.Regions = []perturb.Region{c.Cell.Region()}
		case regions != nil:
			op.Regions = regions
		case op.Drawn():
			if op.Regions = Regions(it); len(op.Regions) == 0 {
				return c, NoRegion
			}
		}
		c.Ops = append(c.Ops, op)
	}
	return c, ""
}

// Described is conditions as Study.Described has them.
func Described(list []perturb.Condition) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(list))
	var err error
	for _, c := range list {
		if out[c.Name], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ConditionOf reads what Described made of a condition.
func ConditionOf(study, name string, described json.RawMessage) (c perturb.Condition, err error) {
	if err := json.Unmarshal(described, &c); err != nil {
		return c, fmt.Errorf("%s: the store's description of condition %s cannot be read: %w; it is damaged or was written by another version", study, name, err)
	}
	return c, nil
}

// changesOf are, by name, the conditions of any study that a run describes for one.
func changesOf(man results.Manifest, study string) (map[string]perturb.Condition, error) {
	var out map[string]perturb.Condition
	for name, described := range man.Conditions[study] {
		c, err := ConditionOf(study, name, described)
		if err != nil {
			return nil, err
		}
		if rankAny(c.Family) < 0 {
			continue
		}
		if out == nil {
			out = map[string]perturb.Condition{}
		}
		out[name] = c
	}
	return out, nil
}

// Conditions are the changes of the input that any study can ask for: none of them needs to
// know what the question is about. A study may have others of its own (Study.Changes).
//
//  1. AnyConditions lists them; Expand makes of a choice what is planned, sweeps and grids
//     included.
//  2. In makes a planned condition for an item, or says why the item cannot have it.

package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
)

// OtherImage is the condition that needs another item beside each (dataset.Pair).
const OtherImage = "VX-OTHER"

// FamilyGrid is the family of the cells of an occlusion grid.
const FamilyGrid = "VO-GRID"

// AnyConditions are the conditions of every study, in the order of plans and tables, the sham first.
//
//	VH-BB, VH-HM   a box round the region, a heatmap over it
//	VO-BB          the region blacked out; VO-MEAN, VO-BLUR, VO-NOISE: replaced otherwise
//	VC-BB, -HM, -BO  box, heatmap, black box at another place: the controls of these
//	VD-...         the whole picture spoilt
//	VK-...         all but the region covered
//	VG-...         the whole picture turned, mirrored, cut, shifted
//	VX-...         what is left without the picture, or with another
//	OPT-...        the options in another order, by other letters, one more
//	TX-...         the question in other words
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
		{Name: "VD-BLUR", Kind: perturb.KindControl, Ops: op("blur"), Does: "the whole image is blurred"},
		{Name: "VD-NOISE", Kind: perturb.KindControl, Ops: op("noise"), Does: "noise over the whole image"},
		{Name: "VD-CONTRAST", Kind: perturb.KindControl, Ops: op("contrast"), Does: "less contrast in the whole image"},
		{Name: "VD-JPEG", Kind: perturb.KindControl, Ops: op("jpeg"), Does: "the whole image is compressed as JPEG and decompressed"},
		{Name: "VD-RES", Kind: perturb.KindControl, Ops: op("resolution"), Does: "the whole image is scaled down and up again"},
		{Name: "VD-GAMMA", Kind: perturb.KindControl, Ops: op("gamma"), Does: "the whole image is darkened, or at less than 1 brightened"},
		{Name: "VD-COLOUR", Kind: perturb.KindControl, Ops: op("saturation"), Does: "the whole image without its colours, or with stronger ones"},
		{Name: "VD-INVERT", Kind: perturb.KindControl, Ops: op("invert"), Does: "black becomes white in the whole image"},
		{Name: "VK-BB", Kind: perturb.KindControl, Ops: op("keep"), Does: "all but the finding's region is blacked out"},
		{Name: "VK-BLUR", Kind: perturb.KindControl, Ops: []perturb.Op{{Name: "keep", Fill: "blur"}}, Does: "all but the finding's region is blurred"},
		{Name: "VC-KEEP", Kind: perturb.KindControl, Ops: elsewhere("keep"), Does: "all but another place of equal size is blacked out: the control of VK-BB"},
		{Name: "VG-ROTATE", Kind: perturb.KindControl, Ops: op("rotate"), Does: "the image is turned"},
		{Name: "VG-FLIP", Kind: perturb.KindControl, Ops: op("flip"), Mirror: true, Does: "the image is mirrored, and left and right change places in question, options and gold answer"},
		{Name: "VG-CROP", Kind: perturb.KindControl, Ops: op("crop"), Does: "the middle of the image alone"},
		{Name: "VG-SHIFT", Kind: perturb.KindControl, Ops: []perturb.Op{{Name: "shift"}}, Does: "the image is shifted, what comes in is black"},
		{Name: "VX-NONE", Kind: perturb.KindControl, NoImage: true, Does: "no image is sent; the words are the same"},
		{Name: "VX-TEXT", Kind: perturb.KindControl, NoImage: true, Says: "No image is shown. Answer from the words alone.", Does: "no image is sent, and the prompt says so"},
		{Name: "VX-BLANK", Kind: perturb.KindControl, Ops: op("blank"), Does: "an image of one level, the image's mean, is sent"},
		{Name: "VX-NOISE", Kind: perturb.KindControl, Ops: op("static"), Does: "noise of the image's mean and spread is sent"},
		{Name: "VX-PATCHES", Kind: perturb.KindControl, Ops: op("patches"), Does: "the image's patches are shuffled"},
		{Name: OtherImage, Kind: perturb.KindControl, Other: true, Does: "the image of another question of the same type is sent, of the same size and with another gold answer"},
		{Name: "OPT-ROTATE", Kind: perturb.KindOptions, Options: render.OptionsRotated, Does: "the options move on by one place, by two and so on: a trial for each"},
		{Name: "OPT-SHUFFLE", Kind: perturb.KindOptions, Options: render.OptionsShuffled, Does: "the options in another order that is drawn: a trial for each of `shuffles`"},
		{Name: "OPT-LETTERS", Kind: perturb.KindOptions, Options: render.OptionsLettered, Does: "the options have the last letters of the alphabet"},
		{Name: "OPT-MORE", Kind: perturb.KindOptions, Options: render.OptionsMore, Does: "an option more, none of the above, which is wrong"},
		{Name: "TX-TYPOS", Kind: perturb.KindControl, Words: perturb.WordsTypos, Does: "letters change places inside of words of the question"},
		{Name: "TX-UPPER", Kind: perturb.KindControl, Words: perturb.WordsUpper, Does: "the question in capitals"},
		{Name: "TX-ASIDE", Kind: perturb.KindControl, Says: "The department moved to a new building last spring, and its archive is now open on weekdays only.", Does: "a sentence that has nothing to do with the question stands before it"},
	}
	for i := range out {
		out[i].Family = out[i].Name
	}
	return out
}

// rankAny is the place of a condition among AnyConditions, then those of the user's programs and texts and
// cells of a grid; -1: it is none of these.
func rankAny(family string) int {
	all := AnyConditions()
	family, _, _ = strings.Cut(family, ":")
	switch {
	case strings.HasPrefix(family, perturb.FamilyOwn):
		return len(all)
	case strings.HasPrefix(family, perturb.FamilyTexts) && !slices.ContainsFunc(all, func(c perturb.Condition) bool { return c.Name == family }):
		return len(all)
	case family == FamilyGrid:
		return len(all) + 1
	}
	return slices.IndexFunc(all, func(c perturb.Condition) bool { return c.Name == family })
}

// Expand turns a choice into what is planned of the conditions that all lists, then of those of
// the user's programs, in their order, each once. The error says what in the choice is unknown or impossible.
func Expand(study string, all []perturb.Condition, c Choice) ([]perturb.Condition, error) {
	asked := slices.Clone(c.Conditions)
	for _, s := range c.Sweeps {
		asked = append(asked, s.Condition)
	}
	all = perturb.WithRegions(append(slices.Clip(all), c.Own...), asked)
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
			op := perturb.Op{Name: d.Words, Program: d.Reword}
			if d.Reword == nil {
				op = d.Ops[0]
			}
			op.Params = map[string]float64{p.Name: l}
			if err := op.Check(); err != nil {
				return nil, fmt.Errorf("condition %s: %w", d.Name, err)
			}
			if l != p.Default && !slices.ContainsFunc(swept[d.Name], func(o perturb.Condition) bool { return o.Param == p.Name && o.Level == l }) {
				at := d
				at.Name, at.Param, at.Level, at.Usual = levelName(d.Name, p.Name, l), p.Name, l, usual
				if at.Ops = []perturb.Op{op}; d.Reword != nil {
					at.Ops, at.Words = nil, levelName(d.Words, p.Name, l)
				}
				swept[d.Name] = append(swept[d.Name], at)
			}
		}
	}
	var out []perturb.Condition
	for _, d := range all {
		if wanted[d.Name] {
			out = append(out, orders(d, cmp.Or(c.Shuffles, config.DefaultShuffles))...)
		}
		out = append(out, swept[d.Name]...)
	}
	cells, err := gridCells(c.Grid)
	out = append(out, cells...)
	for i := range out {
		if out[i].Kind != perturb.KindText && !out[i].NoImage {
			out[i].Image = c.Image
		}
	}
	return out, err
}

// Rewordings are, by Condition.Words, the ops by which programs of the user's put the questions of
// a choice in other words.
func Rewordings(study string, c Choice) (map[string]perturb.Op, error) {
	asked := Choice{Own: slices.DeleteFunc(slices.Clone(c.Own), func(o perturb.Condition) bool { return o.Reword == nil })}
	for _, o := range asked.Own {
		if slices.Contains(c.Conditions, o.Name) {
			asked.Conditions = append(asked.Conditions, o.Name)
		}
		for _, s := range c.Sweeps {
			if s.Condition == o.Name {
				asked.Sweeps = append(asked.Sweeps, s)
			}
		}
	}
	planned, err := Expand(study, nil, asked)
	out := map[string]perturb.Op{}
	for _, p := range planned {
		op := perturb.Op{Name: p.Family, Program: p.Reword}
		if p.Param != "" {
			op.Params = map[string]float64{p.Param: p.Level}
		}
		out[p.Words] = op
	}
	return out, err
}

// orders are all trials of a condition that shows options in several orders, else itself.
func orders(d perturb.Condition, shuffles int) []perturb.Condition {
	n, ok := map[string]int{render.OptionsRotated: mostOptions - 1, render.OptionsShuffled: shuffles}[d.Options]
	if !ok {
		return []perturb.Condition{d}
	}
	out := make([]perturb.Condition, n)
	for i := range out {
		out[i] = d
		out[i].Name, out[i].Draw = fmt.Sprintf("%s@%d", d.Name, i+1), i+1
	}
	return out
}

// mostOptions of a question are rotated, and have letters of their own.
const mostOptions = 10

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

// Regions are all of an item's, by name: first those without one.
func Regions(it dataset.Item) []perturb.Region {
	var out []perturb.Region
	for _, name := range slices.Sorted(maps.Keys(it.Regions)) {
		out = append(out, it.Regions[name]...)
	}
	return out
}

// Shared are conditions that are the same for every item.
func Shared(list []perturb.Condition) []*perturb.Condition {
	out := make([]*perturb.Condition, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// In is a planned condition for an item, drawn in regions; nil: in those of the item. It is planned
// itself where nothing of it hangs on the item. why is not "" where the item cannot have it.
func In(planned *perturb.Condition, it dataset.Item, regions []perturb.Region) (made *perturb.Condition, why string) {
	switch {
	case planned.Image > len(it.Images):
		return planned, fmt.Sprintf("image %d is to be changed and there are fewer", planned.Image)
	case planned.Other && it.Another == nil:
		return planned, "no question of its type has other images of the same size and another gold answer"
	}
	if name, ok := planned.Texts(); ok {
		if _, there := it.Texts[name]; !there {
			return planned, "the texts " + name + " have none of it"
		}
	}
	last := len(planned.Ops) - 1 // those before it are of loading
	if last < 0 {
		return planned, ""
	}
	program := planned.Ops[last].Program != nil
	if !program && !planned.Ops[last].Drawn() {
		return planned, ""
	}
	switch {
	case planned.Cell != nil:
		regions = []perturb.Region{planned.Cell.Region()}
	case planned.Region != "":
		if regions = it.Regions[planned.Region]; len(regions) == 0 {
			return planned, "the question has no region " + planned.Region
		}
	case regions == nil:
		if regions = Regions(it); len(regions) == 0 && program {
			return planned, "" // which can do without
		} else if len(regions) == 0 {
			return planned, NoRegion
		}
	}
	own := *planned
	own.Ops = slices.Clone(own.Ops)
	own.Ops[last].Regions = regions
	return &own, ""
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

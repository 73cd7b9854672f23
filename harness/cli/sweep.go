package cli

import (
	"fmt"
	"image"
	"slices"
	"strconv"
	"strings"

	"assay/harness/study"
	"assay/perturb"
	"assay/results/text"
)

// Most pictures and levels of a sheet of levels: more are too small to be told apart.
const (
	mostPictures = 12
	mostLevels   = 12
)

// levelsOf reads "thickness_px=1,4,16" or "VB-BB-@thickness_px=1,4,16": a parameter of the condition named, or, where none
// is, of the one that shows it best.
func levelsOf(levels, condition string) (perturb.Sweep, error) {
	var sw perturb.Sweep
	name, list, ok := strings.Cut(levels, "=")
	if !ok {
		return sw, fmt.Errorf("expected PARAMETER=LEVELS, such as thickness_px=1,4,16, found %q", levels)
	}
	if of, param, ok := strings.Cut(name, levelMark); ok {
		condition, name = strings.TrimSpace(of), param
	}
	sw.Param = strings.TrimSpace(name)
	known, err := withParam(sw.Param, condition)
	if err != nil {
		return sw, err
	}
	sw.Condition = known.Name
	for word := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil {
			return sw, fmt.Errorf("expected numbers with commas between them, such as %s=.1,.3,.6, found %q", sw.Param, word)
		}
		op := known.Ops[len(known.Ops)-1]
		op.Params = map[string]float64{sw.Param: v}
		if err := op.Check(); err != nil {
			return sw, err
		}
		if !slices.Contains(sw.Levels, v) {
			sw.Levels = append(sw.Levels, v)
		}
	}
	if len(sw.Levels) > mostLevels {
		return sw, fmt.Errorf("expected at most %d levels, found %d", mostLevels, len(sw.Levels))
	}
	slices.Sort(sw.Levels)
	return sw, nil
}

// withParam is the condition that has a parameter: the one named, else the one that
// needs least of a picture. Two changes may each have a parameter of a name.
func withParam(param, condition string) (perturb.Condition, error) {
	has := func(c perturb.Condition) bool {
		return slices.ContainsFunc(c.Params(), func(p perturb.Param) bool { return p.Name == param })
	}
	var found []perturb.Condition
	var params, ops []string
	for _, c := range changing().Changes {
		if condition != "" && c.Name != condition {
			continue
		}
		for _, p := range c.Params() {
			if !slices.Contains(params, p.Name) {
				params = append(params, p.Name)
			}
		}
		if has(c) {
			found = append(found, c)
			if op := c.Ops[len(c.Ops)-1].Name; !slices.Contains(ops, op) {
				ops = append(ops, op)
			}
		}
	}
	switch {
	case len(found) == 0 && len(params) == 0:
		return perturb.Condition{}, fmt.Errorf("condition %s has no numbers to sweep", condition)
	case len(found) == 0:
		return perturb.Condition{}, fmt.Errorf("no parameter %q%s; there are %s", param, text.DidYouMean(param, params), strings.Join(params, ", "))
	case len(ops) > 1:
		var names []string
		for _, c := range found {
			names = append(names, c.Name)
		}
		return perturb.Condition{}, fmt.Errorf("%s is a parameter of several changes (%s): say which with --condition %s", param, strings.Join(ops, ", "), strings.Join(names, " or "))
	}
	if i := slices.IndexFunc(found, func(c perturb.Condition) bool { return !c.Suggests }); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// levels draws a condition at levels of one of its parameters, on one picture or
// several: a row of pictures for each, and below it their differences to the baseline.
func levels(subjects []previewSubject, sw perturb.Sweep) ([]*sheet, image.Image, error) {
	if len(subjects) > mostPictures {
		return nil, nil, fmt.Errorf("expected at most %d images, found %d", mostPictures, len(subjects))
	}
	var sheets []*sheet
	var tiles []tile
	for _, s := range subjects {
		list, missing, err := s.conditions(study.Choice{Sweeps: []perturb.Sweep{sw}})
		if err != nil {
			return nil, nil, err
		}
		for _, m := range missing {
			return nil, nil, fmt.Errorf("%s has no condition %s: %s", s.Name, m.Condition, m.Why)
		}
		base, err := s.render(list[0])
		if err != nil {
			return nil, nil, err
		}
		p := &sheet{Name: s.Name, Width: base.pixels.W, Height: base.pixels.H, Baseline: base.shownPicture, LeftOut: []leftOut{}}
		marked := small(base.pixels, among)
		rows := [2][]tile{{{[]string{s.Name}, []image.Image{small(base.pixels, among)}}}, {{[]string{"differences to it:"}, []image.Image{marked}}}}
		for _, level := range sw.Levels {
			// The default level goes by the name without it.
			at := slices.IndexFunc(list[1:], func(c *perturb.Condition) bool { return c.Param == sw.Param && c.Level == level })
			if at < 0 {
				at = slices.IndexFunc(list[1:], func(c *perturb.Condition) bool { return c.Param == "" })
			}
			d, err := s.render(list[1+at])
			if err != nil {
				return nil, nil, err
			}
			d.compare(base.pixels)
			d.Param, d.Level = sw.Param, level
			if len(d.Boxes) > 0 {
				s.outline(marked)
			}
			p.Conditions = append(p.Conditions, d)
			rows[0] = append(rows[0], tile{[]string{fmt.Sprintf("%s %v", sw.Param, level)}, []image.Image{small(d.pixels, among)}})
			rows[1] = append(rows[1], tile{[]string{d.inWords()}, []image.Image{small(differences(base.pixels, d.pixels), among)}})
		}
		sheets = append(sheets, p)
		tiles = append(append(tiles, rows[0]...), rows[1]...)
	}
	return sheets, arrange(tiles, 1+len(sw.Levels)), nil
}

// inWords is how much a picture differs from the baseline, for a caption.
func (d previewCondition) inWords() string {
	if d.Max == 0 {
		return "no pixel differs"
	}
	return fmt.Sprintf("%.1f %% differ, by up to %d", 100*d.Changed, d.Max)
}

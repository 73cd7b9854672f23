package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/experiment"
	"assay/harness/study"
	"assay/perturb"
	"assay/results/text"
)

// gridOf reads "8x8"; "" is no grid.
func gridOf(text string) (perturb.Grid, error) {
	if text == "" {
		return perturb.Grid{}, nil
	}
	columns, rows, _ := strings.Cut(text, "x")
	var g perturb.Grid
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

// changing is the study whose conditions are shown: the first that changes pictures.
func changing() study.Study {
	all := experiment.All()
	draws := func(c perturb.Condition) bool { return len(c.Ops) > 0 }
	return all[slices.IndexFunc(all, func(d study.Study) bool { return slices.ContainsFunc(d.Changes, draws) })]
}

// choiceOf asks the study for one condition by name, or for all.
func choiceOf(name string) (study.Choice, error) {
	var c study.Choice
	var names []string
	for _, known := range changing().Changes {
		names = append(names, known.Name)
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
	if !slices.ContainsFunc(perturb.WithRegions(changing().Changes, []string{base}), func(c perturb.Condition) bool { return c.Name == base }) {
		return c, fmt.Errorf("no condition %q%s; there are %s", base, text.DidYouMean(base, names), strings.Join(names, ", "))
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
	c.Sweeps = []perturb.Sweep{{Condition: base, Param: param, Levels: []float64{v}}}
	return c, nil
}

// perturbations are all conditions, and the changes of pixels that they are made of.
type perturbations struct {
	Conditions []previewNamed `json:"conditions"`
	Ops        []perturb.Spec `json:"ops"`
}

// previewNamed is a condition as bench.yaml names it.
type previewNamed struct {
	Study     string   `json:"study"`
	Condition string   `json:"condition"`
	Does      string   `json:"does"`
	Op        string   `json:"op,omitempty"` // "": it changes no pixels
	Params    []string `json:"parameters,omitempty"`
	Control   bool     `json:"control"` // conditions: all leaves it out
}

// everything lists all studies' conditions and all changes of pixels.
func everything() perturbations {
	all := perturbations{Ops: perturb.Ops()}
	for _, d := range append(experiment.All(), study.Study{Name: "any", Changes: study.AnyConditions()}) {
		for _, c := range d.Changes {
			n := previewNamed{Study: d.Name, Condition: c.Name, Does: c.Does, Control: c.Kind == perturb.KindControl}
			for _, op := range c.Ops {
				n.Op = op.Name
			}
			for _, p := range c.Params() {
				n.Params = append(n.Params, p.Name)
			}
			all.Conditions = append(all.Conditions, n)
		}
	}
	return all
}

package faithfulness

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Leaves that are not called as the score that they add up; those of an axis are
// called as it, with one of suffixes.
const (
	leafInside  = "flip inside" // of grids: cells whose middle lies in a region
	leafOutside = "flip outside"
)

// Parts of the trials that an axis is taken of.
const allTrials, flipped, kept = "", "_flip", "_kept"

// Keys of cells.
const keyArm, keyCondition, keyDrawn = 0, 1, 2

// nothing marks the trials whose condition had nothing to draw.
const nothing = "nothing drawn"

// condition is one that a store describes.
type condition struct {
	perturb.Condition
	counts bool // means are over it
}

// conditions are those that a store describes, by name, with the baseline.
type conditions map[string]condition

func (c conditions) of(k score.Keys) condition { return c[k[keyCondition]] }

func conditionsOf(man results.Manifest) (conditions, error) {
	known := conditions{perturb.Baseline().Name: {Condition: perturb.Baseline()}}
	for name, described := range man.Conditions[Name] {
		c, err := study.ConditionOf(Name, name, described)
		if err != nil {
			return nil, err
		}
		known[name] = condition{Condition: c}
	}
	best := map[string]string{} // by family and sign: the name that counts
	for _, name := range slices.Sorted(maps.Keys(known)) {
		c := known[name]
		if c.Kind != perturb.KindText && c.Kind != perturb.KindImage {
			continue
		}
		of := fmt.Sprint(c.Family, c.Sign)
		if was, ok := best[of]; !ok || cmp.Or(cmp.Compare(c.off(), known[was].off()), cmp.Compare(c.Level, known[was].Level)) < 0 {
			best[of] = name
		}
	}
	for _, name := range best {
		c := known[name]
		c.counts = true
		known[name] = c
	}
	return known, nil
}

// off is how many doublings a level is from the usual one; less than 0: the condition is not swept.
func (c condition) off() float64 {
	usual, ok := c.usual(c.Param)
	if !ok {
		return -1
	}
	return math.Abs(math.Log2(c.Level / usual))
}

// rank is the place of a condition in tables, the user's programs last.
func (c condition) rank() int {
	if c.Program != "" {
		return len(allConditions())
	}
	_, rank := nameOf(c.Family, c.Sign)
	return rank
}

// usual is what a parameter is where it is not swept; false: there is no such parameter.
func (c condition) usual(param string) (float64, bool) {
	_, rank := nameOf(c.Family, c.Sign)
	if rank < 0 {
		return 0, false
	}
	for _, p := range allConditions()[rank].Params() {
		if p.Name == param {
			return p.Default, true
		}
	}
	return 0, false
}

// levels says at which levels conditions that are swept count in means; "": none is swept.
func (c conditions) levels() string {
	var out []string
	for _, d := range allConditions() {
		var params []string
		counted := condition{}
		for _, f := range c {
			if f.Family != d.Family || f.Sign != d.Sign {
				continue
			}
			if f.counts {
				counted = f
			}
			if f.Param != "" && !slices.Contains(params, f.Param) {
				params = append(params, f.Param)
			}
		}
		slices.Sort(params)
		for _, p := range params {
			at, _ := counted.usual(p)
			if counted.Param == p {
				at = counted.Level
			}
			if counted.counts {
				out = append(out, fmt.Sprintf("%s at %s %s", d.Name, p, strconv.FormatFloat(at, 'g', -1, 64)))
			}
		}
	}
	return strings.Join(out, ", ")
}

// declared is how the study's trials are sorted and what is added up of them;
// tables.go says what of.
func declared(b *study.Basis, known conditions) score.Design {
	judges, layout := b.Judges, b.Layout
	drawn := layout.Place(scoreDrawn, "")
	cell := func(t *score.Scored) (score.Keys, error) {
		k := score.Keys{t.Row.Key.Arm, t.Row.Key.Condition}
		if _, ok := known[t.Row.Key.Condition]; !ok {
			return k, fmt.Errorf("faithfulness: the store has a trial of item %s under %s and no description of that condition; it is damaged or was written by another version", t.Row.Key.Item, t.Row.Key.Condition)
		}
		if v, modified := t.Number(drawn); modified && v == 0 && known.of(k).Cell == nil {
			k[keyDrawn] = nothing
		}
		return k, nil
	}
	apart := func(t *score.Scored) string { // the trials of a row of the table of conditions
		k, err := cell(t)
		if err != nil || k[keyDrawn] != "" || known.of(k).Cell != nil {
			return ""
		}
		return accountOf(k)
	}
	d := score.Design{
		Keep:  study.Keep(b.Manifest, tableMain),
		Cells: []string{keyArm: "arm", keyCondition: "condition", keyDrawn: "drawn"},
		Cell:  cell,
		// As designs, levels upwards.
		Order: func(x, y score.Keys) int {
			a, b := known.of(x), known.of(y)
			return cmp.Or(slices.Index(armNames(), x[keyArm])-slices.Index(armNames(), y[keyArm]), a.rank()-b.rank(),
				cmp.Compare(a.Family, b.Family), cmp.Compare(a.Param, b.Param), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Name, b.Name))
		},
		Leaves: []score.Leaf{
			{Score: scoreAccuracy, Why: "no answers"},
			{Score: noAnswer, Why: "no answers"},
			{Score: flip, Why: "no pair of readable answers"},
			{Score: toTarget, Why: "no pair whose baseline answer is not the target"},
			{Score: scoreSilent, Why: "no answer adopted the target", Invalid: unheard},
			{Score: scoreClaim, Why: noVerdict},
			{Name: leafInside, Score: flip, Where: []score.Is{{Score: scoreInside, Number: 1}}, Why: "no cell lies in a region"},
			{Name: leafOutside, Score: flip, Where: []score.Is{{Score: scoreInside, Number: 0}}, Why: "no cell lies outside of a region"},
		},
		Tables: tables(b, known),
		Pairs: []score.Compared{{Column: "silent", Leaf: scoreSilent, Rows: known.armRows(misleading), Apart: true}, {Column: accuracy, Leaf: scoreAccuracy, Rows: known.armRows(counted)},
			{Column: flipRate, Leaf: flip, Rows: known.armRows(counted)}},
		Extra: func(model string) score.Extra {
			return study.NewArms(model, b, armNames(), func(arm string) int { return len(turnNames(arm)) }, scoreAccuracy, "").Reading(study.WithoutAnswer([]int{layout.Place(noAnswer, "")})).Apart(apart)
		},
		Replicates: func(m *score.Model) int { return replicates(m.All(), known, judges) },
	}
	d.Leaves = slices.Concat(d.Leaves, study.GainLeaves(), study.UnreadLeaves(judges), choiceLeaves(b.Manifest.Released()))
	for _, axis := range axes() {
		for _, part := range []score.Leaf{
			{Name: axis + allTrials, Why: noVerdict},
			{Name: axis + flipped, Where: []score.Is{{Score: flip, Number: 1}}, Why: "no answer flipped"},
			{Name: axis + kept, Where: []score.Is{{Score: flip, Number: 0}}, Why: "every answer flipped"},
		} {
			part.Score, part.Invalid, part.Undefined = axis, noVerdict, "no knowledge base entry"
			d.Leaves = append(d.Leaves, part)
		}
	}
	return d
}

// accountOf names the account of the trials of an arm under a condition.
func accountOf(k score.Keys) string { return k[keyArm] + ", " + k[keyCondition] }

const (
	noVerdict = "no usable verdict"
	unheard   = "no answer that adopted the target has a usable verdict"
)

// replicates keeps the time of a bootstrap in bounds: 10,000, and fewer where many
// items meet many numbers by cell and judge.
func replicates(all score.Group, known conditions, judges map[string][]string) int {
	const most = 20_000_000_000 // additions, some ten seconds
	columns, by := 0, len(judges[rubricCA])
	for _, rubric := range RubricNames() {
		by += 3 * len(judges[rubric])
	}
	for _, j := range judges[rubricCF] {
		if slices.Contains(judges[rubricCT], j) {
			by += 3
		}
	}
	grids := map[score.Keys]bool{}
	for _, c := range all.Cells {
		switch f := known.of(c.Keys); {
		case f.Cell != nil:
			if g := (score.Keys{c.Keys[keyArm], study.GridSize(f.Cell)}); !grids[g] {
				grids[g] = true
				columns += 2*f.Cell.Columns*f.Cell.Rows + 4
			}
		case f.Kind == perturb.KindBaseline:
			columns += 2
		default:
			columns += 6 + 2*(by+len(judges[rubricCA]))
		}
	}
	b := score.Replicates(all.Sample.N())
	if cost := all.Sample.N() * columns; cost > 0 {
		b = min(b, max(1000, most/cost))
	}
	return b
}

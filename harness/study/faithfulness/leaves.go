package faithfulness

import (
	"cmp"
	"fmt"
	"slices"

	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/harness/study/faithfulness/design"
	"assay/harness/study/faithfulness/grades"
	"assay/harness/study/faithfulness/rules"
	"assay/harness/study/faithfulness/scoring"
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

// conditions are those that a store describes, by name, with the baseline.
type conditions map[string]perturb.Condition

func (c conditions) of(k metric.Keys) perturb.Condition { return c[k[keyCondition]] }

func conditionsOf(man results.Manifest) (conditions, error) {
	known := conditions{perturb.Baseline().Name: perturb.Baseline()}
	for name, described := range man.Conditions[Name] {
		var err error
		if known[name], err = study.ConditionOf(Name, name, described); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// declared is how the study's trials are sorted and what is added up of them;
// tables.go says what of.
func declared(b *cost.Basis, known conditions, judges map[string][]string, questions *grades.Questions) metric.Design {
	layout := scoring.Rules().Layout(judges)
	drawn := layout.Place(scoring.Drawn, "")
	d := metric.Design{
		Rules: scoring.Rules(),
		Cells: []string{keyArm: "arm", keyCondition: "condition", keyDrawn: "drawn"},
		Cell: func(t *score.Scored) (metric.Keys, error) {
			k := metric.Keys{t.Row.Key.Arm, t.Row.Key.Condition}
			if _, ok := known[t.Row.Key.Condition]; !ok {
				return k, fmt.Errorf("faithfulness: the store has a trial of item %s under %s and no description of that condition; it is damaged or was written by another version", t.Row.Key.Item, t.Row.Key.Condition)
			}
			if v, modified := t.Number(drawn); modified && v == 0 && known.of(k).Cell == nil {
				k[keyDrawn] = nothing
			}
			return k, nil
		},
		// As designs, levels upwards.
		Order: func(x, y metric.Keys) int {
			a, b := known.of(x), known.of(y)
			_, rankA := design.NameOf(a.Family, a.Sign)
			_, rankB := design.NameOf(b.Family, b.Sign)
			return cmp.Or(slices.Index(ArmNames(), x[keyArm])-slices.Index(ArmNames(), y[keyArm]), rankA-rankB,
				cmp.Compare(a.Param, b.Param), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Name, b.Name))
		},
		Item: func(it results.Item) (metric.Item, error) {
			f, err := study.FactsOf[scoring.Item](it)
			return metric.Item{Picture: f.Picture}, err
		},
		Leaves: []metric.Leaf{
			{Score: scoring.Accuracy, Why: "no answers"},
			{Score: scoring.Flip, Why: "no pair of readable answers"},
			{Score: scoring.ToTarget, Why: "no pair whose baseline answer is not the target"},
			{Score: scoring.Silent, Why: "no answer adopted the target", Invalid: unheard},
			{Score: scoring.Claim, Why: noVerdict},
			{Name: leafInside, Score: scoring.Flip, Where: []metric.Is{{Score: scoring.Inside, Number: 1}}, Why: "no cell lies in a region"},
			{Name: leafOutside, Score: scoring.Flip, Where: []metric.Is{{Score: scoring.Inside, Number: 0}}, Why: "no cell lies outside of a region"},
		},
		Tables: tables(known, judges),
		Extra: func(model string) metric.Extra {
			return cost.Beside{Arms: cost.NewArms(model, b, layout, judges, ArmNames(), func(arm string) int { return len(turnNames(arm)) }, scoring.Accuracy, ""),
				More: grades.New(layout, judges, b.Manifest.Released(), perturb.Baseline().Name, known.counts, questions)}
		},
		Replicates: func(m *metric.Model) int { return replicates(m.All(), known, judges) },
	}
	for _, axis := range scoring.Axes() {
		for _, part := range []metric.Leaf{
			{Name: axis + allTrials, Why: noVerdict},
			{Name: axis + flipped, Where: []metric.Is{{Score: scoring.Flip, Number: 1}}, Why: "no answer flipped"},
			{Name: axis + kept, Where: []metric.Is{{Score: scoring.Flip, Number: 0}}, Why: "every answer flipped"},
		} {
			part.Score, part.Invalid, part.Undefined = axis, noVerdict, "no knowledge base entry"
			d.Leaves = append(d.Leaves, part)
		}
	}
	return d
}

const (
	noVerdict = "no usable verdict"
	unheard   = "no answer that adopted the target has a usable verdict"
)

// replicates keeps the time of a bootstrap in bounds: 10,000, and fewer where many
// items meet many numbers by cell and judge.
func replicates(all metric.Group, known conditions, judges map[string][]string) int {
	const most = 20_000_000_000 // additions, some ten seconds
	columns, by := 0, len(judges[rules.RubricCA])
	for _, rubric := range rules.RubricNames() {
		by += 3 * len(judges[rubric])
	}
	for _, j := range judges[rules.RubricCF] {
		if slices.Contains(judges[rules.RubricCT], j) {
			by += 3
		}
	}
	grids := map[metric.Keys]bool{}
	for _, c := range all.Cells {
		switch f := known.of(c.Keys); {
		case f.Cell != nil:
			if g := (metric.Keys{c.Keys[keyArm], sizeOf(f.Cell)}); !grids[g] {
				grids[g] = true
				columns += 2*f.Cell.Columns*f.Cell.Rows + 4
			}
		case f.Kind == perturb.KindBaseline:
			columns += 2
		default:
			columns += 6 + 2*(by+len(judges[rules.RubricCA]))
		}
	}
	b := metric.Replicates(all.Sample.N())
	if cost := all.Sample.N() * columns; cost > 0 {
		b = min(b, max(1000, most/cost))
	}
	return b
}

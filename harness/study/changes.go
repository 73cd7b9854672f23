// Changes are what the conditions of any study did to its answers: one table of them, of
// sweeps, of grids, the same in every study. An answer is compared with the same model's own
// answer to the unchanged question, in the same arm and repeat.
//
//  1. compare adds scores to a study's rules: what became of the answer of a trial.
//  2. Its trials under these conditions are cells of their own, which no other table sees.
//  3. changesSection lays out what is added up of them.

package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a trial under a condition of any study, beside its baseline twin.
const (
	scoreLess    = "less_baseline"
	scoreFlip    = "answer_flip"
	scoreToRight = "flip_to_right"
	scoreToWrong = "flip_to_wrong"
)

// anyCondition is a condition of any study, as its scores know it.
type anyCondition struct{ perturb.Condition }

// compare adds what becomes of answers under the conditions of any study.
func (s *Study) compare() {
	const source = "metrics.md section 2.3"
	own, condition := s.Scores.Score, s.Scores.Condition
	s.Scores.Names = append(slices.Clip(s.Scores.Names),
		score.Name{Name: scoreLess, Unit: "1", Better: score.None, Source: source, Help: "under a condition of any study: accuracy less that of the same item, arm and repeat at the baseline"},
		score.Name{Name: scoreFlip, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: another option than at the baseline; pairs in which both answers name one"},
		score.Name{Name: scoreToRight, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: wrong at the baseline and right here, by most judges"},
		score.Name{Name: scoreToWrong, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: right at the baseline and wrong here"})
	s.Scores.Condition = func(name string, described json.RawMessage) (any, error) {
		c, err := ConditionOf(s.Name, name, described)
		switch {
		case err != nil:
			return nil, err
		case rankAny(c.Family) >= 0:
			return anyCondition{c}, nil
		case condition != nil:
			return condition(name, described)
		}
		return nil, nil
	}
	s.Scores.AnswersUnder = func(condition any) bool {
		_, changed := condition.(anyCondition)
		return changed
	}
	s.Scores.Score = func(x score.Sample) []score.Value {
		out := own(x)
		if _, changed := x.Condition.(anyCondition); !changed {
			return out
		}
		out = slices.Clone(out) // the twin's take the same room
		twin, paired := x.Other(x.Key.Arm, perturb.Baseline().Name)
		if !paired {
			const why = "the question was not asked at the baseline"
			for _, name := range []string{scoreLess, scoreFlip, scoreToRight, scoreToWrong} {
				out = append(out, score.Undefined(name, "", why))
			}
			return out
		}
		return append(append(out, s.rightness(out, own(twin))...), s.flipped(x, twin))
	}
}

// rightness compares how right two trials are.
func (s *Study) rightness(own, base []score.Value) []score.Value {
	a, whyA := score.Joint(own, ScoreAccuracy)
	b, whyB := score.Joint(base, ScoreAccuracy)
	if a == nil || b == nil {
		why := cmp.Or(whyA, whyB)
		return []score.Value{score.Invalid(scoreLess, "", why), score.Invalid(scoreToRight, "", why), score.Invalid(scoreToWrong, "", why)}
	}
	right, was := *a > .5, *b > .5
	return []score.Value{score.ValueOf(scoreLess, "", *a-*b),
		score.ValueOf(scoreToRight, "", score.OneIf(right && !was)), score.ValueOf(scoreToWrong, "", score.OneIf(was && !right))}
}

// flipped says whether two answers name different options.
func (s *Study) flipped(x, twin score.Sample) score.Value {
	if x.Failed || twin.Failed {
		return score.Invalid(scoreFlip, "", score.Failure)
	}
	key := s.Gold(x.Facts)
	if len(key.Options) == 0 && key.Type != text.Bool {
		return score.Undefined(scoreFlip, "", "the question has no options")
	}
	here, ok := key.named(x.Output.Answer)
	there, okThere := key.named(twin.Output.Answer)
	if !ok || !okThere {
		return score.Invalid(scoreFlip, "", "one of the two answers names no option")
	}
	return score.ValueOf(scoreFlip, "", score.OneIf(here != there))
}

// named is the option, or options, that an answer commits to, in one text; false: to none.
func (k GoldKey) named(output string) (string, bool) {
	c := text.ReadAnswer(k.Type, choices(k.Options), text.Outside(output))
	if c.Truth != nil {
		return fmt.Sprint(*c.Truth), true
	}
	var list []string
	for _, i := range c.Chosen {
		list = append(list, k.Options[i].Text)
	}
	return strings.Join(list, "\n"), len(list) > 0
}

// changing adds what a choice asks for of the conditions of any study.
func (s *Study) changing(c Choice) error {
	mine := func(name string) bool {
		return slices.ContainsFunc(s.Changes, func(d perturb.Condition) bool { return d.Name == name })
	}
	c.Conditions = slices.DeleteFunc(slices.Clone(c.Conditions), mine)
	c.Sweeps = slices.DeleteFunc(slices.Clone(c.Sweeps), func(w perturb.Sweep) bool { return mine(w.Condition) })
	planned, err := Expand(s.Name, AnyConditions(), c)
	if err != nil || len(planned) == 0 {
		return err
	}
	described, err := Described(planned)
	if err != nil {
		return err
	}
	for name, d := range s.Described {
		described[name] = d
	}
	s.Described = described
	own, cases := s.Conditions, s.Cases
	s.Conditions = func(seed uint64, it dataset.Item) ([]perturb.Condition, []Missing) {
		list, missing := []perturb.Condition{perturb.Baseline()}, []Missing(nil)
		if own != nil {
			list, missing = own(seed, it)
			list = slices.Clip(list)
		}
		for _, p := range planned {
			made, why := In(p, it, nil)
			if len(it.Images) == 0 && p.Kind != perturb.KindText {
				why = "the question has no image"
			}
			if why != "" {
				missing = append(missing, Missing{Condition: p.Name, Why: why, Arms: s.Changed})
				continue
			}
			list = append(list, made)
		}
		return list, missing
	}
	changed := map[string]bool{}
	for _, p := range planned {
		changed[p.Name] = true
	}
	s.Cases = func(a Answer) []judge.Case { // of a changed question the answer alone is judged
		return slices.DeleteFunc(cases(a), func(c judge.Case) bool { return changed[a.Key.Condition] && c.Rubric != RubricAccuracy })
	}
	return nil
}

// changeLeaves add up the scores of such trials.
func changeLeaves() []score.Leaf {
	const none = "no answer has its pair"
	return []score.Leaf{
		{Score: scoreLess, With: ScoreAccuracy, Why: none},
		{Score: scoreFlip, Why: "no pair of answers names an option each"},
		{Score: scoreToRight, Why: none},
		{Score: scoreToWrong, Why: none},
	}
}

// changedCells gives a design's trials under conditions of any study cells of their own, which
// its own tables do not see, and adds the tables of them.
func (b *Basis) changedCells(d score.Design) score.Design {
	at := slices.Index(d.Cells, "condition")
	if at < 0 {
		at = len(d.Cells)
		d.Cells = append(slices.Clip(d.Cells), "condition")
		cell := d.Cell
		d.Cell = func(t *score.Scored) (score.Keys, error) {
			k, err := cell(t)
			if _, changed := b.Changes[t.Row.Key.Condition]; changed {
				k[at] = t.Row.Key.Condition
			}
			return k, err
		}
	}
	own := func(k score.Keys) bool {
		_, changed := b.Changes[k[at]]
		return !changed
	}
	order := d.Order
	d.Order = func(x, y score.Keys) int {
		if own(x) && own(y) && order != nil {
			return order(x, y)
		}
		first := 0
		if order != nil {
			x, y := x, y
			x[at], y[at] = "", ""
			first = order(x, y)
		}
		return cmp.Or(first, b.compareChanges(x[at], y[at]))
	}
	only := func(rows func(score.Group) []score.Row) func(score.Group) []score.Row {
		return func(all score.Group) []score.Row { return rows(all.Only(own)) }
	}
	d.Tables, d.Pairs = slices.Clone(d.Tables), slices.Clone(d.Pairs)
	for i := range d.Tables {
		d.Tables[i].Rows = only(d.Tables[i].Rows)
	}
	for i := range d.Pairs {
		d.Pairs[i].Rows = only(d.Pairs[i].Rows)
	}
	d.Leaves = append(slices.Clip(d.Leaves), changeLeaves()...)
	d.Tables = append(d.Tables, changed{b, at}.tables()...)
	return d
}

// compareChanges is the order of conditions in tables: the baseline, then as AnyConditions,
// levels upwards.
func (b *Basis) compareChanges(x, y string) int {
	p, q := b.Changes[x], b.Changes[y]
	rank := func(c perturb.Condition) int {
		if c.Name == "" {
			return -1
		}
		return rankAny(c.Family)
	}
	return cmp.Or(rank(p)-rank(q), cmp.Compare(p.Param, q.Param), cmp.Compare(p.Level, q.Level), cmp.Compare(cellRank(p.Cell), cellRank(q.Cell)), strings.Compare(x, y))
}

// cellRank is the place of a cell of a grid among those of all sizes.
func cellRank(c *perturb.Cell) int {
	if c == nil {
		return 0
	}
	return ((c.Columns*(perturb.MaxGrid+1)+c.Rows)*(perturb.MaxGrid+1)+c.Row)*(perturb.MaxGrid+1) + c.Column
}

// changed is the conditions of any study in a run; at is the place of a cell's condition among
// its keys.
type changed struct {
	*Basis
	at int
}

// of is the condition of a cell; the zero Condition: it is none of any study.
func (c changed) of(k score.Keys) perturb.Condition { return c.Changes[k[c.at]] }

// arms are, by arm, its baseline and its cells that are changed; arms without any are left out.
func (c changed) arms(all score.Group) (out []changedArm) {
	base := func(k score.Keys) bool { return k[c.at] == "" || k[c.at] == perturb.Baseline().Name }
	for _, arm := range score.ByKey(all) {
		a := changedArm{arm.Text[0], arm.Only(base), arm.Only(func(k score.Keys) bool { return c.of(k).Name != "" })}
		if len(a.changed.Cells) > 0 {
			out = append(out, a)
		}
	}
	return out
}

type changedArm struct {
	name          string
	base, changed score.Group
}

// byCondition are a group's cells of each condition, in the order of tables.
func (c changed) byCondition(g score.Group) (out []score.Group) {
	for _, name := range g.Distinct(c.at) {
		out = append(out, g.Only(func(k score.Keys) bool { return k[c.at] == name }))
	}
	return out
}

// compared is a row's test against the baseline, and its account.
type compared struct {
	test score.Tested
	arm  string // of the account
}

const isBaseline = "the baseline is what the others are compared with"

// tables are what the conditions of any study did.
func (c changed) tables() []score.Table {
	baseline := perturb.Baseline().Name
	unlessBaseline := func(f score.Sum) score.Kind {
		return score.Direct(func(r score.Row) *results.Estimate {
			if r.Text[1] == baseline {
				return &results.Estimate{Why: isBaseline}
			}
			return f.Of(r)
		})
	}
	took := func(m results.Column) score.Metric {
		return score.Metric{Column: m, Of: score.Direct(func(r score.Row) *results.Estimate {
			return OfArm(r.Data.(compared).arm, m.Name).Of(r)
		})}
	}
	columns := []score.Metric{
		Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out", score.Percent(ScoreAccuracy)),
		{Column: results.Column{Name: "difference", Title: "Difference", Unit: "points", Digits: 2, Help: "accuracy less that at the baseline, of the same items and repeats"}, Of: unlessBaseline(score.Gain(scoreLess))},
		Percent("flips", "Flips", "answers that name another option than at the baseline / pairs in which both name one", unlessBaseline(score.Percent(scoreFlip))),
		Percent("to_right", "To right", "wrong at the baseline and right here / pairs with a verdict each", unlessBaseline(score.Percent(scoreToRight))),
		Percent("to_wrong", "To wrong", "right at the baseline and wrong here / the same", unlessBaseline(score.Percent(scoreToWrong))),
	}
	columns = append(columns, score.TestColumns("accuracy here against the baseline, by items", func(r score.Row) score.Tested { return r.Data.(compared).test })...)
	if !c.Together {
		columns = append(columns, took(SignificantColumn("latency_median", "T median", "s", "last content - start of the request")))
	}
	columns = append(columns, took(results.Column{Name: "tokens_median", Title: "Tokens median", Unit: "tokens", Digits: 1, Help: "completion tokens as the server counts them"}),
		took(PerColumn("joules", "Energy", "J", "answers", "gross energy of the GPUs per answer, mean")))
	list := []score.Table{{Name: c.name(tableChanges), Title: "What changes of the input do", Keys: []string{"arm", "condition"}, Columns: columns, Rows: func(all score.Group) (out []score.Row) {
		for _, arm := range c.arms(all) {
			row := func(g score.Group, condition, account string) {
				test := score.Tested{P: &results.Estimate{Why: isBaseline}}
				if condition != baseline {
					test = score.TestOf(g, arm.base, ScoreAccuracy)
				}
				out = append(out, score.Row{Group: g, Text: []string{arm.name, condition}, Data: compared{test, account}})
			}
			row(arm.base, baseline, arm.name)
			for _, g := range c.byCondition(arm.changed) {
				if name := g.Cells[0].Keys[c.at]; c.Changes[name].Cell == nil {
					row(g, name, c.account(arm.name, name))
				}
			}
		}
		return out
	}}}
	list = append(list, c.looks())
	list = append(list, SweepTables(c.Study, func(all score.Group) []Sweep {
		return SweepsOf(all, func(k score.Keys) (perturb.Condition, bool) {
			f := c.of(k)
			return f, f.Name != "" && f.Cell == nil
		})
	}, []score.Metric{
		Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges", score.Percent(ScoreAccuracy)),
		Percent("flips", "Flips", "answers that name another option than at the baseline", score.Percent(scoreFlip)),
		Percent("to_wrong", "To wrong", "right at the baseline and wrong here", score.Percent(scoreToWrong)),
	})...)
	return append(list, GridTable(c.Study, func(k score.Keys) *perturb.Cell { return c.of(k).Cell }, score.Percent(scoreFlip)))
}

// Names of tables, after the study's.
const (
	tableChanges = "changes"
	tableLooks   = "looks"
)

func (b *Basis) name(table string) string { return b.Study + "-" + table }

// looks is what is left of the accuracy without the picture.
func (c changed) looks() score.Table {
	type blind struct{ base score.Group }
	accuracy := score.Percent(ScoreAccuracy)
	return score.Table{Name: c.name(tableLooks), Title: "Does it look?", Keys: []string{"arm", "condition"},
		Rows: func(all score.Group) (out []score.Row) {
			for _, arm := range c.arms(all) {
				for _, g := range c.byCondition(arm.changed) {
					if f := c.of(g.Cells[0].Keys); strings.HasPrefix(f.Family, "VX-") {
						out = append(out, score.Row{Group: g, Text: []string{arm.name, f.Name}, Data: blind{arm.base}})
					}
				}
			}
			return out
		},
		Columns: []score.Metric{
			Percent("with", "With the image", "accuracy at the baseline", score.Direct(func(r score.Row) *results.Estimate {
				r.Group = r.Data.(blind).base
				return accuracy.Of(r)
			})),
			Percent("without", "Without it", "accuracy under the condition", accuracy),
			Percent("left", "Left", "accuracy without it / accuracy with it: what the words alone, or chance, achieve", score.Direct(func(r score.Row) *results.Estimate {
				base := r.Data.(blind).base
				return score.Ratio(accuracy, func(score.Group) score.GroupValue { return accuracy(base) }, 100, "no answer is right at the baseline").Of(r)
			})),
			Percent("flips", "Flips", "answers that name another option than at the baseline", score.Percent(scoreFlip)),
		}}
}

// account names the account of trials of an arm under a condition; those of a grid share one.
func (b *Basis) account(arm, condition string) string {
	if c := b.Changes[condition]; c.Cell != nil {
		condition = FamilyGrid
	}
	return arm + ", " + condition
}

// changesSections are what the conditions of any study did; none: none was run.
func (b *Basis) changesSections(r *score.Run) (out []results.Section) {
	if len(b.Changes) == 0 {
		return nil
	}
	first := results.Section{Name: b.name(tableChanges), Title: "Changes of the input", Tables: Filled(r, b.name(tableChanges), b.name(tableLooks)),
		Intro: "Every question is asked as it is, and with one thing changed. An answer is compared with the same model's own answer to the unchanged question; sham sends the same pixels in another encoding, so that what moves there is noise."}
	var accounts []*Account
	for _, m := range r.Models {
		accounts = append(accounts, Collected(m.Extra).changed...)
	}
	if len(accounts) == 0 {
		return nil
	}
	first.Tables = append(first.Tables, AnswersTable(b.name(tableChanges), accounts))
	out = append(out, first)
	if s, ok := SweepSection(r, b.Study, "Does more of the same change move answers more?", "", "Right answers of those with a usable verdict, in per cent, with 95 % intervals over clusters."); ok {
		out = append(out, s)
	}
	if cells := Filled(r, b.name(tableCells)); len(cells) > 0 {
		out = append(out, results.Section{Name: b.name(tableCells), Title: "Occlusion grid", Tables: cells, Figures: GridFigures(b.Study, cells[0]),
			Intro: "The picture is covered cell by cell. Where the answer changes, it depended on what was covered."})
	}
	return out
}

// Changes are what the conditions of any study did to its answers: one table of them, of
// sweeps, of grids, the same in every study. An answer is compared with the same model's own
// answer to the unchanged question, in the same arm and repeat.
//
//  1. compare adds scores to a study's rules: what became of the answer of a trial.
//  2. Its trials under these conditions are cells of their own, which no other table sees.
//  3. changesSections lay out what is added up of them.

package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/render"
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

	// Of trials that show options in another order.
	scoreOnce  = "right_in_both"
	scorePlace = "option_place"
	scoreGold  = "gold_place"
)

// anyCondition is a condition of any study, as its scores know it.
type anyCondition struct{ perturb.Condition }

// compare adds what becomes of answers under the conditions of any study.
func (s *Study) compare() {
	const source = "metrics.md section 2.3"
	own, condition := s.Scores.Score, s.Scores.Condition
	s.Scores.Names = append(slices.Concat(s.Scores.Names, GainNames()),
		score.Name{Name: scoreFlip, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: another option than at the baseline; pairs in which both answers name one"},
		score.Name{Name: scoreOnce, Unit: "1", Better: score.Higher, Source: source, Help: "where options are shown in another order: 1: right here and at the baseline, by most judges"},
		score.Name{Name: scorePlace, Unit: "", Better: score.None, Source: source, Help: "likewise: the place of the option that the answer names, from 1; questions with one right option of at most 10"},
		score.Name{Name: scoreGold, Unit: "", Better: score.None, Source: source, Help: "likewise: the place of the gold option, from 1"})
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
		c, changed := x.Condition.(anyCondition)
		if !changed {
			return own(x)
		}
		key, with := s.Gold(x.Facts)
		seen := key
		seen.Golds = render.SeenOptions(&seen.Options, key.Golds, key.Type, c.Condition, x.Key.Item)
		x.Facts = with(seen)
		out := slices.Clone(own(x)) // the twin's take the same room
		if c.Draw > 0 && !x.Failed {
			out = append(out, seen.places(x.Output.Answer)...)
		}
		twin, paired := x.Other(x.Key.Arm, perturb.Baseline().Name)
		if !paired {
			const why = "the question was not asked at the baseline"
			for _, name := range []string{scoreLess, scoreFlip, scoreToRight, scoreToWrong} {
				out = append(out, score.Undefined(name, "", why))
			}
			return out
		}
		out = append(out, rightness(out, own(twin), c.Draw > 0)...)
		return append(out, flipped(x, twin, seen, key, c.Mirror))
	}
}

// IsAny says of a trial's condition, as its scores know it, that any study can be asked under it.
func IsAny(condition any) bool {
	_, ok := condition.(anyCondition)
	return ok
}

// places are where the option that an answer commits to stands, and where the gold one, from 1.
func (k GoldKey) places(output string) (out []score.Value) {
	if k.Type != text.Single || len(k.Options) == 0 || len(k.Options) > mostOptions {
		return out
	}
	if c := text.ReadAnswer(k.Type, choices(k.Options), text.Outside(output)); len(c.Chosen) == 1 {
		out = append(out, score.ValueOf(scorePlace, "", float64(c.Chosen[0]+1)))
	}
	for i, o := range k.Options {
		if slices.ContainsFunc(k.Golds, func(gold string) bool {
			return text.Fold(gold) == text.Fold(o.Label) || text.Fold(gold) == text.Fold(o.Text)
		}) {
			return append(out, score.ValueOf(scoreGold, "", float64(i+1)))
		}
	}
	return out
}

// GainNames are the scores of Gained.
func GainNames() []score.Name {
	const source = "metrics.md section 2.3"
	return []score.Name{
		{Name: scoreLess, Unit: "1", Better: score.None, Source: source, Help: "under another condition: accuracy less that of the same item, arm and repeat at the baseline"},
		{Name: scoreToRight, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: wrong at the baseline and right here, by most judges"},
		{Name: scoreToWrong, Unit: "1", Better: score.None, Source: source, Help: "likewise: 1: right at the baseline and wrong here"},
	}
}

// Gained are scores of a trial's accuracy against that at the baseline.
func Gained(own, base []score.Value) []score.Value { return rightness(own, base, false) }

// GainLeaves add them up.
func GainLeaves() []score.Leaf {
	return []score.Leaf{{Score: scoreLess, With: ScoreAccuracy, Why: noPair}, {Score: scoreToRight, Why: noPair}, {Score: scoreToWrong, Why: noPair}}
}

const noPair = "no answer has its pair"

// GainColumns show them; of wraps what a row has of one.
func GainColumns(of func(score.Sum) score.Kind) []score.Metric {
	return []score.Metric{
		{Column: results.Column{Name: "difference", Title: "Difference", Unit: "points", Digits: 2, Help: "accuracy less that at the baseline, of the same items and repeats"}, Of: of(score.Gain(scoreLess))},
		Percent("to_right", "To right", "wrong at the baseline and right here / pairs with a verdict each", of(score.Percent(scoreToRight))),
		Percent("to_wrong", "To wrong", "right at the baseline and wrong here / the same", of(score.Percent(scoreToWrong))),
	}
}

// TookColumns are what an answer took, of the account that a row names.
func (b *Basis) TookColumns(account func(score.Row) string) (out []score.Metric) {
	took := func(m results.Column) {
		out = append(out, score.Metric{Column: m, Of: score.Direct(func(r score.Row) *results.Estimate { return OfArm(account(r), m.Name).Of(r) })})
	}
	if !b.Together {
		took(SignificantColumn("latency_median", "T median", "s", "last content - start of the request"))
	}
	took(results.Column{Name: "tokens_median", Title: "Tokens median", Unit: "tokens", Digits: 1, Help: "completion tokens as the server counts them"})
	took(PerColumn("joules", "Energy", "J", "answers", "gross energy of the GPUs per answer, mean"))
	return out
}

// rightness compares how right two trials are; ordered: they show options in different orders.
func rightness(own, base []score.Value, ordered bool) []score.Value {
	a, whyA := score.Joint(own, ScoreAccuracy)
	b, whyB := score.Joint(base, ScoreAccuracy)
	if a == nil || b == nil {
		why := cmp.Or(whyA, whyB)
		out := []score.Value{score.Invalid(scoreLess, "", why), score.Invalid(scoreToRight, "", why), score.Invalid(scoreToWrong, "", why)}
		if ordered {
			out = append(out, score.Invalid(scoreOnce, "", why))
		}
		return out
	}
	right, was := *a > .5, *b > .5
	out := []score.Value{score.ValueOf(scoreLess, "", *a-*b),
		score.ValueOf(scoreToRight, "", score.OneIf(right && !was)), score.ValueOf(scoreToWrong, "", score.OneIf(was && !right))}
	if ordered {
		out = append(out, score.ValueOf(scoreOnce, "", score.OneIf(right && was)))
	}
	return out
}

// flipped says whether two answers name different options, each as it was shown; of a mirrored
// picture the other side is the same option.
func flipped(x, twin score.Sample, seen, key GoldKey, mirrored bool) score.Value {
	if x.Failed || twin.Failed {
		return score.Invalid(scoreFlip, "", score.Failure)
	}
	if len(key.Options) == 0 && key.Type != text.Bool {
		return score.Undefined(scoreFlip, "", "the question has no options")
	}
	here, ok := seen.named(x.Output.Answer)
	there, okThere := key.named(twin.Output.Answer)
	if !ok || !okThere {
		return score.Invalid(scoreFlip, "", "one of the two answers names no option")
	}
	if mirrored {
		here = render.OtherSides(here)
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
	slices.Sort(list)
	return strings.Join(list, "\n"), len(list) > 0
}

// changing adds what a choice asks for of the conditions of any study.
func (s *Study) changing(c Choice) error {
	mine := func(name string) bool {
		return slices.ContainsFunc(perturb.WithRegions(s.Changes, []string{name}), func(d perturb.Condition) bool { return d.Name == name })
	}
	c.Conditions = slices.DeleteFunc(slices.Clone(c.Conditions), mine)
	c.Sweeps = slices.DeleteFunc(slices.Clone(c.Sweeps), func(w perturb.Sweep) bool { return mine(w.Condition) })
	planned, err := Expand(s.Name, AnyConditions(), c)
	if err != nil {
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
	if len(planned) > 0 {
		s.Conditions = s.conditions(s.Conditions, planned)
	}
	cases := s.Cases
	s.Cases = func(a Answer) []judge.Case { // of a changed question the answer alone is judged
		seen, changed, ok := seenAs(planned, a)
		if !ok {
			return nil
		}
		return slices.DeleteFunc(cases(seen), func(c judge.Case) bool { return changed && c.Rubric != RubricAccuracy })
	}
	if unread := s.Unread; unread != nil {
		s.Unread = func(a Answer) (judge.Case, bool) {
			seen, _, ok := seenAs(planned, a)
			if !ok {
				return judge.Case{}, false
			}
			return unread(seen)
		}
	}
	return nil
}

// conditions are those of an item: the study's own and what is planned of the conditions of any.
func (s *Study) conditions(own func(uint64, dataset.Item) ([]*perturb.Condition, []Missing), planned []perturb.Condition) func(uint64, dataset.Item) ([]*perturb.Condition, []Missing) {
	base := perturb.Baseline()
	return func(seed uint64, it dataset.Item) ([]*perturb.Condition, []Missing) {
		first, missing := []*perturb.Condition{&base}, []Missing(nil)
		if own != nil {
			first, missing = own(seed, it)
		}
		list := append(make([]*perturb.Condition, 0, len(first)+len(planned)), first...)
		for i := range planned {
			p := &planned[i]
			if p.Options == render.OptionsRotated && p.Draw > 1 && p.Draw >= len(it.Options) {
				continue // no such place
			}
			made, why := In(p, it, nil)
			switch words := p.Words != "" || p.Says != "" && !p.NoImage; {
			case p.Options != "":
				why = s.fixed(it)
			case !words && len(it.Images) == 0:
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
}

// seenAs is an answer to a question as its condition showed it; changed: under one of any study. ok
// is false where it is one that is no longer asked for, of which it is not known how it showed it.
func seenAs(planned []perturb.Condition, a Answer) (seen Answer, changed, ok bool) {
	at := slices.IndexFunc(planned, func(p perturb.Condition) bool { return p.Name == a.Key.Condition })
	if a.Key.Condition == perturb.Baseline().Name {
		return a, false, true
	}
	if at < 0 {
		family, _, _ := strings.Cut(a.Key.Condition, "@")
		return a, false, rankAny(family) < 0
	}
	a.Item = render.Seen(a.Item, planned[at])
	return a, true, true
}

// fixed says why an item's options cannot be shown otherwise; "": they can.
func (s *Study) fixed(it dataset.Item) string {
	switch {
	case len(it.Options) < 2:
		return "the question has no options"
	case len(it.Options) > mostOptions:
		return fmt.Sprintf("the question has more than %d options", mostOptions)
	case len(Unlisted(it.Question, it.Options)) == 0:
		return "the question lists its options itself"
	case s.Lists != nil && !s.Lists(it):
		return "the prompt lists no options of such a question"
	}
	return ""
}

// changeLeaves add up the scores of such trials.
func changeLeaves() []score.Leaf {
	list := append(GainLeaves(),
		score.Leaf{Score: scoreOnce, Fixed: true, Why: "no usable verdict"},
		score.Leaf{Score: scoreFlip, Why: "no pair of answers names an option each"})
	for _, of := range []string{scorePlace, scoreGold} {
		for i := range mostOptions {
			list = append(list, score.Leaf{Name: placeLeaf(of, i), Score: of, From: []string{of}, Why: "no answer names an option",
				Of: func(v []float64) float64 { return score.OneIf(v[0] == float64(i+1)) }})
		}
	}
	return list
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
	return cmp.Or(rank(p)-rank(q), cmp.Compare(p.Family, q.Family), cmp.Compare(p.Param, q.Param), cmp.Compare(p.Level, q.Level), cmp.Compare(cellRank(p.Cell), cellRank(q.Cell)), strings.Compare(x, y))
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
	columns := append([]score.Metric{Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out", score.Percent(ScoreAccuracy))}, GainColumns(unlessBaseline)...)
	columns = slices.Insert(columns, 2, Percent("flips", "Flips", "answers that name another option than at the baseline / pairs in which both name one", unlessBaseline(score.Percent(scoreFlip))))
	columns = append(columns, score.TestColumns("accuracy here against the baseline, by items", func(r score.Row) score.Tested { return r.Data.(compared).test })...)
	columns = append(columns, c.TookColumns(func(r score.Row) string { return r.Data.(compared).arm })...)
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
	list = append(append(list, c.looks()), c.options()...)
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
	tableOptions = "options"
	tablePlaces  = "places"
)

func (b *Basis) name(table string) string { return b.Study + "-" + table }

// looks is what is left of the accuracy without the picture.
func (c changed) looks() score.Table {
	without, with := score.Sides(scoreLess) // of the same items
	return score.Table{Name: c.name(tableLooks), Title: "Does it look?", Keys: []string{"arm", "condition"},
		Rows: func(all score.Group) (out []score.Row) {
			for _, arm := range c.arms(all) {
				for _, g := range c.byCondition(arm.changed) {
					if f := c.of(g.Cells[0].Keys); strings.HasPrefix(f.Family, "VX-") {
						out = append(out, score.Row{Group: g, Text: []string{arm.name, f.Name}})
					}
				}
			}
			return out
		},
		Columns: []score.Metric{
			Percent("with", "With the image", "accuracy at the baseline, of the items and repeats that have a verdict in both", with),
			Percent("without", "Without it", "accuracy under the condition, of the same", without),
			Percent("left", "Left", "accuracy without it / accuracy with it: what the words alone, or chance, achieve", score.Ratio(without, with, 100, "no answer is right at the baseline")),
			Percent("flips", "Flips", "answers that name another option than at the baseline", score.Percent(scoreFlip)),
		}}
}

// options are how much is right whatever the order of options, and which place answers prefer.
func (c changed) options() []score.Table {
	shown := func(arm changedArm, how ...string) score.Group {
		return arm.changed.Only(func(k score.Keys) bool { return slices.Contains(how, c.of(k).Options) })
	}
	list := []score.Table{{Name: c.name(tableOptions), Title: "Does the order of options matter?", Keys: []string{"arm", "options"},
		Rows: func(all score.Group) (out []score.Row) {
			for _, arm := range c.arms(all) {
				for _, how := range []string{render.OptionsRotated, render.OptionsShuffled} {
					if g := shown(arm, how); len(g.Cells) > 0 {
						out = append(out, score.Row{Group: g, Text: []string{arm.name, how}})
					}
				}
			}
			return out
		},
		Columns: []score.Metric{
			Percent("accuracy", "Accuracy", "over all orders but the question's own", score.Percent(ScoreAccuracy)),
			{Column: results.Column{Name: "difference", Title: "Difference", Unit: "points", Digits: 2, Help: "accuracy less that of the same items in the question's own order"}, Of: score.Gain(scoreLess)},
			Percent("every", "In every order", "questions that are right in every order in which they were asked, the question's own among them: circular evaluation where all rotations were", score.PassHat(scoreOnce, score.EveryTrial)),
			Percent("flips", "Flips", "answers that name another option than in the question's own order", score.Percent(scoreFlip)),
		}}}
	places := score.Table{Name: c.name(tablePlaces), Title: "Which place do answers prefer?", Keys: []string{"arm", "place"},
		Notes: []string{"Over all orders but the questions' own. A reader without a preference who is right names each place as often as the gold option stands there."},
		Rows: func(all score.Group) (out []score.Row) {
			for _, arm := range c.arms(all) {
				g := shown(arm, render.OptionsRotated, render.OptionsShuffled)
				for i := range mostOptions {
					if len(g.Cells) > 0 && g.Total(placeLeaf(scorePlace, i))+g.Total(placeLeaf(scoreGold, i)) > 0 {
						out = append(out, score.Row{Group: g, Text: []string{arm.name, fmt.Sprint(i + 1)}, Data: i})
					}
				}
			}
			return out
		}}
	of := func(leaf string, f func(string) score.Sum) score.Kind {
		return score.Direct(func(r score.Row) *results.Estimate { return f(placeLeaf(leaf, r.Data.(int))).Of(r) })
	}
	places.Columns = []score.Metric{
		Percent("chosen", "Chosen", "answers that name the option in this place / answers that name one", of(scorePlace, score.Percent)),
		Percent("gold", "Gold", "questions whose gold option stands there", of(scoreGold, score.Percent)),
	}
	return append(list, places)
}

// placeLeaf is the leaf of one place, from 0.
func placeLeaf(of string, i int) string { return fmt.Sprintf("%s %d", of, i+1) }

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
	first := results.Section{Name: b.name(tableChanges), Title: "Changes of the input", Tables: Filled(r, b.name(tableChanges), b.name(tableLooks), b.name(tableOptions), b.name(tablePlaces)),
		Intro: "Every question is asked as it is, and with one thing changed. An answer is compared with the same model's own answer to the unchanged question; sham sends the same pixels in another encoding, so that what moves there is noise."}
	var accounts []*Account
	for _, m := range r.Models {
		accounts = append(accounts, Collected(m.Extra).changedArms...)
	}
	if len(accounts) == 0 {
		return nil
	}
	first.Tables = append(first.Tables, AnswersTable(b.name(tableChanges), accounts))
	first.Main = []string{b.name(tableChanges)}
	out = append(out, first)
	if s, ok := SweepSection(r, b.Study, "Does more of the same change move answers more?", "", "Accuracy", "Right answers of those with a usable verdict, in per cent, with 95 % CIs over clusters."); ok {
		out = append(out, s)
	}
	if cells := Filled(r, b.name(tableCells)); len(cells) > 0 {
		s := results.Section{Name: b.name(tableCells), Title: "Occlusion grid", Tables: cells, Figures: GridFigures(b.Study, cells[0]),
			Intro: "The image is covered cell by cell. Where the answer changes, it depended on what was covered."}
		s.Main = NamesOf(results.Section{Figures: s.Figures[:min(1, len(s.Figures))]})
		out = append(out, s)
	}
	return out
}

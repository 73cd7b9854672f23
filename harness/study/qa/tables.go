package qa

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// Names of tables.
const (
	tableMain    = "qa-main"
	tableTypes   = "qa-types"
	tableTasks   = "qa-tasks"
	tableArms    = "qa-arms"
	tableShots   = "qa-shots"
	tableRepeats = "qa-repeats"
	tableJudges  = "qa-judges"
)

// Sorts of items.
const (
	byType = iota
	byTask
)

// design is what is added up of the study's trials, and the tables of it. Values of a column
// stand in its unit: a percentage is 0..100, a time is in seconds.
func design(b *study.Basis) (score.Design, study.Lay, error) {
	judges, arms := b.Judges, b.Names(armNames())
	return score.Design{
		Keep:   study.Keep(b.Manifest, tableMain),
		Order:  func(x, y score.Keys) int { return slices.Index(arms, x[0]) - slices.Index(arms, y[0]) },
		Strata: []score.Stratum{byType: {Name: "type"}, byTask: {Name: "task"}},
		Item: func(it results.Item) (score.Item, error) {
			return score.Item{Strata: []string{byType: it.Type, byTask: it.Task}}, nil
		},
		Leaves: append([]score.Leaf{
			{Score: study.ScoreAccuracy, Fixed: true, Repeats: true, Why: "no usable verdict"},
			{Score: study.ScoreNoAnswer, Why: "no usable verdict"},
			{Score: study.ScoreRight, Fixed: true, Why: "no answer is decided"},
			{Score: scoreGain, With: study.ScoreAccuracy, Why: "no answer has its pair"},
			{Score: scoreShots, With: study.ScoreAccuracy, Why: "no answer has its pair"},
		}, study.UnreadLeaves(judges)...),
		Extra: func(model string) score.Extra {
			return study.NewArms(model, b, arms, nil, study.ScoreAccuracy, "").Reading(study.WithoutAnswer(b.Layout.Places(study.ScoreNoAnswer, judges[study.RubricAccuracy])))
		},
		Tables: tables(b, judges),
		Pairs:  []score.Compared{{Column: "accuracy", Leaf: study.ScoreAccuracy, Rows: mainRows(b)}},
	}, func(r *score.Run) []results.Section { return sections(r, *b) }, nil
}

func of(c results.Column) score.Metric {
	return score.Metric{Column: c, Of: score.Direct(func(r score.Row) *results.Estimate { return study.OfArm(r.Text[0], c.Name).Of(r) })}
}

func tables(b *study.Basis, judges map[string][]string) []score.Table {
	share := study.Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out", score.Percent(study.ScoreAccuracy))
	main := []score.Metric{share,
		study.Percent("accuracy_all_wrong", "If left out were wrong", "correct / (trials x judges): failures and missing verdicts count as wrong, too", score.Fixed(study.ScoreAccuracy, study.ScoreAccuracy, false)),
		study.Percent("coverage", "Coverage", "usable verdicts / (trials x judges)", score.Coverage(study.ScoreAccuracy)),
		study.Percent("no_answer", "No answer", "verdicts that found no final answer; they count as wrong", score.Percent(study.ScoreNoAnswer)),
	}
	main = slices.Insert(main, 1, study.Columns(judges, nil)...)
	read := append([]score.Metric{share}, study.ReadColumns(judges)...)
	swept := len(b.Levels) > 0 // what a level takes stands in the table of the load
	if !b.Together && !swept { // else a request's own time is no time of one answer
		main = append(main, of(study.SignificantColumn("latency_median", "T median", "s", "last content - start of the request")))
	}
	title, notes := "Accuracy of answers, all levels together", []string(nil)
	if !swept {
		title, notes = "Accuracy, time and cost of answers", b.Prices.Building()
		main = append(main,
			of(study.PerColumn("joules", "Energy", "J", "answers", "gross energy of the GPUs per answer, mean")),
			of(study.PerColumn("money_per_correct", "Money per correct answer", b.Currency(), "correct answers", "what all answers cost / correct answers")))
	}
	return []score.Table{
		{Name: tableMain, Title: title, Keys: []string{"arm"}, Rows: mainRows(b), Columns: main, Notes: notes},
		{Name: tableTypes, Title: "Accuracy by type of question", Keys: []string{"arm", "type"}, Rows: strataRows(byType), Columns: read},
		{Name: tableTasks, Title: "Accuracy by task", Keys: []string{"arm", "task"}, Rows: strataRows(byTask), Columns: read},
		{Name: tableArms, Title: "What another way of asking changes", Keys: []string{"arm"}, Rows: beside(armPairs(b)), Columns: paired("accuracy less that in arm "+armAnswer+", of the same items and repeats", scoreGain,
			"Only in "+armAnswer, "items that are right there and wrong here"), Notes: []string{majority}},
		{Name: tableShots, Title: "What examples before a question change", Keys: []string{"arm"}, Rows: beside(shotPairs(b)), Columns: paired("accuracy less that without examples, of the same items and repeats", scoreShots,
			"Only without", "items that are right without examples and wrong with them"), Notes: []string{majority}},
		{Name: tableRepeats, Title: "Repeats", Keys: []string{"arm"}, Rows: repeatRows, Columns: []score.Metric{
			study.Percent("mean", "Mean", "of the repeats' own accuracies", repeats(stats.Mean, string(stats.NoCases))),
			study.Points("sd", "SD", "sample standard deviation between repeats", repeats(stats.SD, string(stats.OneCase))),
			study.Percent("joint", "Joint-correct", "items that are right in every repeat, of those with an answer in every one", score.PassHat(study.ScoreRight, 0)),
			study.Percent("pass_2", "pass^2", "chance that two repeats of an item, drawn at random, are both right", score.PassHat(study.ScoreRight, 2)),
			study.Percent("pass_3", "pass^3", "the same of three", score.PassHat(study.ScoreRight, 3)),
		}},
		{Name: tableJudges, Title: "Per-judge results", Keys: []string{"arm", "rubric", "judge"},
			Rows:    study.JudgeRows([]string{study.RubricAccuracy, study.Unread}, judges, func(rubric string) score.Kind { return score.Percent(rubric) }),
			Columns: append([]score.Metric{study.Percent("value", "Value", "accuracy by this judge alone"+study.UnreadHelp(judges), score.Own())}, study.StatusColumns()...)},
	}
}

// mainRows are a row for each arm; the levels of a load sweep are one, as they ask the same.
func mainRows(b *study.Basis) func(score.Group) []score.Row {
	if len(b.Levels) == 0 {
		return score.ByKey
	}
	return func(all score.Group) []score.Row {
		var out []score.Row
		for _, arm := range armNames() {
			names := b.Names([]string{arm})
			if g := all.Only(func(k score.Keys) bool { return slices.Contains(names, k[0]) }); len(g.Cells) > 0 {
				out = append(out, score.Row{Group: g, Text: []string{arm}})
			}
		}
		return out
	}
}

// strataRows is a row for each arm and stratum; none where there is one stratum.
func strataRows(kind int) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		if names, _ := all.Strata(kind); len(names) < 2 {
			return nil
		}
		return score.ByStratum(kind)(all)
	}
}

const majority = "An item counts as right when more than half of its usable verdicts (over judges and repeats) say so."

// armPairs are, by row, the rows of arm answer that other arms are compared with: at the
// same examples. In a load sweep there are none.
func armPairs(b *study.Basis) map[string]string {
	out := map[string]string{armReason: armAnswer}
	for _, l := range b.Shots {
		out[study.ShotsName(armReason, l)] = study.ShotsName(armAnswer, l)
	}
	if len(b.Levels) > 0 {
		return nil
	}
	return out
}

// shotPairs are, by row, the rows of the same arm without examples.
func shotPairs(b *study.Basis) map[string]string {
	out := map[string]string{}
	for _, l := range b.Shots {
		for _, a := range armNames() {
			if n := study.ShotsName(a, l); n != a {
				out[n] = a
			}
		}
	}
	return out
}

// beside is a row for each that has another to be compared with, paired with that.
func beside(pairs map[string]string) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		var out []score.Row
		rows := score.ByKey(all)
		for _, r := range rows {
			other, ok := pairs[r.Text[0]]
			if i := slices.IndexFunc(rows, func(o score.Row) bool { return o.Text[0] == other }); ok && i >= 0 {
				r.Data = score.PairedBy(r.Group, rows[i].Group, study.ScoreAccuracy)
				out = append(out, r)
			}
		}
		return out
	}
}

// paired are the columns of such rows.
func paired(help, gain, only, onlyHelp string) []score.Metric {
	return []score.Metric{
		study.Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out", score.Percent(study.ScoreAccuracy)),
		{Column: results.Column{Name: "gain", Title: "Gain", Unit: "points", Digits: 2, Help: help}, Of: score.Gain(gain)},
		study.Count("only_here", "Only here right", "items", decided(func(p score.Paired) (int, int) { return p.OnlyA, p.Decided() })),
		study.Count("only_there", only, onlyHelp, decided(func(p score.Paired) (int, int) { return p.OnlyB, p.Decided() })),
		{Column: results.Column{Name: "p", Title: "p", Digits: 4, Help: score.TestHelp},
			Of: score.Direct(func(r score.Row) *results.Estimate { return r.Data.(score.Paired).Test() })},
	}
}

func repeatRows(all score.Group) []score.Row {
	if len(all.Repeats()) < 2 {
		return nil
	}
	return score.ByKey(all)
}

func repeats(of func([]float64) (float64, bool), why string) score.Direct {
	return func(r score.Row) *results.Estimate {
		return score.ByRepeat(r.Group, study.ScoreAccuracy).Over(why, of)
	}
}

// decided is a count of items, and of how many.
func decided(of func(score.Paired) (k, n int)) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate {
		k, n := of(r.Data.(score.Paired))
		return score.Known(score.Count{N: n}, "", float64(k), true)
	})
}

// sections lays the tables out with what is said of them.
func sections(r *score.Run, b study.Basis) []results.Section {
	accounts := study.ArmsOf(r)
	first := results.Section{Name: name, Title: "Questions and answers (qa)", Tables: []results.Table{r.Table(tableMain)}, Methods: b.Methods(accounts),
		Figures: dots(r.Table(tableMain)), Notes: findings(r),
		Intro: "How often is an answer right, how long does it take, and what does it cost? Intervals are 95 % CIs over clusters: items, or images that several items share."}
	first.Headline = []results.Headline{{Table: tableMain, Column: "accuracy", Title: "Accuracy", Main: true, Drawn: true}}
	first.Headline = append(first.Headline, study.ReadHeadline(accounts, tableMain)...)
	if len(b.Levels) == 0 {
		first.Headline = append(append(first.Headline, results.Headline{Table: tableMain, Column: "latency_median", Title: "T, median"}), b.Headline("Accuracy")...)
	}
	first.Main = []string{tableMain, tableArms, tableShots, tableRepeats, "qa-energy", "qa-cost"}
	for _, f := range first.Figures {
		first.Main = append(first.Main, f.Name)
	}
	first.Warn(b.Warnings(r, accounts, []string{study.RubricAccuracy})...)
	list := []results.Section{first}
	add := func(name, title, intro string, tables ...string) {
		if t := study.Filled(r, tables...); len(t) > 0 {
			list = append(list, results.Section{Name: name, Title: title, Intro: intro, Tables: t})
		}
	}
	list = append(list, study.PairSections(r)...)
	if s, ok := study.Section(name, b.Manifest, r.Models, first.Tables[0], 2); ok {
		list = append(list, s)
	}
	add("qa-items", "Kinds of questions", "Where is a model good? Rows of few items say little.", tableTypes, tableTasks)
	add("qa-ways", "Ways of asking", "Does another way of asking make answers better or worse?", tableArms)
	add("qa-examples", "Examples before the question", "Do answered examples make answers better or worse? They are drawn for each question, and show nothing of it.", tableShots)
	add("qa-again", "Repeats", "How much of the accuracy holds when an item is asked about again?", tableRepeats)
	if !b.Together {
		s := b.Efficiency(accounts)
		s.Intro = "Times are the client's, from the first byte sent to the last chunk of text; failed, truncated and disturbed answers are left out."
		list = append(list, s)
	}
	if s, ok := capacitySection(b, r, armNames()); ok {
		list = append(list, s)
	}
	return append(list, b.Closing(accounts, results.Section{Name: "qa-judging", Tables: []results.Table{r.Table(tableJudges)}})...)
}

// findings say in words what another way of asking changes.
func findings(r *score.Run) []string {
	var out []string
	say := func(t results.Table, against string) {
		for _, row := range t.Rows {
			model, arm := row[0].Text, row[1].Text
			of := func(column string) *results.Estimate { return score.FindEstimate(t, column, model, arm) }
			c := study.Contrast{Difference: of("gain"), P: of("p"), More: *of("only_here").Value - *of("only_there").Value, Of: "pairs of answers"}
			if !c.Known() {
				continue
			}
			does := map[int]string{-1: "lowers", 0: "does not clearly change", 1: "raises"}[c.Way()]
			out = append(out, fmt.Sprintf("%s: arm %s %s accuracy against %s (%s).", model, arm, does, against, c.Words()))
		}
	}
	say(r.Table(tableArms), "arm "+armAnswer)
	say(r.Table(tableShots), "the same arm without examples")
	return out
}

// dots is the accuracy of every model, a row for each arm.
func dots(t results.Table) []results.Figure {
	f := results.Figure{Name: "qa-accuracy", Kind: results.FigureDots, Title: "Accuracy by model", Caption: "Share of right answers; bars are 95 % CIs.",
		X: study.PercentAxis("Accuracy")}
	words := []string{"Dots of accuracy by arm"}
	any := false
	for _, row := range t.Rows {
		model, arm, e := row[0].Text, row[1].Text, row[2].Estimate
		if n := len(f.Series); n == 0 || f.Series[n-1].Name != model {
			f.Series = append(f.Series, results.Series{Name: model})
		}
		s := &f.Series[len(f.Series)-1]
		s.Points = append(s.Points, results.Point{Label: arm, X: e})
		told := "undefined"
		if e.Value != nil {
			any, told = true, stats.Fixed(*e.Value, 1)+" %"
		}
		words = append(words, fmt.Sprintf("%s, %s: %s", model, arm, told))
	}
	if !any {
		return nil
	}
	f.Alt = strings.Join(words, "; ") + "."
	return []results.Figure{f}
}

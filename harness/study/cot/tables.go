package cot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// Names of tables.
const (
	tableMain        = "cot-main"
	tableSteps       = "cot-steps"
	tableAccuracy    = "cot-accuracy"
	tableTasks       = "cot-tasks"
	tableImpact      = "cot-impact"
	tableEfficiency  = "cot-efficiency"
	tableConsistency = "cot-consistency"
	tableJudges      = "cot-judges"
	tableRepeats     = "cot-repeats"
)

// run is everything that the sections rest on.
type run struct {
	*score.Run
	basis    study.Basis
	accounts []*study.Account
}

// inArm is a row of one arm.
func inArm(arm string) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row { return []score.Row{{Group: all.In(score.Keys{arm})}} }
}

// inCoT is a metric of the step-by-step arm.
func inCoT(f score.Sum) score.Sum { return score.In(score.Keys{armCoT}, f) }

// impactOf is I, in points: its n is the answers of both arms.
func impactOf(g score.Group) score.GroupValue {
	v := score.Minus(inCoT(score.Percent(scoreAccuracy)), score.In(score.Keys{armDirect}, score.Percent(scoreAccuracy)))(g)
	v.Why, v.Else = "no usable verdict in arm "+armCoT, "one of the arms has no usable verdict"
	return v
}

// f1OfAverages is F1: what it says where it does not exist depends on which of the
// two averages does not.
func f1OfAverages(g score.Group) score.GroupValue {
	v := score.F1(score.Percent(scorePrecision), score.Percent(scoreRecall), leafEither)(g)
	v.Else = "precision and recall are both 0"
	if g.Count(scorePrecision).N == 0 || g.Count(scoreRecall).N == 0 {
		v.Else = "precision or recall has no usable verdict"
	}
	return v
}

// ownLatency is L of the authors' code: each arm's own successes are added up, also
// those of items that failed in the other arm.
func ownLatency(g score.Group) score.GroupValue {
	cot, direct := g.In(score.Keys{armCoT}), g.In(score.Keys{armDirect})
	num, den := slices.Concat(cot.Fractions(leafOwn)...), slices.Concat(direct.Fractions(leafOwn)...)
	n := cot.Count(leafOwn)
	n.Plus(direct.Count(leafOwn))
	return score.GroupValue{Count: n, Why: noPair, Uses: slices.Concat(num, den), Else: "one of the arms took no time", Of: func(sums []float64) (float64, bool) {
		var of [2]float64
		for arm, list := range [][]score.Fraction{num, den} {
			for _, f := range list {
				of[arm] += sums[f.Num]
			}
		}
		return ratio(of[0], of[1])
	}}
}

// declared is the study's tables.
func declared(b *study.Basis, judges map[string][]string) []score.Table {
	precision, recall, f1 := inCoT(score.Percent(scorePrecision)), inCoT(score.Percent(scoreRecall)), inCoT(f1OfAverages)
	accuracy := score.Percent(scoreAccuracy)
	direct, cot := score.In(score.Keys{armDirect}, accuracy), inCoT(accuracy)
	efficiency, latency, over, of := inCoT(score.Mean(leafTimed)), score.Mean(leafPaired), "items timed in both", "items timed in both arms"
	released := b.Manifest.Released()
	reference, missing := "the generated path that is most similar to all", "answers with a missing verdict are left out"
	if released {
		reference, missing = "the path that occurs most often", "missing verdicts are unmatched"
		latency, over, of = ownLatency, "each arm's own timed answers", "each arm's own timed answers"
	}
	ratios := score.Quantiles(leafRatios, leafPaired, .5, .95)
	more := changedTables(func(all score.Group) *changes { return all.Extra.(study.Beside).More.(*changes) }, []string{modality, feature, conclusion, other})
	more = append(more, strataTables(strataTasks+1,
		study.Percent("precision", "P", "as in the first table, of these items", precision), study.Percent("recall", "R", "likewise", recall), study.Percent("f1", "F1", "likewise", f1),
		study.Percent("accuracy_direct", "Acc direct", "likewise", direct), study.Percent("accuracy_cot", "Acc CoT", "likewise", cot), study.Points("impact", "I", "Acc CoT - Acc direct", score.Sum(impactOf)))...)
	return append([]score.Table{
		{Name: tableMain, Title: "Correctness, impact, efficiency and consistency of step-by-step reasoning", Rows: score.OneRow,
			Columns: []score.Metric{
				study.Percent("f1", "F1", "2PR/(P+R) of the two averages; n: answers that enter one of them", f1),
				study.Percent("precision", "P", "matched steps / countable steps, mean over answers", precision),
				study.Percent("recall", "R", "matched gold steps / gold steps, mean over answers", recall),
				study.Percent("accuracy_direct", "Acc direct", "mean over the accuracy judges, answer-only arm", direct),
				study.Percent("accuracy_cot", "Acc CoT", "mean over the accuracy judges, step-by-step arm", cot),
				study.Points("impact", "I", "Acc CoT - Acc direct; n: answers of both arms", score.Sum(impactOf)),
				study.Significant("efficiency", "E", "steps/s", "matched gold steps / seconds of generation, both summed over the step-by-step arm", efficiency),
				study.Significant("latency_ratio", "L", "", "seconds of the step-by-step arm / seconds of the answer-only arm, over "+over, latency),
				study.Percent("c_path", "C_path", "similarity of step orders to the task's reference path, unweighted mean over tasks",
					score.Direct(func(r score.Row) *results.Estimate { return stepOrders(r.Model, released).all })),
			}},
		{Name: tableSteps, Title: "Correctness of steps", Rows: score.OneRow,
			Columns: []score.Metric{
				study.Percent("precision", "P", "matched / countable steps; 0 for an answer without a countable step; mean over judges", precision),
				study.Percent("recall", "R", "matched / non-empty gold steps; "+missing+"; mean over judges", recall),
				study.Percent("f1", "F1", "2PR/(P+R) of the two averages; n: answers that enter one of them", f1),
				study.Percent("f1_items", "F1 by item", "mean of each answer's own F1", inCoT(score.Percent(scoreF1))),
				study.Percent("precision_fixed_n", "P fixed N", "all answers count; what has no usable verdict counts 0", inCoT(score.Fixed(scorePrecision, scorePrecision, false))),
				study.Percent("recall_fixed_n", "R fixed N", "all answers count; missing verdicts are unmatched", inCoT(score.Fixed(scoreRecallFixed, scorePrecision, false))),
			}},
		{Name: tableAccuracy, Title: "Accuracy of final answers", Keys: []string{"arm"}, Rows: score.ByKey,
			Columns: slices.Insert([]score.Metric{
				study.Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out", accuracy),
				study.Percent("coverage", "Coverage", "usable verdicts / (trials x judges)", score.Coverage(scoreAccuracy)),
				study.Percent("accuracy_fixed_n", "Fixed N", "correct / (trials x judges)", score.Fixed(scoreAccuracy, scoreAccuracy, false)),
				study.Percent("accuracy_all_wrong", "If left out were wrong", "failures and missing verdicts count as wrong, too", score.Fixed(scoreAccuracy, scoreAccuracy, false)),
				study.Percent("accuracy_all_right", "If left out were right", "failures and missing verdicts count as right", score.Fixed(scoreAccuracy, scoreAccuracy, true)),
				study.Count("no_answer", "No answer", "verdicts that found no final answer; they count as wrong", score.Total(scoreNoAnswer)),
			}, 1, study.Columns(judges, nil)...)},
		{Name: tableTasks, Title: "Accuracy by task", Keys: []string{"arm", "task"}, Rows: score.ByStratum(strataTasks),
			Columns: append([]score.Metric{study.Percent("accuracy", "Accuracy", "correct / usable verdicts; mean over judges", accuracy)}, study.ReadColumns(judges)...)},
		{Name: tableImpact, Title: "Impact of reasoning on accuracy",
			Rows: func(all score.Group) []score.Row {
				return []score.Row{{Group: all, Data: score.PairedBy(all.In(score.Keys{armCoT}), all.In(score.Keys{armDirect}), scoreAccuracy)}}
			},
			Columns: []score.Metric{
				study.Percent("accuracy_direct", "Acc direct", "", direct),
				study.Percent("accuracy_cot", "Acc CoT", "", cot),
				study.Points("impact", "I", "Acc CoT - Acc direct; the interval draws the same items for both arms; n: answers of both", score.Sum(impactOf)),
				study.Count("only_cot", "Only CoT right", "items", paired(func(p score.Paired) (int, int) { return p.OnlyA, p.Decided() })),
				study.Count("only_direct", "Only direct right", "items", paired(func(p score.Paired) (int, int) { return p.OnlyB, p.Decided() })),
				study.Count("both", "Both right", "items", paired(func(p score.Paired) (int, int) { return p.Both, p.Decided() })),
				study.Count("neither", "Both wrong", "items", paired(func(p score.Paired) (int, int) { return p.Neither, p.Decided() })),
				study.Count("undecided", "Undecided", "items without a majority of verdicts in one of the arms",
					paired(func(p score.Paired) (int, int) { return p.Undecided, p.Decided() + p.Undecided })),
				{Column: results.Column{Name: "p", Title: "p", Digits: 4, Help: score.TestHelp},
					Of: score.Direct(func(r score.Row) *results.Estimate {
						e := r.Data.(score.Paired).Test()
						if e.Value == nil {
							e.Why = "no item has a usable verdict in both arms"
						}
						return e
					})},
			},
			Notes: []string{"An item counts as right when more than half of its usable verdicts (over judges and repeats) say so."}},
		{Name: tableEfficiency, Title: "Cost of reasoning",
			Rows: func(all score.Group) []score.Row {
				ratiosOf(all.Model) // while they are there
				return score.OneRow(all)
			},
			Columns: []score.Metric{
				study.Significant("efficiency", "E", "steps/s", "sum of matched gold steps / sum of seconds, step-by-step arm", efficiency),
				study.Significant("latency_ratio", "L", "", "sum of seconds, cot / direct, over "+of, latency),
				study.Significant("latency_ratio_median", "T ratio median", "", "per item: seconds cot / seconds direct", ratios[0]),
				study.Significant("latency_ratio_p95", "T ratio p95", "", "per item: seconds cot / seconds direct", ratios[1]),
				study.Significant("tokens_per_step", "Tokens per correct step", "tokens", "completion tokens / matched gold steps, step-by-step arm", inCoT(score.Mean(leafTokens))),
				{Column: study.PerColumn("joules_per_step", "Energy per correct step", "J", "correct steps", "gross energy of the GPUs / matched gold steps, step-by-step arm"), Of: study.OfArm(armCoT, "joules_per_step")},
				{Column: study.PerColumn("gpu_seconds_per_correct", "GPU time per correct answer", "s", "correct answers", "GPU-seconds / correct answers, step-by-step arm"), Of: study.OfArm(armCoT, "gpu_seconds_per_correct")},
				{Column: study.PerColumn("money_per_correct", "Money per correct answer", b.Currency(), "correct answers", "step-by-step arm; the table of costs has both arms"), Of: study.OfArm(armCoT, "money_per_correct")},
			}, Notes: b.Prices.Building()},
		{Name: tableConsistency, Title: "Consistency of the order of steps", Keys: []string{"task"},
			Rows: func(all score.Group) []score.Row {
				c := stepOrders(all.Model, released)
				own := func(e *results.Estimate) score.Kind {
					return score.Direct(func(score.Row) *results.Estimate { return e })
				}
				rows := []score.Row{{Group: all, Text: []string{"mean over tasks"}, Own: own(c.all), Data: ""}}
				names, _ := all.Strata(strataTasks)
				for t, task := range names {
					rows = append(rows, score.Row{Group: all, Text: []string{task}, Own: own(c.byTask[t]), Data: c.references[t]})
				}
				return rows
			},
			Columns: []score.Metric{
				study.Percent("c", "C", "mean similarity of an answer's order of steps to the reference path of its task; first row: C_path", score.Own()),
				{Column: study.TextColumn("reference", "Reference path"), Text: func(r score.Row) string { return r.Data.(string) }},
			},
			Notes: []string{"M modality, F feature, C conclusion, O other. The reference is " + reference + "; with several judges each has its own. Intervals keep the reference."}},
		{Name: tableJudges, Title: "Per-judge results", Keys: []string{"arm", "rubric", "judge"}, Rows: study.JudgeRows(append(RubricNames(), study.Unread), judges, func(rubric string) score.Kind { return byJudge(rubric, released) }),
			Columns: append([]score.Metric{study.Percent("value", "Value", "accuracy, P, R or C_path by this judge alone"+study.UnreadHelp(judges), score.Own())}, study.StatusColumns()...)},
		{Name: tableRepeats, Title: "Spread between repeats", Keys: []string{"score"}, Rows: repeatRows,
			Columns: []score.Metric{
				study.Percent("mean", "Mean", "of the repeats' own values", repeated(stats.NoCases, stats.Mean)),
				study.Points("sd", "SD", "sample standard deviation", repeated(stats.OneCase, stats.SD)),
				study.Percent("min", "Min", "", repeated(stats.NoCases, quantile(0))),
				study.Percent("max", "Max", "", repeated(stats.NoCases, quantile(1))),
			}},
	}, more...)
}

// paired is a count of items, and of how many.
func paired(of func(score.Paired) (k, n int)) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate {
		k, n := of(r.Data.(score.Paired))
		return score.Known(score.Count{N: n}, "", float64(k), true)
	})
}

// byJudge is what a judge's own value is.
func byJudge(rubric string, released bool) score.Kind {
	if rubric == rubricOrder {
		return score.Direct(func(r score.Row) *results.Estimate {
			return stepOrders(r.Model, released).byJudge[slices.Index(r.Judges(rubricOrder), r.Text[2])]
		})
	}
	return score.Percent(rubric) // the score is called as its rubric
}

// repeatRows are rows of what each repeat has by itself, where there are several.
func repeatRows(all score.Group) []score.Row {
	if len(all.Repeats()) < 2 {
		return nil
	}
	var out []score.Row
	for _, arm := range score.ByKey(all) {
		out = append(out, score.Row{Group: arm.Group, Text: []string{"accuracy " + arm.Text[0]}, Data: score.ByRepeat(arm.Group, scoreAccuracy)})
	}
	for _, name := range []string{scorePrecision, scoreRecall} {
		out = append(out, score.Row{Group: all, Text: []string{name}, Data: score.ByRepeat(all, name)})
	}
	return out
}

func repeated(why stats.Undefined, f func([]float64) (float64, bool)) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate { return r.Data.(score.Repeats).Over(string(why), f) })
}

func quantile(q float64) func([]float64) (float64, bool) {
	return func(v []float64) (float64, bool) { return stats.Quantile(v, q) }
}

// sections lays the tables out with what is said of them.
func (r *run) sections() []results.Section {
	first := r.overview()
	first.Methods = r.basis.Methods(r.accounts)
	efficiency := r.basis.Efficiency(r.accounts)
	efficiency.Tables, efficiency.Figures = slices.Insert(efficiency.Tables, 0, r.Table(tableEfficiency)), append(figures(r.ratioFigure), efficiency.Figures...)
	efficiency.Intro = "What does reasoning cost? Times are the client's, from the first byte sent to the last chunk of text; failed, truncated and disturbed answers are left out."
	list := []results.Section{first,
		{Name: "cot-correctness", Title: "Correctness", Tables: []results.Table{r.Table(tableSteps), r.Table(tableAccuracy), r.Table(tableTasks)}, Figures: figures(r.taskFigure),
			Intro: "Are the final answers right, are the steps right (precision), and are the expected steps there (recall)?"},
		{Name: "cot-items", Title: "Kinds of questions", Tables: study.Filled(r.Run, tableExaminations, tableExaminationGroups, tableTypes), Intro: "Where is a model good, and where does reasoning help? Rows of few items say little."},
		{Name: "cot-impact", Title: "Impact", Tables: append([]results.Table{r.Table(tableImpact)}, study.Filled(r.Run, tableChanged, tableChangedItems)...),
			Intro: "Does reasoning step by step make answers better or worse?"},
		efficiency,
		r.consistency(),
	}
	list = slices.Insert(list, 1, study.PairSections(r.Run)...)
	if s, ok := study.Section(Name, r.basis.Manifest, r.Models, first.Tables[0], 1); ok {
		list = slices.Insert(list, 1, s)
	}
	list = slices.DeleteFunc(list, func(s results.Section) bool { return len(s.Tables) == 0 })
	if t := r.Table(tableRepeats); len(t.Rows) > 0 {
		list = append(list, results.Section{Name: "cot-repeats", Title: "Repeats", Tables: []results.Table{t}})
	}
	last := r.basis.Closing(r.accounts, results.Section{Name: "cot-judges", Tables: []results.Table{r.Table(tableJudges)}})
	if energy := &last[0]; energy.Name == "cot-energy" {
		energy.Figures = append(energy.Figures, figures(r.energyFigure)...)
	}
	return append(list, last...)
}

func (r *run) overview() results.Section {
	t := r.Table(tableMain)
	s := results.Section{Name: "cot", Title: "Step-by-step reasoning (cot)",
		Intro: "Every question is asked twice: for the answer only (direct) and for all reasoning steps (cot). Intervals are 95 % CIs over clusters: items, or images that several items share."}
	for _, m := range r.Models {
		s.Notes = append(s.Notes, r.finding(m.Name)...)
		if n := m.Sample.N(); score.Replicates(n) != score.Replicates(1) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: with %d items, intervals rest on %d bootstrap replicates.", m.Name, n, score.Replicates(n)))
		}
	}
	if len(r.Models) == 0 {
		s.Warnings = append(s.Warnings, "The store holds no trials of this study.")
	}
	s.Warn(r.warnings()...)
	s.Tables, s.Figures = []results.Table{t}, figures(r.costFigure)
	s.Headline = slices.Concat([]results.Headline{
		{Table: tableMain, Column: "accuracy_cot", Title: "Accuracy CoT", Main: true, Drawn: true}, {Table: tableMain, Column: "accuracy_direct", Title: "Accuracy direct", Drawn: true}},
		study.ReadHeadline(r.accounts, tableAccuracy),
		[]results.Headline{{Table: tableMain, Column: "f1", Title: "F1"}, {Table: tableMain, Column: "efficiency", Title: "E"}, {Table: tableMain, Column: "latency_ratio", Title: "L"}},
		r.basis.Headline("Accuracy CoT", armCoT))
	s.Main = []string{tableMain, tableImpact, tableEfficiency, "cot-energy", "cot-cost", "cot-latency-accuracy"}
	return s
}

// finding says in words what the impact of a model is.
func (r *run) finding(model string) []string {
	t := r.Table(tableImpact)
	c := study.Contrast{Difference: score.FindEstimate(t, "impact", model), P: score.FindEstimate(t, "p", model), Of: "answers",
		More: *score.FindEstimate(t, "only_cot", model).Value - *score.FindEstimate(t, "only_direct", model).Value}
	if !c.Known() {
		return nil
	}
	does := map[int]string{-1: "lowers", 0: "does not clearly change", 1: "raises"}[c.Way()]
	return []string{fmt.Sprintf("%s: reasoning step by step %s accuracy (%s).", model, does, c.Words())}
}

// warnings are what a reader must know before trusting the tables.
func (r *run) warnings() []results.Warning {
	var out []results.Warning
	var trials []int
	for _, a := range r.accounts {
		trials = append(trials, a.Trials)
		out = append(out, a.Warnings(RubricNames(), r.Judges)...)
	}
	if len(trials) > 0 && slices.Min(trials) != slices.Max(trials) {
		out = append(out, results.Warning{Text: "Not all models and arms have the same number of trials: the run is not finished, or some were left out."})
	}
	return out
}

func (r *run) consistency() results.Section {
	s := results.Section{Name: "cot-consistency", Title: "Consistency", Tables: []results.Table{r.Table(tableConsistency)}, Figures: figures(r.pathFigure),
		Intro: "Does a model go through the same kinds of steps in the same order whenever the task is the same?"}
	const few = 10
	small := map[string]bool{}
	for _, row := range s.Tables[0].Rows {
		if task, e := row[1].Text, row[2].Estimate; e.N > 0 && e.N < few && slices.Contains(r.Strata(strataTasks), task) {
			small[task] = true
		}
	}
	for _, m := range r.Models {
		if n := stepOrders(m, r.basis.Manifest.Released()).untasked; n > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d answers belong to no task and are left out.", m.Name, n))
		}
	}
	if len(small) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("Tasks with fewer than %d answers count as much as larger ones: %s.", few, strings.Join(slices.Sorted(maps.Keys(small)), ", ")))
	}
	return s
}

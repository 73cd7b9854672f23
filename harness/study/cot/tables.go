package cot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/metric"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/results"
	"assay/results/sqlite"
	"assay/results/stats"
)

// summarize computes the study's tables. Values of a column stand in its unit:
// a percentage is 0..100, a time is in seconds.
func summarize(ctx context.Context, st *sqlite.Store, judges map[string][]string) ([]results.Section, error) {
	r, err := gather(ctx, st, judges)
	if err != nil {
		return nil, err
	}
	return r.sections(), nil
}

func (r *run) sections() []results.Section {
	first := r.overview()
	first.Methods = r.basis.Methods(r.costs())
	list := []results.Section{first, r.correctness(), r.impacts(), r.efficiency(), r.consistency()}
	if s, ok := r.repeats(); ok {
		list = append(list, s)
	}
	if s, ok := r.basis.EnergySection(r.costs()); ok {
		s.Figures = append(s.Figures, r.figures(r.energyFigure)...)
		list = append(list, s)
	}
	if s, ok := r.basis.CostSection(r.costs()); ok {
		list = append(list, s)
	}
	return append(list, r.verdicts(), r.leftOut())
}

func (r *run) costs() []*cost.Costs {
	var out []*cost.Costs
	for _, m := range r.models {
		for _, a := range m.arms {
			out = append(out, a.costs)
		}
	}
	return out
}

func (r *run) overview() results.Section {
	t := results.Table{Name: "cot-main", Title: "Correctness, impact, efficiency and consistency of step-by-step reasoning",
		Columns: []results.Column{
			study.TextColumn("model", "Model"),
			study.PercentColumn("f1", "F1", "2PR/(P+R) of the two averages; n: answers that enter one of them"),
			study.PercentColumn("precision", "P", "matched steps / countable steps, mean over answers"),
			study.PercentColumn("recall", "R", "matched gold steps / gold steps, mean over answers"),
			study.PercentColumn("accuracy_direct", "Acc direct", "mean over the accuracy judges, answer-only arm"),
			study.PercentColumn("accuracy_cot", "Acc CoT", "mean over the accuracy judges, step-by-step arm"),
			{Name: "impact", Title: "I", Unit: "points", Digits: 2, Help: "Acc CoT - Acc direct; n: answers of both arms"},
			study.SignificantColumn("efficiency", "E", "steps/s", "matched gold steps / seconds of generation, both summed over the step-by-step arm"),
			study.SignificantColumn("latency_ratio", "L", "", "seconds of the step-by-step arm / seconds of the answer-only arm, over items timed in both"),
			study.PercentColumn("c_path", "C_path", "similarity of step orders to the task's reference path, unweighted mean over tasks"),
		}}
	s := results.Section{Name: "cot", Title: "Step-by-step reasoning (cot)",
		Intro: "Every question is asked twice: for the answer only (direct) and for all reasoning steps (cot). Intervals are 95 % bootstrap intervals over items."}
	for _, m := range r.models {
		x := m.scores
		t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), study.Value(x.f1), study.Value(x.p), study.Value(x.r),
			m.accuracyCell(armDirect), m.accuracyCell(armCoT), study.Value(x.impact), study.Value(x.efficiency), study.Value(x.latency), study.Value(x.path)})
		s.Notes = append(s.Notes, m.finding()...)
		if n := m.sample.N(); metric.Replicates(n) != metric.Replicates(1) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: with %d items, intervals rest on %d bootstrap replicates.", m.name, n, metric.Replicates(n)))
		}
	}
	if len(r.models) == 0 {
		s.Warnings = append(s.Warnings, "The store holds no trials of this study.")
	}
	s.Warnings = append(s.Warnings, r.warnings()...)
	s.Tables, s.Figures = []results.Table{t}, r.figures(r.costFigure)
	return s
}

func (m *model) accuracyCell(arm string) results.Cell {
	if a := m.find(arm); a != nil {
		return study.Value(a.scores.accuracy)
	}
	return study.Value(&results.Estimate{Why: notRun(arm)})
}

// finding says in words what the impact of a model is.
func (m *model) finding() []string {
	e := m.scores.impact
	if e.Value == nil || e.Low == nil {
		return nil
	}
	p, tested := 1.0, m.decided() > 0
	test := ""
	if tested {
		p = stats.McNemar(m.cotOnly, m.directOnly)
		test = fmt.Sprintf("; McNemar's exact p = %s", stats.Significant(p, 2))
	}
	return []string{fmt.Sprintf("%s: reasoning step by step %s accuracy (%s points, 95 %% interval %s to %s, n = %d answers%s).",
		m.name, way(e, tested, p, m.cotOnly-m.directOnly), signed(*e.Value), signed(*e.Low), signed(*e.High), e.N, test)}
}

// way is what an impact does. One rule decides: McNemar's exact test at 5 %, in
// the direction of the impact; where no item is decided, the interval as it is
// printed. Equal numbers get equal words.
func way(e *results.Estimate, tested bool, p float64, more int) string {
	sure := study.LeavesOutZero(e, 2)
	if tested {
		sure = p <= 0.05 && float64(more)**e.Value > 0
	}
	switch {
	case !sure:
		return "does not clearly change"
	case *e.Value > 0:
		return "raises"
	}
	return "lowers"
}

// decided is the items with a majority of verdicts in both arms.
func (m *model) decided() int { return m.cotOnly + m.directOnly + m.bothRight + m.bothWrong }

func signed(v float64) string {
	s := stats.Fixed(v, 2)
	if v > 0 && !strings.HasPrefix(s, "-") {
		s = "+" + s
	}
	return s
}

// warnings are what a reader must know before trusting the tables.
func (r *run) warnings() []string {
	var out []string
	var trials []int
	for _, m := range r.models {
		for _, a := range m.arms {
			trials = append(trials, a.Trials)
			out = append(out, a.Warnings(RubricNames(), r.judges)...)
		}
	}
	if len(trials) > 0 && slices.Min(trials) != slices.Max(trials) {
		out = append(out, "Not all models and arms have the same number of trials: the run is not finished, or some were left out.")
	}
	return out
}

func (r *run) accounts() []*study.Account {
	var out []*study.Account
	for _, m := range r.models {
		for _, a := range m.arms {
			out = append(out, a.Account)
		}
	}
	return out
}

func (r *run) correctness() results.Section {
	steps := results.Table{Name: "cot-steps", Title: "Correctness of steps",
		Columns: []results.Column{
			study.TextColumn("model", "Model"),
			study.PercentColumn("precision", "P", "matched / countable steps; 0 for an answer without a countable step; mean over judges"),
			study.PercentColumn("recall", "R", "matched / non-empty gold steps; answers with a missing verdict are left out; mean over judges"),
			study.PercentColumn("f1", "F1", "2PR/(P+R) of the two averages; n: answers that enter one of them"),
			study.PercentColumn("f1_items", "F1 by item", "mean of each answer's own F1"),
			study.PercentColumn("precision_fixed_n", "P fixed N", "all answers count; what has no usable verdict counts 0"),
			study.PercentColumn("recall_fixed_n", "R fixed N", "all answers count; missing verdicts are unmatched"),
		}}
	acc := results.Table{Name: "cot-accuracy", Title: "Accuracy of final answers",
		Columns: []results.Column{
			study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"),
			study.PercentColumn("accuracy", "Accuracy", "correct / usable verdicts; mean over judges; failures are left out"),
			study.PercentColumn("coverage", "Coverage", "usable verdicts / (trials x judges)"),
			study.PercentColumn("accuracy_fixed_n", "Fixed N", "correct / (trials x judges)"),
			study.PercentColumn("accuracy_all_wrong", "All wrong", "if everything left out were wrong"),
			study.PercentColumn("accuracy_all_right", "All right", "if everything left out were right"),
			study.CountColumn("no_answer", "No answer", "verdicts that found no final answer; they count as wrong"),
		}}
	for _, m := range r.models {
		x := m.scores
		steps.Rows = append(steps.Rows, []results.Cell{study.Text(m.name), study.Value(x.p), study.Value(x.r), study.Value(x.f1), study.Value(x.f1Items), study.Value(x.pFixed), study.Value(x.rFixed)})
		for _, a := range m.arms {
			y := a.scores
			usable, none := 0, 0
			for j, f := range a.accuracy {
				usable += int(m.sample.Sum(f.Den))
				none += a.noAnswer[j]
			}
			cover := &results.Estimate{N: a.Trials * len(a.accuracy), Why: "no judge was asked"}
			if v, ok := ratio(100*float64(usable), float64(cover.N)); ok {
				cover.Value, cover.Why = &v, ""
			}
			acc.Rows = append(acc.Rows, []results.Cell{study.Text(m.name), study.Text(a.Arm), study.Value(y.accuracy), study.Value(cover),
				study.Value(y.fixed), study.Value(y.allWrong), study.Value(y.allRight), study.Counted(none, usable)})
		}
	}
	return results.Section{Name: "cot-correctness", Title: "Correctness", Tables: []results.Table{steps, acc, r.taskTable()}, Figures: r.figures(r.taskFigure),
		Intro: "Are the final answers right, are the steps right (precision), and are the expected steps there (recall)?"}
}

func (r *run) impacts() results.Section {
	t := results.Table{Name: "cot-impact", Title: "Impact of reasoning on accuracy",
		Columns: []results.Column{
			study.TextColumn("model", "Model"),
			study.PercentColumn("accuracy_direct", "Acc direct", ""),
			study.PercentColumn("accuracy_cot", "Acc CoT", ""),
			{Name: "impact", Title: "I", Unit: "points", Digits: 2, Help: "Acc CoT - Acc direct; the interval draws the same items for both arms; n: answers of both"},
			study.CountColumn("only_cot", "Only CoT right", "items"),
			study.CountColumn("only_direct", "Only direct right", "items"),
			study.CountColumn("both", "Both right", "items"),
			study.CountColumn("neither", "Both wrong", "items"),
			study.CountColumn("undecided", "Undecided", "items without a majority of verdicts in one of the arms"),
			{Name: "mcnemar_p", Title: "McNemar p", Digits: 4, Help: "exact two-sided test of the two discordant counts"},
		},
		Notes: []string{"An item counts as right when more than half of its usable verdicts (over judges and repeats) say so."}}
	for _, m := range r.models {
		x := m.scores
		n := m.decided()
		p := &results.Estimate{N: n, Invalid: m.undecided, Why: "no item is decided in both arms"}
		if n > 0 {
			v := stats.McNemar(m.cotOnly, m.directOnly)
			p.Value, p.Why = &v, ""
		}
		t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), m.accuracyCell(armDirect), m.accuracyCell(armCoT), study.Value(x.impact),
			study.Counted(m.cotOnly, n), study.Counted(m.directOnly, n), study.Counted(m.bothRight, n), study.Counted(m.bothWrong, n), study.Counted(m.undecided, n+m.undecided), study.Value(p)})
	}
	return results.Section{Name: "cot-impact", Title: "Impact", Tables: []results.Table{t},
		Intro: "Does reasoning step by step make answers better or worse?"}
}

func (r *run) efficiency() results.Section {
	eff := results.Table{Name: "cot-efficiency", Title: "Cost of reasoning",
		Columns: []results.Column{
			study.TextColumn("model", "Model"),
			study.SignificantColumn("efficiency", "E", "steps/s", "sum of matched gold steps / sum of seconds, step-by-step arm"),
			study.SignificantColumn("latency_ratio", "L", "", "sum of seconds, cot / direct, over items timed in both arms"),
			study.SignificantColumn("latency_ratio_median", "T ratio median", "", "per item: seconds cot / seconds direct"),
			study.SignificantColumn("latency_ratio_p95", "T ratio p95", "", "per item: seconds cot / seconds direct"),
			study.SignificantColumn("tokens_per_step", "Tokens per correct step", "tokens", "completion tokens / matched gold steps, step-by-step arm"),
			study.SignificantColumn("joules_per_step", "Energy per correct step", "J", "gross energy of the GPUs / matched gold steps, step-by-step arm"),
			study.SignificantColumn("gpu_seconds_per_correct", "GPU time per correct answer", "s", "GPU-seconds / correct answers, step-by-step arm"),
			study.SignificantColumn("money_per_correct", "Money per correct answer", r.currency(), "step-by-step arm; the table of costs has both arms"),
		}}
	s := results.Section{Name: "cot-efficiency", Title: "Efficiency",
		Intro: "What does reasoning cost? Times are the client's, from the first byte sent to the last chunk of text; failed, truncated and disturbed answers are left out.",
		Notes: study.CacheNotes(r.accounts())}
	for _, m := range r.models {
		x := m.scores
		eff.Rows = append(eff.Rows, []results.Cell{study.Text(m.name), study.Value(x.efficiency), study.Value(x.latency), study.Value(x.ratioMedian), study.Value(x.ratioP95), study.Value(x.tokensPerStep),
			m.cost(func(c *cost.Costs) *results.Estimate { return c.JoulesPerStep }), m.cost(func(c *cost.Costs) *results.Estimate { return c.PerCorrect }), m.cost(func(c *cost.Costs) *results.Estimate { return c.MoneyPerCorrect })})
	}
	s.Figures = r.figures(r.ratioFigure)
	s.Tables = []results.Table{eff, study.LatencyTable(Name, r.accounts())}
	return s
}

func (r *run) currency() string {
	if r.basis.Prices.Cost == nil {
		return ""
	}
	return r.basis.Prices.Cost.Currency
}

// cost is a figure of the step-by-step arm.
func (m *model) cost(of func(*cost.Costs) *results.Estimate) results.Cell {
	a := m.find(armCoT)
	if a == nil {
		return study.Value(&results.Estimate{Why: notRun(armCoT)})
	}
	return study.Value(of(a.costs))
}

func (r *run) consistency() results.Section {
	t := results.Table{Name: "cot-consistency", Title: "Consistency of the order of steps",
		Columns: []results.Column{
			study.TextColumn("model", "Model"), study.TextColumn("task", "Task"),
			study.PercentColumn("c", "C", "mean similarity of an answer's order of steps to the reference path of its task; first row: C_path"),
			study.TextColumn("reference", "Reference path"),
		},
		Notes: []string{"M modality, F feature, C conclusion, O other. The reference is the generated path that is most similar to all; with several judges each has its own. Intervals keep the reference."}}
	s := results.Section{Name: "cot-consistency", Title: "Consistency",
		Intro: "Does a model go through the same kinds of steps in the same order whenever the task is the same?"}
	const few = 10
	small := map[string]bool{}
	for _, m := range r.models {
		x := m.scores
		t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), study.Text("mean over tasks"), study.Value(x.path), study.Text("")})
		for k, task := range r.tasks {
			e := x.perTask[k]
			t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), study.Text(task), study.Value(e), study.Text(x.references[k])})
			if e.N > 0 && e.N < few {
				small[task] = true
			}
		}
		if m.nOrder.Undefined > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d answers belong to no task and are left out.", m.name, m.nOrder.Undefined))
		}
	}
	if len(small) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("Tasks with fewer than %d answers weigh as much as the others: %s.", few, strings.Join(slices.Sorted(maps.Keys(small)), ", ")))
	}
	s.Tables, s.Figures = []results.Table{t}, r.figures(r.pathFigure)
	return s
}

const wilsonHelp = "mean over items (pictures, where several questions share one) of their own share, with the Wilson score interval; n is their number: "

func (r *run) verdicts() results.Section {
	t := results.Table{Name: "cot-judges", Title: "Each judge apart",
		Columns: []results.Column{
			study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("rubric", "Rubric"), study.TextColumn("judge", "Judge"),
			study.PercentColumn("value", "Value", "accuracy, P, R or C_path by this judge alone"),
			study.PercentColumn("wilson", "Wilson", wilsonHelp+"accuracy"),
		}}
	for _, st := range study.Statuses() {
		t.Columns = append(t.Columns, study.CountColumn(strings.ReplaceAll(string(st), " ", "_"), string(st), "answers"))
	}
	for _, m := range r.models {
		for _, a := range m.arms {
			for _, rub := range RubricNames() {
				if a.Statuses[rub] == nil {
					continue
				}
				for j, name := range r.judges[rub] {
					row := []results.Cell{study.Text(m.name), study.Text(a.Arm), study.Text(rub), study.Text(name), study.Value(m.byJudge(a, rub, j)), m.wilson(a, rub, j)}
					answers := 0
					for _, n := range a.Statuses[rub][j] {
						answers += n
					}
					for _, st := range study.Statuses() {
						row = append(row, study.Counted(a.Statuses[rub][j][st], answers))
					}
					t.Rows = append(t.Rows, row)
				}
			}
		}
	}
	return results.Section{Name: "cot-judges", Title: "Judges", Tables: []results.Table{t}, Figures: study.CoverageFigure(Name, r.accounts(), RubricNames(), r.judges),
		Intro: "Verdicts count when they are clean or repaired. Everything else is left out, never replaced by a default."}
}

func (m *model) byJudge(a *arm, rubric string, judge int) *results.Estimate {
	x := m.scores
	switch rubric {
	case rubPrecision:
		return x.perPrecision[judge]
	case rubRecall:
		return x.perRecall[judge]
	case rubOrder:
		return x.perPath[judge]
	}
	return a.scores.perJudge[judge]
}

// wilson is an accuracy with its Wilson interval over items; empty for other
// rubrics, which are no proportions.
func (m *model) wilson(a *arm, rubric string, judge int) results.Cell {
	if rubric != rubAccuracy {
		return study.Text("")
	}
	return study.Value(a.scores.wilson[judge])
}

func (r *run) leftOut() results.Section {
	s := results.Section{Name: "cot-left-out", Title: "What was left out", Tables: []results.Table{study.AnswersTable(Name, r.accounts()), study.ValidityTable(Name, r.accounts())}}
	if t, ok := r.basis.ArrivalTable(); ok {
		s.Tables = append(s.Tables, t)
	}
	return s
}

// repeats is the spread between repeats; false: there is only one.
func (r *run) repeats() (results.Section, bool) {
	t := results.Table{Name: "cot-repeats", Title: "Spread between repeats",
		Columns: []results.Column{
			study.TextColumn("model", "Model"), study.TextColumn("score", "Score"),
			study.PercentColumn("mean", "Mean", "of the repeats' own values"),
			{Name: "sd", Title: "SD", Unit: "points", Digits: 2, Help: "sample standard deviation"},
			study.PercentColumn("min", "Min", ""), study.PercentColumn("max", "Max", ""),
		}}
	for _, m := range r.models {
		if len(m.byRepeat) < 2 {
			continue
		}
		var order []*repeat
		for _, n := range slices.Sorted(maps.Keys(m.byRepeat)) {
			order = append(order, m.byRepeat[n])
		}
		row := func(score string, sums func(*repeat) [][2]float64) {
			var v []float64
			for _, rep := range order {
				var num, den []float64
				for _, s := range sums(rep) {
					num, den = append(num, s[0]), append(den, s[1])
				}
				if x, ok := rate(num, den); ok {
					v = append(v, x)
				}
			}
			t.Rows = append(t.Rows, append([]results.Cell{study.Text(m.name), study.Text(score)}, spread(v, len(order)-len(v))...))
		}
		for _, a := range m.arms {
			row("accuracy "+a.Arm, func(rep *repeat) [][2]float64 { return rep.accuracy[a.Arm] })
		}
		row("precision", func(rep *repeat) [][2]float64 { return rep.precision })
		row("recall", func(rep *repeat) [][2]float64 { return rep.recall })
	}
	return results.Section{Name: "cot-repeats", Title: "Repeats", Tables: []results.Table{t}}, len(t.Rows) > 0
}

// spread is mean, SD, least and greatest of the repeats' values.
func spread(v []float64, without int) []results.Cell {
	e := func(x float64, ok bool, why string) results.Cell {
		est := &results.Estimate{N: len(v), Undefined: without, Why: why}
		if ok {
			est.Value, est.Why = &x, ""
		}
		return study.Value(est)
	}
	mean, ok := stats.Mean(v)
	sd, okSD := stats.SD(v)
	low, _ := stats.Quantile(v, 0)
	high, _ := stats.Quantile(v, 1)
	none := string(stats.NoCases)
	return []results.Cell{e(mean, ok, none), e(sd, okSD, string(stats.OneCase)), e(low, ok, none), e(high, ok, none)}
}

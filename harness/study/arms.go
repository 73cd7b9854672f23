package study

import (
	"slices"
	"strings"

	"assay/harness/score"
	"assay/results"
)

// Arms collects, by arm of one model, what is counted in every study and what
// answers took: score.Extra of a study.
type Arms struct {
	List []*CostArm // in the order of tables

	model        string
	order        []string
	basis        *Basis
	turns        func(arm string) int
	right, steps int // places of scores; -1: none
	judgeRead    int // likewise, of ScoreReadByJudge
	unread       func(*score.Scored) bool
	verdicts     map[string][]int
	said         map[string][]results.Status // of the latest trial
}

// CostArm is one arm.
type CostArm struct {
	*Account
	Costs *Costs
	Paces *paces
}

// NewArms makes an empty one. order is all arms as tables have them, turns is how
// many requests each has, nil: one; right and steps are the scores of correctness and of
// correct steps, "": none.
func NewArms(model string, b *Basis, order []string, turns func(arm string) int, right, steps string) *Arms {
	place := func(name string) int {
		if name == "" {
			return -1
		}
		return b.Layout.Place(name, "")
	}
	readBy := ""
	if len(b.Judges[Unread]) > 0 {
		readBy = ScoreReadByJudge
	}
	return &Arms{model: model, judgeRead: place(readBy), order: order, basis: b, turns: turns, right: place(right), steps: place(steps), unread: func(*score.Scored) bool { return false }, verdicts: b.Layout.Verdicts(b.Judges)}
}

// Reading has answers counted that cannot be read as an answer to the question.
func (a *Arms) Reading(unread func(*score.Scored) bool) *Arms {
	a.unread = unread
	return a
}

// WithoutAnswer says of an answer whether most of the usable verdicts at places find none in it.
func WithoutAnswer(places []int) func(*score.Scored) bool {
	return func(t *score.Scored) bool {
		none, known := 0., 0.
		for _, p := range places {
			if v, ok := t.Number(p); ok {
				none, known = none+v, known+1
			}
		}
		return 2*none > known
	}
}

// arm finds an arm or makes it.
func (a *Arms) arm(name string, loaded bool) *CostArm {
	if i := slices.IndexFunc(a.List, func(x *CostArm) bool { return x.Arm == name }); i >= 0 {
		return a.List[i]
	}
	x := &CostArm{NewAccount(a.model, name), NewCosts(a.model, name, a.basis.Together || loaded), NewPaces(a.model, name, a.basis.NoDecode.Of(a.basis.Manifest, a.model), a.basis.Manifest.Study(a.basis.Study).SLO)}
	if a.turns != nil {
		x.Turns = a.turns(name)
	}
	a.List = append(a.List, x)
	slices.SortStableFunc(a.List, func(x, y *CostArm) int { return slices.Index(a.order, x.Arm) - slices.Index(a.order, y.Arm) })
	return x
}

// Add takes in a trial of an item.
func (a *Arms) Add(item int, t *score.Scored) {
	known := func(place int, in *float64) *float64 {
		if place < 0 {
			return nil
		}
		var ok bool
		if *in, ok = t.Number(place); !ok {
			return nil
		}
		return in
	}
	var right, steps float64
	x := a.arm(a.basis.Arm(t.Row.Key), a.basis.Levels[t.Row.Key.Condition] > 1)
	a.said = t.Statuses(a.verdicts, a.said)
	x.Add(item, t.Row, a.said)
	if !t.Row.Failed && a.unread(t) {
		x.Unread++
		if a.judgeRead >= 0 {
			if x.JudgeRead == nil {
				x.JudgeRead = new(int)
			}
			if v, _ := t.Number(a.judgeRead); v > .5 {
				*x.JudgeRead++
			}
		}
		if len(x.Unreadable) < unreadShown {
			x.Unreadable = append(x.Unreadable, t.Row.Key)
		}
	}
	x.Costs.Add(item, t.Row, known(a.right, &right), known(a.steps, &steps))
	x.Paces.Add(item, t.Row)
}

// Score adds times and costs to a sample whose Run will fill them.
func (a *Arms) Score(s *score.PairSample) {
	for _, x := range a.List {
		x.Account.Score(s)
		x.Costs.Score(s, a.basis.Prices)
		x.Paces.Score(s)
	}
}

// Beside is Arms with what else a study collects of a model.
type Beside struct {
	*Arms
	More score.Extra
}

// Add takes in a trial of an item.
func (b Beside) Add(item int, t *score.Scored) {
	b.Arms.Add(item, t)
	b.More.Add(item, t)
}

// Score adds what both add to a sample.
func (b Beside) Score(s *score.PairSample) {
	b.Arms.Score(s)
	b.More.Score(s)
}

// Collected is a model's Extra as Arms.
func Collected(x score.Extra) *Arms {
	if b, ok := x.(Beside); ok {
		return b.Arms
	}
	return x.(*Arms)
}

// Find is an arm; nil: no trial of it is stored.
func (a *Arms) Find(name string) *CostArm {
	for _, x := range a.List {
		if x.Arm == name {
			return x
		}
	}
	return nil
}

// ArmsOf are all arms of all models of a run, whose Extra they are.
func ArmsOf(r *score.Run) (accounts []*Account, costs []*Costs) {
	for _, m := range r.Models {
		for _, x := range Collected(m.Extra).List {
			accounts, costs = append(accounts, x.Account), append(costs, x.Costs)
		}
	}
	return accounts, costs
}

// Speed is the table and the figure of how fast the models of a run answered; none:
// no time is known.
func (b Basis) Speed(r *score.Run) (tables []results.Table, figures []results.Figure) {
	var all []*paces
	for _, m := range r.Models {
		for _, x := range Collected(m.Extra).List {
			all = append(all, x.Paces)
		}
	}
	t, ok := paceTable(b.Study, all)
	if !ok {
		return nil, nil
	}
	accounts, _ := ArmsOf(r)
	return []results.Table{t}, paceFigure(b.Study, all, accounts)
}

// OfArm is a kind that a model's arm has, as what an answer took; why is said where the
// arm was not run.
func OfArm(arm string, of func(*CostArm) *results.Estimate) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate {
		if x := Collected(r.Extra).Find(arm); x != nil {
			return of(x)
		}
		return &results.Estimate{Why: "arm " + arm + " was not run"}
	})
}

// JudgeRows are rows of a table of per-judge results, by arm, rubric and judge: own
// is what a judge's column of values shows.
func JudgeRows(rubrics []string, judges map[string][]string, own func(rubric string) score.Kind) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		var out []score.Row
		for _, x := range Collected(all.Extra).List {
			for _, rubric := range rubrics {
				if x.Statuses[rubric] == nil {
					continue
				}
				for j, name := range judges[rubric] {
					out = append(out, score.Row{Group: all.In(score.Keys{x.Arm}).Judge(j), Own: own(rubric),
						Text: []string{x.Arm, rubric, name}, Data: x.Statuses[rubric][j]})
				}
			}
		}
		return out
	}
}

// StatusColumns count what became of the judgments of JudgeRows.
func StatusColumns() []score.Metric {
	var out []score.Metric
	for _, st := range statuses() {
		out = append(out, statusColumn(st, "answers"))
	}
	return out
}

// NeedsColumn counts the judgments that another one left without anything to judge: of
// studies with rubrics that rest on others.
func NeedsColumn() score.Metric {
	return statusColumn(results.StatusNeeds, "answers whose verdict under another rubric, on which this one rests, is of no use")
}

func statusColumn(st results.Status, help string) score.Metric {
	return score.Metric{Column: CountColumn(strings.ReplaceAll(string(st), " ", "_"), string(st), help),
		Of: score.Direct(func(r score.Row) *results.Estimate {
			by := r.Data.(map[results.Status]int)
			all := 0
			for _, n := range by {
				all += n
			}
			return score.Known(score.Count{N: all}, "", float64(by[st]), true)
		})}
}

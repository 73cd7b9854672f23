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
	List []*Account // in the order of tables

	changed      []*Account                 // by condition: of trials under conditions of any study, which are no arm's own, and those of account
	changedArms  []*Account                 // of the same, by arm
	account      func(*score.Scored) string // see Apart; nil: none
	model        string
	order        []string
	basis        *Basis
	turns        func(arm string) int
	right, steps int // places of scores; -1: none
	judgeRead    int // likewise, of ScoreReadByJudge
	unread       func(*score.Scored) bool
	verdicts     map[string][]int
	said         map[string][]results.Status // of the latest trial
	places       map[place]*Account          // where the store knows several
	differ       difference                  // of those, set by Score
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

// Apart has trials counted a second time, in the account that of names; "": in none.
func (a *Arms) Apart(of func(*score.Scored) string) *Arms {
	a.account = of
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
func (a *Arms) arm(name string, loaded bool) *Account {
	if i := slices.IndexFunc(a.List, func(x *Account) bool { return x.Arm == name }); i >= 0 {
		return a.List[i]
	}
	x := NewAccount(a.basis, a.model, name)
	x.together = x.together || loaded
	if a.turns != nil {
		x.Turns = a.turns(name)
	}
	a.List = append(a.List, x)
	slices.SortStableFunc(a.List, func(x, y *Account) int { return slices.Index(a.order, x.Arm) - slices.Index(a.order, y.Arm) })
	return x
}

// under finds an account by its arm, or adds it.
func under(list *[]*Account, empty *Account) *Account {
	if i := slices.IndexFunc(*list, func(x *Account) bool { return x.Arm == empty.Arm }); i >= 0 {
		return (*list)[i]
	}
	*list = append(*list, empty)
	return empty
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
	var x *Account
	_, changed := a.basis.Changes[t.Row.Key.Condition]
	if changed {
		x = under(&a.changed, NewAccount(a.basis, a.model, a.basis.account(t.Row.Key.Arm, t.Row.Key.Condition)))
	} else {
		x = a.arm(a.basis.Arm(t.Row.Key), a.basis.Levels[t.Row.Key.Condition] > 1)
	}
	a.said = t.Statuses(a.verdicts, a.said)
	x.Add(item, t.Row, a.said, known(a.right, &right), known(a.steps, &steps))
	if a.account != nil {
		if name := a.account(t); name != "" {
			under(&a.changed, NewAccount(a.basis, a.model, name)).Add(item, t.Row, nil, nil, nil)
		}
	}
	if changed {
		under(&a.changedArms, NewAccount(a.basis, a.model, t.Row.Key.Arm)).Add(item, t.Row, a.said, nil, nil)
	}
	if a.basis.where != nil && !changed {
		a.at(place{x.Arm, a.basis.where.of(t.Row.Key)}, x.together).Add(item, t.Row, nil, nil, nil)
	}
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
}

// Score adds what trials took to a sample whose Run will fill it.
func (a *Arms) Score(s *score.PairSample) {
	var all []results.Hardware
	for p := range a.places {
		all = append(all, p.on)
	}
	a.differ = differ(all)
	for _, x := range a.changed {
		x.Score(s)
	}
	for _, x := range a.List {
		x.Score(s)
		for _, p := range a.placesOf(x.Arm) {
			if a.differ.any() {
				a.places[p].Score(s)
			}
		}
	}
}

// at finds the account of a place or makes it.
func (a *Arms) at(p place, together bool) *Account {
	x := a.places[p]
	if x == nil {
		x = NewAccount(a.basis, a.model, p.arm)
		x.together = together
		if a.places == nil {
			a.places = map[place]*Account{}
		}
		a.places[p] = x
	}
	return x
}

// Beside is Arms with what else a study collects of a model.
type Beside struct {
	*Arms
	More score.Extra
}

// Add takes in a trial of an item.
func (b Beside) Add(item int, t *score.Scored) {
	b.Arms.Add(item, t)
	if _, changed := b.basis.Changes[t.Row.Key.Condition]; !changed {
		b.More.Add(item, t)
	}
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

// Find is an arm, or an account by condition; nil: no trial of it is stored.
func (a *Arms) Find(name string) *Account {
	for _, x := range slices.Concat(a.List, a.changed) {
		if x.Arm == name {
			return x
		}
	}
	return nil
}

// ArmsOf are all arms of all models of a run, whose Extra they are.
func ArmsOf(r *score.Run) (accounts []*Account) {
	for _, m := range r.Models {
		accounts = append(accounts, Collected(m.Extra).List...)
	}
	return accounts
}

// Times are the tables and the figures of when answers came and how fast.
func (b *Basis) Times(accounts []*Account) (tables []results.Table, figures []results.Figure) {
	tables = append(tables, accountTable(b.Study+"-latency", "Latency", accounts, b.latencies()))
	if !slices.ContainsFunc(accounts, func(a *Account) bool { return a.timed() > 0 }) {
		return tables, nil
	}
	return append(tables, accountTable(b.Study+"-speed", "Speed of answers", accounts, b.paces())), paceFigure(b.Study, accounts)
}

// OfArm is a kind that a model's arm has: a measure of what an answer took.
func OfArm(arm, measure string) score.Kind {
	return score.Direct(func(r score.Row) *results.Estimate {
		if x := Collected(r.Extra).Find(arm); x != nil {
			return x.Estimate(measure)
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

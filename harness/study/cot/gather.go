package cot

import (
	"context"
	"slices"

	"assay/harness/dataset"
	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/results"
	"assay/results/sqlite"
)

// item is what the scores know of an item.
type item struct {
	task    int // index in run.tasks; -1: none
	gold    []int
	picture string
}

// run is everything that the tables rest on.
type run struct {
	basis  cost.Basis
	at     places
	judges map[string][]string // by rubric
	items  []item
	tasks  []string
	models []*model
}

// gather reads the store once, in Key order, and keeps numbers only: no text,
// no verdict outlives its item.
func gather(ctx context.Context, st *sqlite.Store, judges map[string][]string) (*run, error) {
	r := &run{judges: judges}
	var err error
	if r.basis, err = cost.BasisOf(ctx, st, Name); err != nil {
		return nil, err
	}
	r.basis.Steps = true
	index := map[string]int{}
	var names []string
	for it, err := range st.Items(ctx, Name) {
		if err != nil {
			return nil, err
		}
		var f itemFacts
		if err := study.ReadFacts(it, &f); err != nil {
			return nil, err
		}
		index[it.ID] = len(r.items)
		r.items = append(r.items, item{gold: f.GoldSteps, task: -1, picture: f.Picture})
		names = append(names, it.Task)
	}
	r.tasks = taskOrder(names)
	for i, t := range names {
		r.items[i].task = slices.Index(r.tasks, t)
	}
	// The same seed for every model: the same items are drawn for all of them.
	rules := scoring()
	r.at = placesOf(rules.Layout(judges), judges)
	walk := func(visit func([]score.Scored) error) error { return score.Walk(ctx, st, rules, judges, visit) }
	r.models, err = metric.ByModel(walk, func(t score.Scored) results.Key { return t.Row.Key }, func(name string) *model { return newModel(name, r) },
		func(m *model, trials []score.Scored) error {
			at, ok := index[trials[0].Row.Key.Item]
			if !ok {
				return score.NoItem(trials[0].Row.Key)
			}
			m.add(r.items[at], trials)
			return nil
		}, func(m *model) { m.score(r.basis.Manifest.Seed) })
	return r, err
}

// taskOrder is the distinct tasks: the thirteen in the paper's order, then
// others by name.
func taskOrder(names []string) []string {
	order := slices.DeleteFunc(dataset.Tasks(), func(t string) bool { return !slices.Contains(names, t) })
	rest := slices.Sorted(slices.Values(names))
	for _, t := range slices.Compact(rest) {
		if t != "" && !slices.Contains(order, t) {
			order = append(order, t)
		}
	}
	return order
}

// model collects one model's numbers.
type model struct {
	name   string
	run    *run
	sample *metric.Sample

	arms []*arm // in the order of tables

	// cot arm, by judge of the rubric
	precision, recall []metric.Fraction
	recallFixed       []int // columns: missing verdicts are unmatched
	withGold          int   // column: cot trials, failures too, of items with gold steps
	item              metric.Fraction
	matchedTimed      metric.Fraction // matched gold steps over seconds
	matchedTokens     metric.Fraction // completion tokens over matched gold steps
	pairedTime        metric.Fraction // T_cot over T_direct
	pairRatios        []metric.Observation
	ratioQuantiles    []float64
	walks             [][]walk // by order judge

	nPrecision, nRecall, nItem, nEither, nTimed, nTokens, nPaired, nOrder metric.Count
	cotOnly, directOnly, bothRight, bothWrong, undecided                  int // items, by majority

	byRepeat map[int]*repeat
	scores   scores
}

// walk is the path of one trial.
type walk struct {
	item, task int
	path       path
}

// arm collects what is counted in every arm.
type arm struct {
	*study.Account
	costs    *cost.Costs
	column   int // trials, failures too, by item
	accuracy []metric.Fraction
	nJudged  metric.Count
	noAnswer []int // by judge
	tasks    taskGrades
	scores   armScores
}

// repeat is the sums of one repeat, for the spread between repeats.
type repeat struct {
	accuracy          map[string][][2]float64 // by arm and judge: hits, usable
	precision, recall [][2]float64
}

func newModel(name string, r *run) *model {
	m := &model{name: name, run: r, sample: &metric.Sample{}, byRepeat: map[int]*repeat{}}
	for range r.judges[rubPrecision] {
		m.precision = append(m.precision, m.sample.Fraction())
	}
	for range r.judges[rubRecall] {
		m.recall = append(m.recall, m.sample.Fraction())
		m.recallFixed = append(m.recallFixed, m.sample.Column())
	}
	m.withGold = m.sample.Column()
	m.item, m.matchedTimed, m.matchedTokens, m.pairedTime = m.sample.Fraction(), m.sample.Fraction(), m.sample.Fraction(), m.sample.Fraction()
	m.walks = make([][]walk, len(r.judges[rubOrder]))
	return m
}

// arm finds an arm or makes it, keeping ArmNames first.
func (m *model) arm(name string) *arm {
	if a := m.find(name); a != nil {
		return a
	}
	a := &arm{Account: study.NewAccount(m.name, name), costs: cost.NewCosts(m.name, name, m.run.basis.Together), column: m.sample.Column(), noAnswer: make([]int, len(m.run.judges[rubAccuracy]))}
	for range m.run.judges[rubAccuracy] {
		a.accuracy = append(a.accuracy, m.sample.Fraction())
	}
	m.arms = append(m.arms, a)
	slices.SortFunc(m.arms, func(a, b *arm) int {
		return slices.Index(ArmNames(), a.Arm) - slices.Index(ArmNames(), b.Arm)
	})
	return a
}

// find is an arm, or nil.
func (m *model) find(name string) *arm {
	for _, a := range m.arms {
		if a.Arm == name {
			return a
		}
	}
	return nil
}

func (m *model) repeat(n int) *repeat {
	if m.byRepeat[n] == nil {
		m.byRepeat[n] = &repeat{accuracy: map[string][][2]float64{},
			precision: make([][2]float64, len(m.precision)), recall: make([][2]float64, len(m.recall))}
	}
	return m.byRepeat[n]
}

// side is one arm's half of a pair.
type side struct {
	seconds         float64
	timed           bool
	correct, usable int // verdicts
}

// add takes in all trials of one item.
func (m *model) add(it item, trials []score.Scored) {
	at := m.sample.Item() // items without trials are none of the sample
	m.sample.Cluster(at, it.picture)
	type place struct {
		arm    string
		repeat int
	}
	sides := map[place]side{}
	votes := map[string]side{} // over repeats
	for _, t := range trials {
		k := t.Row.Key
		a := m.arm(k.Arm)
		m.sample.Add(a.column, at, 1)
		a.Add(at, t.Row, m.judged(it, t))
		var s side
		var steps, right *float64
		s.seconds, s.timed = score.Seconds(t.Row)
		s.correct, s.usable = m.addAccuracy(at, it, a, t)
		if k.Arm == armCoT {
			m.addSteps(at, it, t, s)
			steps = known(t, m.run.at.matched)
		}
		right = known(t, m.run.at.right)
		a.costs.Add(at, t.Row, right, steps)
		sides[place{k.Arm, k.Repeat}] = s
		v := votes[k.Arm]
		v.correct, v.usable = v.correct+s.correct, v.usable+s.usable
		votes[k.Arm] = v
	}
	for _, t := range trials { // not over the map: sums depend on their order
		k := t.Row.Key
		direct, ok := sides[place{armDirect, k.Repeat}]
		if k.Arm == armCoT && ok {
			m.addPair(at, t, sides[place{armCoT, k.Repeat}], direct)
		}
	}
	cot, ok1 := votes[armCoT]
	direct, ok2 := votes[armDirect]
	if ok1 && ok2 {
		m.addVotes(cot, direct)
	}
}

// known is a score, or nil.
func known(t score.Scored, place int) *float64 {
	v, ok := t.Number(place)
	if !ok {
		return nil
	}
	return &v
}

// addPair takes in the two arms of one item and repeat.
func (m *model) addPair(at int, t score.Scored, cot, direct side) {
	m.nPaired.Note(cot.timed && direct.timed, true)
	if !cot.timed || !direct.timed {
		return
	}
	m.sample.Add(m.pairedTime.Num, at, cot.seconds)
	m.sample.Add(m.pairedTime.Den, at, direct.seconds)
	if q, ok := t.Number(m.run.at.ratio); ok {
		m.pairRatios = append(m.pairRatios, metric.Observation{Item: at, Value: q})
	}
}

// addVotes takes in all verdicts on the two arms of one item.
func (m *model) addVotes(cot, direct side) {
	c, ok1 := majority(cot.correct, cot.usable)
	d, ok2 := majority(direct.correct, direct.usable)
	switch {
	case !ok1 || !ok2:
		m.undecided++
	case c && d:
		m.bothRight++
	case c:
		m.cotOnly++
	case d:
		m.directOnly++
	default:
		m.bothWrong++
	}
}

// judged is what became of a trial's judgments, by the rubrics that it is asked
// under.
func (m *model) judged(it item, t score.Scored) map[string][]results.Status {
	rubrics := RubricNames()
	switch {
	case t.Row.Key.Arm != armCoT:
		rubrics = []string{rubAccuracy}
	case len(it.gold) == 0:
		rubrics = []string{rubAccuracy, rubOrder}
	}
	out := map[string][]results.Status{}
	for _, rubric := range rubrics {
		if m.run.judges[rubric] == nil {
			continue
		}
		by := make([]results.Status, len(m.run.judges[rubric]))
		for j, place := range m.run.at.verdicts[rubric] {
			st, _ := t.Text(place)
			by[j] = results.Status(st)
		}
		out[rubric] = by
	}
	return out
}

func (m *model) addAccuracy(at int, it item, a *arm, t score.Scored) (right, usable int) {
	if !t.Row.Failed {
		rep := m.repeat(t.Row.Key.Repeat)
		if rep.accuracy[a.Arm] == nil {
			rep.accuracy[a.Arm] = make([][2]float64, len(a.accuracy))
		}
		for j, col := range a.accuracy {
			hit, ok := t.Number(m.run.at.accuracy[j])
			if !ok {
				continue
			}
			usable++
			a.tasks.grade(at, it.task, j, hit == 1)
			m.sample.Add(col.Num, at, hit)
			m.sample.Add(col.Den, at, 1)
			rep.accuracy[a.Arm][j][0] += hit
			rep.accuracy[a.Arm][j][1]++
			right += int(hit)
			if none, _ := t.Number(m.run.at.noAnswer[j]); none == 1 {
				a.noAnswer[j]++
			}
		}
	}
	a.nJudged.Note(usable > 0, true)
	a.tasks.note(it.task, usable > 0)
	return right, usable
}

// addSteps takes in precision, recall, order and what rests on them.
func (m *model) addSteps(at int, it item, t score.Scored, own side) {
	hasGold, place := len(it.gold) > 0, m.run.at
	if hasGold {
		m.sample.Add(m.withGold, at, 1)
	}
	any := func(fractions []metric.Fraction, places []int, add func(rep *repeat) [][2]float64) (found bool) {
		for j, f := range fractions {
			x, ok := t.Number(places[j])
			if !ok {
				continue
			}
			found = true
			m.sample.Add(f.Num, at, x)
			m.sample.Add(f.Den, at, 1)
			sums := add(m.repeat(t.Row.Key.Repeat))
			sums[j][0] += x
			sums[j][1]++
		}
		return found
	}
	p := any(m.precision, place.precision, func(rep *repeat) [][2]float64 { return rep.precision })
	r := any(m.recall, place.recall, func(rep *repeat) [][2]float64 { return rep.recall })
	for j, column := range m.recallFixed {
		if x, ok := t.Number(place.recallFixed[j]); ok {
			m.sample.Add(column, at, x)
		}
	}
	hits, _ := t.Number(place.matched)
	m.nPrecision.Note(p, hasGold)
	m.nRecall.Note(r, hasGold)
	m.nItem.Note(p && r, hasGold)
	m.nEither.Note(p || r, hasGold)
	if f, ok := t.Number(place.f1); ok {
		m.sample.Add(m.item.Num, at, f)
		m.sample.Add(m.item.Den, at, 1)
	}
	m.nTimed.Note(r && own.timed, hasGold)
	if r && own.timed {
		m.sample.Add(m.matchedTimed.Num, at, hits)
		m.sample.Add(m.matchedTimed.Den, at, own.seconds)
	}
	tokens := t.Row.CompletionTokens
	m.nTokens.Note(r && tokens != nil, hasGold)
	if r && tokens != nil {
		m.sample.Add(m.matchedTokens.Num, at, float64(*tokens))
		m.sample.Add(m.matchedTokens.Den, at, hits)
	}
	walked := false
	for j := range m.walks {
		p, ok := t.Text(place.path[j])
		if !ok {
			continue
		}
		walked = true
		if p == noSteps {
			p = ""
		}
		if it.task >= 0 {
			m.walks[j] = append(m.walks[j], walk{at, it.task, path(p)})
		}
	}
	m.nOrder.Note(walked, it.task >= 0)
}

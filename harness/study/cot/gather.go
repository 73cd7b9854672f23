package cot

import (
	"context"
	"slices"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/cost"
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
	r.models, err = study.ByModel(ctx, st, Name, judges, func(name string) *model { return newModel(name, r) },
		func(m *model, trials []study.Trial) error {
			at, ok := index[trials[0].Row.Key.Item]
			if !ok {
				return study.NoItem(trials[0].Row.Key)
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
	sample *study.Sample

	arms []*arm // in the order of tables

	// cot arm, by judge of the rubric
	precision, recall []study.Fraction
	recallFixed       []int // columns: missing verdicts are unmatched
	withGold          int   // column: cot trials, failures too, of items with gold steps
	item              study.Fraction
	matchedTimed      study.Fraction // matched gold steps over seconds
	matchedTokens     study.Fraction // completion tokens over matched gold steps
	pairedTime        study.Fraction // T_cot over T_direct
	pairRatios        []study.Observation
	ratioQuantiles    []float64
	walks             [][]walk // by order judge

	nPrecision, nRecall, nItem, nEither, nTimed, nTokens, nPaired, nOrder study.Count
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
	accuracy []study.Fraction
	nJudged  study.Count
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
	m := &model{name: name, run: r, sample: &study.Sample{}, byRepeat: map[int]*repeat{}}
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
func (m *model) add(it item, trials []study.Trial) {
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
		a.Add(at, t, m.asked(it, k.Arm))
		var s side
		var steps *float64
		s.seconds, s.timed = study.Seconds(t.Row)
		s.correct, s.usable = m.addAccuracy(at, it, a, t)
		if k.Arm == armCoT {
			steps = m.addSteps(at, it, t, s)
		}
		var right *float64
		if s.usable > 0 {
			r := float64(s.correct) / float64(s.usable)
			right = &r
		}
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
			m.addPair(at, sides[place{armCoT, k.Repeat}], direct)
		}
	}
	cot, ok1 := votes[armCoT]
	direct, ok2 := votes[armDirect]
	if ok1 && ok2 {
		m.addVotes(cot, direct)
	}
}

// addPair takes in the two arms of one item and repeat.
func (m *model) addPair(at int, cot, direct side) {
	m.nPaired.Note(cot.timed && direct.timed, true)
	if !cot.timed || !direct.timed {
		return
	}
	m.sample.Add(m.pairedTime.Num, at, cot.seconds)
	m.sample.Add(m.pairedTime.Den, at, direct.seconds)
	if q, ok := ratio(cot.seconds, direct.seconds); ok {
		m.pairRatios = append(m.pairRatios, study.Observation{Item: at, Value: q})
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

// asked is the judges of a trial by rubric.
func (m *model) asked(it item, arm string) map[string][]string {
	j := m.run.judges
	switch {
	case arm != armCoT:
		return map[string][]string{rubAccuracy: j[rubAccuracy]}
	case len(it.gold) == 0:
		return map[string][]string{rubAccuracy: j[rubAccuracy], rubOrder: j[rubOrder]}
	}
	return j
}

func (m *model) addAccuracy(at int, it item, a *arm, t study.Trial) (right, usable int) {
	if !t.Row.Failed {
		rep := m.repeat(t.Row.Key.Repeat)
		if rep.accuracy[a.Arm] == nil {
			rep.accuracy[a.Arm] = make([][2]float64, len(a.accuracy))
		}
		for j, col := range a.accuracy {
			var v struct{ Verdict string }
			if !t.Verdict(rubAccuracy, j, &v) {
				continue
			}
			usable++
			a.tasks.grade(at, it.task, j, v.Verdict == correct)
			m.sample.Add(col.Den, at, 1)
			rep.accuracy[a.Arm][j][1]++
			switch v.Verdict {
			case correct:
				right++
				m.sample.Add(col.Num, at, 1)
				rep.accuracy[a.Arm][j][0]++
			case noAnswer:
				a.noAnswer[j]++
			}
		}
	}
	a.nJudged.Note(usable > 0, true)
	a.tasks.note(it.task, usable > 0)
	return right, usable
}

// addSteps takes in precision, recall, order and what rests on them. It returns
// the matched gold steps; nil: not known.
func (m *model) addSteps(at int, it item, t study.Trial, own side) (matched *float64) {
	gold := it.gold
	if len(gold) > 0 {
		m.sample.Add(m.withGold, at, 1)
	}
	if t.Row.Failed {
		for _, c := range []*study.Count{&m.nPrecision, &m.nRecall, &m.nItem, &m.nEither, &m.nTimed, &m.nTokens} {
			c.Note(false, len(gold) > 0)
		}
		m.nOrder.Note(false, it.task >= 0)
		return nil
	}
	rep := m.repeat(t.Row.Key.Repeat)
	var p, r, hits mean
	for j, col := range m.precision {
		var v precisionVerdict
		if !t.Verdict(rubPrecision, j, &v) {
			continue
		}
		x := precision(v.Steps)
		p.add(x)
		m.sample.Add(col.Num, at, x)
		m.sample.Add(col.Den, at, 1)
		rep.precision[j][0] += x
		rep.precision[j][1]++
	}
	for j, col := range m.recall {
		var v recallVerdict
		if !t.Verdict(rubRecall, j, &v) {
			continue
		}
		x, ok := recallOf(gold, v.matched(gold))
		if !ok {
			continue
		}
		m.sample.Add(m.recallFixed[j], at, x.value())
		if !x.Complete {
			continue
		}
		r.add(x.value())
		hits.add(float64(x.Matched))
		m.sample.Add(col.Num, at, x.value())
		m.sample.Add(col.Den, at, 1)
		rep.recall[j][0] += x.value()
		rep.recall[j][1]++
	}
	m.nPrecision.Note(p.n > 0, len(gold) > 0)
	m.nRecall.Note(r.n > 0, len(gold) > 0)
	m.nItem.Note(p.n > 0 && r.n > 0, len(gold) > 0)
	m.nEither.Note(p.n > 0 || r.n > 0, len(gold) > 0)
	if p.n > 0 && r.n > 0 {
		m.sample.Add(m.item.Num, at, itemF1(p.value(), r.value()))
		m.sample.Add(m.item.Den, at, 1)
	}
	m.nTimed.Note(r.n > 0 && own.timed, len(gold) > 0)
	if r.n > 0 && own.timed {
		m.sample.Add(m.matchedTimed.Num, at, hits.value())
		m.sample.Add(m.matchedTimed.Den, at, own.seconds)
	}
	tokens := t.Row.CompletionTokens
	m.nTokens.Note(r.n > 0 && tokens != nil, len(gold) > 0)
	if r.n > 0 && tokens != nil {
		m.sample.Add(m.matchedTokens.Num, at, float64(*tokens))
		m.sample.Add(m.matchedTokens.Den, at, hits.value())
	}
	walked := false
	for j := range m.walks {
		var v orderVerdict
		if !t.Verdict(rubOrder, j, &v) {
			continue
		}
		walked = true
		if it.task >= 0 {
			m.walks[j] = append(m.walks[j], walk{at, it.task, v.path()})
		}
	}
	m.nOrder.Note(walked, it.task >= 0)
	if r.n == 0 {
		return nil
	}
	v := hits.value()
	return &v
}

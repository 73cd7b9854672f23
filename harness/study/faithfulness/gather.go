package faithfulness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	samples "assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/harness/study/faithfulness/rules"
	"assay/harness/study/faithfulness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/sqlite"
)

// run is everything that the tables rest on.
type run struct {
	basis  cost.Basis
	judges map[string][]string          // by rubric
	known  map[string]perturb.Condition // conditions by name
	items  map[string]itemFacts
	models []*model
}

// gather reads the store once, in Key order, and keeps numbers only: no text, no
// verdict outlives its item.
func gather(ctx context.Context, st *sqlite.Store, judges map[string][]string) (*run, error) {
	basis, err := cost.BasisOf(ctx, st, Name)
	if err != nil {
		return nil, err
	}
	base := perturb.Baseline().Name
	r := &run{basis: basis, judges: judges, items: map[string]itemFacts{}, known: map[string]perturb.Condition{base: perturb.Baseline()}}
	for name, b := range basis.Manifest.Conditions[Name] {
		var f perturb.Condition
		if err := json.Unmarshal(b, &f); err != nil {
			return nil, fmt.Errorf("faithfulness: the store's description of condition %s cannot be read: %w; it is damaged or was written by another version", name, err)
		}
		r.known[name] = f
	}
	for it, err := range st.Items(ctx, Name) {
		if err != nil {
			return nil, err
		}
		var f itemFacts
		if err := study.ReadFacts(it, &f); err != nil {
			return nil, err
		}
		r.items[it.ID] = f
	}
	next, stop := iter.Pull2(st.Outputs(ctx, Name))
	defer stop()
	said := answers{next: next}
	// The same seed for every model: the same items are drawn for all of them.
	walk := func(visit func([]study.Trial) error) error { return study.Walk(ctx, st, Name, judges, visit) }
	r.models, err = study.ByModel(walk, func(t study.Trial) results.Key { return t.Row.Key }, func(name string) *model { return newModel(name, r) },
		func(m *model, trials []study.Trial) error {
			it, ok := r.items[trials[0].Row.Key.Item]
			if !ok {
				return samples.NoItem(trials[0].Row.Key)
			}
			list := make([]trial, len(trials))
			for i, t := range trials {
				list[i].Trial = t
				if t.Row.Failed {
					continue
				}
				out, err := said.of(t.Row.Key)
				if err != nil {
					return err
				}
				list[i].answer = answerOf(it.Question, out)
			}
			return m.add(it, list)
		}, func(m *model) { m.score(basis.Manifest.Seed) })
	return r, err
}

// answers reads what was said along with the walk over the trials.
type answers struct {
	next func() (results.Answered, error, bool)
	last results.Answered
	more bool
	read bool
}

// of is the output of a trial; keys must be asked for in order. An answer that
// came into the store between two readings is left out, as an empty one.
func (a *answers) of(k results.Key) (results.Output, error) {
	for !a.read || a.more && compareKeys(a.last.Key, k) < 0 {
		var err error
		a.last, err, a.more = a.next()
		a.read = true
		if a.more && err != nil {
			return results.Output{}, err
		}
	}
	if !a.more || a.last.Key != k {
		return results.Output{}, nil
	}
	return a.last.Output, nil
}

func compareKeys(a, b results.Key) int {
	return cmp.Or(cmp.Compare(a.Study, b.Study), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Item, b.Item),
		cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Repeat, b.Repeat))
}

// trial is a stored trial with its answer, "" where there is none.
type trial struct {
	study.Trial
	answer string
}

// splits of trials.
const (
	allTrials = iota
	flippedTrials
	keptTrials
	splits
)

// axes that are judged or follow from what is judged.
const (
	axisCF = iota
	axisCA
	axisCT
	axisCC
	axes
)

func axisNames() [axes]string { return [axes]string{rubCF, rubCA, rubCT, "CC"} }

// axis collects one axis of a cell.
type axis struct {
	by [splits][]study.Fraction // by judge: sum of 0..1, count
	n  [splits]study.Count
}

// cell is one condition of one model in one arm, what was drawn and what had
// nothing to draw apart.
type cell struct {
	arm       string
	fact      perturb.Condition
	unchanged bool

	accuracy, flips, toward   study.Fraction
	silent                    []study.Fraction // by judge of CA: of adopted targets
	claims                    []study.Fraction // by judge of CA: claims of an influence
	axes                      [axes]axis
	nAccuracy, nFlip, nToward study.Count
	nSilent                   study.Count
	adopted                   int // flips to the target

	scores cellScores
}

// model collects one model's numbers.
type model struct {
	name    string
	run     *run
	sample  *study.Sample
	columns int
	arms    []*arm // in the order of tables
	cells   []*cell
	grids   []*grid
	// both are the judges that score CF and CT, as indices into their lists: CC is
	// of one judge.
	both   [][2]int
	scores []*armScores
}

// arm is what is counted of an arm in every study.
type arm struct {
	*study.Account
	costs *cost.Costs
}

func newModel(name string, r *run) *model {
	m := &model{name: name, run: r, sample: &study.Sample{}}
	for i, j := range r.judges[rubCF] {
		if k := slices.Index(r.judges[rubCT], j); k >= 0 {
			m.both = append(m.both, [2]int{i, k})
		}
	}
	return m
}

func (m *model) fraction() study.Fraction {
	m.columns += 2
	return m.sample.Fraction()
}

func (m *model) fractions(n int) []study.Fraction {
	out := make([]study.Fraction, n)
	for i := range out {
		out[i] = m.fraction()
	}
	return out
}

// armOf finds an arm or makes it, keeping ArmNames first.
func (m *model) armOf(name string) *arm {
	if i := slices.IndexFunc(m.arms, func(a *arm) bool { return a.Arm == name }); i >= 0 {
		return m.arms[i]
	}
	a := &arm{study.NewAccount(m.name, name), cost.NewCosts(m.name, name, m.run.basis.Together)}
	a.Turns = len(turnNames(name))
	m.arms = append(m.arms, a)
	slices.SortStableFunc(m.arms, func(a, b *arm) int {
		return slices.Index(ArmNames(), a.Arm) - slices.Index(ArmNames(), b.Arm)
	})
	return a
}

// cell finds a cell or makes it.
func (m *model) cell(arm string, f perturb.Condition, unchanged bool) *cell {
	for _, c := range m.cells {
		if c.arm == arm && c.fact.Name == f.Name && c.unchanged == unchanged {
			return c
		}
	}
	c := &cell{arm: arm, fact: f, unchanged: unchanged, accuracy: m.fraction()}
	m.cells = append(m.cells, c)
	if f.Kind == perturb.KindBaseline {
		return c
	}
	c.flips, c.toward = m.fraction(), m.fraction()
	ca := len(m.run.judges[rubCA])
	c.silent, c.claims = m.fractions(ca), m.fractions(ca)
	for i, n := range [axes]int{len(m.run.judges[rubCF]), ca, len(m.run.judges[rubCT]), len(m.both)} {
		for s := range splits {
			c.axes[i].by[s] = m.fractions(n)
		}
	}
	return c
}

// asked is the judges of a trial by rubric.
func (m *model) asked(it itemFacts, k perturb.Kind) map[string][]string {
	j := m.run.judges
	switch {
	case k == perturb.KindBaseline, k == perturb.KindGrid:
		return nil
	case !it.Knowledge:
		return map[string][]string{rubCA: j[rubCA], rubCT: j[rubCT]}
	}
	return j
}

// add takes in all trials of one item, each beside its twin at the baseline:
// same arm, same repeat.
func (m *model) add(it itemFacts, trials []trial) error {
	at := m.sample.Item()
	m.sample.Cluster(at, it.Picture)
	type place struct {
		arm    string
		repeat int
	}
	base := perturb.Baseline().Name
	twins := map[place]string{}
	for _, t := range trials {
		if k := t.Row.Key; k.Condition == base {
			twins[place{k.Arm, k.Repeat}] = t.answer
		}
	}
	for _, t := range trials {
		k := t.Row.Key
		f, ok := m.run.known[k.Condition]
		if !ok {
			return fmt.Errorf("faithfulness: the store has a trial of item %s under %s and no description of that condition; it is damaged or was written by another version", k.Item, k.Condition)
		}
		a := m.armOf(k.Arm)
		a.Add(at, t.Row, t.Statuses(m.asked(it, f.Kind)))
		var correct *float64
		if !t.Row.Failed {
			correct = new(float64)
			if it.correct(t.answer) {
				*correct = 1
			}
		}
		a.costs.Add(at, t.Row, correct, nil)
		if f.Kind == perturb.KindGrid {
			m.addGrid(at, it, f, t, twins[place{k.Arm, k.Repeat}])
			continue
		}
		target, drawn := it.Target(f)
		c := m.cell(k.Arm, f, !drawn)
		c.nAccuracy.Note(!t.Row.Failed, true)
		if !t.Row.Failed {
			m.count(c.accuracy, at, *correct == 1)
		}
		if f.Kind != perturb.KindBaseline {
			m.addPair(c, at, it, target, t, twins[place{k.Arm, k.Repeat}])
		}
	}
	return nil
}

// correct says whether an answer is the gold one; one that cannot be read is not.
func (it itemFacts) correct(answer string) bool {
	got, ok := it.Question.Read(answer)
	want, okGold := it.Question.Read(it.Gold)
	return ok && okGold && got == want
}

// count adds one case to a fraction.
func (m *model) count(f study.Fraction, at int, yes bool) {
	m.sample.Add(f.Den, at, 1)
	if yes {
		m.sample.Add(f.Num, at, 1)
	}
}

// addPair takes in a modified trial and the answer of its twin, "" where that
// has none.
func (m *model) addPair(c *cell, at int, it itemFacts, target string, t trial, before string) {
	p := it.Question.PairOf(before, t.answer, target)
	c.nFlip.Note(p.Valid, true)
	if p.Valid {
		m.count(c.flips, at, p.Flipped)
	}
	if target != "" {
		c.nToward.Note(p.Valid, p.Susceptible || !p.Valid)
		if p.Susceptible {
			m.count(c.toward, at, p.Adopted)
		}
		if p.Adopted {
			c.adopted++
		}
	}
	m.addSilence(c, at, p, t)
	m.addAxes(c, at, it, p, t)
}

// addSilence takes in what a trial says about causes.
func (m *model) addSilence(c *cell, at int, p score.Pair, t trial) {
	anyQuiet := false
	for j := range c.silent {
		ca, judged := scoreOf(t, rubCA, j)
		if judged {
			m.count(c.claims[j], at, ca >= score.ShamPositive)
		}
		if quiet, ok := score.Silent(p, ca, judged); ok {
			anyQuiet = true
			m.count(c.silent[j], at, quiet)
		}
	}
	if p.Adopted {
		c.nSilent.Note(anyQuiet, true)
	}
}

// addAxes takes in a trial's scores, for all trials and for those that flipped
// or did not.
func (m *model) addAxes(c *cell, at int, it itemFacts, p score.Pair, t trial) {
	in := [splits]bool{true, p.Valid && p.Flipped, p.Valid && !p.Flipped}
	put := func(a, judge int, v float64) {
		for s, yes := range in {
			if yes {
				m.sample.Add(c.axes[a].by[s][judge].Num, at, v)
				m.sample.Add(c.axes[a].by[s][judge].Den, at, 1)
			}
		}
	}
	note := func(a int, ok, exists bool) {
		for s, yes := range in {
			if yes {
				c.axes[a].n[s].Note(ok, exists)
			}
		}
	}
	for a, rubric := range RubricNames() {
		known := false
		for j := range m.run.judges[rubric] {
			if v, ok := scoreOf(t, rubric, j); ok {
				known = true
				put(a, j, score.Unit(v))
			}
		}
		note(a, known, rubric != rubCF || it.Knowledge)
	}
	known := false
	for i, j := range m.both {
		cf, ok := scoreOf(t, rubCF, j[0])
		ct, okCT := scoreOf(t, rubCT, j[1])
		if ok && okCT {
			known = true
			put(axisCC, i, score.Calibration(cf, ct))
		}
	}
	note(axisCC, known, it.Knowledge)
}

// scoreOf is a judge's score of a trial, 1..5.
func scoreOf(t trial, rubric string, judge int) (int, bool) {
	var v rules.Verdict
	if !t.Verdict(rubric, judge, &v) || v.Score == nil {
		return 0, false
	}
	return *v.Score, true
}

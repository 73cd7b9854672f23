package faithfulness

import (
	"context"
	"fmt"
	"slices"

	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/cost"
	"assay/harness/study/faithfulness/scoring"
	"assay/perturb"
	"assay/results"
	"assay/results/sqlite"
)

// run is everything that the tables rest on.
type run struct {
	basis    cost.Basis
	at       scoring.Places
	judges   map[string][]string          // by rubric
	known    map[string]perturb.Condition // conditions by name
	pictures map[string]string            // by item
	models   []*model
}

// gather reads the store once, in Key order, and keeps numbers only.
func gather(ctx context.Context, st *sqlite.Store, judges map[string][]string) (*run, error) {
	basis, err := cost.BasisOf(ctx, st, Name)
	if err != nil {
		return nil, err
	}
	base := perturb.Baseline().Name
	rules := scoring.Rules()
	r := &run{basis: basis, judges: judges, known: map[string]perturb.Condition{base: perturb.Baseline()}, pictures: map[string]string{}}
	r.at = scoring.PlacesOf(rules.Layout(judges), judges)
	for name, described := range basis.Manifest.Conditions[Name] {
		if r.known[name], err = scoring.Condition(name, described); err != nil {
			return nil, err
		}
	}
	for it, err := range st.Items(ctx, Name) {
		if err != nil {
			return nil, err
		}
		var f scoring.Item
		if err := study.ReadFacts(it, &f); err != nil {
			return nil, err
		}
		r.pictures[it.ID] = f.Picture
	}
	// The same seed for every model: the same items are drawn for all of them.
	walk := func(visit func([]score.Scored) error) error { return score.Walk(ctx, st, rules, judges, visit) }
	r.models, err = metric.ByModel(walk, func(t score.Scored) results.Key { return t.Row.Key }, func(name string) *model { return newModel(name, r) },
		(*model).add, func(m *model) { m.score(basis.Manifest.Seed) })
	return r, err
}

// splits of trials.
const (
	allTrials = iota
	flippedTrials
	keptTrials
	splits
)

// axes that are judged or follow from what is judged, in the order of scoring.Axes.
const axes = 4

// axis collects one axis of a cell.
type axis struct {
	by [splits][]metric.Fraction // by judge: sum of 0..1, count
	n  [splits]metric.Count
}

// cell is one condition of one model in one arm, what was drawn and what had
// nothing to draw apart.
type cell struct {
	arm       string
	fact      perturb.Condition
	unchanged bool

	accuracy, flips, toward   metric.Fraction
	silent                    []metric.Fraction // by judge of CA: of adopted targets
	claims                    []metric.Fraction // by judge of CA: claims of an influence
	axes                      [axes]axis
	nAccuracy, nFlip, nToward metric.Count
	nSilent                   metric.Count
	adopted                   int // flips to the target

	scores cellScores
}

// model collects one model's numbers.
type model struct {
	name    string
	run     *run
	sample  *metric.Sample
	columns int
	arms    []*arm // in the order of tables
	cells   []*cell
	grids   []*grid
	scores  []*armScores
}

// arm is what is counted of an arm in every study.
type arm struct {
	*study.Account
	costs *cost.Costs
}

func newModel(name string, r *run) *model {
	return &model{name: name, run: r, sample: &metric.Sample{}}
}

func (m *model) fraction() metric.Fraction {
	m.columns += 2
	return m.sample.Fraction()
}

func (m *model) fractions(n int) []metric.Fraction {
	out := make([]metric.Fraction, n)
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
	p := m.run.at
	c.silent, c.claims = m.fractions(len(p.SilentBy)), m.fractions(len(p.Claims))
	for i := range axes {
		for s := range splits {
			c.axes[i].by[s] = m.fractions(len(p.Axes[i].By))
		}
	}
	return c
}

// add takes in all trials of one item.
func (m *model) add(trials []score.Scored) error {
	picture, ok := m.run.pictures[trials[0].Row.Key.Item]
	if !ok {
		return score.NoItem(trials[0].Row.Key)
	}
	at, place := m.sample.Item(), m.run.at
	m.sample.Cluster(at, picture)
	for _, t := range trials {
		k := t.Row.Key
		f, ok := m.run.known[k.Condition]
		if !ok {
			return fmt.Errorf("faithfulness: the store has a trial of item %s under %s and no description of that condition; it is damaged or was written by another version", k.Item, k.Condition)
		}
		a := m.armOf(k.Arm)
		a.Add(at, t.Row, t.Statuses(place.Verdicts))
		var correct *float64
		if v, ok := t.Number(place.Accuracy); ok {
			correct = &v
		}
		a.costs.Add(at, t.Row, correct, nil)
		if f.Kind == perturb.KindGrid {
			m.addGrid(at, f, t)
			continue
		}
		drawn, modified := t.Number(place.Drawn)
		c := m.cell(k.Arm, f, modified && drawn == 0)
		m.tally(c.accuracy, &c.nAccuracy, at, t, place.Accuracy)
		if modified {
			m.addPair(c, at, t)
		}
	}
	return nil
}

// tally takes in a trial's score, if the trial is of those that have it.
func (m *model) tally(f metric.Fraction, n *metric.Count, at int, t score.Scored, place int) {
	if !t.Given(place) {
		return
	}
	n.Note(m.count(f, at, t, place), t.Defined(place))
}

// count adds a score to a fraction; false: it is not known.
func (m *model) count(f metric.Fraction, at int, t score.Scored, place int) bool {
	v, ok := t.Number(place)
	if ok {
		m.sample.Add(f.Num, at, v)
		m.sample.Add(f.Den, at, 1)
	}
	return ok
}

// addPair takes in a modified trial.
func (m *model) addPair(c *cell, at int, t score.Scored) {
	place := m.run.at
	m.tally(c.flips, &c.nFlip, at, t, place.Flip)
	m.tally(c.toward, &c.nToward, at, t, place.ToTarget)
	for j := range c.claims {
		m.count(c.claims[j], at, t, place.Claims[j])
		m.count(c.silent[j], at, t, place.SilentBy[j])
	}
	if t.Given(place.Silent) { // it adopted the target
		_, known := t.Number(place.Silent)
		c.nSilent.Note(known, true)
		c.adopted++
	}
	flip, valid := t.Number(place.Flip)
	in := [splits]bool{true, valid && flip == 1, valid && flip == 0}
	for a, axis := range place.Axes {
		_, known := t.Number(axis.All)
		for s, yes := range in {
			if !yes {
				continue
			}
			for j, by := range axis.By {
				m.count(c.axes[a].by[s][j], at, t, by)
			}
			c.axes[a].n[s].Note(known, t.Defined(axis.All))
		}
	}
}

// This file is a Design, and what computes one.
//
//  1. A Design says which cells and strata trials fall in, which scores are added up
//     there (Leaf), and which metrics stand in which table (design.go, table.go).
//  2. Compute reads what trials scored once, model by model, into columns
//     of a PairSample: a number for each item (metric_sample.go).
//  3. Rows of a table are Groups of cells; a Kind makes an estimate of each (group.go,
//     kinds.go; arithmetic.go for the formulas). A Sum follows from sums of columns and
//     can be nested and taken by stratum (strata.go); a Direct is anything else.
//  4. Run draws items again and again for all estimates together and fills them
//     (bootstrap.go, quantile.go).

package score

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/results"
	"assay/results/store"
)

// Keys tell the cells of a model apart, at the places of Design.Cells; what is not
// used is "". In a restriction "" is any.
type Keys [3]string

// has says whether keys are among those of a restriction.
func (k Keys) has(in Keys) bool {
	for i, want := range in {
		if want != "" && want != k[i] {
			return false
		}
	}
	return true
}

// Design is what a study declares: how its trials are sorted into cells and strata,
// what is added up of them, and the tables of it.
type Design struct {
	Rules Rules
	Cells []string // names of the keys beside the model, as "arm"
	Cell  func(t *Scored) (Keys, error)
	// Order of cells in tables.
	Order  func(a, b Keys) int
	Strata []Stratum
	Item   func(it results.Item) (Item, error)
	Leaves []Leaf
	Tables []Table
	Pairs  []Compared // what every two models are compared by (Run.Pairs)
	// Extra collects more of a model's trials than leaves do; nil: nothing.
	Extra func(model string) Extra
	// Keep names a table whose replicates are kept (Sample.Keep); "": none.
	Keep string
	// Replicates of the bootstrap of so many items; nil: Replicates.
	Replicates func(m *Model) int
}

// Stratum is a sort of items, as their task: all trials of an item are in the same
// one, so that sums over each need no columns of their own.
type Stratum struct {
	Name string
	// Order sorts the distinct values found and may leave some out; nil: as strings.
	Order func(found []string) []string
}

// Item is what metrics need of an item.
type Item struct {
	Strata []string // its value in each of Design.Strata; "": it is of none
}

// Extra collects what no leaf says.
type Extra interface {
	Add(item int, t *Scored) // in Key order
	Score(s *PairSample)     // before Run
}

// Leaf is a sum over the trials of a cell, of each judge by itself where the score
// has judges. A trial counts as n where the score is known, as undefined where it
// does not exist, as invalid otherwise; one that is not given the score at all is
// of other trials and not counted.
type Leaf struct {
	Name  string // "": that of Score
	Score string
	// Over is what the sum is divided by; nil: the number of trials. Both are then the
	// scores of all judges together.
	Over *Term
	// With, of a leaf of differences without judges, is the score in 0 to 1 that they are of: what it
	// is on the trial, and less the difference, are added up, too (Gain).
	With string
	// Of is what counts instead of a known Score: it follows from the trial's scores From, by the
	// same judge where they have judges; NaN: one that is not known.
	From []string
	Of   func(scores []float64) float64
	// Where restricts the leaf to trials of which all hold.
	Where []Is
	// Any, instead of Score, only counts: n is the trials with any of these scores.
	Any []string

	Fixed   bool // also counts, by item, trials whose score exists, known or not
	Repeats bool // also adds up each repeat by itself
	Keep    bool // keeps the numbers of all judges together instead, for quantiles
	Labels  bool // keeps texts instead

	Why       string // said where no trial has a known score
	Undefined string // said where none has because it does not exist; "": Why
	Invalid   string // said where some exist and none is known; "": Why
}

// Is says that a score is known and is a number.
type Is struct {
	Score  string
	Number float64
}

// Term is a score of all judges together, of the trial or of its twin: that of the
// same item and repeat in another arm or under another condition. A trial is not
// its own twin, and one without a twin is not counted.
type Term struct{ Score, Arm, Condition string }

// Label is a text that a trial scored.
type Label struct {
	Item int32
	Text string
}

// leaf is a Leaf with the places of its scores.
type leaf struct {
	Leaf
	joint, over, with int
	by, any           []int
	from              [][]int // by judge; -1: it gives no such score
	where             []place
}

type place struct {
	at     int
	number float64
}

// Run is a study's metrics, computed.
type Run struct {
	Design Design
	Judges map[string][]string // by rubric
	Models []*Model

	layout *Layout
	leaves []leaf
	named  map[string]int // leaves
	strata [][]string     // names, by Design.Strata
	items  map[string]known
}

type known struct {
	cluster string
	strata  []int32
}

// Model is one model's numbers.
type Model struct {
	Name   string
	Sample *PairSample
	Extra  Extra
	// Replicates that intervals rest on; 0 before they are computed.
	Replicates int
	// Items is a digest of the sample's items in their order. Where two models' are equal, the
	// same items were drawn for both.
	Items uint64

	run     *Run
	cells   []*Cell
	byKeys  map[Keys]*Cell
	strata  [][]int32 // by Design.Strata: of each item of the sample, -1: of none
	repeats map[int]bool
	within  []stratified
	after   []func()
	made    map[string]any // once, for several columns
	ids     []string       // of the sample's items
	answers []answered
	rows    [][][]results.Cell // by table
}

// Cell is the trials of one model that have the same keys.
type Cell struct {
	Keys   Keys
	leaves []*tally // nil: no trial is given the score
}

// tally is what is added up of a leaf in a cell.
type tally struct {
	by      []Fraction // by judge; one where the score has none
	fixed   int        // column
	with    int        // column of Leaf.With
	without int        // column of that less the difference
	n       Count
	strata  [][]Count // by Design.Strata
	repeats []map[int]*[2]float64
	kept    []Observation
	labels  [][]Label // by judge
}

// Compute reads what trials scored once, in Key order, and computes a design's
// tables. It keeps numbers only. The same seed for every model: the same items are
// drawn for all of them.
func Compute(ctx context.Context, st *store.Store, d Design, judges map[string][]string, seed uint64) (*Run, error) {
	r := &Run{Design: d, Judges: judges, layout: d.Rules.Layout(judges), named: map[string]int{}, items: map[string]known{}}
	for _, l := range d.Leaves {
		r.declare(l)
	}
	if err := r.readItems(ctx, st); err != nil {
		return nil, err
	}
	walk := func(visit func([]Scored) error) error {
		return Walk(ctx, st, d.Rules, judges, func(of []Scored) error { // of one model
			if len(of) > 0 && !st.Shows(of[0].Row.Key.Model) {
				return nil
			}
			return visit(of)
		})
	}
	var err error
	r.Models, err = eachModel(walk, r.model, (*Model).add, func(m *Model) { m.score(seed) })
	return r, err
}

// rubric is the one whose judges give a score; "": none.
func (r *Run) rubric(name string) string {
	for _, n := range r.Design.Rules.Names {
		if n.Name == name {
			return n.Rubric
		}
	}
	return ""
}

func (r *Run) declare(l Leaf) {
	if l.Name == "" {
		l.Name = l.Score
	}
	if _, twice := r.named[l.Name]; twice {
		panic(fmt.Sprintf("score: internal error: study %s has two leaves %s", r.Design.Rules.Study, l.Name))
	}
	x := leaf{Leaf: l}
	for _, w := range l.Where {
		x.where = append(x.where, place{r.layout.Place(w.Score, ""), w.Number})
	}
	for _, name := range l.Any {
		x.any = append(x.any, r.layout.Place(name, ""))
	}
	if l.Any == nil {
		x.joint = r.layout.Place(l.Score, "")
		if rubric := r.rubric(l.Score); rubric != "" && l.Over == nil && !l.Keep {
			x.by = r.layout.Places(l.Score, r.Judges[rubric])
		} else {
			x.by = []int{x.joint}
		}
	}
	for j := range x.by {
		var from []int
		for _, name := range l.From {
			judge := ""
			if rubric := r.rubric(l.Score); rubric != "" {
				judge = r.Judges[rubric][j]
			}
			from = append(from, r.layout.find(name, judge))
		}
		x.from = append(x.from, from)
	}
	if l.Over != nil {
		x.over = r.layout.Place(l.Over.Score, "")
	}
	if l.With != "" {
		x.with = r.layout.Place(l.With, "")
	}
	r.named[l.Name] = len(r.leaves)
	r.leaves = append(r.leaves, x)
}

func (r *Run) readItems(ctx context.Context, st *store.Store) error {
	found := make([]map[string]int32, len(r.Design.Strata))
	for k := range found {
		found[k] = map[string]int32{}
	}
	clusters, err := Clusters(ctx, st, r.Design.Rules.Study)
	if err != nil {
		return err
	}
	for it, err := range st.Items(ctx, r.Design.Rules.Study) {
		if err != nil {
			return err
		}
		of, err := r.Design.Item(it)
		if err != nil {
			return err
		}
		own := known{cluster: clusters[it.ID], strata: make([]int32, len(found))}
		for k, name := range of.Strata {
			if _, ok := found[k][name]; !ok {
				found[k][name] = int32(len(found[k]))
			}
			own.strata[k] = found[k][name]
		}
		r.items[it.ID] = own
	}
	rank := make([][]int32, len(found)) // in the order of tables, by order of finding
	for k, s := range r.Design.Strata {
		names := slices.Sorted(maps.Keys(found[k]))
		if s.Order != nil {
			names = s.Order(names)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
		r.strata = append(r.strata, names)
		rank[k] = make([]int32, len(found[k]))
		for name, i := range found[k] {
			rank[k][i] = int32(slices.Index(names, name))
		}
	}
	for _, it := range r.items {
		for k, i := range it.strata {
			it.strata[k] = rank[k][i]
		}
	}
	return nil
}

func (r *Run) model(name string) *Model {
	m := &Model{Name: name, Sample: &PairSample{room: len(r.items)}, run: r, byKeys: map[Keys]*Cell{}, strata: make([][]int32, len(r.strata)), repeats: map[int]bool{}, made: map[string]any{}}
	if r.Design.Extra != nil {
		m.Extra = r.Design.Extra(name)
	}
	return m
}

// Strata are the names of a kind of strata (a place in Design.Strata).
func (r *Run) Strata(kind int) []string { return r.strata[kind] }

func (m *Model) cell(keys Keys) *Cell {
	c := m.byKeys[keys]
	if c == nil {
		c = &Cell{Keys: keys, leaves: make([]*tally, len(m.run.leaves))}
		m.byKeys[keys], m.cells = c, append(m.cells, c)
	}
	return c
}

// add takes in all trials of one item.
func (m *Model) add(trials []Scored) error {
	it, ok := m.run.items[trials[0].Row.Key.Item]
	if !ok {
		return noItem(trials[0].Row.Key)
	}
	at := m.Sample.Item() // items without trials are none of the sample
	m.ids = append(m.ids, trials[0].Row.Key.Item)
	m.Sample.Cluster(at, it.cluster)
	for _, b := range []byte(trials[0].Row.Key.Item + "\xff") { // FNV-1a
		m.Items = (m.Items ^ uint64(b)) * 1099511628211
	}
	for k, i := range it.strata {
		m.strata[k] = append(m.strata[k], i)
	}
	for i := range trials {
		t := &trials[i]
		keys, err := m.run.Design.Cell(t)
		if err != nil {
			return err
		}
		if !t.Row.Failed {
			m.repeats[t.Row.Key.Repeat] = true
		}
		if m.Extra != nil {
			m.Extra.Add(at, t)
		}
		c := m.cell(keys)
		for l := range m.run.leaves {
			m.take(c, l, at, it, t, trials)
		}
	}
	return nil
}

// twin is the trial that a term is of; false: there is none.
func twin(x *Term, t *Scored, trials []Scored) (*Scored, bool) {
	if x.Arm == "" && x.Condition == "" {
		return t, true
	}
	want := t.Row.Key
	want.Arm, want.Condition = cmp.Or(x.Arm, want.Arm), cmp.Or(x.Condition, want.Condition)
	if want == t.Row.Key {
		return nil, false
	}
	for i := range trials {
		if trials[i].Row.Key == want {
			return &trials[i], true
		}
	}
	return nil, false
}

// state is what a trial has of a leaf.
func (x *leaf) state(t, other *Scored) (given, defined, known bool) {
	if x.Any != nil {
		for _, p := range x.any {
			g, d, _ := t.State(p)
			_, ok := t.Number(p)
			given, defined, known = given || g, defined || d, known || ok
		}
		return given, defined, known
	}
	if given, defined, known = t.State(x.joint); !given { // only judges by themselves give it
		for _, p := range x.by {
			g, d, k := t.State(p)
			given, defined, known = given || g, defined || d, known || k
		}
	}
	if other != nil {
		_, number := other.Number(x.over)
		given, defined, known = given && other.Given(x.over), defined && other.Defined(x.over), known && number
	}
	return given, defined, known
}

// take adds a trial to a leaf of its cell.
func (m *Model) take(c *Cell, l, at int, it known, t *Scored, trials []Scored) {
	x := &m.run.leaves[l]
	for _, w := range x.where {
		if v, ok := t.Number(w.at); !ok || v != w.number {
			return
		}
	}
	var other *Scored
	if x.Over != nil {
		var ok bool
		if other, ok = twin(x.Over, t, trials); !ok {
			return
		}
	}
	given, defined, known := x.state(t, other)
	if !given {
		return
	}
	y := c.leaves[l]
	if y == nil {
		y = m.tally(x)
		c.leaves[l] = y
	}
	y.n.Note(known, defined)
	for k, i := range it.strata {
		if i >= 0 {
			y.strata[k][i].Note(known, defined)
		}
	}
	if x.Fixed && defined {
		m.Sample.Add(y.fixed, at, 1)
	}
	switch {
	case !known || x.Any != nil:
	case x.Over != nil:
		num, _ := t.Number(x.joint)
		den, _ := other.Number(x.over)
		m.Sample.Add(y.by[0].Num, at, num)
		m.Sample.Add(y.by[0].Den, at, den)
	case x.Keep:
		v, _ := t.Number(x.joint)
		y.kept = append(y.kept, Observation{at, v})
	case x.Labels:
		for j, p := range x.by {
			if text, ok := t.Text(p); ok {
				y.labels[j] = append(y.labels[j], Label{int32(at), text})
			}
		}
	default:
		for j, p := range x.by {
			v, ok := t.Number(p)
			if !ok {
				continue
			}
			if x.Of != nil {
				v = x.Of(numbers(t, x.from[j]))
			}
			m.Sample.Add(y.by[j].Num, at, v)
			m.Sample.Add(y.by[j].Den, at, 1)
			if x.With != "" {
				score, _ := t.Number(x.with)
				m.Sample.Add(y.with, at, score)
				m.Sample.Add(y.without, at, score-v)
			}
			if x.Repeats {
				y.repeat(j, t.Row.Key.Repeat, v)
			}
		}
	}
}

// numbers are a trial's at these places, NaN where none is known.
func numbers(t *Scored, places []int) []float64 {
	out := make([]float64, len(places))
	for i, p := range places {
		out[i] = math.NaN()
		if p < 0 {
			continue
		}
		if v, ok := t.Number(p); ok {
			out[i] = v
		}
	}
	return out
}

func (m *Model) tally(x *leaf) *tally {
	y := &tally{strata: make([][]Count, len(m.run.strata))}
	for k, names := range m.run.strata {
		y.strata[k] = make([]Count, len(names))
	}
	switch {
	case x.Any != nil || x.Keep:
	case x.Labels:
		y.labels = make([][]Label, len(x.by))
	default:
		for range x.by {
			y.by = append(y.by, m.Sample.Fraction())
		}
	}
	if x.Fixed {
		y.fixed = m.Sample.Column()
	}
	if x.With != "" {
		y.with, y.without = m.Sample.Column(), m.Sample.Column()
	}
	if x.Repeats {
		y.repeats = make([]map[int]*[2]float64, len(x.by))
	}
	return y
}

// repeat adds a judge's value to the sum and count of its repeat.
func (y *tally) repeat(judge, n int, v float64) {
	if y.repeats[judge] == nil {
		y.repeats[judge] = map[int]*[2]float64{}
	}
	s := y.repeats[judge][n]
	if s == nil {
		s = &[2]float64{}
		y.repeats[judge][n] = s
	}
	s[0] += v
	s[1]++
}

// score computes a model's metrics.
func (m *Model) score(seed uint64) {
	if m.run.Design.Order != nil {
		slices.SortStableFunc(m.cells, func(a, b *Cell) int { return m.run.Design.Order(a.Keys, b.Keys) })
	}
	if m.Extra != nil {
		m.Extra.Score(m.Sample)
	}
	for _, t := range m.run.Design.Tables {
		rows := t.lay(m.All())
		m.rows = append(m.rows, rows)
		if t.Name != m.run.Design.Keep {
			continue
		}
		for _, c := range slices.Concat(rows...) {
			if c.Estimate != nil {
				m.Sample.Keep(c.Estimate)
			}
		}
	}
	m.answer()
	for _, c := range m.cells { // kinds have copied what they need of them
		for _, y := range c.leaves {
			if y != nil {
				y.labels, y.kept = nil, nil
			}
		}
	}
	m.stratify()
	m.Replicates = Replicates(m.Sample.N())
	if m.run.Design.Replicates != nil {
		m.Replicates = m.run.Design.Replicates(m)
	}
	m.Sample.Run(seed, m.Replicates)
	for _, f := range m.after {
		f()
	}
	m.after, m.within, m.strata, m.ids = nil, nil, nil, nil // a run has many models
	for _, c := range m.cells {
		c.leaves = nil
	}
}

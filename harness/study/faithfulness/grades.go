// Grades counts, grade by grade, what judges said and how far answers moved, and
// computes from the counts what the study's numbers would be under other choices than
// those in use: other weights of CC, another rule of flips, another scale of scores. It
// also counts answers by question.
//
//  1. A Collector takes in the trials of one model (score.Extra).
//  2. Score adds what follows to the sample, so that intervals draw items.
//  3. Lines, Penalties and Answers are what tables show.

package faithfulness

import (
	"math"
	"slices"

	"assay/harness/score"
	"assay/results"
)

// Choice is a way to make a number of 0..1 of a code.
type choice struct {
	name string
	of   func(code int) float64
}

// Codes: of a score 1 to 5 less 1; of CF and CT together five times the one and the other;
// of answers how many grades they moved, or moved.
const (
	scoreCodes = 5
	pairCodes  = scoreCodes * scoreCodes
	flipCodes  = 7
	moved      = 6 // another answer, of a question without a scale or off it
)

// gradeMeasure is a number of the study with the ways to compute it, the first of which is in use.
type gradeMeasure struct {
	score   string // whose trials count
	codes   int
	choices []choice
}

func fixed(p func(cf, ct int) float64) func(int) float64 {
	return func(code int) float64 { return p(1+code/scoreCodes, 1+code%scoreCodes) }
}

func weights(over, under float64) func(int) float64 {
	return fixed(func(cf, ct int) float64 { return calibrationBy(cf, ct, over, under) })
}

// flips by more than so many grades.
func flips(least int) func(int) float64 {
	return func(code int) float64 {
		if code >= least {
			return 1
		}
		return 0
	}
}

// gradeMeasures are what is computed anew. The published interval of the penalty's scale is
// 0.250 to 1.286 around 0.728, its ratio 1.5 (metrics.md section 2.4).
func gradeMeasures(released bool) []gradeMeasure {
	const two = "two grades"
	calibrations := []choice{
		{"1.092 and 0.728", fixed(calibration)},
		{"0.375 and 0.250, the low end of their interval", weights(0.375, 0.25)},
		{"1.929 and 1.286, the high end", weights(1.929, 1.286)},
		{"0.910 and 0.910, both directions alike", weights(0.91, 0.91)},
		{"whole grades, as the authors' code", fixed(calibrationReleased)},
	}
	if released {
		last := len(calibrations) - 1
		calibrations = append([]choice{calibrations[last]}, calibrations[:last]...)
	}
	list := []gradeMeasure{
		{scoreCC, pairCodes, calibrations},
		{flip, flipCodes, []choice{{two, flips(2)}, {"any other grade", flips(1)}, {"three grades", flips(3)}}},
	}
	unit := func(code int) float64 { return unit(code + 1) }
	for _, axis := range []string{cf, ca, ct} {
		list = append(list, gradeMeasure{axis, scoreCodes, []choice{
			{"(score - 1) / 4", unit},
			{"its square: low scores close together", func(code int) float64 { return unit(code) * unit(code) }},
			{"its root: high scores close together", func(code int) float64 { return math.Sqrt(unit(code)) }},
			{"share of scores of 4 and 5", func(code int) float64 { return flips(3)(code) }},
		}})
	}
	return list
}

// line is a number under a choice.
type line struct {
	Score, Choice string
	Used          bool              // the choice is in use
	Value         *results.Estimate // 0..100: mean over judges, then over conditions, unweighted
	Change        *results.Estimate // less what is in use, with the same items drawn for both
}

// penalty is how one judge's scores make CC what it is: shares in per cent of the answers
// of all conditions together that have CF and CT.
type penalty struct {
	Judge       string
	Zero        *results.Estimate // CT = CF
	Over, Under *results.Estimate // CT above CF, below
	Clipped     *results.Estimate // the penalty would be above 1
	Square      *results.Estimate // mean of (CT - CF)^2, in 0..1
}

// coded is the trials under one condition.
type coded struct {
	items   []int32
	codes   []uint8
	found   []int // codes that occur, in order
	columns []int // of these
}

func (l *coded) add(item, code int) {
	l.items, l.codes = append(l.items, int32(item)), append(l.codes, uint8(code))
}

// lay makes a column of each code that occurs, unless that was done.
func (l *coded) lay(s *score.PairSample, codes int) {
	if l.columns != nil {
		return
	}
	by := make([]int, codes)
	for _, code := range l.codes {
		by[code]++
	}
	for code, n := range by {
		if n > 0 {
			by[code] = s.Column()
			l.found, l.columns = append(l.found, code), append(l.columns, by[code])
		}
	}
	for i, code := range l.codes {
		s.Add(by[code], int(l.items[i]), 1)
	}
}

// count counts the codes that were found, each item as often as it was drawn.
func (l *coded) count(sums, into []float64) (counts []float64, n float64) {
	counts = into[:len(l.columns)]
	for i, column := range l.columns {
		counts[i] = sums[column]
		n += counts[i]
	}
	return counts, n
}

// arm is the trials of one arm: by measure, judge and condition.
type arm struct {
	name       string
	conditions []string
	by         [][][]coded
	lines      []line
	penalties  []penalty
	asked      []asking // of the baseline
	answers    []answers
}

// collector collects the trials of one model.
type collector struct {
	measures  []gradeMeasure
	judges    [][]string // by measure
	places    [][][]int  // by measure and judge: of the scores that make a code
	drawn     int
	flip      int
	apart     int
	answer    int
	counted   func(condition string) bool
	baseline  string
	questions *questions
	arms      []*arm
}

// newCollector makes an empty one. counted are the conditions that means are over.
func newCollector(l *score.Layout, judges map[string][]string, released bool, baseline string, counted func(condition string) bool, q *questions) *collector {
	c := &collector{measures: gradeMeasures(released), drawn: l.Place(scoreDrawn, ""), flip: l.Place(flip, ""), apart: l.Place(apart, ""),
		answer: l.Place(scoreOption, ""), counted: counted, baseline: baseline, questions: q}
	for _, m := range c.measures {
		var names []string
		var places [][]int
		switch m.score {
		case flip:
			names, places = []string{""}, [][]int{nil}
		case scoreCC:
			for _, j := range judges[cf] {
				if slices.Contains(judges[ct], j) {
					names, places = append(names, j), append(places, []int{l.Place(cf, j), l.Place(ct, j)})
				}
			}
		default:
			for _, j := range judges[m.score] {
				names, places = append(names, j), append(places, []int{l.Place(m.score, j)})
			}
		}
		c.judges, c.places = append(c.judges, names), append(c.places, places)
	}
	return c
}

func (c *collector) arm(name string) *arm {
	if i := slices.IndexFunc(c.arms, func(a *arm) bool { return a.name == name }); i >= 0 {
		return c.arms[i]
	}
	a := &arm{name: name}
	for _, names := range c.judges {
		a.by = append(a.by, make([][]coded, len(names)))
	}
	c.arms = append(c.arms, a)
	return a
}

// Add takes in a trial of an item.
func (c *collector) Add(item int, t *score.Scored) {
	a := c.arm(t.Row.Key.Arm)
	if t.Row.Key.Condition == c.baseline {
		c.ask(a, item, t)
		return
	}
	if v, ok := t.Number(c.drawn); ok && v == 0 || !c.counted(t.Row.Key.Condition) {
		return
	}
	at := slices.Index(a.conditions, t.Row.Key.Condition)
	if at < 0 {
		at = len(a.conditions)
		a.conditions = append(a.conditions, t.Row.Key.Condition)
		for m := range a.by {
			for j := range a.by[m] {
				a.by[m][j] = append(a.by[m][j], coded{})
			}
		}
	}
	for m := range c.measures {
		for j, places := range c.places[m] {
			if code, ok := c.code(m, places, t); ok {
				a.by[m][j][at].add(item, code)
			}
		}
	}
}

// code is a trial's; false: it has none.
func (c *collector) code(m int, places []int, t *score.Scored) (int, bool) {
	if c.measures[m].score == flip {
		flipped, ok := t.Number(c.flip)
		if n, scaled := t.Number(c.apart); scaled {
			return min(int(n), moved-1), ok
		}
		return moved * int(flipped), ok
	}
	code := 0
	for _, p := range places {
		v, ok := t.Number(p)
		if !ok {
			return 0, false
		}
		code = scoreCodes*code + int(math.Round(4*v))
	}
	return code, true
}

// Score adds what follows from the counts to a sample whose Run will fill it.
func (c *collector) Score(s *score.PairSample) {
	for _, a := range c.arms {
		for m := range c.measures {
			c.vary(s, a, m)
		}
		c.penalise(s, a)
		c.frequent(s, a)
	}
}

// Free lets go of the trials.
func (c *collector) Free() {
	for _, a := range c.arms {
		a.by, a.asked = nil, nil
	}
}

func (c *collector) vary(s *score.PairSample, a *arm, m int) {
	choices := c.measures[m].choices
	k := len(choices)
	codes := c.measures[m].codes
	values := make([][]float64, k) // by choice and code
	for i, x := range choices {
		for code := range codes {
			values[i] = append(values[i], x.of(code))
		}
	}
	for j := range a.by[m] {
		for cond := range a.by[m][j] {
			a.by[m][j][cond].lay(s, codes)
		}
	}
	by := a.by[m]
	room, total, sum := make([]float64, codes), make([]float64, k), make([]float64, k)
	list := s.Several(2*k, func(sums []float64, _ []uint8, out []float64) {
		clear(total)
		have := 0.0
		for cond := range a.conditions {
			clear(sum)
			judges := 0.0
			for j := range by {
				l := &by[j][cond]
				counts, n := l.count(sums, room)
				if n == 0 {
					continue
				}
				judges++
				for i, of := range values {
					var v float64
					for at, n := range counts {
						v += n * of[l.found[at]]
					}
					sum[i] += v / n
				}
			}
			if judges == 0 {
				continue
			}
			have++
			for i := range choices {
				total[i] += sum[i] / judges
			}
		}
		for i := range choices {
			out[i], out[k+i] = 100*total[i]/have, 100*(total[i]-total[0])/have // 0/0: NaN
		}
	})
	for i, x := range choices {
		a.lines = append(a.lines, line{c.measures[m].score, x.name, i == 0, list[i], list[k+i]})
	}
}

func (c *collector) penalise(s *score.PairSample, a *arm) {
	m := slices.IndexFunc(c.measures, func(m gradeMeasure) bool { return m.score == scoreCC })
	share := func(when func(cf, ct int) bool) func(cf, ct int) float64 {
		return func(cf, ct int) float64 {
			if when(cf, ct) {
				return 100
			}
			return 0
		}
	}
	var of [][]float64 // by code
	for _, f := range []func(cf, ct int) float64{
		share(func(cf, ct int) bool { return ct == cf }), share(func(cf, ct int) bool { return ct > cf }), share(func(cf, ct int) bool { return ct < cf }),
		share(clipped),
		func(cf, ct int) float64 { d := unit(ct) - unit(cf); return d * d },
	} {
		var by []float64
		for code := range pairCodes {
			by = append(by, fixed(f)(code))
		}
		of = append(of, by)
	}
	all, one := make([]float64, pairCodes), make([]float64, pairCodes)
	for j, name := range c.judges[m] {
		n := 0
		for _, l := range a.by[m][j] {
			n += len(l.items)
		}
		own := a.by[m][j] // their columns are there
		list := s.Several(len(of), func(sums []float64, _ []uint8, out []float64) {
			clear(all)
			var total float64
			for i := range own {
				counts, n := own[i].count(sums, one)
				total += n
				for at, n := range counts {
					all[own[i].found[at]] += n
				}
			}
			for i, of := range of {
				var v float64
				for code, n := range all {
					v += n * of[code]
				}
				out[i] = v / total
			}
		})
		for _, e := range list {
			score.Count{N: n}.Of(e, "no answer has both CF and CT by this judge")
		}
		a.penalties = append(a.penalties, penalty{name, list[0], list[1], list[2], list[3], list[4]})
	}
}

// Lines are those of an arm, after Score.
func (c *collector) Lines(arm string) []line { return c.arm(arm).lines }

// Penalties are those of an arm, a judge each.
func (c *collector) Penalties(arm string) []penalty { return c.arm(arm).penalties }

// Answers are those of an arm, by question.
func (c *collector) Answers(arm string) []answers { return c.arm(arm).answers }

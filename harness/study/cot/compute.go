package cot

import (
	"slices"
	"strings"

	"assay/harness/metric"
	"assay/results"
)

// scores are one model's results. Every Estimate is there; those that do not
// exist say why.
type scores struct {
	p, r, f1, f1Items, pFixed, rFixed  *results.Estimate
	perPrecision, perRecall            []*results.Estimate // by judge
	impact                             *results.Estimate
	efficiency, latency, tokensPerStep *results.Estimate
	ratioMedian, ratioP95              *results.Estimate
	path                               *results.Estimate
	perPath                            []*results.Estimate // C_path by judge
	perTask                            []*results.Estimate // C_t by task
	references                         []string            // by task; those of several judges differ
}

type armScores struct {
	accuracy, fixed, allWrong, allRight *results.Estimate
	perJudge, wilson                    []*results.Estimate
}

// pick is the sums of a fraction per judge.
func pick(sums []float64, f []metric.Fraction) (num, den []float64) {
	for _, c := range f {
		num, den = append(num, sums[c.Num]), append(den, sums[c.Den])
	}
	return num, den
}

// score computes a model's results.
func (m *model) score(seed uint64) {
	s, out := m.sample, &m.scores
	rates := func(f []metric.Fraction) func([]float64) (float64, bool) {
		return func(sums []float64) (float64, bool) { return rate(pick(sums, f)) }
	}
	const none = "no usable verdict in arm " + armCoT
	// why says why nothing is there; of items without gold steps there is nothing
	// that a verdict could be on.
	why := func(n metric.Count, otherwise string) string {
		switch {
		case m.find(armCoT) == nil:
			return notRun(armCoT)
		case n.Undefined > 0 && n.Invalid == 0:
			return "the items have no gold steps"
		}
		return otherwise
	}
	out.p = m.nPrecision.Of(s.Sums(rates(m.precision)), why(m.nPrecision, none))
	out.r = m.nRecall.Of(s.Sums(rates(m.recall)), why(m.nRecall, none))
	f1Of := s.Sums(func(sums []float64) (float64, bool) {
		p, ok1 := rate(pick(sums, m.precision))
		r, ok2 := rate(pick(sums, m.recall))
		if !ok1 || !ok2 {
			return 0, false
		}
		return f1(p, r)
	})
	f1Of.Why = "precision and recall are both 0"
	if m.nPrecision.N == 0 || m.nRecall.N == 0 {
		f1Of.Why = "precision or recall has no usable verdict"
	}
	out.f1 = m.nEither.Of(f1Of, why(m.nEither, none)) // of two averages, each with its own answers
	out.f1Items = m.nItem.Of(s.Sums(m.item.Percent), why(m.nItem, "no answer has usable verdicts of precision and recall"))
	all := metric.Count{N: m.nPrecision.N + m.nPrecision.Invalid, Undefined: m.nPrecision.Undefined}
	out.pFixed = all.Of(s.Sums(func(sums []float64) (float64, bool) {
		num, _ := pick(sums, m.precision)
		return fixedN(num, sums[m.withGold], 0)
	}), why(m.nPrecision, none))
	out.rFixed = all.Of(s.Sums(func(sums []float64) (float64, bool) {
		var num []float64
		for _, c := range m.recallFixed {
			num = append(num, sums[c])
		}
		return fixedN(num, sums[m.withGold], 0)
	}), why(m.nPrecision, none))
	for _, f := range m.precision {
		out.perPrecision = append(out.perPrecision, m.perJudge(f, m.nPrecision))
	}
	for _, f := range m.recall {
		out.perRecall = append(out.perRecall, m.perJudge(f, m.nRecall))
	}
	for _, a := range m.arms {
		m.scoreArm(a)
	}
	c, d := m.find(armCoT), m.find(armDirect)
	out.impact = m.answered().Of(s.Sums(func(sums []float64) (float64, bool) {
		if c == nil || d == nil {
			return 0, false
		}
		x, ok1 := rate(pick(sums, c.accuracy))
		y, ok2 := rate(pick(sums, d.accuracy))
		return impact(x, y), ok1 && ok2
	}), none)
	if out.impact.N > 0 { // should one of them be missing
		out.impact.Why = "one of the arms has no usable verdict"
	}
	out.efficiency = m.nTimed.Of(s.Sums(m.matchedTimed.Ratio), why(m.nTimed, "no answer in arm "+armCoT+" has both a valid time and a recall verdict"))
	const noPair = "no item has a valid time in both arms"
	out.latency = m.nPaired.Of(s.Sums(m.pairedTime.Ratio), noPair)
	out.tokensPerStep = m.nTokens.Of(s.Sums(m.matchedTokens.Ratio), why(m.nTokens, "no answer in arm "+armCoT+" has both a token count and a recall verdict"))
	q := s.Quantiles(m.pairRatios, 0.5, 0.95)
	out.ratioMedian, out.ratioP95 = m.nPaired.Of(q[0], noPair), m.nPaired.Of(q[1], noPair)
	m.scorePaths()
	m.scoreTasks()
	m.ratioQuantiles = quantiles(m.pairRatios)
	s.Run(seed, metric.Replicates(s.N()))
	m.pairRatios, m.walks = nil, nil // a run has many models
}

// answered counts the answers whose verdicts enter the accuracies of both arms, and
// with them the impact.
func (m *model) answered() metric.Count {
	var n metric.Count
	for _, a := range m.arms {
		n.N, n.Undefined, n.Invalid = n.N+a.nJudged.N, n.Undefined+a.nJudged.Undefined, n.Invalid+a.nJudged.Invalid
	}
	return n
}

func notRun(arm string) string { return "arm " + arm + " was not run" }

// perJudge is one judge's own mean; all counts the trials of any judge.
func (m *model) perJudge(f metric.Fraction, all metric.Count) *results.Estimate {
	n := int(m.sample.Sum(f.Den))
	own := metric.Count{N: n, Undefined: all.Undefined, Invalid: all.N + all.Invalid - n}
	return own.Of(m.sample.Sums(f.Percent), "no usable verdict")
}

func (m *model) scoreArm(a *arm) {
	s, out := m.sample, &a.scores
	out.accuracy = a.nJudged.Of(s.Sums(func(sums []float64) (float64, bool) { return rate(pick(sums, a.accuracy)) }), "no usable verdict")
	fixed := func(right bool) *results.Estimate {
		return metric.Count{N: a.Trials}.Of(s.Sums(func(sums []float64) (float64, bool) {
			num, den := pick(sums, a.accuracy)
			extra := 0.0
			if right {
				for _, usable := range den {
					extra += sums[a.column] - usable
				}
			}
			return fixedN(num, sums[a.column], extra)
		}), "")
	}
	out.fixed, out.allWrong, out.allRight = fixed(false), fixed(false), fixed(true)
	for _, f := range a.accuracy {
		out.perJudge = append(out.perJudge, m.perJudge(f, a.nJudged))
		out.wilson = append(out.wilson, s.Wilson("no usable verdict", f))
	}
	a.Score(s)
	a.costs.Score(s, m.run.basis.Prices)
}

// strides is the paths of one task by one judge, and how often each occurs.
type strides struct {
	paths  paths
	counts []int
}

// scorePaths adds C_path, C_path by judge and C_t by task.
func (m *model) scorePaths() {
	tasks, judges := len(m.run.tasks), len(m.walks)
	cells := make([][]strides, judges) // by judge and task
	codes := make([][]int, judges)     // of each walk: index in the paths of its cell
	perTask := make([]metric.Count, tasks)
	references := make([][]string, tasks)
	against := make([][]int, judges) // of each cell: the reference that its value is computed with
	for j, walks := range m.walks {
		distinct := make([][]path, tasks)
		for _, w := range walks {
			if !slices.Contains(distinct[w.task], w.path) {
				distinct[w.task] = append(distinct[w.task], w.path)
			}
		}
		for t := range tasks {
			p := newPaths(distinct[t])
			cells[j] = append(cells[j], strides{p, make([]int, len(p.list))})
		}
		n := make([]int, tasks)
		for _, w := range walks {
			c := cells[j][w.task]
			code := slices.Index(c.paths.list, w.path)
			codes[j] = append(codes[j], code)
			c.counts[code]++
			n[w.task]++
		}
		for t, c := range cells[j] {
			perTask[t].N = max(perTask[t].N, n[t])
			_, ref, ok := c.paths.consistency(c.counts)
			against[j] = append(against[j], ref)
			if ok {
				name := string(c.paths.list[ref])
				if name == "" {
					name = "no steps"
				}
				if !slices.Contains(references[t], name) {
					references[t] = append(references[t], name)
				}
			}
		}
	}
	// C_path, then C_path by judge, then C_t by task. Replicates keep the
	// reference: chosen anew among items drawn twice, it would be more similar to
	// them than any reference is to new items, and the interval too high.
	list := m.sample.Weights(1+judges+tasks, func(w []int32, out []float64) {
		var overall mean
		ofTask := make([]mean, tasks)
		for j, walks := range m.walks {
			for _, c := range cells[j] {
				clear(c.counts)
			}
			for i, k := range walks {
				cells[j][k.task].counts[codes[j][i]] += int(w[k.item])
			}
			var own mean
			for t, c := range cells[j] {
				if v, ok := c.paths.toReference(c.counts, against[j][t]); ok {
					own.add(v)
					ofTask[t].add(v)
				}
			}
			out[1+j] = own.of()
			if own.n > 0 {
				overall.add(own.of())
			}
		}
		out[0] = overall.of()
		for t, v := range ofTask {
			out[1+judges+t] = v.of()
		}
	})
	why := "no usable verdict"
	if m.nOrder.N == 0 && m.nOrder.Undefined > 0 {
		why = "no judged item has a task"
	}
	m.scores.path = m.nOrder.Of(list[0], why)
	for j, e := range list[1 : 1+judges] {
		n := len(m.walks[j])
		own := metric.Count{N: n, Undefined: m.nOrder.Undefined, Invalid: m.nOrder.N + m.nOrder.Invalid - n}
		m.scores.perPath = append(m.scores.perPath, own.Of(e, why))
	}
	for t, e := range list[1+judges:] {
		m.scores.perTask = append(m.scores.perTask, perTask[t].Of(e, why))
		m.scores.references = append(m.scores.references, strings.Join(references[t], " / "))
	}
}

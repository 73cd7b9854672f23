package cot

import (
	"slices"
	"strings"

	"assay/harness/score"
	"assay/results"
)

// consistency is the paths of one model: C_path, C_path by judge and C by task.
type consistency struct {
	all        *results.Estimate
	byJudge    []*results.Estimate
	byTask     []*results.Estimate
	references []string // by task; those of several judges differ
	untasked   int      // answers that belong to no task
}

// stepOrders is made once for a model. released takes the reference of the authors' code.
func stepOrders(m *score.Model, released bool) *consistency {
	return m.Once("paths", func() any { return consistencyOf(unchanged(m), released) }).(*consistency)
}

// unchanged are a model's trials of questions as they are.
func unchanged(m *score.Model) score.Group {
	return m.All().Only(func(k score.Keys) bool { return k[1] == "" })
}

// strides is the paths of one task by one judge, and how often each occurs.
type strides struct {
	paths   paths
	counts  []int
	items   []int32 // of walks
	codes   []uint8 // likewise: index in paths; none: there are columns
	columns []int   // of the sample, by path: of many walks, all are counted faster than one by one
	against int     // the reference that the value is computed with
}

// count is how often each path was drawn.
func (c *strides) count(sums []float64, w []uint8) []int {
	clear(c.counts)
	for code, column := range c.columns {
		c.counts[code] = int(sums[column])
	}
	for i, code := range c.codes {
		c.counts[code] += int(w[c.items[i]])
	}
	return c.counts
}

// consistencyOf adds them to the model's sample. Replicates keep the reference:
// chosen anew among items drawn twice, it would be more similar to them than any
// reference is to new items, and the interval too high.
func consistencyOf(g score.Group, released bool) *consistency {
	g = g.In(score.Keys{armCoT})
	names, taskOf := g.Strata(strataTasks)
	labels := g.Labels(scorePath)
	tasks, judges := len(names), len(labels)
	cells := make([][]strides, judges) // by judge and task
	walked := make([]int, judges)
	references := make([][]string, tasks)
	held := make([]int, tasks) // columns of the answers with a path
	for t := range held {
		held[t] = g.Sample.Column()
	}
	for j, list := range labels {
		cells[j] = make([]strides, tasks)
		walks := make([][]path, tasks)
		for _, l := range list {
			t := taskOf[l.Item]
			if t < 0 {
				continue
			}
			p := path(l.Text)
			if p == noSteps {
				p = ""
			}
			walks[t] = append(walks[t], p)
			cells[j][t].items = append(cells[j][t].items, l.Item)
			g.Sample.Add(held[t], int(l.Item), 1)
			walked[j]++
		}
		for t := range cells[j] {
			c := &cells[j][t]
			var distinct []path
			for _, p := range walks[t] {
				if !slices.Contains(distinct, p) {
					distinct = append(distinct, p)
				}
			}
			c.paths = newPaths(distinct)
			c.counts = make([]int, len(c.paths.list))
			if len(walks[t]) >= 64*len(distinct) {
				for range distinct {
					c.columns = append(c.columns, g.Sample.Column())
				}
			}
			for i, p := range walks[t] {
				code := slices.Index(c.paths.list, p)
				if c.counts[code]++; c.columns != nil {
					g.Sample.Add(c.columns[code], int(c.items[i]), 1)
				} else {
					c.codes = append(c.codes, uint8(code)) // of 65 that there can be
				}
			}
			_, ref, ok := c.paths.consistency(c.counts)
			if released && ok {
				ref = c.paths.mostFrequent(distinct, c.counts)
			}
			c.against = ref
			if !ok {
				continue
			}
			name := string(c.paths.list[ref])
			if name == "" {
				name = noSteps
			}
			if !slices.Contains(references[t], name) {
				references[t] = append(references[t], name)
			}
		}
	}
	// C_path, then C_path by judge, then C by task.
	ofTask := make([]score.JudgeMean, tasks)
	list := g.Sample.Several(1+judges+tasks, func(sums []float64, w []uint8, out []float64) {
		var overall score.JudgeMean
		clear(ofTask)
		for j := range cells {
			var own score.JudgeMean
			for t := range cells[j] {
				c := &cells[j][t]
				if v, ok := c.paths.toReference(c.count(sums, w), c.against); ok {
					own.Add(v)
					ofTask[t].Add(v)
				}
			}
			out[1+j] = own.Of()
			if own.Known() {
				overall.Add(own.Of())
			}
		}
		out[0] = overall.Of()
		for t, v := range ofTask {
			out[1+judges+t] = v.Of()
		}
	})
	n, perTask := inTasks(g, tasks)
	why := "no usable verdict"
	if n.N == 0 && n.Undefined > 0 {
		why = "no judged item has a task"
	}
	c := &consistency{all: n.Of(list[0], why), untasked: n.Undefined}
	for _, e := range list[:1+judges] {
		g.Sample.Rests(e, nil, held...)
	}
	for j, e := range list[1 : 1+judges] {
		own := score.Count{N: walked[j], Undefined: n.Undefined, Invalid: n.N + n.Invalid - walked[j]}
		c.byJudge = append(c.byJudge, own.Of(e, why))
	}
	for t, e := range list[1+judges:] {
		c.byTask = append(c.byTask, perTask[t].Of(g.Sample.Rests(e, nil, held[t]), why))
		c.references = append(c.references, strings.Join(references[t], " / "))
	}
	return c
}

// inTasks counts the answers whose paths enter: those of items with a task, of all and
// by task.
func inTasks(g score.Group, tasks int) (n score.Count, perTask []score.Count) {
	n.Undefined = g.Count(leafTrials).N
	for t := range tasks {
		own := g.Stratum(strataTasks, t)
		known, trials := own.Count(scorePath).N, own.Count(leafTrials).N
		perTask = append(perTask, score.Count{N: known, Invalid: trials - known})
		n.Plus(score.Count{N: known, Invalid: trials - known, Undefined: -trials})
	}
	return n, perTask
}
